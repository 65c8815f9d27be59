"""Parts of pages that are computed: a line `<!-- name words -->` of a page becomes what the function `name` returns.

Facts of metrics and conventions are read from the code, so that they are typed once.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from docs.building.agents import agents
from docs.building.audits import claims, experiments, figures, ranked, scope, thresholds, told
from docs.building.evaluators import choices, conventions, evaluator, meanings, own, proof, records
from docs.building.scores import RUNS, scores
from docs.building.speed import circumstances, speed
from docs.building.tables import table
from wayscore.metrics import METRICS, Metric
from wayscore.metrics.extra import EXTRA, TRAJECTORY
from wayscore.metrics.registry import KNOWN

__all__ = ["DIRECTIVE", "RUNS", "every_metric", "expand", "meanings"]

DIRECTIVE = re.compile(r"^<!-- ([a-z]+)((?: [\w-]+)*) -->$", re.MULTILINE)
UNITS = {"m": "metres", "": "no unit; tables print it as a percentage"}
WORTH = {"up": "higher is better", "down": "lower is better", None: "neither high nor low is better"}


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
    line = f"{UNITS.get(metric.unit, metric.unit)} · {bounds(metric)} · {WORTH[metric.direction]}"
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
    return table(("metric", "name", "formula", "unit", "better"), rows)


def extras(_: Path) -> str:
    """List the metrics that evaluators print beside the paper's."""
    return _by_name_only(EXTRA.values())


def trajectories(_: Path) -> str:
    """List the measures of trajectories."""
    return _by_name_only(TRAJECTORY.values())


def _by_name_only(metrics: Iterable[Metric]) -> str:
    rows = [(f"[{m.symbol}](#{m.symbol.lower()})", m.name, f"${m.formula}$", m.unit or "%", _arrow(m)) for m in metrics]
    return table(("metric", "name", "formula", "unit", "better"), rows)


def rewards(_: Path) -> str:
    """List the reward functions."""
    from wayscore.rewards.rewards import REWARDS

    return table(
        ("name", "who uses it: reward of a move; reward at the end"),
        [(f"`{one.name}`", one.about) for one in REWARDS.values()],
    )


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
            found.append(table((section, "", "default"), rows))
        if command.epilog:
            found += ["For example:", _code(command.epilog, "sh")]
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


def _arrow(metric: Metric) -> str:
    return {"up": "↑", "down": "↓", None: ""}[metric.direction]


DIRECTIVES: dict[str, Callable[..., str]] = {
    directive.__name__: directive
    for directive in (
        facts,
        metrics,
        extras,
        trajectories,
        conventions,
        choices,
        evaluator,
        records,
        own,
        proof,
        scores,
        rewards,
        commands,
        speed,
        circumstances,
        agents,
        claims,
        experiments,
        figures,
        ranked,
        scope,
        thresholds,
        told,
    )
}
