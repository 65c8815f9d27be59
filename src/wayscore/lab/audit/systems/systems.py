"""Metrics on real systems: rankings, their stability, power, redundancy, and what other settings change."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, get_type_hints

import msgspec

from wayscore.convention.presets import find_convention
from wayscore.errors import OptionError, Sentence
from wayscore.evaluation.comparison import evaluate_runs
from wayscore.evaluation.groups import few_clusters
from wayscore.evaluation.inputs import Prepared, find_references
from wayscore.evaluation.result import Result
from wayscore.formats.benchmarks import distances_for
from wayscore.lab.audit.systems.scoreboard import (
    ALIKE,
    DIFFERENCE,
    Alternative,
    Matrix,
    Power,
    Scoreboard,
    Stability,
    agreement,
    alternatives,
    correlations,
    groups,
    power,
    ranks,
    stability,
)
from wayscore.metrics import Metric, find_metric
from wayscore.report.document import Document, Documented, Line, Table
from wayscore.report.layout import UNDEFINED, counted, head, legend, number, short_names
from wayscore.report.results import warnings_of

MOST_WARNINGS = 3
"""Of more warnings about single runs, only their number is printed."""
NAME_ROOM = 26
"""The most characters of a system's name in a table."""
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True, eq=False)
class Systems(Documented):
    """What metrics say of several systems.

    Attributes:
        references: the name of the ground-truth paths.
        names: of the systems.
        metrics: those with a better direction, as values.
        episodes: how many episodes all systems share.
        paths: how many paths these are of.
        scans: how many scans they are in.
        left_out: how many episodes are not shared by all.
        signature: what the scores depend on, of the first system.
        resamples: of the stability.
        seed: random seed.
        means: by metric the mean of each system.
        ranks: by metric the rank of each system, 1 for the best.
        agreement: Kendall's tau between the rankings by every two metrics.
        stability: of the rankings under other paths and scans.
        power: how well each metric tells systems apart.
        correlations: Spearman's rho between every two metrics over episodes, within systems.
        groups: metrics that say much the same of episodes.
        alternatives: rankings under other thresholds and conventions.
        unfit: convention -> why it does not fit these runs.
        warnings: what a reader must know before believing it.
    """

    references: str
    names: tuple[str, ...]
    metrics: tuple[Metric, ...]
    episodes: int
    paths: int
    scans: int
    left_out: int
    signature: str
    resamples: int
    seed: int
    means: Mapping[str, list[float]]
    ranks: Mapping[str, list[int]]
    agreement: Matrix
    stability: tuple[Stability, ...]
    power: tuple[Power, ...]
    correlations: Matrix
    groups: list[list[str]]
    alternatives: tuple[Alternative, ...]
    unfit: Mapping[str, str]
    warnings: tuple[str, ...]

    def scope(self) -> str:
        """Return one line on what was audited."""
        left = f", {self.left_out:,} left out" if self.left_out else ""
        where = f" in {counted(self.scans, 'scan')}" if self.scans > 1 else ""
        return (
            f"{counted(len(self.metrics), 'metric')} on {counted(len(self.names), 'system')}: "
            f"{counted(self.episodes)} of {counted(self.paths, 'path')}{where} of {self.references}{left}; "
            f"{counted(self.resamples, 'resample')}, seed {self.seed}"
        )

    def document(self) -> Document:
        """Return the tables and the warnings."""
        alike = "; ".join(", ".join(group) for group in self.groups if len(group) > 1) or "none"
        return Document(
            [
                self.scope(),
                self._means(),
                _matrix(
                    "Agreement of rankings",
                    self.agreement,
                    "Kendall's tau between the rankings of the systems by two metrics: 1 if they are the same, -1 if "
                    "opposite.",
                ),
                self._stability(),
                self._power(),
                *self._alternatives("threshold"),
                *self._alternatives("convention"),
                _matrix(
                    "Redundancy",
                    self.correlations,
                    "Spearman's rho between two metrics over episodes, within each system, averaged over systems; "
                    "signs are such that higher is better for both.",
                    f"Groups with a mean |rho| of {ALIKE:g} or more: {alike}.",
                ),
                *(Line(warning, "warning") for warning in dict.fromkeys(self.warnings)),
            ],
            data=[self.to_dict()],
        )

    def _means(self) -> Table:
        names = short_names(self.names, NAME_ROOM)
        rows = []
        for place, name in enumerate(names):
            cells = (
                f"{number(metric, self.means[metric.symbol][place])}  {self.ranks[metric.symbol][place]:>2}"
                for metric in self.metrics
            )
            rows.append([name, *cells])
        notes = ["Each cell has the mean and the rank.", *legend(names, self.names)]
        return Table(["system", *map(head, self.metrics)], rows, "Means and ranks", notes)

    def _stability(self) -> Table:
        kinds = list(dict.fromkeys(one.cluster for one in self.stability))
        rows = []
        for metric in self.metrics:
            cells = [metric.symbol]
            for one in self.stability:  # for each metric, in the order of the kinds
                if one.metric == metric.symbol:
                    cells += [f"{one.tau:.2f}", f"{one.low:.2f}", f"{100 * one.same_first:.0f} %"]
            rows.append(cells)
        heads = [part for kind in kinds for part in (f"{kind}s\ntau", "2.5 %\ntau", "same\nfirst")]
        note = (
            "Paths or scans are resampled: Kendall's tau with the ranking by all episodes (mean and 2.5 % quantile), "
            "and how often the same system is first."
        )
        return Table(["", *heads], rows, "Stability of rankings", [note])

    def _power(self) -> Table:
        sizes = [f"{paths}\npaths" for paths in self.power[0].paths]
        rows = []
        for metric, one in zip(self.metrics, self.power, strict=True):
            needed = (UNDEFINED if n is None else f"{max(1, round(n)):,}" for n in (one.needed, one.needed_median))
            shares = (f"{100 * share:.0f} %" for share in one.told_apart)
            rows.append([one.metric, *shares, number(metric, one.difference), *needed])
        note = (
            f"Share of all pairs of systems ({math.comb(len(self.names), 2)}) that differ with p < 0.05 (paired "
            "randomization test over paths) in this number of paths, drawn at random. Then: how many episodes find "
            "this difference with a probability of 80 % (median over pairs), and how many find the median pair's own "
            "difference."
        )
        heads = ["", *sizes, "difference", "episodes\nfor it", "for the\nmedian pair"]
        return Table(heads, rows, "Power to tell systems apart", [note])

    def _alternatives(self, setting: str) -> list[Table]:
        known = {(one.metric, one.value): one for one in self.alternatives if one.setting == setting}
        values = list(dict.fromkeys(value for _, value in known))
        if not values:
            return []
        rows = []
        for metric in self.metrics:
            found = (known.get((metric.symbol, value)) for value in values)
            cells = (
                UNDEFINED if one is None else f"{one.tau:.2f}  {number(metric, one.change, signed=True)}"
                for one in found
            )
            rows.append([metric.symbol, *cells])
        notes = [
            f"Kendall's tau with the ranking above, and how much the mean over systems changes, with another {setting}."
        ]
        if setting == "convention":
            notes.append(f"{UNDEFINED}: its evaluator does not print this metric.")
            notes += [f"Left out: {name}: {reason}." for name, reason in self.unfit.items()]
        heads = ["", *(f"{value:g} m" if isinstance(value, float) else value for value in values)]
        return [Table(heads, rows, f"Another {setting}", notes)]

    def to_dict(self) -> dict[str, Any]:
        """Return the object that `--format json` prints."""
        found = {one.name: getattr(self, one.name) for one in fields(self)}
        found["metrics"] = [metric.symbol for metric in self.metrics]
        for name in ("means", "ranks"):
            found[name] = {symbol: dict(zip(self.names, row, strict=True)) for symbol, row in found[name].items()}
        named = {"audit": "systems", "references": found.pop("references"), "systems": found.pop("names")}
        plain: dict[str, Any] = msgspec.to_builtins(named | found, enc_hook=str)  # a `Sentence`
        return plain

    @classmethod
    def from_json(cls, text: str) -> Systems:
        """Read what `to_json` wrote; a metric of your own comes back without its facts."""
        found: dict[str, Any] = msgspec.json.decode(text)
        del found["audit"]
        found["names"] = found.pop("systems")
        metrics = tuple(map(find_metric, found.pop("metrics")))
        for name in ("means", "ranks"):
            found[name] = {symbol: list(row.values()) for symbol, row in found[name].items()}
        types = get_type_hints(cls)
        return cls(metrics=metrics, **{name: msgspec.convert(value, types[name]) for name, value in found.items()})

    def __repr__(self) -> str:
        return f"<Systems: {self.scope()}>"

    def figure(self) -> Any:
        """Return rankings, power and redundancy as a figure (matplotlib must be installed)."""
        from wayscore.lab.audit.figures import figure_systems

        return figure_systems(self)


