"""render: results and comparisons in one of several forms, of which only the one that is wanted is imported."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from wayscore.errors import OptionError, did_you_mean
from wayscore.metrics.registry import paper_symbol
from wayscore.report.layout import metrics_of

if TYPE_CHECKING:
    from wayscore.evaluation.comparison import Comparison
    from wayscore.evaluation.result import Result

FORMS = ("text", "json", "csv", "markdown", "latex", "html")


def render(
    results: Sequence[Result],
    form: str,
    *,
    width: int | None = None,
    color: bool = False,
    split_by: str | None = None,
    sort: str | None = None,
) -> str:
    """Return results in one of the forms `FORMS`.

    Args:
        results: one or more.
        form: "text" for a terminal, "json" and "csv" for programs, "markdown", "latex", "html" for notebooks.
        width: columns of the terminal, for text.
        color: whether it has colours, for text.
        split_by: also give the means of groups of episodes: by "scan", "length" of the reference, or "path".
        sort: list runs by this metric, the best first.
    """
    check_form(form)
    if not results:
        raise OptionError("there is no result to render; give at least one")
    listed = results if sort is None else sort_results(results, sort)
    if form == "text":
        from wayscore.report import text

        return text.render(listed, split_by=split_by, width=width, color=color)
    if form in ("json", "csv"):
        from wayscore.report import records

        return (records.render_json if form == "json" else records.render_csv)(listed, split_by=split_by)
    from wayscore.report import html, latex, markdown

    return {"markdown": markdown.render, "latex": latex.render, "html": html.render}[form](listed, split_by=split_by)


def render_comparison(comparison: Comparison, form: str, *, width: int | None = None, color: bool = False) -> str:
    """Return a comparison in one of the forms `FORMS`; width and colour concern text only."""
    check_form(form)
    if form == "text":
        from wayscore.report import text

        return text.render_comparison(comparison, width=width, color=color)
    from wayscore.report import html, latex, markdown, records

    return {
        "json": records.comparison_json,
        "csv": records.comparison_csv,
        "markdown": markdown.render_comparison,
        "latex": latex.render_comparison,
        "html": html.render_comparison,
    }[form](comparison)


def check_form(form: str) -> None:
    """Refuse a form that does not exist."""
    if form not in FORMS:
        raise OptionError(f"there is no format {form!r}{did_you_mean(form, FORMS) or '.'} Known: {', '.join(FORMS)}")


def sort_results(results: Sequence[Result], metric: str) -> list[Result]:
    """Return results with the best of a metric first, by any name of it; undefined means come last."""
    known = metrics_of(results)
    names = {name.lower() for name in (metric, paper_symbol(metric)) if name is not None}
    found = next((one for one in known if one.symbol.lower() in names), None)
    if found is None:
        symbols = [one.symbol for one in known]
        raise OptionError(
            f"<<sort>> must be a metric of these results, not {metric!r}{did_you_mean(metric, symbols) or '.'} "
            f"They have: {', '.join(symbols)}"
        )
    sign = 1.0 if found.direction == "down" else -1.0

    def key(result: Result) -> float:
        mean = result.means().get(found.symbol)
        return math.inf if mean is None else sign * mean

    return sorted(results, key=key)
