"""Analyses of studies as one HTML file that needs no other file."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Sequence
from html import escape

from wayscore.errors import MissingPackageError
from wayscore.lab.study import report
from wayscore.lab.study.analysis import Analysis
from wayscore.lab.study.correlations import MAIN
from wayscore.lab.study.table1 import p_text
from wayscore.palette import css

STYLE = """
body { margin: 2rem auto; max-width: 62rem; padding: 0 1rem; color: var(--ink); background: var(--card);
  font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; }
.wide { overflow-x: auto; margin: 1rem 0; }
figure { margin: 1.5rem 0; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .875rem; }
th, td { padding: .3rem .6rem; text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
thead th { border-bottom: 1px solid var(--ink); } tbody td, tbody th { border-bottom: 1px solid var(--line); }
thead th.group { text-align: center; border-bottom: 0; }
.simulated { border: 2px solid var(--worse); color: var(--worse); padding: .6rem 1rem; font-weight: 600; }
.notes { color: var(--muted); font-size: .875rem; }
svg { width: 100%; height: auto; }
"""


def page(analyses: Sequence[Analysis]) -> str:
    """Return a page: Table 1, the figure if matplotlib is installed, effects, and the raters."""
    warned = [f'<p class="simulated" role="note">{escape(line)}</p>' for line in report.warnings(analyses)]
    parts = [
        "<h1>Which metric agrees with raters?</h1>",
        *warned,
        *(f"<p>{escape(report.scope(one))}</p>" for one in analyses),
        "<h2>Table 1</h2>",
        "<p>Number of rankings with which the study's metric correlates better / worse than each other metric. Ties "
        "are discarded.</p>",
        _table1(analyses),
        _figure(analyses),
    ]
    for one in analyses:
        parts += [
            f"<h2>{escape(one.study)}</h2>",
            _table(
                ["", "mean correlation", "95 % interval by set"],
                [
                    [metric, report.signed(found.mean), report.bounds(found)]
                    for metric, found in one.correlations.items()
                ],
            ),
            _table(
                [f"{MAIN[one.kind]} minus", *report.EFFECT_HEADS],
                [[effect.rival, *report.effect_cells(effect)] for effect in one.effects],
            ),
            _table(
                [f"{MAIN[one.kind]} minus", *report.TEST_HEADS],
                [[effect.rival, *report.test_cells(effect)] for effect in one.effects],
            ),
            *(f"<p>{escape(line)}</p>" for line in report.findings(one)),
            _raters(one),
        ]
    parts += [f'<p class="notes">{escape(line)}</p>' for line in report.notes(analyses)]
    title = "Simulated raters: study analysis" if warned else "Study analysis"
    return (
        '<!doctype html>\n<html lang="en" data-theme="light">\n<head>\n<meta charset="utf-8">\n'
        f"<title>{title}</title>\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<style>{css()}{STYLE}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(filter(None, parts))
        + "\n</main>\n</body>\n"
        "</html>\n"
    )


def _table1(analyses: Sequence[Analysis]) -> str:
    groups = "".join(
        f'<th class="group" scope="colgroup" colspan="{len(found)}">{kind} ({MAIN[kind]} vs)</th>'
        for kind, found in report.tables(analyses).items()
    )
    columns = [contest for found in report.tables(analyses).values() for contest in found]
    rows = [
        ["+/-", *(contest.counts for contest in columns)],
        ["sign test", *(p_text(contest.p) for contest in columns)],
    ]
    label = report.label(analyses)
    above = f'<tr><td></td><th class="group" colspan="{len(columns)}">{label}</th></tr>' if label else ""
    return _table(["", *(contest.rival for contest in columns)], rows, above=f"{above}<tr><td></td>{groups}</tr>")


def _raters(one: Analysis) -> str:
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
    table = _table(["rater", "rankings", "checks passed", "repeats", "consistency", "too fast"], rows)
    return f"<details><summary>Raters</summary>{table}</details>"


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
    image = image[image.index("<svg") :].replace("<svg", f'<svg role="img" aria-label="{_attribute(figure)}"', 1)
    return f"<figure>{image}</figure>"


def _attribute(figure: object) -> str:
    return escape(str(figure.get_label()), quote=True)  # type: ignore[attr-defined]


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]], above: str = "") -> str:
    head = "".join(f'<th scope="col">{escape(cell)}</th>' if cell else "<td></td>" for cell in heads)
    body = "".join(
        f'<tr><th scope="row">{escape(first)}</th>' + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>"
        for first, *cells in rows
    )
    table = f"<table><thead>{above}<tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div class="wide" tabindex="0">{table}</div>'
