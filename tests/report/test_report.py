"""Results and comparisons in every form that they are printed in."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import wayscore as ws
from tests.report.browser.houses import HOSTILE, compared, scored
from wayscore.evaluation.comparison import Comparison, compare
from wayscore.evaluation.evaluator import evaluate
from wayscore.evaluation.repeated_runs import pool
from wayscore.evaluation.result import Result
from wayscore.evaluation.saved import load_result
from wayscore.formats.episodes import Reference, References
from wayscore.report.document import FORMS
from wayscore.report.layout import short_names
from wayscore.report.results import render, render_comparison

HOUSE = {"s": ws.Graph.from_edges([("a", "b"), ("b", "c"), ("x", "y")], [2.0, 2.0, 1.0])}
HEADLINE = ["SR", "SPL", "nDTW", "SDTW"]
ORDER = [*HEADLINE, *(symbol for symbol in ws.METRICS if symbol not in HEADLINE)]
REFERENCES = References(
    "small.json", "r2r", {n: Reference(n, "s", list(path), n[:1]) for n, path in {"1a": "abc", "1b": "abc"}.items()}
)


def result(name: str = "agent", one: str = "abc", two: str = "ab", **options: Any) -> Result:
    """The result of two episodes: one perfect, one that stops 2 m before the goal."""
    settings = {"resamples": 50, "start": "keep", **options}
    return evaluate({"1a": list(one), "1b": list(two)}, REFERENCES, HOUSE, name=name, **settings)


def unreachable(name: str = "lost", **options: Any) -> Result:
    return result(name, two="xy", **options)


def everywhere(results: list[Result]) -> dict[str, str]:
    return {form: render(results, form) for form in FORMS}


def table_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_json_is_one_object_per_run_and_line() -> None:
    runs = [result("one"), unreachable("two")]
    lines = render(runs, "json").splitlines()
    assert [json.loads(line) for line in lines] == [json.loads(json.dumps(one.to_dict())) for one in runs]
    assert {"run", "signature", "convention", "threshold", "episodes", "missing", "unknown", "undefined"} <= set(
        json.loads(lines[0])
    )


def test_csv_has_one_row_per_run_with_full_precision() -> None:
    runs = [result("one"), unreachable("two")]
    rows = table_of(render(runs, "csv"))
    assert [row["run"] for row in rows] == ["one", "two"]
    for row, run in zip(rows, runs, strict=True):
        assert row["signature"] == str(run.signature)
        for symbol, (mean, low, high) in run.intervals().items():
            assert [float(row[symbol + end]) for end in ("", "_low", "_high")] == [mean, low, high]
    assert (rows[0]["NE_undefined"], rows[1]["NE_undefined"]) == ("0", "1")
    plain = render([runs[0]], "csv", split_by=None).splitlines()[0]
    assert plain.startswith("run,episodes,SR,SR_low,SR_high,SPL,SPL_low,SPL_high,nDTW,nDTW_low,nDTW_high,SDTW,")
    assert plain.endswith(",signature")
    assert "undefined" not in plain


def test_groups_for_programs() -> None:
    found = json.loads(render([unreachable("two")], "json", split_by="path"))
    assert found["split_by"] == "path"
    group = found["groups"]["1"]
    assert (group["episodes"], group["undefined"]["NE"], group["metrics"]["SR"]) == (2, 1, {"mean": 0.5})
    (row,) = table_of(render([unreachable("two")], "csv", split_by="scan"))
    assert (row["run"], row["scan"], row["episodes"], row["SR"], row["NE_undefined"]) == ("two", "s", "2", "0.5", "1")
    assert "SR_low" not in row


def test_what_was_resampled_is_printed() -> None:
    one = result()
    line = "\nMeans over 2 episodes; 95 % bootstrap intervals resample 1 path (50 times, seed 0).\n"
    for form in ("text", "markdown"):
        assert line in render([one], form)
    assert f"\n% {line[1:]}" in render([one], "latex")
    single = result(cluster="none", resamples=1, seed=7)
    assert "intervals resample 2 episodes (1 time, seed 7).\n" in render([single], "text")
    mixed = render([one, replace(single, name="b")], "text", width=200)
    assert "intervals resample 1 path (50 times, seed 0) for agent, 2 episodes (1 time, seed 7) for b.\n" in mixed
    analytic = replace(one, bootstrap={**one.bootstrap, "resamples": 0}, known=one.intervals())
    assert "Means over 2 episodes; 95 % intervals of the normal distribution.\n" in render([analytic], "text")


def test_undefined_is_never_zero() -> None:
    printed = everywhere([unreachable()])
    for form in ("text", "markdown", "latex", "html"):
        assert "0.00 (1 unreachable)" in printed[form], form
    assert json.loads(printed["json"])["undefined"]["NE"] == 1
    printed = everywhere([evaluate({"1b": ["x", "y"]}, REFERENCES, HOUSE, start="keep", missing="skip", resamples=9)])
    assert json.loads(printed["json"])["metrics"]["NE"]["mean"] is None
    assert table_of(printed["csv"])[0]["NE"] == ""
    assert re.search("^run .*NE m ↓.*\n─+\nrun .*– \\(1 unreachable\\)", printed["text"], re.M)
    assert "| – (1 unreachable) |" in printed["markdown"]
    assert "& -- (1 unreachable) &" in printed["latex"]
    assert ">– (1 unreachable)<" in printed["html"]
    half = evaluate({"1a": ["a"]}, REFERENCES, HOUSE, missing="zero", resamples=9)
    assert "4.00 (1 undefined)" in render([half], "text")


SMALL = "SR,nDTW,NE"
ONE_RUN = {
    "text": """\
