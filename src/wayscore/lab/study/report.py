"""What analyses of studies say: as text, JSON, LaTeX, and as one HTML file that needs no other file."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Sequence
from html import escape

from wayscore.errors import MissingPackageError, OptionError
from wayscore.lab.study import table1
from wayscore.lab.study.analysis import FEW, Analysis, total_care
from wayscore.lab.study.correlations import MAIN
from wayscore.lab.study.table1 import Contest, Table1, p_text
from wayscore.palette import css
from wayscore.report.document import Document, Line, Part, Table
from wayscore.report.layout import counted
from wayscore.statistics import Interval

METHODS = {"spearman": "Spearman's rho", "kendall": "Kendall's tau-b", "pearson": "Pearson's r of values with ranks"}
TABLE_1 = "Table 1: rankings with which the study's metric correlates better / worse than another; ties discarded."
EFFECT_HEADS = ("mean", "95 % by rater", "95 % by set", "d_z", "P(better)", "p (sign, Holm)", "p (swap)")
RATER_HEADS = ("rater", "rankings", "checks passed", "repeats", "consistency", "too fast")
SIMULATED = "simulated raters"
STYLE = """
body { margin: 2rem auto; max-width: 62rem; padding: 0 1rem; color: var(--ink); background: var(--card);
  font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; }
figure { margin: 1.5rem 0; }
table { font-variant-numeric: tabular-nums; font-size: .875rem; }
.simulated { border: 2px solid var(--worse); color: var(--worse); padding: .6rem 1rem; font-weight: 600; }
svg { width: 100%; height: auto; }
"""


def tables(analyses: Sequence[Analysis]) -> Table1:
    """Return Table 1 of several analyses, which must be of different kinds."""
    found: dict[str, Sequence[Contest]] = {}
    for one in analyses:
        if one.kind in found:
            raise OptionError(f"two of the studies are {one.kind}; analyze each of them separately")
        found[one.kind] = one.contests
    return found  # type: ignore[return-value]


def document(analyses: Sequence[Analysis]) -> Document:
    """Return Table 1, and for each study correlations, effects, tests and what is known about its raters."""
    parts: list[Part] = [*(Line(warning, "bold") for warning in warnings(analyses)), *map(scope, analyses)]
    parts += [Line(TABLE_1, "dim"), *table1.tables(tables(analyses), above=label(analyses))]
    for one in analyses:
        parts += [Line(one.study, "bold"), *study_tables(one), *findings(one)]
    parts += [Line(note, "dim") for note in notes(analyses)]
    return Document(parts, data=[[one.to_dict() for one in analyses]])


def study_tables(one: Analysis) -> list[Table]:
    """Return the correlation of each metric with the rankings, and how far the study's metric is ahead of each."""
    means = [[metric, signed(found.mean), bounds(found)] for metric, found in one.correlations.items()]
    effects = [
        [
            effect.rival,
            signed(effect.mean),
            "–" if effect.by_rater is None else bounds(effect.by_rater),
            bounds(effect.by_set),
            signed(effect.d_z),
            "–" if effect.superiority is None else f"{effect.superiority:.2f}",
            p_text(effect.p_holm),
            p_text(effect.p_swap),
        ]
        for effect in one.effects
    ]
    return [
        Table(["metric", "mean correlation", "95 % interval by set"], means),
        Table([f"{MAIN[one.kind]} minus", *EFFECT_HEADS], effects),
    ]


def label(analyses: Sequence[Analysis]) -> str:
    """Return the line above a table: empty, or that some of its raters are simulated."""
    return SIMULATED if any(one.simulated for one in analyses) else ""


def warnings(analyses: Sequence[Analysis]) -> list[str]:
    """Return the warnings about simulated rankings, each once."""
    return list(dict.fromkeys(one.warning() for one in analyses if one.warning()))


def scope(one: Analysis) -> str:
    """Return what was analyzed, in a sentence."""
    return (
        f"{one.kind}: {counted(one.rankings, 'ranking')} of {counted(one.sets, 'set')} by "
        f"{counted(one.raters, 'simulated rater' if one.simulated == one.rankings else 'rater')}; "
        f"{METHODS[one.method]}; d_th = {one.threshold:.2f} m."
    )


