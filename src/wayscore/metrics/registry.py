"""Metrics by name: the paper's, the extra ones, and what installed packages offer."""

from __future__ import annotations

from collections.abc import Iterable

from wayscore.errors import OptionError, did_you_mean
from wayscore.metrics.base import Metric
from wayscore.metrics.extra import EXTRA
from wayscore.metrics.paper import METRICS

ENTRY_POINTS = "wayscore.metrics"
"""The entry-point group in which installed packages offer metrics."""
_USED: dict[str, Metric] = {}
"""Metrics that were handed over as values: reports, which go by symbols, find them here."""


def find_metrics(names: Iterable[str | Metric] | str | None) -> tuple[Metric, ...]:
    """Return metrics by symbol, in the order given; None means all of the paper's.

    Beside the paper's there are the extra ones, those of installed plug-ins, which only go by name, and values of one's
    own, which go by their symbol once they were used.
    """
    if names is None:
        return tuple(METRICS.values())
    if isinstance(names, str):
        names = names.split(",")
    if not isinstance(names, Iterable):
        raise OptionError(f"metrics must be symbols such as 'nDTW,SDTW' or a list of them, got {names!r}")
    found: dict[str, Metric] = {}
    for name in names:
        if isinstance(name, Metric) and METRICS.get(name.symbol) is not name:
            _USED[name.symbol] = name
        metric = name if isinstance(name, Metric) else METRICS.get(name.strip()) or _others().get(name.strip())
        if metric is None:
            everything = [*METRICS, *_others()]
            raise OptionError(
                f"there is no metric {name!r}{did_you_mean(name, everything)} Known: {', '.join(everything)}"
            )
        found[metric.symbol] = metric
    if not found:
        raise OptionError("name at least one metric, or leave the choice out for all of them")
    return tuple(found.values())


def _others() -> dict[str, Metric]:
    from importlib.metadata import entry_points

    return {**EXTRA, **{entry.name: entry.load() for entry in entry_points(group=ENTRY_POINTS)}, **_USED}
