"""Parts of pages that are computed: a line `<!-- name words -->` of a page becomes what the function `name` returns.

Facts of metrics and conventions are read from the code, so that they are typed once.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any

from wayscore.convention import CHOICES, PAPER, Convention
from wayscore.convention.presets import CONVENTIONS
from wayscore.metrics import METRICS, Metric, find_metrics
from wayscore.metrics.extra import EXTRA
from wayscore.metrics.registry import KNOWN
from wayscore.metrics.trajectory import TRAJECTORY
from wayscore.report.layout import number

DIRECTIVE = re.compile(r"^<!-- ([a-z]+)((?: [\w-]+)*) -->$", re.MULTILINE)
UNITS = {"m": "metres", "": "no unit; tables print it as a percentage", "moves": "moves"}
WORTH = {"up": "higher is better", "down": "lower is better", None: "neither high nor low is better"}

RUNS: dict[str, tuple[str, str, str | None, float, tuple[str, ...]]] = {
    # run, references, graphs, the paper's threshold, conventions that apply
    "nodes": (
        "results.json",
        "R2R_val_unseen.json",
        "connectivity",
        3.0,
        ("paper", "r4r", "r4r-hops", "r2r", "envdrop", "duet", "valan"),
    ),
    "dialogs": ("ndh_results.json", "NDH_val_unseen.json", "connectivity", 3.0, ("paper", "cvdn", "cvdn-hamt")),
    "objects": (
        "reverie_results.json",
        "REVERIE_val_unseen.json",
        "connectivity",
        3.0,
        ("paper", "reverie", "reverie-duet"),
    ),
    "rooms": (
        "predictions.json",
        "val_unseen.json.gz",
        None,
        3.0,
        ("paper", "vlnce", "vlnce-exact", "etpnav", "cwp", "navid", "streamvln", "internnav-h", "habitat"),
    ),
    "plane": ("walked.jsonl", "rooms.jsonl", None, 3.0, ("paper", "internnav-pe")),
    "streets": (
        "touchdown_results.json",
        "touchdown_test.json",
        "streets",
        2.0,
        ("paper", "touchdown-vlnt", "touchdown-valan"),
    ),
    "flights": ("flown.jsonl", "flights.jsonl", None, 20.0, ("paper", "aerialvln", "openfly", "citynav")),
}
"""The run of the examples in several formats, and the conventions that are meant for each."""
READERS = {"objects": {"objects": "BBoxes.json"}}
Means = dict[str, dict[str, "float | None"]]
"""By convention and metric."""
COLUMNS = ("PL", "NE", "ONE", "SR", "OSR", "SPL", "SED", "CLS", "nDTW", "SDTW")


def expand(text: str, folder: Path) -> str:
    """Return a page's text with its directives carried out; `folder` holds the examples' files."""

    def carry_out(match: re.Match[str]) -> str:
        name, words = match[1], match[2].split()
        if name not in DIRECTIVES:
            raise ValueError(f"there is no directive {name!r}; there are {', '.join(DIRECTIVES)}")
        return DIRECTIVES[name](folder, *words)

    return DIRECTIVE.sub(carry_out, text)


def every_metric() -> dict[str, Metric]:
    """Return all metrics, by symbol."""
    return dict(KNOWN)


def facts(_: Path, symbol: str) -> str:
    """Say what a metric is: name, formula, unit, bounds and direction."""
    metric = every_metric()[symbol]
    line = f"{UNITS[metric.unit]} · {bounds(metric)} · {WORTH[metric.direction]}"
    return f'<div class="facts">\n<p><b>{metric.name}</b></p>\n$${metric.formula}$$\n<p>{line}</p>\n</div>'


def bounds(metric: Metric) -> str:
    """Say in words between which values a metric lies."""
    low, high = ("−∞" if x == -math.inf else "∞" if x == math.inf else f"{x:g}" for x in metric.bounds)
    return f"from {low} to {high}"


def metrics(_: Path) -> str:
    """List all metrics of the paper, with links to their pages."""
    rows = [
        (f"[{m.symbol}]({m.symbol.lower()}.md)", m.name, f"${m.formula}$", m.unit or "%", _arrow(m))
        for m in METRICS.values()
    ]
    return _table(("metric", "name", "formula", "unit", "better"), rows)


def extras(_: Path) -> str:
    """List the metrics that evaluators print beside the paper's."""
    return _by_name_only(EXTRA.values())


def trajectories(_: Path) -> str:
    """List the measures of trajectories."""
    return _by_name_only(TRAJECTORY.values())


def _by_name_only(metrics: Iterable[Metric]) -> str:
    rows = [(f"[{m.symbol}](#{m.symbol.lower()})", m.name, f"${m.formula}$", m.unit or "%", _arrow(m)) for m in metrics]
    return _table(("metric", "name", "formula", "unit", "better"), rows)


def conventions(_: Path) -> str:
    """List all conventions, and how each differs from the paper."""
    rows = []
    for convention in CONVENTIONS.values():
        departures = convention.differences(PAPER)
        departures.pop("metrics", None)
        listed = "<br>".join(f"`{choice}` {_text(mine)}" for choice, (mine, _) in departures.items())
        rows.append((f"`{convention.name}`", convention.about, listed or "nothing"))
    return _table(("convention", "whose it is", "differs from the paper in"), rows)


