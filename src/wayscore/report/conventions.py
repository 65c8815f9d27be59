"""Conventions in words: whose they are, how far proven, their columns and choices, and what two do differently."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from wayscore.convention.choices import PAPER, Convention
from wayscore.convention.evaluator import Evaluator, proof_of
from wayscore.convention.presets import EVALUATORS
from wayscore.metrics.base import Metric
from wayscore.metrics.registry import KNOWN, find_metrics
from wayscore.report.document import Document, Part, Table
from wayscore.report.layout import HEADLINE, counted, head, number

if TYPE_CHECKING:
    from wayscore.evaluation.comparison import Effects


def describe(convention: Convention) -> dict[str, list[str]]:
    """Return what there is to know of a convention: lines by heading, only headings that have some.

    >>> describe(EVALUATORS["r4r-hops"].convention)["choices that differ from the paper"]
    ['distance: hops']
    """
    known = to_dict(convention)
    columns = []
    for column in known["columns"]:
        names = ", ".join(name for name in column["names"] if name != column["symbol"])
        columns.append(f"{column['symbol']} = {column['formula']}{names and f'  (its name: {names})'}")
    unmatched = [f"{column} is not matched: {why}" for column, why in known["unmatched"].items()]
    changes = convention.differences(PAPER).items()
    found = {
        "": [f"{convention.name}: {convention.about}"],
        "follows": [known["source"]],
        "the same in": known["copies"],
        "proven": [known["proven"]],
        "also needs from the run or the references": [f"{name}: {text}" for name, text in known["takes"].items()],
        "where wayscore differs": [known["instead"], *unmatched],
        "columns": columns,
        "choices that differ from the paper": [f"{name}: {mine}" for name, (mine, _) in changes if name != "metrics"],
    }
    return {heading: [*filter(None, lines)] for heading, lines in found.items() if any(lines)}


def to_dict(convention: Convention) -> dict[str, Any]:
    """Return the same for programs: every choice, and null for what is not known of a convention of your own."""
    known = EVALUATORS.get(convention.name)
    if known is None or known.convention != convention:  # its choices were changed
        known = Evaluator(convention, "", {})
    theirs: dict[str, list[str]] = {}
    for name, symbol in known.names.items():
        theirs.setdefault(symbol, []).append(name)
    choices = asdict(convention)
    choices.pop("metrics")
    return {
        "name": choices.pop("name"),
        "about": choices.pop("about"),
        "source": known.source or None,
        "proven": proof_of(known) if EVALUATORS.get(convention.name) is known else None,
        "copies": list(known.copies),
        "choices": choices,
        "columns": [
            {"symbol": metric.symbol, "formula": formula_of(metric, convention), "names": theirs.get(metric.symbol, [])}
            for metric in find_metrics(None, convention)
        ],
        "takes": dict(known.takes),
        "instead": known.instead or None,
        "unmatched": dict(known.unmatched),
    }


def formula_of(metric: Metric, convention: Convention = PAPER) -> str:
    """Return the formula of a metric; of a known one, as the convention's choices change it.

    >>> formula_of(KNOWN["SPL"], EVALUATORS["duet"].convention)
    'SR * PL(R) / max(PL, PL(R), 0.01)'
    """
    text = metric.formula
    if KNOWN.get(metric.symbol) is metric:
        if metric.symbol == "SPL":
            length = "PL(R)" if convention.spl_length == "reference" else "d(q_1, r_|R|)"
            floor = f", {convention.spl_floor:g}" if convention.spl_floor else ""
            text = f"SR * {length} / max(PL, {length}{floor})"
        if convention.goal == "set":
            text = {"SR": "1[q_|Q| is a goal]", "OSR": "1[some q is a goal]"}.get(metric.symbol, text)
        if convention.goal == "nearest":
            text = text.replace("r_|R|", "goal")
        text = text.replace("<=", convention.comparison)
    return text


def differences(first: Convention, second: Convention) -> dict[str, str]:
    """Return by choice what two conventions do differently, in words."""

    def text(value: object) -> str:
        return (", ".join(map(str, value)) or "all") if isinstance(value, tuple) else str(value)

    return {
        choice: f"{choice}: {first.name} {text(here)}, {second.name} {text(there)}"
        for choice, (here, there) in first.differences(second).items()
    }


def effects_document(found: Effects, words: Mapping[str, str]) -> Document:
    """Return the choices that change a mean of a run, a table of those means, and how many choices change nothing.

    `words` say by choice what the conventions do differently (see `differences`).
    """
    kept = found.changing()
    metrics = sorted(kept.metrics, key=lambda metric: (*HEADLINE, metric.symbol).index(metric.symbol))
    parts: list[Part] = []
    if metrics:
        parts += [words["metrics" if choice == "columns" else choice] for choice in kept.choices]
        rows = zip([label for label, _ in kept.rows()], *(_apart(metric, kept) for metric in metrics), strict=True)
        parts.append(Table(["", *map(head, metrics)], [*rows]))
    silent = [choice for choice in found.choices if choice not in kept.choices]
    if silent:
        change = "changes" if len(silent) == 1 else "change"
        parts.append(f"{counted(len(silent), 'choice')} {change} no number of this run: {', '.join(silent)}.")
    elif not metrics:
        parts.append("No number of this run changes.")
    return Document(parts)


def _apart(metric: Metric, found: Effects) -> list[str]:
    """Return the means of a metric with as many decimals as tell different ones apart."""
    means = [means[metric.symbol] for _, means in found.rows()]
    different = len({None if mean is None else round(mean, 9) for mean in means})
    for more in range(7):
        texts = [number(metric, mean, more=more) for mean in means]
        if len({*texts}) == different:
            break
    return texts
