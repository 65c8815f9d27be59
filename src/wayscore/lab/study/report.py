"""What analyses of studies say; `wayscore.lab.study.page` writes them as a page."""

from __future__ import annotations

from collections.abc import Sequence

from wayscore.errors import OptionError
from wayscore.lab.study import table1
from wayscore.lab.study.analysis import FEW, Analysis
from wayscore.lab.study.correlations import MAIN
from wayscore.lab.study.table1 import Contest, Table1, p_text
from wayscore.report.document import Document, Line, Part, Table
from wayscore.report.layout import counted
from wayscore.statistics import Interval

METHODS = {"spearman": "Spearman's rho", "kendall": "Kendall's tau-b", "pearson": "Pearson's r of values with ranks"}
TABLE_1 = "Table 1: rankings with which the study's metric correlates better / worse than another; ties discarded."
EFFECT_HEADS = (*("mean", "95 % by rater", "95 % by set", "d_z", "P(better)", "p (sign, Holm)", "p (swap)"),)
SIMULATED = "simulated raters"


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
    repeats = sum(care.repeats for care in one.care.values())
    if repeats:
        same = sum(care.same_best for care in one.care.values())
        lines.append(
            f"Consistency on {counted(repeats, 'repeat')}: mean rho {one.consistency:+.2f}, same best path in {same}."
        )
    checks = sum(care.checks for care in one.care.values())
    if checks:
        passed = sum(care.passed for care in one.care.values())
        lines.append(f"Attention: {passed} of {counted(checks, 'check')} passed.")
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
        "Mixed: the model difference = mean + rater + set + rest, with crossed random effects, fitted by REML; t has "
        "(raters - 1) degrees of freedom. The effect of sets is left out if each set has only one ranking.",
        "p (sign, Holm): sign test, corrected for the number of rivals. p (swap): randomization test that swaps the "
        "two metrics in all rankings of a set at once. d_z: mean in standard deviations of the differences. P(better): "
        f"probability of the better correlation, ties counted half. {first.resamples:,} resamples, seed {first.seed}.",
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
