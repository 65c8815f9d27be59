"""Experiments that change episodes, and the claims about metrics that they confirm or refute."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from textwrap import fill
from typing import Any, Literal

from wayscore.convention.choices import PAPER, Convention
from wayscore.convention.presets import signed
from wayscore.errors import OptionError, listed, shortened
from wayscore.evaluation.groups import few_clusters
from wayscore.lab.audit.battery.cases import Cases
from wayscore.lab.audit.battery.experiments import EXPERIMENTS, Experiment
from wayscore.lab.audit.battery.responses import JUMP, TOLERANCE, Response, Word, respond
from wayscore.metrics import Metric
from wayscore.report.document import Cell, Document, Documented, Line, Part, Row, Table
from wayscore.report.layout import UNDEFINED, counted, head, interval, number

SAME: tuple[Word, ...] = ("invariant", "indifferent")
FALLS: tuple[Word, ...] = ("falls", "jumps down")
RISES: tuple[Word, ...] = ("rises", "jumps up")
Outcome = Literal["holds", "fails", "unclear"]


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim of the paper about one metric, and the experiment that tests it.

    Attributes:
        section: where the paper says it.
        text: the claim.
        metric: the symbol of the metric that it is about.
        experiment: the name of the experiment.
        verdicts: those with which it holds.
    """

    section: str
    text: str
    metric: str
    experiment: str
    verdicts: tuple[Word, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """A claim and what was found."""

    claim: Claim
    response: Response
    outcome: Outcome  # "unclear" where the verdict is

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "section": self.claim.section,
            "claim": self.claim.text,
            "metric": self.claim.metric,
            "experiment": self.claim.experiment,
            "holds_with": list(self.claim.verdicts),
            "verdict": self.response.verdict.word,
            "change": self.response.largest,
            "outcome": self.outcome,
        }


_ENTIRE = "sees only the last node of the reference, and tolerates deviations on the way"
_ORDER = "does not take the order of nodes into account"
CLAIMS: tuple[Claim, ...] = (
    Claim("2", "softly penalizes deviations", "nDTW", "near-miss", ("falls",)),
    Claim("2", "measures the entirety of two trajectories", "nDTW", "detour", FALLS),
    Claim("2", "forces the goal: the final nodes are aligned", "nDTW", "stop-early", FALLS),
    Claim("2", "forces the goal: the final nodes are aligned", "nDTW", "stop-late", FALLS),
    Claim("2", "captures the importance of the goal", "nDTW", "misplaced-point", FALLS),
    Claim("2", "is insensitive to scale", "nDTW", "scale", SAME),
    Claim("2", "is insensitive to the density of nodes", "nDTW", "query-density", SAME),
    Claim("2", "is insensitive to the density of nodes", "nDTW", "reference-density", SAME),
    Claim("2", "is insensitive to the density of nodes", "nDTW", "both-densities", SAME),
    Claim("2", "is sensitive to the order of nodes", "nDTW", "reversed", FALLS),
    Claim("2", "is sensitive to the order of nodes", "nDTW", "shuffled", FALLS),
    Claim("2", "is sensitive to the order of nodes", "nDTW", "reversed-loop", FALLS),
    Claim("4", "captures success", "SDTW", "stop-late", FALLS),
    Claim("4", "captures similarity to the intended path", "SDTW", "detour", FALLS),
    Claim("A", "measures the length of the query", "PL", "detour", RISES),
    *(Claim("A", _ENTIRE, metric, "detour", SAME) for metric in ("NE", "ONE", "SR", "OSR")),
    *(Claim("A", _ENTIRE, metric, "reversed-loop", SAME) for metric in ("PL", "NE", "ONE", "SR", "OSR", "SPL")),
    Claim("1", "rewards agents that reach their goals efficiently", "SPL", "detour", FALLS),
    Claim("A", "severely penalizes a walk that is extremely close", "SED", "near-miss", ("jumps down",)),
    Claim("A", "is the same if a loop is walked the other way around", "CLS", "reversed-loop", SAME),
    Claim("A", "is invariant to order", "PC", "shuffled", SAME),
    Claim("A", "ignores order, since its factor PC does", "CLS", "shuffled", SAME),
    *(Claim("A", _ORDER, metric, change, SAME) for metric in ("AD", "MD") for change in ("reversed", "shuffled")),
)
"""Every claim about a metric's behaviour; 1, 2 and 4 are the paper's sections, A is its appendix."""