run   SR % ↑                nDTW % ↑           NE m ↓
────────────────────────────────────────────────────────────────────────────────
a_1   100.0 [100.0, 100.0]  90.0 [90.0, 90.0]  1.00                 [1.00, 1.00]
50 %   50.0 [50.0, 50.0]    50.0 [50.0, 50.0]  0.00 (1 unreachable) [0.00, 0.00]

Means over 2 episodes; 95 % bootstrap intervals resample 1 path (50 times, seed 0).
""",
    "markdown": """\
| run | SR % ↑ | nDTW % ↑ | NE m ↓ |
|---|---:|---:|---:|
| a_1 | **100.0** [100.0, 100.0] | **90.0** [90.0, 90.0] | 1.00 [1.00, 1.00] |
| 50 % | 50.0 [50.0, 50.0] | 50.0 [50.0, 50.0] | 0.00 (1 unreachable) [0.00, 0.00] |

Means over 2 episodes; 95 % bootstrap intervals resample 1 path (50 times, seed 0).
""",
}


@pytest.mark.parametrize("form", ONE_RUN)
def test_tables_to_the_letter(form: str) -> None:
    """Headline metrics first, units in every head, intervals and counts beside or below; no best of unlike means."""
    runs = [result("a_1", metrics=SMALL), unreachable("50 %", metrics=SMALL)]
    assert render(runs, form).startswith(ONE_RUN[form])


@pytest.mark.parametrize("form", FORMS)
def test_every_form_names_runs_and_metrics_in_one_order(form: str) -> None:
    printed = render([result("one"), result("two")], form)
    assert "one" in printed
    assert "two" in printed
    assert printed.count("convention:paper") == (2 if form in ("json", "csv") else 1)
    assert "nan" not in printed.lower()
    if form == "json":
        printed = printed.splitlines()[0]
        assert [*json.loads(printed)["metrics"]] == ORDER
    elif form == "csv":
        assert [name for name in table_of(printed)[0] if name in ws.METRICS] == ORDER
    else:
        assert len(re.findall(r"\w (?:m|\\?%)(?= [↑↓$]|<| +NE | \\|| &)", printed)) >= len(ORDER)  # a unit each
        assert [symbol for symbol in re.findall(r"\w+", printed) if symbol in ws.METRICS][: len(ORDER)] == ORDER
    tests = render_comparison(compare([result("a"), result("b", two="abc")]), "csv")
    assert [row["metric"] for row in table_of(tests)] == ORDER


def test_latex_is_balanced() -> None:
    printed = render([result("{a} \\ $5 & 50%"), unreachable("b_[1] ~^#")], "latex", split_by="scan")
    table = "".join(line for line in printed.splitlines(keepends=True) if not line.startswith("%"))
    assert table.count(r"\begin{tabular}") == table.count(r"\end{tabular}") == 3
    plain = re.sub(r"\\[\\{}$&%#_]", "", table)
    assert plain.count("{") == plain.count("}")
    assert plain.count("$") % 2 == 0
    for line in table.splitlines():
        assert not line.lstrip().startswith(("[", "*"))
    rows = [line for line in plain.splitlines() if "&" in line]
    assert {line.count("&") for line in rows} == {len(ORDER), len(ORDER) + 1}


def test_differences_that_do_not_exist() -> None:
    comparison = compare([unreachable("a", one="xy"), result("b")])
    assert comparison.of("b")["NE"].difference.mean is None
    printed = {form: render_comparison(comparison, form) for form in FORMS}
    assert [form for form in FORMS if "nan" in printed[form].lower()] == []
    line = next(line for line in printed["text"].splitlines() if line.startswith("NE m") and "/" in line)
    assert line.split()[3:] == ["–", "–", "–", "2/0/0", "–", "1.000", "0"]
    assert "| NE m ↓ | – | – | – | 2/0/0 | – | 1.000 | 0 |" in printed["markdown"]
    row = next(row for row in table_of(printed["csv"]) if row["metric"] == "NE")
    assert (row["difference"], row["low"], row["p"], row["episodes"]) == ("", "", "", "0")


def test_differences_are_over_the_episodes_that_both_define() -> None:
    base, lost = result("base", two="abc"), unreachable("lost")
    text = render_comparison(compare([base, lost], metrics="SR,NE"), "text", width=80)
    _, _, tests = text.partition("lost minus base\n\n")
    assert tests.startswith("""\
         mean   95 % interval       p  win/tie/loss    d_z         P  n
                               (Holm)                       (better)
