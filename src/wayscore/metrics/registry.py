"""Metrics by name: the paper's, those that evaluators print, those for trajectories, those of installed packages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from math import inf
from types import MappingProxyType

from wayscore.convention.choices import PAPER, Convention
from wayscore.errors import OptionError, did_you_mean, shortened
from wayscore.metrics.base import Floats, Measurements, Metric
from wayscore.metrics.extra import EXTRA, TRAJECTORY
from wayscore.metrics.paper import METRICS, PAPERS

ENTRY_POINTS = "wayscore.metrics"
"""The entry-point group in which installed packages offer metrics."""
KNOWN: Mapping[str, Metric] = MappingProxyType({**METRICS, **EXTRA, **TRAJECTORY})
"""Symbol -> metric, of all that come with wayscore."""
ALIASES: Mapping[str, str] = MappingProxyType(
    {
        **{symbol.lower(): symbol for symbol in KNOWN},
        **dict.fromkeys(("tl", "path_length", "trajectory_length", "length", "lengths"), "PL"),
        **dict.fromkeys(("nav_error", "navigation_error", "distance_to_goal"), "NE"),
        **dict.fromkeys(("oracle_navigation_error", "oracle_nav_error", "oracle_error"), "ONE"),
        **dict.fromkeys(("success", "success_rate"), "SR"),
        **dict.fromkeys(("os", "oracle_success", "oracle_success_rate"), "OSR"),
        "average_deviation": "AD",
        "max_deviation": "MD",
        "coverage": "PC",
        "goal_progress": "GP",
        "oracle_spl": "OSPL",
        "soft_spl": "SoftSPL",
        "fréchet": "Frechet",
        "discrete_frechet": "Frechet",
    }
)
"""What the field calls metrics, in small letters with underscores -> their symbols."""


def paper_symbol(name: str) -> str | None:
    """Return the symbol of a metric by any of its names, in any case; None where there is none.

    >>> paper_symbol("TL"), paper_symbol("ndtw"), paper_symbol("oracle success rate"), paper_symbol("collisions")
    ('PL', 'nDTW', 'OSR', None)
    """
    name = name.strip()
    return name if name in KNOWN else ALIASES.get(re.sub(r"[\s-]+", "_", name.lower()))


def find_metrics(
    names: Iterable[str | Metric] | str | None = None, convention: Convention = PAPER
) -> tuple[Metric, ...]:
    """Return metrics by name, in the order given; None means those that the convention prints, or all of the paper's.

    Args:
        names: symbols or other names in any case, `Metric` values, or one text such as "SR,nDTW". "DTW:valan" is DTW as
            VALAN computes it.
        convention: whose columns count first: where it computes a metric in its own way, that is meant. Names that its
            evaluator gives to columns are known too.

    >>> [metric.symbol for metric in find_metrics("TL,ndtw,success")]
    ['PL', 'nDTW', 'SR']
    >>> find_metrics("DTW:valan")[0].formula
    'DTW / PL(R)'
    >>> from wayscore.convention import CONVENTIONS
    >>> [metric.symbol for metric in find_metrics("TC,SPD", CONVENTIONS["touchdown-vlnt"])]
    ['SR', 'NE']
    """
    if names is None:
        if not convention.metrics:
            return PAPERS
        names = convention.metrics
    if isinstance(names, str):
        names = names.split(",")
    elif isinstance(names, Metric):
        names = [names]
    if not isinstance(names, Iterable):
        raise OptionError(f"metrics must be symbols such as 'nDTW,SDTW' or a list of them, got {shortened(names)}")
    own = {key.partition(":")[0]: own_column(key) for key in convention.metrics if ":" in key}
    found: dict[str, Metric] = {}
    for name in names:
        if isinstance(name, Metric):
            metric = name
        elif not isinstance(name, str):
            raise OptionError(f"a metric is a symbol such as 'nDTW' or a Metric, got {shortened(name)}")
        elif ":" in name:
            metric = own_column(name.strip())
        else:
            name, symbol = name.strip(), paper_symbol(name)
            known = own.get(name) or own.get(symbol or "") or KNOWN.get(symbol or "")
            metric = known or _named_otherwise(name, own, convention)
        if found.setdefault(metric.symbol, metric) != metric:
            raise OptionError(f"two different metrics have the symbol {metric.symbol!r}; rename one of them")
    if not found:
        raise OptionError("name at least one metric, or leave the choice out for all of them")
    return tuple(found.values())


def _named_otherwise(name: str, own: Mapping[str, Metric], convention: Convention) -> Metric:
    """Return a metric by the name that the convention's evaluator prints, or of an installed package."""
    from importlib.metadata import entry_points  # slow, and only needed for names that are not known

    from wayscore.convention.presets import EVALUATORS

    evaluator = EVALUATORS.get(convention.name)
    theirs = {
        column: own.get(symbol) or KNOWN[symbol]
        for column, symbol in (evaluator.names if evaluator else {}).items()
        if paper_symbol(column) is None and column not in own and (symbol in own or symbol in KNOWN)
    }
    if name in theirs:
        return theirs[name]
    installed = {entry.name: entry for entry in entry_points(group=ENTRY_POINTS)}
    entry = installed.get(name) or {key.lower(): entry for key, entry in installed.items()}.get(name.lower())
    if entry is None:
        named = [*KNOWN, *installed, *own, *theirs]
        raise OptionError(
            f"there is no metric {shortened(name)}{did_you_mean(name, named) or '.'} Known: {', '.join(named)}"
        )
    metric = entry.load()
    if not isinstance(metric, Metric):
        raise OptionError(f"the entry point {entry.name} of {ENTRY_POINTS} is no Metric, but {shortened(metric)}")
    return metric


def find_metric(symbol: str, own: Mapping[str, Metric] = MappingProxyType({})) -> Metric:
    """Return the metric of a column, for reports; a column that nobody knows gets a metric with no direction.

    >>> find_metric("collisions").direction is None
    True
    """
    try:
        return own.get(symbol) or own.get(paper_symbol(symbol) or "") or find_metrics([symbol])[0]
    except OptionError:
        return Metric(symbol, symbol, None, (-inf, inf), "", symbol, compute=_unknown)


def own_column(key: str) -> Metric:
    """Return a column as one evaluator computes it, by symbol and evaluator: "DTW:valan"."""
    from wayscore.metrics.evaluators import COLUMNS  # most evaluations need none of them

    if key not in COLUMNS:
        raise OptionError(f"there is no column {shortened(key)}{did_you_mean(key, COLUMNS)}")
    return COLUMNS[key]


def with_columns(convention: Convention, metrics: Iterable[Metric]) -> Convention:
    """Return a convention that names every column of an evaluator that is used, for signatures."""
    own = [metric for metric in metrics if KNOWN.get(metric.symbol) is not metric]
    if not own:
        return convention
    from wayscore.metrics.evaluators import COLUMNS

    keys = {id(column): key for key, column in COLUMNS.items()}
    used = [keys[id(metric)] for metric in own if id(metric) in keys]
    added = tuple(key for key in used if key not in convention.metrics)
    return replace(convention, metrics=(*convention.metrics, *added)) if added else convention


def _unknown(_: Measurements) -> Floats:
    raise OptionError("this metric came from a file of scores, and how it is computed is not known")
