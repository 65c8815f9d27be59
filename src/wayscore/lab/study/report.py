"""Analyses of studies as text, JSON and LaTeX; `wayscore.lab.study.page` writes them as HTML."""

from __future__ import annotations

import json
from collections.abc import Sequence

from wayscore.errors import OptionError
from wayscore.lab.study import table1
from wayscore.lab.study.analysis import FEW, Analysis, Effect
from wayscore.lab.study.correlations import MAIN
from wayscore.lab.study.table1 import Contest, Table1, p_text
from wayscore.report.layout import counted
from wayscore.report.terminal import DEFAULT_WIDTH, TextPage, TextTable
from wayscore.statistics import Interval

FORMS = ("text", "json", "latex")
METHODS = {"spearman": "Spearman's rho", "kendall": "Kendall's tau-b", "pearson": "Pearson's r of values with ranks"}
EFFECT_HEADS = ("mean", "95 % by rater", "95 % by set", "d_z", "P(better)")
TEST_HEADS = ("p (sign, Holm)", "p (swap)")
SIMULATED = "simulated raters"


def render(analyses: Sequence[Analysis], form: str, *, width: int | None = None, color: bool = False) -> str:
    """Return analyses in one of `FORMS`; width and colour concern text only."""
    check_form(form)
    if form == "text":
        return text(analyses, width=width, color=color)
    if form == "json":
        return as_json(analyses)
    return latex(analyses)


def check_form(form: str) -> str:
    """Return a form's name if there is one."""
    if form not in FORMS:
        raise OptionError(f"<<format>> must be text, json or latex, not {form!r}")
    return form


def tables(analyses: Sequence[Analysis]) -> Table1:
    """Return Table 1 of several analyses, which must be of different kinds."""
    found: dict[str, Sequence[Contest]] = {}
    for one in analyses:
        if one.kind in found:
            raise OptionError(f"two of the studies are {one.kind}; analyze each of them separately")
        found[one.kind] = one.contests
    return found  # type: ignore[return-value]


def text(analyses: Sequence[Analysis], *, width: int | None = None, color: bool = False) -> str:
    """Return tables for a terminal."""
    page = TextPage(width or DEFAULT_WIDTH, color)
    for warning in warnings(analyses):
        page.add(warning, style="bold")
    for one in analyses:
        page.add(scope(one))
    page.add(
        "", "Table 1: rankings with which the study's metric correlates better / worse than another; ties discarded\n"
    )
    page.add(table1.text(tables(analyses), above=label(analyses)).rstrip("\n"))
    for one in analyses:
        page.add(f"\n{one.study}\n", style="bold")
        means = TextTable(["mean correlation", *one.correlations], space=2)
        means.rows.append(["", *(signed(found.mean) for found in one.correlations.values())])
        means.rows.append(["95 % interval", *(bounds(found, sep="\n") for found in one.correlations.values())])
        effects = TextTable([f"{MAIN[one.kind]} minus", *EFFECT_HEADS], space=2)
        effects.rows.extend([effect.rival, *effect_cells(effect)] for effect in one.effects)
        tests = TextTable([f"{MAIN[one.kind]} minus", *TEST_HEADS], space=2)
        tests.rows.extend([effect.rival, *test_cells(effect)] for effect in one.effects)
        page.add(means, "", effects, "", tests, "", *findings(one))
    page.add("", *notes(analyses), style="dim")
    return str(page)


def as_json(analyses: Sequence[Analysis]) -> str:
    """Return a JSON list, one object per study, full precision."""
    return json.dumps([one.to_dict() for one in analyses], allow_nan=False) + "\n"


def latex(analyses: Sequence[Analysis]) -> str:
    """Return Table 1 for booktabs, with warnings and notes as comments."""
    lines = [*warnings(analyses), *(scope(one) for one in analyses), *notes(analyses)]
    lines += [f"{one.kind}: {line}" for one in analyses for line in findings(one)]
    table = table1.latex(tables(analyses), above=label(analyses))
    return table + "".join(f"% {line}\n" for line in lines)


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


def effect_cells(effect: Effect) -> list[str]:
    """Return the cells of a rival's row, under `EFFECT_HEADS`."""
    return [
        signed(effect.mean),
        "–" if effect.by_rater is None else bounds(effect.by_rater),
        bounds(effect.by_set),
        signed(effect.d_z),
        "–" if effect.superiority is None else f"{effect.superiority:.2f}",
    ]


def test_cells(effect: Effect) -> list[str]:
    """Return the cells of a rival's row, under `TEST_HEADS`."""
    return [p_text(effect.p_holm), p_text(effect.p_swap)]


def bounds(found: Interval, sep: str = " ") -> str:
    """Return an interval in brackets."""
    return f"[{signed(found.low)},{sep}{signed(found.high)}]"


def signed(value: float | None) -> str:
    """Return a number with its sign, or a dash where it is undefined.

    >>> signed(0.5), signed(None)
    ('+0.50', '–')
    """
    return "–" if value is None else f"{value:+.2f}"
