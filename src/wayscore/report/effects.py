"""What two conventions do differently, in words, and what that does to the numbers of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from wayscore.report.layout import counted, head, headline_first, number
from wayscore.report.terminal import DEFAULT_WIDTH, TextPage, TextTable

if TYPE_CHECKING:
    from wayscore.convention import Convention
    from wayscore.evaluation.effects import Effects
    from wayscore.metrics import Metric


def differences(first: Convention, second: Convention) -> dict[str, str]:
    """Return by choice what two conventions do differently, in words."""

    def text(value: object) -> str:
        return (", ".join(map(str, value)) or "all") if isinstance(value, tuple) else str(value)

    return {
        choice: f"{choice}: {first.name} {text(here)}, {second.name} {text(there)}"
        for choice, (here, there) in first.differences(second).items()
    }


def render_effects(found: Effects, words: Mapping[str, str], width: int = DEFAULT_WIDTH, color: bool = False) -> str:
    """Return the choices that change a mean of a run, a table of those means, and how many choices change nothing.

    Args:
        found: what the choices do.
        words: by choice, what the conventions do differently (see `differences`).
        width: columns of the terminal.
        color: whether it has colours.
    """
    page = TextPage(width, color)
    kept = found.changing()
    labels = [label for label, _ in kept.rows()]
    columns = [(head(metric), *_apart(metric, kept)) for metric in headline_first(kept.metrics)]

    def table(some: Sequence[Sequence[str]]) -> TextTable:
        heads, *rows = zip(["", *labels], *some, strict=True)
        return TextTable(heads, space=2, rows=[*rows])

    if columns:
        page.add(*(words["metrics" if choice == "columns" else choice] for choice in kept.choices), "")
        page.add_apart([*page.blocks(columns, table)])
        page.add("")
    silent = [choice for choice in found.choices if choice not in kept.choices]
    if silent:
        change = "changes" if len(silent) == 1 else "change"
        page.add(f"{counted(len(silent), 'choice')} {change} no number of this run: {', '.join(silent)}.")
    elif not columns:
        page.add("No number of this run changes.")
    return str(page)


def _apart(metric: Metric, found: Effects) -> list[str]:
    """Return the means of a metric with as many decimals as tell different ones apart."""
    means = [means[metric.symbol] for _, means in found.rows()]
    different = len({None if mean is None else round(mean, 9) for mean in means})
    for more in range(7):
        texts = [number(metric, mean, more=more) for mean in means]
        if len({*texts}) == different:
            break
    return texts