───────────────────────────────────────────────────────────────────────
SR % ↑  -50.0  [-50.0, -50.0]  1.0000         0/1/1  -0.71     0.250  2
NE m ↓  +0.00  [+0.00, +0.00]  1.0000         0/1/1  +0.00     0.250  1
""")
    words = " ".join(tests.split())
    assert "are over the n episodes in which both runs have a value" in words
    assert "an undefined value loses against a defined one" in words
    whole = render_comparison(compare([base, result("other")]), "text")
    assert "both runs have a value" not in whole
    assert "  n\n" not in whole


def test_several_runs_of_one_agent_have_a_spread() -> None:
    agent = pool([result(), result(two="abc")], "agent")
    printed = everywhere([agent, result("other")])
    means = "Means ± standard deviation over runs; 95 % bootstrap intervals resample 2 runs and 1 path"
    assert means in printed["text"]
    for form, spread in {"text": "0.50 ± 0.71", "markdown": "0.50** ± 0.71", "latex": r"0.50} $\pm$ 0.71"}.items():
        assert spread in printed[form], form
    found = json.loads(printed["json"].splitlines()[0])
    assert found["runs"] == 2
    for spread in (found["metrics"]["NE"]["spread"], float(table_of(printed["csv"])[0]["NE_spread"])):
        assert spread == pytest.approx(math.sqrt(0.5))
    tests = render_comparison(compare([agent, result("other")]), "text")
    assert tests.startswith("2 agents on 2 episodes of small.json, none left out\n")
    assert "against agent: bootstrap of runs and 1 path," in tests


def test_warnings_belong_to_the_result() -> None:
    other = render([result("one"), result("two", threshold=2.5)], "text")
    assert "one: wayscore|" in other
    assert "warning: one and two differ in threshold (3, 2.5)" in other
    warned = replace(result("one"), warnings=("steps repeat: use <<repeats=drop>> <b>",))
    printed = everywhere([warned, result("two")])
    for form, expected in {
        "text": "\nwarning: one: steps repeat: use --repeats drop <b>\n",
        "markdown": "\n> warning: one: steps repeat: use --repeats drop \\<b>\n",
        "latex": "\n% warning: one: steps repeat: use --repeats drop <b>\n",
        "html": "<b>warning:</b> one: steps repeat: use repeats=&quot;drop&quot; &lt;b&gt;</p>",
    }.items():
        assert expected in printed[form], form
    both = render([warned, replace(result("two"), warnings=warned.warnings)], "text")
    assert both.count("warning: steps repeat") == 1
    comparison = compare([warned, result("two")])
    for form in ("text", "markdown", "latex", "json"):
        assert "one: steps repeat: use" in render_comparison(comparison, form)
        assert "<<" not in render_comparison(comparison, form)
    comparison = replace(comparison, warnings=("mind the gap",))
    for form in FORMS:
        assert ("mind the gap" in render_comparison(comparison, form)) == (form != "csv")


def test_html_is_a_fragment_without_scripts() -> None:
    named = [result(HOSTILE), result("two")]
    for printed, tables in (
        (render(named, "html", split_by="scan"), 3),
        (render_comparison(compare(named), "html"), 2),
    ):
        assert printed.startswith("<div style=")
        for forbidden in ("<img", "<script", "http"):
            assert forbidden not in printed.lower()
        assert "&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;" in printed
        assert printed.count("<table") == tables
    assert result()._repr_html_() == render([result()], "html")


@pytest.mark.parametrize("width", [40, 60, 80, 100, 140])
@pytest.mark.parametrize("count", [1, 2, 5, 17])
def test_tables_fit_and_are_broken_into_blocks_of_metrics(width: int, count: int) -> None:
    one = unreachable()
    names = [f"an_agent_with_a_name_that_is_much_too_long_for_a_column_{n}" for n in range(count)]
    text = render([one.renamed(name) for name in names], "text", width=width)
    table, _, below = text.partition("\n\nMeans over")
    assert max(map(len, table.splitlines())) <= width
    assert "…" not in table or count == 1
    blocks = [block.splitlines() for block in table.split("\n\n")]
    heads = [re.findall(r"(\w+) [m%]", block[0]) for block in blocks]
    assert [symbol for head in heads for symbol in head] == ORDER
    assert width < 80 or heads[0][:4] == HEADLINE  # which stand together
    for block in blocks:
        named = [line.split()[0] for line in block[2:] if line[0] != " "]
        assert named == [str(n) for n in range(count)] if count > 1 else len(named) == 1
    assert names[0] in below or f"begin with {names[0][:-1]}, which is left out here.\n" in below


def test_groups_fit_too() -> None:
    lines = render(scored("noisy"), "text", split_by="scan", width=80).splitlines()
    assert "Means by scan" in lines
    assert max(len(line) for line in lines if "|" not in line and not line.startswith("warning: ")) <= 80
    assert sum(line.startswith("barn ") for line in lines) == sum(line.startswith("scan ") for line in lines) > 1
    assert "(1 unreachable)" in "".join(line for line in lines if line.startswith("barn"))


def test_short_names_differ() -> None:
    assert short_names(["run_of_one", "run_of"], 7) == ["of_one", "of"]  # whole words, never nothing
    assert short_names(["x" * 20 + "1" + "y" * 20, "x" * 20 + "2" + "y" * 20], 10) == ["run 1", "run 2"]


@pytest.mark.parametrize(("metric", "order"), [("SDTW", "bac"), ("ne", "bac"), ("tl", "bac"), ("Success", "abc")])
def test_runs_are_sorted_best_first(metric: str, order: str) -> None:
    runs = [result("a"), result("b", two="abc"), result("c", one="a", two="a")]
    rows = table_of(render(runs, "csv", sort=metric))
    assert "".join(row["run"] for row in rows) == order
    undefined = [unreachable("a", one="xy"), result("b")]
    assert [row["run"] for row in table_of(render(undefined, "csv", sort="NE"))] == ["b", "a"]


def test_mistakes_get_their_sentence() -> None:
    with pytest.raises(ws.OptionError, match="sort must be a metric of these results, not 'nDTV'; did you mean"):
        render([result()], "text", sort="nDTV")
    with pytest.raises(ws.OptionError, match="split_by must be scan, length or path, not 'house'"):
        render([result()], "text", split_by="house")
    with pytest.raises(ws.OptionError, match="at least one"):
        render([], "text")


def test_a_metric_of_ones_own_is_in_every_form() -> None:
    own = ws.Metric("far_1", "Farthest", "down", (0, math.inf), "m", "max d", measure=lambda e: e.matrix().max())
    runs = [result(metrics=["nDTW", own]), result("other", two="abc", metrics=["nDTW", own])]
    comparison = compare(runs, metrics=[own])
    assert comparison.metrics[-1] is own
    for form, printed in everywhere(runs).items():
        assert ("far\\_1" if form == "latex" else "far_1") in printed
        assert "far" in render_comparison(comparison, form)


def test_results_with_different_metrics_share_a_table() -> None:
    printed = render([result("a", metrics="nDTW"), result("b", metrics="SR,nDTW")], "markdown")
    assert printed.startswith("| run | SR % ↑ | nDTW % ↑ |")
    assert "| – |" in printed


def test_scores_of_other_evaluators_render(tmp_path: Path) -> None:
    file = tmp_path / "theirs.jsonl"
    file.write_text("".join(json.dumps({"id": str(n), "success": n % 2, "ndtw": 0.5}) + "\n" for n in range(4)))
    theirs = load_result(file)
    printed = everywhere([theirs])
    assert [form for form in FORMS if "theirs" not in printed[form]] == []
    assert "50.0" in printed["text"]
    with pytest.raises(ws.OptionError, match="scan of its episodes is not known"):
        render([theirs], "text", split_by="scan")
    both = compare([theirs, theirs.renamed("again")])
    assert render_comparison(both, "text").startswith("2 runs on 4 episodes, none left out\n")


def test_saved_results_render_alike(tmp_path: Path) -> None:
    one = unreachable()
    one.save(tmp_path / "one.parquet")
    assert everywhere([load_result(tmp_path / "one.parquet")]) == everywhere([one])


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    return compared("noisy", "shortest", "early_stop", resamples=2000)


def test_comparison_as_text(comparison: Comparison) -> None:
    text = render_comparison(comparison, "text")
    assert text.startswith("3 runs on 61 episodes of houses.json, none left out\n")
    assert "\nshortest minus noisy\n" in text
    assert "Where shortest loses most, nDTW % ↑" in text
    assert "paired randomization test over 22 paths," in text
    assert "Holm correction over 26 tests; 2,000 resamples, seed 0." in " ".join(text.split())
    lines = (line for line in text.splitlines() if "wayscore|" not in line and not line.startswith("warning: "))
    assert max(map(len, lines)) <= 100


def test_comparison_as_csv(comparison: Comparison) -> None:
    rows = table_of(render_comparison(comparison, "csv"))
    assert ",".join(rows[0]) == (
        "run,baseline,metric,episodes,difference,low,high,p,p_holm,wins,ties,losses,superiority,effect_size"
    )
    assert len(rows) == len(comparison.contrasts) == 26
    for row in rows:
        contrast = comparison.of(row["run"])[row["metric"]]
        assert row["baseline"] == "noisy"
        assert float(row["difference"]) == contrast.difference.mean
        assert row["wins"] == ("" if contrast.outcomes is None else str(contrast.outcomes[0]))


def test_comparison_in_other_forms(comparison: Comparison) -> None:
    assert json.loads(render_comparison(comparison, "json"))["baseline"] == "noisy"
    markdown = render_comparison(comparison, "markdown")
    assert "**early_stop minus noisy**" in markdown
    assert r"\*" in markdown
    latex = render_comparison(comparison, "latex")
    assert "$^{*" in latex
    assert r"early\_stop &" in latex
    html = render_comparison(comparison, "html")
    assert html.count("<table") == 3
    assert "early_stop minus noisy" in html
    assert comparison._repr_html_() == html
