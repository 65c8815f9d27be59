"""A distance measured in the other direction, for evaluators that count directed hops from the query."""

from __future__ import annotations

from typing import Any

from wayscore.distances.base import Distance, Floats, Places
from wayscore.paths import PathBatch, Paths, Role


class Reversed(Distance):
    """d'(a, b) = d(b, a) between two paths; along one path, d itself. No single table holds both, so it has none.

    >>> from wayscore import Graph
    >>> street = Graph.from_edges([("a", "b"), ("b", "c"), ("c", "a")], directed=True)
    >>> codes = street.encode(["ab"]).places
    >>> Reversed(street).between(codes[:1], codes[1:]), street.between(codes[:1], codes[1:])
    (array([[2.]]), array([[1.]]))
    """

    def __init__(self, distance: Distance) -> None:
        self.distance = distance
        self.unit = distance.unit
        self.name = distance.name
        self.index = distance.index

    def __repr__(self) -> str:
        return f"{self.distance!r}, reversed"

    @property
    def fingerprint(self) -> str:  # type: ignore[override]
        """The fingerprint of the distance, with a prefix."""
        return f"reversed-{self.distance.fingerprint}"

    def encode(self, paths: Paths, *, role: Role = "path") -> PathBatch:
        """Encode as the distance does."""
        return self.distance.encode(paths, role=role)

    def decode(self, places: Places) -> Any:
        """Decode as the distance does."""
        return self.distance.decode(places)

    def between(self, a: Places, b: Places) -> Floats:
        """Return d(b_j, a_i) for all i and j."""
        return self.distance.between(b, a).T.copy()

    def pairs(self, a: Places, b: Places) -> Floats:
        """Return d(a_i, b_i), the lengths of steps along a path."""
        return self.distance.pairs(a, b)