def findings(claims: Sequence[Claim], responses: Sequence[Response]) -> tuple[Finding, ...]:
    """Return the claims that were tested, with what was found."""
    known = {(one.metric, one.experiment): one for one in responses}
    found = []
    for claim in claims:
        response = known.get((claim.metric, claim.experiment))
        if response is not None:
            word = response.verdict.word
            outcome: Outcome = "holds" if word in claim.verdicts else "fails"
            found.append(Finding(claim, response, "unclear" if word in ("unclear", "undefined") else outcome))
    return tuple(found)


def alike(found: Sequence[Finding]) -> list[list[Finding]]:
    """Return findings about several metrics in the same words together, for tables."""
    groups: dict[tuple[str, ...], list[Finding]] = {}
    for one in found:
        key = (one.claim.text, one.claim.experiment, one.response.verdict.word, one.outcome)
        groups.setdefault(key, []).append(one)
    return list(groups.values())


WORDS = 34
"""Cells of words are broken into lines of this many characters."""
FEW_CURVES = 12
"""Above this number of curves, they are not printed in full."""
EXPLAINED = (
    "Each cell has the verdict and the largest mean change, in percentage points or metres.",
    f"invariant: no episode changes. indifferent: all 95 % intervals of the change lie within {100 * TOLERANCE:g} % of "
    "the metric's scale (its bounds, or d_th). falls, rises: at least one certain change, and all of them in this "
    f"direction. jumps: {100 * JUMP:g} % of the change happen between two neighbouring sizes. mixed: certain changes "
    "in both directions. unclear: none of these.",
)