def _matrix(title: str, matrix: Matrix, *notes: str) -> Table:
    rows = [[a, *(f"{value:.2f}" for value in row.values())] for a, row in matrix.items()]
    return Table(["", *matrix], rows, title, notes)


def audit_systems(
    runs: Sequence[Any],
    references: Any,
    graphs: Any,
    *,
    names: Sequence[str | None] | None = None,
    metrics: Any = None,
    difference: float = DIFFERENCE,
    resamples: int = 10_000,
    seed: int = 0,
    reader: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Systems:
    """Evaluate runs once, and again under other thresholds and conventions; see `wayscore.audit`."""
    if not 0 < difference <= 1:
        raise OptionError(
            f"<<difference>> must be a share of a metric's scale, above 0 and up to 1, not {difference!r}"
        )
    tell = progress or (lambda _what, _done, _all: None)
    convention = find_convention(options.get("convention"))
    known = find_references(references, reader)
    prepared = None
    if known is not None:
        directed = known.format == "street"  # whose graph depends on the convention
        prepared = Prepared(known, graphs if directed else distances_for(known, graphs, convention))

    def evaluate(**other: Any) -> list[Result]:
        settings = {"metrics": metrics, **options, "seed": seed, **other}
        return evaluate_runs(runs, names, prepared, graphs, settings.pop("metrics"), None, settings)

    tell("evaluating", 0, 0)
    results = evaluate()
    board = Scoreboard.of(results)
    first = results[0]
    threshold = float(first.settings.get("threshold", convention.threshold))
    tell("ranking", 0, 0)
    taus, stable, rho = agreement(board), stability(board, resamples=resamples, seed=seed), correlations(board)
    tell("testing all pairs", 0, 0)
    strong = power(board, threshold, difference=difference, seed=seed)
    warnings: list[str] = list(warnings_of(results))
    if len(warnings) > MOST_WARNINGS:
        more = f"{len(warnings) - MOST_WARNINGS} further warnings about single runs; `wayscore score` prints them"
        warnings[MOST_WARNINGS:] = [more]
    scans = int(board.scans.max()) + 1
    warnings += few_clusters("scan", scans) if scans > 1 else []
    others: list[Alternative] = []
    unfit: dict[str, str] = {}
    if all(result.inputs is not None for result in results):
        tell("other thresholds and conventions", 0, 0)
        others, unfit = alternatives(board, convention, threshold, "" if known is None else known.format, evaluate)
    else:
        warnings.append("other thresholds and conventions need paths, and some of these runs are scores only")
    means = board.means()
    signs = [1.0 if metric.direction == "up" else -1.0 for metric in board.metrics]
    return Systems(
        references=(first.settings.get("references") or {"name": "rows"})["name"],
        names=board.names,
        metrics=board.metrics,
        episodes=board.episodes,
        paths=int(board.paths.max()) + 1,
        scans=scans,
        left_out=board.left_out,
        signature=str(first.signature),
        means={m.symbol: (sign * row + 0.0).tolist() for m, sign, row in zip(board.metrics, signs, means, strict=True)},
        ranks={metric.symbol: ranks(row) for metric, row in zip(board.metrics, means, strict=True)},
        agreement=taus,
        stability=stable,
        power=strong,
        correlations=rho,
        groups=groups(rho),
        alternatives=tuple(others),
        unfit=unfit,
        warnings=tuple(map(Sentence, dict.fromkeys(warnings))),
        resamples=resamples,
        seed=seed,
    )
