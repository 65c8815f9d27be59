"""Precomputed distances, as a matrix."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterable
from functools import cached_property
from typing import Any

import numpy as np

from wayscore.distances.base import Distance, Floats, Places
from wayscore.errors import DistanceError, shortened


class Table(Distance):
    """A square matrix of distances between named nodes.

    Entries are not negative, infinity for "unreachable", 0 on the diagonal. The matrix must be symmetric unless
    `symmetric=False`.

    >>> table = Table([[0, 1], [1, 0]], ["a", "b"])
    >>> table.between(np.array([0]), np.array([0, 1]))
    array([[0., 1.]])
    """

    name = "table"
    table: Floats

    def __init__(self, matrix: Any, nodes: Iterable[Hashable], *, symmetric: bool = True) -> None:
        try:
            self.nodes = tuple(nodes)
            self.index: dict[Any, int] = {node: code for code, node in enumerate(self.nodes)}
        except TypeError:
            raise DistanceError("a table needs a list of names that are hashable, such as strings or tuples") from None
        try:
            table = np.array(matrix, dtype=np.float64, order="C")
        except (TypeError, ValueError):
            raise DistanceError("a table must be a square matrix of numbers") from None
        count = len(self.nodes)
        if len(self.index) != count:
            raise DistanceError("two nodes of the table have the same name; names must differ")
        if table.shape != (count, count) or not count:
            raise DistanceError(f"a table of {count} nodes must be a {count} x {count} matrix, got shape {table.shape}")
        self._refuse(table, np.isnan(table), "is not a number; use infinity for unreachable nodes")
        self._refuse(table, table < 0, "is negative; distances must be 0 or more")
        self._refuse(table, np.eye(count, dtype=bool) & (table != 0), "must be 0, because it is from a node to itself")
        if symmetric:
            self._refuse(
                table, table != table.T, "differs from the distance back; pass symmetric=False if that is intended"
            )
        table.flags.writeable = False
        self.table = table

    def _refuse(self, table: Floats, wrong: Any, why: str) -> None:
        if wrong.any():
            i, j = np.argwhere(wrong)[0]
            a, b = shortened(self.nodes[i]), shortened(self.nodes[j])
            raise DistanceError(f"the distance from {a} to {b}, {table[i, j]}, {why}")

    def __repr__(self) -> str:
        return f"<Table of {len(self.nodes)} nodes>"

    @cached_property
    def fingerprint(self) -> str:  # type: ignore[override]
        """`table#` and eight digits, a hash of all names and entries."""
        digest = hashlib.sha256(repr(self.nodes).encode() + self.table.tobytes())
        return f"table#{digest.hexdigest()[:8]}"

    def decode(self, places: Places) -> list[Any]:
        """Turn row numbers into labels."""
        return [self.nodes[code] for code in places.tolist()]