@dataclass(frozen=True, slots=True)
class Battery(Documented):
    """How metrics respond to experiments.

    Attributes:
        source: what the episodes are.
        threshold: d_th, before an experiment changes it.
        metrics: what was audited, as values.
        experiments: what was changed.
        responses: one for each metric and each experiment that applies.
        findings: the paper's claims that these responses test, and whether they hold.
        skipped: experiment -> why it does not apply.
        convention: what episodes were scored by, as signatures name it.
        cluster: what the bootstrap resamples: "world" or "path".
        clusters: how many of them there are.
        resamples: of the bootstrap.
        seed: random seed.
    """

    source: str
    threshold: float
    metrics: tuple[Metric, ...]
    experiments: tuple[Experiment, ...]
    responses: tuple[Response, ...]
    findings: tuple[Finding, ...]
    skipped: dict[str, str]
    convention: str
    cluster: str
    clusters: int
    resamples: int
    seed: int

    def of(self, metric: str, experiment: str) -> Response:
        """Return one response, by the metric's symbol and the experiment's name."""
        for one in self.responses:
            if (one.metric, one.experiment) == (metric, experiment):
                return one
        raise OptionError(f"this battery has no response of {shortened(metric)} to {shortened(experiment)}")

    def scope(self) -> str:
        """Return one line on what was audited."""
        return (
            f"{counted(len(self.metrics), 'metric')}, {counted(len(self.experiments), 'experiment')} on {self.source}; "
            f"{self.convention}, d_th = {self.threshold:.3g} m; {counted(self.resamples, 'resample')}, seed {self.seed}"
        )

    def document(self) -> Document:
        """Return the verdicts, the curves where they are few, the claims, what the experiments are, and warnings."""
        parts: list[Part] = [self.scope(), self._verdicts()]
        if len(self.responses) <= FEW_CURVES:
            parts.append(self._curves())
        if self.findings:
            parts.append(self._claims())
        rows = []
        for one in self.experiments:
            sizes = f"{', '.join(f'{size:g}' for size in one.sizes)} {one.unit}".strip()
            rows.append([one.name, fill(one.about, WORDS), fill(sizes, WORDS)])
        parts.append(Table(["experiment", "what is changed", "sizes"], rows, "Experiments", left=3))
        parts += [Line(warning, "warning") for warning in few_clusters(self.cluster, self.clusters)]
        for reason in dict.fromkeys(self.skipped.values()):
            names = listed([name for name, why in self.skipped.items() if why == reason])
            parts.append(Line(f"left out: {names}; {reason}", "warning"))
        return Document(parts, data=[self.to_dict()])

    def _verdicts(self) -> Table:
        rows = []
        for experiment in self.experiments:
            cells = [experiment.name]
            for metric in self.metrics:
                found = self.of(metric.symbol, experiment.name)
                word = found.verdict.word
                change = "" if word in ("invariant", "undefined") else f"\n{number(metric, found.largest, signed=True)}"
                cells.append(word + change)
            rows.append(cells)
        return Table(["", *map(head, self.metrics)], rows, "Responses", EXPLAINED)

    def _curves(self) -> Table:
        rows: list[Row] = []
        for experiment in self.experiments:
            for metric in self.metrics:
                found = self.of(metric.symbol, experiment.name)
                for size, value, change in zip(experiment.sizes, found.values, (None, *found.changes), strict=True):
                    moved = Cell(UNDEFINED)
                    if change is not None:
                        moved = Cell(
                            number(metric, change.mean, signed=True), "", interval(metric, change, signed=True)
                        )
                    mean = Cell(number(metric, value.mean), "", interval(metric, value))
                    rows.append([experiment.name, head(metric), f"{size:g}", mean, moved])
        return Table(["experiment", "metric", "size", "mean, 95 %", "change, 95 %"], rows, "Curves", left=2)

    def _claims(self) -> Table:
        metrics = {metric.symbol: metric for metric in self.metrics}
        rows = []
        for some in alike(self.findings):
            claim, response, outcome = some[0].claim, some[0].response, some[0].outcome
            symbols, word = ", ".join(one.claim.metric for one in some), response.verdict.word
            change, at = "0", ""
            if word != "invariant" and response.largest_at is not None:
                change = number(metrics[claim.metric], response.largest, signed=True)
                at = f"{EXPERIMENTS[claim.experiment].sizes[response.largest_at]:g}"
            rows.append([fill(f"{symbols}: {claim.text}", WORDS), claim.experiment, word, change, at, outcome])
        held = sum(one.outcome == "holds" for one in self.findings)
        notes = [f"{held} of {counted(len(self.findings), 'test')} hold. The change is the largest, at this size."]
        heads = ["claim", "experiment", "verdict", "change", "at", "outcome"]
        return Table(heads, rows, "Claims of the paper", notes, left=3)

    def to_dict(self) -> dict[str, Any]:
        """Return the object that `--format json` prints."""
        facts = ("name", "about", "sizes", "unit", "base", "on")
        return {
            "audit": "battery",
            "source": self.source,
            "convention": self.convention,
            "threshold": self.threshold,
            "tolerance": TOLERANCE,
            "cluster": self.cluster,
            "clusters": self.clusters,
            "resamples": self.resamples,
            "seed": self.seed,
            "experiments": [{name: getattr(one, name) for name in facts} for one in self.experiments],
            "responses": [one.to_dict(EXPERIMENTS[one.experiment].sizes) for one in self.responses],
            "claims": [one.to_dict() for one in self.findings],
            "skipped": self.skipped,
        }

    def __repr__(self) -> str:
        return f"<Battery: {self.scope()}>"

    def figure(self) -> Any:
        """Return the response curves as small multiples (matplotlib must be installed)."""
        from wayscore.lab.audit.figures import figure_battery

        return figure_battery(self)


REASONS = {
    "nodes": "it needs paths of nodes on a graph with enough nodes around them",
    "points": "it needs points, or nodes with positions",
    "any": "no path is long enough",
}
"""Why no case can be changed by an experiment, by where it takes place."""


def run_battery(
    cases: Cases,
    metrics: Sequence[Metric],
    experiments: Sequence[Experiment],
    *,
    convention: Convention = PAPER,
    resamples: int = 10_000,
    seed: int = 0,
    progress: Callable[[str, int, int], None] | None = None,
) -> Battery:
    """Carry out experiments on cases."""
    responses: list[Response] = []
    skipped: dict[str, str] = {}
    for done, experiment in enumerate(experiments):
        if progress is not None:
            progress(experiment.name, done, len(experiments))
        found = respond(experiment, cases, metrics, convention=convention, resamples=resamples, seed=seed)
        responses += found
        if not found:
            skipped[experiment.name] = REASONS[experiment.on]
    return Battery(
        cases.source,
        cases.threshold,
        tuple(metrics),
        tuple(one for one in experiments if one.name not in skipped),
        tuple(responses),
        findings(CLAIMS, responses),
        skipped,
        signed(convention),
        cases.cluster,
        len({case.cluster for case in cases.perfect}),
        resamples,
        seed,
    )
