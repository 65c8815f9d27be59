"""Columns as single evaluators compute them, by symbol and evaluator: "DTW:valan". One file per family.

A column is a metric like any other, with the paper's symbol and another function. Conventions name those that their
evaluator prints.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from wayscore.metrics.base import Metric
from wayscore.metrics.evaluators import flights, graphs, objects, poses, rooms

COLUMNS: Mapping[str, Metric] = MappingProxyType(
    {**graphs.COLUMNS, **objects.COLUMNS, **rooms.COLUMNS, **flights.COLUMNS, **poses.COLUMNS}
)
"""Every column by its key."""
