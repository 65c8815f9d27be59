"""A distance asked the other way round, for evaluators that measure from the query where ways lead one way only."""

from __future__ import annotations

from wayscore.distances.base import Distance, Floats, Places
from wayscore.paths import PathBatch, Paths, Role


class Reversed:
    """d'(a, b) = d(b, a) between two paths; along a path, d as it is.

    >>> from wayscore import Graph
    >>> street = Graph.from_edges([("a", "b"), ("b", "c"), ("c", "a")], directed=True)
    >>> codes = street.encode(["ab"]).places
    >>> Reversed(street).between(codes[:1], codes[1:]), street.between(codes[:1], codes[1:])
    (array([[2.]]), array([[1.]]))
    """

    def __init__(self, distance: Distance) -> None:
        self.distance = distance
        self.unit = getattr(distance, "unit", "m")

    def __repr__(self) -> str:
        return f"{self.distance!r}, reversed"

    @property
    def fingerprint(self) -> str:
        """That of the distance, marked."""
        return f"reversed-{self.distance.fingerprint}"

    def encode(self, paths: Paths, *, role: Role = "path") -> PathBatch:
        """Encode as the distance does."""
        return self.distance.encode(paths, role=role)

    def between(self, a: Places, b: Places) -> Floats:
        """Return d(b_j, a_i) for all i and j."""
        return self.distance.between(b, a).T.copy()

    def pairs(self, a: Places, b: Places) -> Floats:
        """Return d(a_i, b_i), the moves along a path."""
        return self.distance.pairs(a, b)
