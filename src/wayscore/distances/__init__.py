"""Distances between nodes or points, which all metrics are computed from."""

from wayscore.distances.base import Distance, as_distance
from wayscore.distances.euclidean import Euclidean
from wayscore.distances.function import Function
from wayscore.distances.graph import Graph
from wayscore.distances.grid import Grid
from wayscore.distances.table import Table

__all__ = ["Distance", "Euclidean", "Function", "Graph", "Grid", "Table", "as_distance"]