def choices(_: Path) -> str:
    """List all choices of a convention, with their values and who chooses them."""
    rows = []
    for choice, meaning in meanings().items():
        users: dict[Any, list[str]] = {value: [] for value in CHOICES.get(choice, ())}
        for convention in CONVENTIONS.values():
            users.setdefault(getattr(convention, choice), []).append(convention.name)
        listed = "<br>".join(
            f"{_text(value)}: {'the others' if value == getattr(PAPER, choice) else ', '.join(names) or 'none yet'}"
            for value, names in users.items()
        )
        rows.append((f"`{choice}`", meaning, listed))
    return _table(("choice", "meaning", "conventions"), rows)


def meanings() -> dict[str, str]:
    """Return the meaning of each choice, from the docstring of `Convention`."""
    doc = inspect.getdoc(Convention) or ""
    listed = dict(re.findall(r"^    (\w+): (.*(?:\n {8}.*)*)", doc.partition("Attributes:\n")[2], re.MULTILINE))
    named = [field.name for field in fields(Convention) if field.name not in ("name", "about", "metrics")]
    return {name: " ".join(listed[name].split()) for name in named}


def scores(folder: Path, kind: str) -> str:
    """Score the run of the examples, in one of its formats, by every convention that is meant for it."""
    means = scored(folder, kind)
    paper = means["paper"]
    rows = []
    for name, found in means.items():
        printed = CONVENTIONS[name].metrics or tuple(METRICS)
        cells = [_cell(symbol, found, paper, printed) for symbol in COLUMNS]
        others = ", ".join(f"{symbol} {_number(symbol, found)}" for symbol in printed if symbol in EXTRA)
        rows.append((f"`{name}`", *cells, others))
    head = ("convention", *COLUMNS, "also prints")
    if not any(row[-1] for row in rows):
        head, rows = head[:-1], [row[:-1] for row in rows]
    return _table(head, rows, right=COLUMNS)


@cache
def scored(folder: Path, kind: str) -> Means:
    """Return means by convention, of all metrics that the table shows or the evaluator prints."""
    import wayscore as ws

    run, file, graphs, threshold, names = RUNS[kind]
    references = ws.load_references(folder / file, **{k: folder / v for k, v in READERS.get(kind, {}).items()})
    where = None if graphs is None else folder / graphs
    found = {}
    for name in names:
        wanted = list(dict.fromkeys((*COLUMNS, *CONVENTIONS[name].metrics)))
        of_paper = threshold if name == "paper" else None
        result = ws.evaluate(folder / run, references, where, convention=name, metrics=wanted, threshold=of_paper)
        found[name] = result.means()
    return found


def rewards(_: Path) -> str:
    """List the reward functions."""
    from wayscore.navigation.reward_functions import REWARDS

    return _table(("name", "whose, and what it gives"), [(f"`{one.name}`", one.about) for one in REWARDS.values()])


def commands(_: Path) -> str:
    """Explain every verb of the command with its arguments and options."""
    import click

    from wayscore.cli.app import app

    return "\n\n".join(_verbs(app, click.Context(app, info_name="wayscore"), 2))


def _verbs(group: Any, context: Any, level: int) -> list[str]:
    import click

    found = []
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        inner = click.Context(command, info_name=name, parent=context)
        found += [f"{'#' * level} `{inner.command_path}`", inspect.cleandoc(command.help or "")]
        if isinstance(command, click.Group):
            found += _verbs(command, inner, level + 1)
            continue
        found.append(_code(f"{inner.command_path} {' '.join(command.collect_usage_pieces(inner))}", "text"))
        for section, rows in _sections(command, inner).items():
            found.append(_table((section, "", "default"), rows))
        if command.examples:
            found += ["For example:", _code("\n".join(command.examples), "sh")]
    return found


def _code(text: str, language: str) -> str:
    return f"```{language}\n{text}\n```"


def _sections(command: Any, context: Any) -> dict[str, list[tuple[str, str, str]]]:
    """Return the arguments and options of a verb, in the sections of its help."""
    found: dict[str, list[tuple[str, str, str]]] = {}
    for param in command.params:
        if param.param_type_name == "argument":
            found.setdefault("Arguments", []).append((f"`{param.shown}`", param.about, ""))
            continue
        names, text = param.get_help_record(context)
        text, _, default = text.partition("  [")
        default = default.rstrip("]").partition(";")[0].removeprefix("default: ")
        found.setdefault(param.section, []).append((f"`{names}`", text, default and f"`{default}`"))
    return found


def _cell(symbol: str, found: dict[str, float | None], paper: dict[str, float | None], printed: Sequence[str]) -> str:
    shown, usual = _number(symbol, found), _number(symbol, paper)
    text = shown if shown == usual else f"**{shown}**"
    return text if symbol in printed else f'<span class="unprinted">{text}</span>'


def _number(symbol: str, found: dict[str, float | None]) -> str:
    return number(find_metrics([symbol])[0], found[symbol])


def _arrow(metric: Metric) -> str:
    return {"up": "↑", "down": "↓", None: ""}[metric.direction]


def _text(value: Any) -> str:
    return f"`{value}`" if isinstance(value, str) else f"{value:g}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[str] = ()) -> str:
    lines = [head, ["---:" if name in right else "---" for name in head], *rows]
    return "\n".join("| " + " | ".join(_escaped(cell) for cell in line) + " |" for line in lines)


def _escaped(cell: str) -> str:
    """Return a cell whose bars do not end it; those of formulas are gone before tables are read."""
    return re.sub(r"\$[^$]*\$|\|", lambda match: "\\|" if match[0] == "|" else match[0], cell)


DIRECTIVES: dict[str, Callable[..., str]] = {
    directive.__name__: directive
    for directive in (facts, metrics, extras, trajectories, conventions, choices, scores, rewards, commands)
}
