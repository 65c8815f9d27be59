"""Other settings: does a ranking survive another threshold, or the convention of another evaluator?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from wayscore.convention.choices import Convention
from wayscore.convention.presets import dialogs, graphs, objects, rooms, streets
from wayscore.errors import WayscoreError, listed
from wayscore.evaluation.result import Result
from wayscore.lab.audit.systems.scoreboard import Scoreboard
from wayscore.statistics import kendall

FACTORS = (0.5, 0.75, 1.5, 2.0)
"""Other thresholds, in units of d_th."""
FAMILIES: Mapping[str, Any] = {
    **dict.fromkeys(("r2r", "r4r", "rxr"), graphs),
    "ndh": dialogs,
    "reverie": objects,
    "vlnce": rooms,
    "street": streets,
}
"""Format of the references -> the conventions of the evaluators that read it."""
Evaluate = Callable[..., "list[Result]"]
"""Evaluates all runs again, with other settings."""


@dataclass(frozen=True, slots=True)
class Alternative:
    """The ranking of systems by one metric under another setting.

    Attributes:
        setting: "threshold" or "convention".
        value: the threshold, or the name of the convention.
        metric: the metric's symbol.
        tau: Kendall's tau with the ranking under the setting of the audit.
        mean: the mean over systems.
        change: the mean over systems, less that under the setting of the audit.
    """

    setting: str
    value: float | str
    metric: str
    tau: float
    mean: float
    change: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self)


def thresholds(board: Scoreboard, threshold: float, evaluate: Evaluate) -> list[Alternative]:
    """Rank the systems with other thresholds."""
    found = []
    for factor in FACTORS:
        other = factor * threshold
        found += _compared(board, "threshold", other, evaluate(threshold=other))
    return found


def conventions(
    board: Scoreboard, convention: Convention, form: str, evaluate: Evaluate
) -> tuple[list[Alternative], dict[str, str]]:
    """Rank the systems by the other conventions that fit.

    Returns:
        What was found, and for each convention of the family that does not fit the reason.
    """
    family = FAMILIES.get(form)
    found: list[Alternative] = []
    unfit: dict[str, str] = {}
    for one in () if family is None else family.EVALUATORS:
        name, printed = one.convention.name, {key.partition(":")[0] for key in one.convention.metrics}
        columns = [symbol for symbol in board.symbols if symbol in printed or not printed]
        if name == convention.name:
            continue
        if not columns:
            unfit[name] = "it prints none of these metrics"
            continue
        try:
            results = evaluate(convention=name, metrics=columns)
        except WayscoreError as error:
            unfit[name] = str(error)
            continue
        if missing := {fact for result in results for fact in result.settings.get("unrecorded", ())}:
            unfit[name] = f"it takes {listed(sorted(missing))}, which these runs do not record"
        else:
            found += _compared(board, "convention", name, results)
    return found, unfit


def _compared(board: Scoreboard, setting: str, value: float | str, results: Sequence[Result]) -> list[Alternative]:
    other = Scoreboard.of(results)
    known = {metric.symbol: row for metric, row in zip(other.metrics, other.means(), strict=True)}
    found = []
    for metric, row in zip(board.metrics, board.means(), strict=True):
        if metric.symbol in known:
            sign = 1.0 if metric.direction == "up" else -1.0
            mean, usual = sign * float(known[metric.symbol].mean()), sign * float(row.mean())
            found.append(
                Alternative(setting, value, metric.symbol, kendall(row, known[metric.symbol]), mean, mean - usual)
            )
    return found