def findings(one: Analysis) -> list[str]:
    """Return what is known about the raters, in sentences."""
    lines = []
    agreement = one.agreement
    if agreement.sets:
        alpha = "" if agreement.alpha is None else f", Krippendorff's alpha {agreement.alpha:.2f} (ordinal)"
        w = "" if agreement.w is None else f"Kendall's W {agreement.w:.2f}, "
        lines.append(
            f"Agreement on {counted(agreement.sets, 'set')} with {agreement.raters:.1f} raters each: {w}"
            f"mean rho of two raters {agreement.spearman:+.2f}{alpha}."
        )
    else:
        lines.append("Agreement between raters is unknown: no set was ranked by two raters.")
    care = total_care(one.care)
    if care.repeats:
        lines.append(
            f"Consistency on {counted(care.repeats, 'repeat')}: mean rho {one.consistency:+.2f}, same best path in "
            f"{care.same_best}."
        )
    if care.checks:
        lines.append(f"Attention: {care.passed} of {counted(care.checks, 'check')} passed.")
    if one.left_out:
        lines.append(f"Inattentive raters: {', '.join(one.left_out)}.")
    if one.attentive:
        lines.append(f"Table 1 without inattentive raters: {_in_line(one.attentive)}.")
    haste = one.haste
    if haste.timed:
        raters = ", ".join(f"rater {rater}: {count}" for rater, count in haste.fast.items())
        lines.append(
            f"Too fast (less than {haste.least:g} s for a set): {haste.count:,} of {haste.timed:,} answers with a time"
            f"{f' ({raters})' if raters else ''}."
        )
    if one.unhurried:
        lines.append(f"Table 1 without answers that came too fast: {_in_line(one.unhurried)}.")
    elif haste.count:
        lines.append("Without answers that came too fast, no ranking is left.")
    return lines


def _in_line(table: Sequence[Contest]) -> str:
    return ", ".join(f"{contest.rival} {contest.counts} (p {p_text(contest.p)})" for contest in table)


def notes(analyses: Sequence[Analysis]) -> list[str]:
    """Return how the numbers were computed."""
    first = analyses[0]
    lines = [
        "p (sign, Holm): sign test, corrected for the number of rivals. p (swap): randomization test that swaps the "
        "two metrics in all rankings of a set at once. d_z: mean in standard deviations of the differences. P(better): "
        f"probability of the better correlation, ties counted half. {first.resamples:,} resamples, seed {first.seed}."
    ]
    if not first.directed:
        lines.insert(0, "Signs not changed: PL, NE, ONE, AD and MD were used as if higher were better.")
    elif any(one.kind == "UC" for one in analyses):
        lines.insert(
            0, "PL counts as better the closer it is to the reference's length; for NE, ONE, AD and MD lower is better."
        )
    if any(one.raters < FEW for one in analyses):
        lines.append(f"Intervals by rater are too narrow with fewer than {FEW} raters.")
    return lines


def bounds(found: Interval) -> str:
    """Return an interval in brackets."""
    return f"[{signed(found.low)}, {signed(found.high)}]"


def signed(value: float | None) -> str:
    """Return a number with its sign, or a dash where it is undefined.

    >>> signed(0.5), signed(None)
    ('+0.50', '–')
    """
    return "–" if value is None else f"{value:+.2f}"


def page(analyses: Sequence[Analysis]) -> str:
    """Return a page: Table 1, the figure if matplotlib is installed, effects, and the raters."""

    def html(parts: Iterable[Part]) -> str:
        return Document([*parts]).render("html")

    warned = [f'<p class="simulated" role="note">{escape(line)}</p>' for line in warnings(analyses)]
    parts = [
        "<h1>Which metric agrees with raters?</h1>",
        *warned,
        html(map(scope, analyses)),
        "<h2>Table 1</h2>",
        html([TABLE_1, *table1.tables(tables(analyses), above=label(analyses))]),
        _figure(analyses),
    ]
    for one in analyses:
        parts += [f"<h2>{escape(one.study)}</h2>", html([*study_tables(one), *findings(one)])]
        rows = [
            [
                rater,
                str(care.rankings),
                f"{care.passed}/{care.checks}",
                str(care.repeats),
                signed(care.consistency),
                str(one.haste.fast.get(rater, 0)) if one.haste.timed else "–",
            ]
            for rater, care in one.care.items()
        ]
        parts += ["<details><summary>Raters</summary>", html([Table(RATER_HEADS, rows)]), "</details>"]
    title = "Simulated raters: study analysis" if warned else "Study analysis"
    return (
        '<!doctype html>\n<html lang="en" data-theme="light">\n<head>\n<meta charset="utf-8">\n'
        f"<title>{title}</title>\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<style>{css()}{STYLE}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(filter(None, [*parts, html(notes(analyses))]))
        + "\n</main>\n</body>\n"
        "</html>\n"
    )


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
