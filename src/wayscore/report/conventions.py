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
from wayscore.report.layout import counted, head, headline_first, number

if TYPE_CHECKING:
    from wayscore.evaluation.comparison import Effects


def describe(convention: Convention) -> dict[str, list[str]]:
    """Return what there is to know of a convention: lines by heading, only headings that have some.

    >>> describe(EVALUATORS["r4r-hops"].convention)["choices that differ from the paper"]
    ['distance: hops']
    """
    known, theirs = _evaluator(convention)
    changes = convention.differences(PAPER)
    changes.pop("metrics", None)
    columns = []
    for metric in find_metrics(None, convention):
        names = ", ".join(name for name in theirs.get(metric.symbol, ()) if name != metric.symbol)
        columns.append(f"{metric.symbol} = {formula_of(metric, convention)}{names and f'  (its name: {names})'}")
    found = {"": [f"{convention.name}: {convention.about}"]}
    if known is not None:
        unmatched = [f"{column} is not matched: {why}" for column, why in known.unmatched.items()]
        found |= {
            "follows": [known.source],
            "the same in": [*known.copies],
            "proven": [proof_of(known)],
            "also needs from the run or the references": [f"{name}: {text}" for name, text in known.takes.items()],
            "where wayscore differs": [known.instead, *unmatched],
        }
    found["columns"] = columns
    found["choices that differ from the paper"] = [f"{choice}: {mine}" for choice, (mine, _) in changes.items()]
    return {heading: [*filter(None, lines)] for heading, lines in found.items() if any(lines)}


def to_dict(convention: Convention) -> dict[str, Any]:
    """Return the same for programs: every choice, and null for what is not known of a convention of your own."""
    known, theirs = _evaluator(convention)
    choices = asdict(convention)
    named = {name: choices.pop(name) for name in ("name", "about")}
    choices.pop("metrics")
    return {
        **named,
        "source": known.source if known is not None and known.source else None,
        "proven": None if known is None else proof_of(known),
        "copies": [] if known is None else [*known.copies],
        "choices": choices,
        "columns": [
            {"symbol": metric.symbol, "formula": formula_of(metric, convention), "names": theirs.get(metric.symbol, [])}
            for metric in find_metrics(None, convention)
        ],
        "takes": {} if known is None else dict(known.takes),
        "instead": None if known is None or not known.instead else known.instead,
        "unmatched": {} if known is None else dict(known.unmatched),
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


def _evaluator(convention: Convention) -> tuple[Evaluator | None, dict[str, list[str]]]:
    """Return the program that a convention follows, unless its choices were changed, and its names of our columns."""
    known = EVALUATORS.get(convention.name)
    if known is None or known.convention != convention:
        return None, {}
    theirs: dict[str, list[str]] = {}
    for name, symbol in known.names.items():
        theirs.setdefault(symbol, []).append(name)
    return known, theirs


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

    Args:
        found: what the choices do.
        words: by choice, what the conventions do differently (see `differences`).
    """
    kept = found.changing()
    parts: list[Part] = []
    if kept.metrics:
        parts += [words["metrics" if choice == "columns" else choice] for choice in kept.choices]
        columns = [_apart(metric, kept) for metric in headline_first(kept.metrics)]
        rows = [*zip([label for label, _ in kept.rows()], *columns, strict=True)]
        parts.append(Table(["", *map(head, headline_first(kept.metrics))], rows))
    silent = [choice for choice in found.choices if choice not in kept.choices]
    if silent:
        change = "changes" if len(silent) == 1 else "change"
        parts.append(f"{counted(len(silent), 'choice')} {change} no number of this run: {', '.join(silent)}.")
    elif not kept.metrics:
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
