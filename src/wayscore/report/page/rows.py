"""What results know of single episodes, for the page's list: one row per episode, the mean of several predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from wayscore.distances.base import Floats
    from wayscore.evaluation.result import Result

LISTED = 20_000
"""The page lists at most this many episodes, the first ones: more would make it slow to open."""
FACTS = ("scene", "path_id", "reference_nodes")


class Rows(NamedTuple):
    """The episodes of one result.

    Attributes:
        episodes: their names, in the order of the table.
        facts: by name (see `FACTS`), what is known of each, the known ones only; and the cluster that it is drawn with.
        columns: by symbol, the scores; infinite where they are undefined.
        averaged: whether some of them are means over several predictions.
        zeroed: the episodes that have a prediction and still get the worst values, as a policy says.
    """

    episodes: Sequence[str] = ()
    facts: Mapping[str, Sequence[Any]] = MappingProxyType({})
    columns: Mapping[str, Floats] = MappingProxyType({})
    averaged: bool = False
    zeroed: frozenset[str] = frozenset()


def rows_of(result: Result) -> Rows:
    """Return one row per episode, in the table's order."""
    table = result.table
    numbers: dict[str, int] = {}
    codes = np.array([numbers.setdefault(name, len(numbers)) for name in map(str, table.episodes)], dtype=np.int64)
    facts: dict[str, Sequence[Any]] = {name: table.facts[name] for name in FACTS if name in table.facts}
    facts["cluster"] = result.cluster_labels()
    columns: dict[str, Floats] = {symbol: table[symbol] for symbol in result.symbols}
    several = len(numbers) < len(codes)
    if several:
        first = np.unique(codes, return_index=True)[1].tolist()
        facts = {name: [values[row] for row in first] for name, values in facts.items()}
        counts = np.bincount(codes)
        columns = {symbol: np.bincount(codes, values) / counts for symbol, values in columns.items()}
    return Rows(list(numbers), facts, columns, several, _zeroed(result, list(numbers), columns))


def list_episodes(rows: Sequence[Rows], order: Sequence[str] | Mapping[str, Any] = ()) -> tuple[list[str], int]:
    """Return the episodes that the page lists, those of `order` first and in this order; and how many there are."""
    known = dict.fromkeys(name for one in rows for name in one.episodes)
    names = dict.fromkeys([*(name for name in order if name in known), *known])
    return list(names)[:LISTED], len(names)


def facts_of(rows: Sequence[Rows], names: Sequence[str], fact: str) -> list[Any] | None:
    """Return what any result knows of the listed episodes; None where none knows it of any."""
    known: dict[str, Any] = {}
    for one in rows:
        for name, value in zip(one.episodes, one.facts.get(fact, ()), strict=False):
            known.setdefault(name, value)
    return [known.get(name) for name in names] if known else None


def _zeroed(result: Result, names: Sequence[str], columns: Mapping[str, Floats]) -> frozenset[str]:
    policies = result.settings.get("policies", {})
    if not any(policies.get(kind) == "zero" and result.problems.counts.get(kind) for kind in ("start", "move", "node")):
        return frozenset()
    worst = np.all([columns[metric.symbol] == metric.worst for metric in result.metrics], axis=0)
    return frozenset(name for name, bad in zip(names, worst.tolist(), strict=True) if bad)
