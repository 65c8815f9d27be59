"""Directives about conventions and the evaluators that they follow, all read from the code."""

from __future__ import annotations

import inspect
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

from docs.building.tables import shown, symbol_of, table, words
from wayscore.convention import CHOICES, PAPER, Convention
from wayscore.convention.evaluator import proofs
from wayscore.convention.presets import CONVENTIONS, EVALUATORS
from wayscore.metrics import METRICS, Metric, find_metrics
from wayscore.metrics.evaluators import COLUMNS
from wayscore.metrics.extra import EXTRA
from wayscore.metrics.registry import KNOWN
from wayscore.report.conventions import describe, formula_of


def conventions(_: Path) -> str:
    """List all conventions, and how each differs from the paper."""
    rows = []
    for convention in CONVENTIONS.values():
        departures = convention.differences(PAPER)
        departures.pop("metrics", None)
        listed = [f"`{choice}` {shown(mine)}" for choice, (mine, _) in departures.items()]
        own = ", ".join(symbol_of(key) for key in convention.metrics if ":" in key)
        listed += [f"own columns: {own}"] if own else []
        rows.append((f"`{convention.name}`", convention.about, "<br>".join(listed) or "nothing"))
    return table(("convention", "evaluators", "differs from the paper in"), rows)


def choices(_: Path) -> str:
    """List all choices of a convention, with their values and who chooses them."""
    rows = []
    for choice, meaning in meanings().items():
        users: dict[Any, list[str]] = {value: [] for value in CHOICES.get(choice, ())}
        for convention in CONVENTIONS.values():
            users.setdefault(getattr(convention, choice), []).append(convention.name)
        listed = "<br>".join(
            f"{shown(value)}: {'the others' if value == getattr(PAPER, choice) else ', '.join(names) or 'none yet'}"
            for value, names in users.items()
        )
        rows.append((f"`{choice}`", meaning, listed))
    return table(("choice", "meaning", "conventions"), rows)


def meanings() -> dict[str, str]:
    """Return the meaning of each choice, from the docstring of `Convention`."""
    doc = inspect.getdoc(Convention) or ""
    listed = dict(re.findall(r"^    (\w+): (.*(?:\n {8}.*)*)", doc.partition("Attributes:\n")[2], re.MULTILINE))
    named = [field.name for field in fields(Convention) if field.name not in ("name", "about", "metrics")]
    return {name: " ".join(listed[name].split()) for name in named}


def evaluator(_: Path, name: str) -> str:
    """Say whose code a convention follows, how far that is proven, and which of its columns are which."""
    known, convention = EVALUATORS[name], CONVENTIONS[name]
    said = describe(convention)
    changes = said.pop("choices that differ from the paper", ["none"])
    said = {heading: "<br>".join(map(words, lines)) for heading, lines in said.items()}
    said["choices that differ from the paper"] = ", ".join(f"`{change}`" for change in changes)
    about = [f"- **{heading}**: {text}" for heading, text in said.items() if heading not in ("", "columns")]
    here = {metric.symbol: metric for metric in find_metrics(None, convention)}
    columns = [
        (f"`{theirs}`", _linked(symbol_of(key)), _formula(here[symbol_of(key)], convention))
        for theirs, key in known.columns.items()
    ]
    facts = "\n".join(about)
    head = ("evaluator's name", "wayscore's name", "formula")
    return f'{table(head, columns)}\n\n<div class="facts" markdown="1">\n{facts}\n</div>'


def records(_: Path) -> str:
    """List what evaluators take from runs and references beside the paths, by name."""
    users: dict[tuple[str, str], list[str]] = {}
    for convention, one in EVALUATORS.items():
        for name, meaning in one.takes.items():
            users.setdefault((name, meaning), []).append(f"`{convention}`")
    rows = [(f"`{name}`", words(meaning), ", ".join(names)) for (name, meaning), names in users.items()]
    return table(("name", "what it is", "conventions"), rows)


def own(_: Path) -> str:
    """List every column that an evaluator computes in its own way."""
    order = {symbol: place for place, symbol in enumerate(KNOWN)}
    keys = sorted({key for one in CONVENTIONS.values() for key in one.metrics} & set(COLUMNS))
    keys.sort(key=lambda key: order.get(symbol_of(key), len(order)))
    rows = [(f"`{key}`", COLUMNS[key].name, _formula(COLUMNS[key])) for key in keys]
    return table(("column", "name", "formula"), rows)


def proof(_: Path) -> str:
    """List what comparing each evaluator's own values with wayscore's came to."""
    found = proofs()
    rows = [
        (file, f"`{name}`", f"{found[file].values:,}", f"{found[file].worst:.1g}")
        for name, one in EVALUATORS.items()
        for file in one.golden
    ]
    total = f"{sum(one.values for one in found.values()):,}", f"{max(one.worst for one in found.values()):.1g}"
    rows.append(("**all**", "", *(f"**{value}**" for value in total)))
    head = ("values of", "convention", "values compared", "worst difference")
    return table(head, rows, right=head[2:])


def _formula(metric: Metric, convention: Convention = PAPER) -> str:
    """Return a formula as a page writes it; of a known metric, as the convention's choices change it."""
    text = formula_of(metric, convention)
    return words(text).replace("d&#95;th", "$d_th$") if ";" in text else f"${text}$"


def _linked(symbol: str) -> str:
    """Return the symbol of a metric with a link to where it is explained, from a page of the first level."""
    if symbol in METRICS:
        return f"[{symbol}](metrics/{symbol.lower()}.md)"
    return f"[{symbol}](metrics/extra.md#{symbol.lower()})" if symbol in EXTRA else symbol
