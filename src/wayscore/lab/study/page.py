"""Analyses of studies as one HTML file that needs no other file."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Sequence
from html import escape

from wayscore.errors import MissingPackageError
from wayscore.lab.study import report, table1
from wayscore.lab.study.analysis import Analysis
from wayscore.palette import css
from wayscore.report.document import Document, Part, Table

STYLE = """
body { margin: 2rem auto; max-width: 62rem; padding: 0 1rem; color: var(--ink); background: var(--card);
  font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; }
figure { margin: 1.5rem 0; }
table { font-variant-numeric: tabular-nums; font-size: .875rem; }
.simulated { border: 2px solid var(--worse); color: var(--worse); padding: .6rem 1rem; font-weight: 600; }
svg { width: 100%; height: auto; }
"""


def page(analyses: Sequence[Analysis]) -> str:
    """Return a page: Table 1, the figure if matplotlib is installed, effects, and the raters."""
    warned = [f'<p class="simulated" role="note">{escape(line)}</p>' for line in report.warnings(analyses)]
    tables = table1.tables(report.tables(analyses), above=report.label(analyses))
    parts = [
        "<h1>Which metric agrees with raters?</h1>",
        *warned,
        _html(map(report.scope, analyses)),
        "<h2>Table 1</h2>",
        _html([report.TABLE_1, *tables]),
        _figure(analyses),
    ]
    for one in analyses:
        parts += [f"<h2>{escape(one.study)}</h2>", _html([*report.study_tables(one), *report.findings(one)])]
        parts += ["<details><summary>Raters</summary>", _html([_raters(one)]), "</details>"]
    title = "Simulated raters: study analysis" if warned else "Study analysis"
    return (
        '<!doctype html>\n<html lang="en" data-theme="light">\n<head>\n<meta charset="utf-8">\n'
        f"<title>{title}</title>\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<style>{css()}{STYLE}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(filter(None, [*parts, _html(report.notes(analyses))]))
        + "\n</main>\n</body>\n"
        "</html>\n"
    )


def _html(parts: Iterable[Part]) -> str:
    return Document([*parts]).render("html")


def _raters(one: Analysis) -> Table:
    rows = [
        [
            rater,
            str(care.rankings),
            f"{care.passed}/{care.checks}",
            str(care.repeats),
            report.signed(care.consistency),
            str(one.haste.fast.get(rater, 0)) if one.haste.timed else "–",
        ]
        for rater, care in one.care.items()
    ]
    return Table(["rater", "rankings", "checks passed", "repeats", "consistency", "too fast"], rows)


def _figure(analyses: Sequence[Analysis]) -> str:
    """Return the figure as SVG, or an empty text if matplotlib is not installed."""
    from wayscore.lab.study.figures import figure_study

    try:
        figure = figure_study(analyses)
    except MissingPackageError:
        return ""
    from wayscore.figures.style import style

    drawn = io.StringIO()
    with style():
        figure.savefig(drawn, format="svg", metadata={"Date": None, "Creator": None})
    image = re.sub("<metadata>.*</metadata>", "", drawn.getvalue(), flags=re.DOTALL)
    label = escape(str(figure.get_label()))
    image = image[image.index("<svg") :].replace("<svg", f'<svg role="img" aria-label="{label}"', 1)
    return f"<figure>{image}</figure>"
