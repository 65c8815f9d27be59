"""What a study's answers say: correlations by hand, Table 1 from counts, and agreement."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, strategies as st

import wayscore as ws
from tests.house import command
from wayscore import statistics
from wayscore.errors import OptionError
from wayscore.lab.study import report, table1
from wayscore.lab.study.analysis import Haste, agree, analyze, care_of, haste_of, kendall_w, krippendorff_alpha
from wayscore.lab.study.correlations import METHODS, RIVALS, Correlations, correlate, goodness
from wayscore.lab.study.create import create
from wayscore.lab.study.figures import figure_study
from wayscore.lab.study.files import write_study
from wayscore.lab.study.model import Study
from wayscore.lab.study.rankings import Ranking, write_rankings
from wayscore.lab.study.rater_models import simulate
from wayscore.lab.study.report import page
from wayscore.lab.study.table1 import PAPER, PAPER_P, contests

rows = st.lists(st.integers(0, 4).map(float), min_size=5, max_size=5)


@pytest.fixture(scope="module")
def study() -> Study:
    return create("UC", sets=10, raters=3, each=3, repeats=2, checks=3, seed=3, worlds=2)


def ranked_by(study: Study, metric: str, rater: str = "1", *, reverse: bool = False) -> list[Ranking]:
    """Rank all sets as a metric does; queries that it ties come in their own order."""
    found = []
    for one, values in zip(study.sets, goodness(study, study.sets, [metric])[..., 0], strict=True):
        order = sorted(range(5), key=lambda query, v=values: -v[query])
        found.append(Ranking(rater, one.name, [[query] for query in (order[::-1] if reverse else order)]))
    return found


def answers(study: Study, raters: int = 3) -> list[Ranking]:
    """Rank all sets by raters with different tastes."""
    tastes = ("nDTW", "NE", "CLS")
    return [ranking for n in range(raters) for ranking in ranked_by(study, tastes[n % 3], f"r{n}")]


# Correlations


def test_metrics_are_turned_so_that_more_is_better(study: Study) -> None:
    sets = study.of_kind("check")
    metrics = (*RIVALS["UC"], *RIVALS["SC"], "nDTW", "SDTW")
    found = goodness(study, sets, metrics)
    for one, scores in zip(sets, found, strict=True):
        best, worst = scores[one.best], scores[one.worst]
        assert (best >= worst).all()
        below = [metric for metric, value, top in zip(metrics, best, scores.max(axis=0), strict=True) if value < top]
        assert below in ([], ["SPL"])  # the reference itself is the best, but a short cut has the higher SPL
        assert best[metrics.index("PL")] == 0
    raw = goodness(study, sets, metrics, directed=False)
    turned = [n for n, metric in enumerate(metrics) if metric in ("NE", "ONE", "AD", "MD")]
    assert (raw[..., turned] == -found[..., turned]).all()
    assert (raw[..., metrics.index("PL")] > 0).all()


def test_path_length_counts_by_how_near_it_is_to_the_references(study: Study) -> None:
    one = study.sets[0]
    graph = study.graph(one.scene)

    def length(path: Sequence[str]) -> float:
        return sum(graph.distance(a, b) for a, b in pairwise(path))

    expected = [-abs(length(query) - length(one.reference)) for query in one.queries]
    assert goodness(study, [one], ["PL"])[0, :, 0] == pytest.approx(expected, abs=1e-8)


def test_a_rater_who_thinks_like_a_metric_correlates_perfectly_with_it(study: Study) -> None:
    found = correlate(study, ranked_by(study, "nDTW"))
    assert found.metrics == ("nDTW", *RIVALS["UC"])
    assert found.values[:, 0] == pytest.approx(1)
    assert len(found.values) == 10  # plain sets only
    opposite = correlate(study, ranked_by(study, "nDTW", reverse=True))
    assert opposite.values == pytest.approx(-found.values)


def test_rankings_that_tell_nothing_apart_correlate_with_nothing() -> None:
    made = create("UC", sets=2, raters=1, worlds=1, ties=True)
    found = correlate(made, [Ranking("1", one.name, [[0, 1, 2, 3, 4]]) for one in made.sets])
    assert (found.values == 0).all()
    assert [contest.ties for contest in contests(found)] == [2] * 6


def test_answers_without_a_plain_set_are_refused(study: Study) -> None:
    checks = {one.name for one in study.of_kind("check")}
    with pytest.raises(OptionError, match="rank no plain set"):
        correlate(study, [ranking for ranking in ranked_by(study, "nDTW") if ranking.set in checks])
    with pytest.raises(OptionError, match="method must be spearman, kendall or pearson, not 'rho'"):
        correlate(study, answers(study), "rho")  # type: ignore[arg-type]


# Table 1


def test_the_papers_counts_give_its_p_values() -> None:
    found = {contest.rival: f"{contest.p:.1e}" for part in PAPER.values() for contest in part}
    assert found == {**PAPER_P, "AD": "3.6e-60"}
    assert PAPER_P["AD"] == "6.9e-60" == f"{table1.Contest('AD', 253, 12).p:.1e}"
    assert {kind: tuple(contest.rival for contest in part) for kind, part in PAPER.items()} == RIVALS
    for kind, sets in (("UC", 265), ("SC", 240)):
        over = [c.rival for c in PAPER[kind] if c.positive + c.negative > sets]  # type: ignore[index]
        assert over == (["AD"] if kind == "UC" else [])


def test_the_papers_table_is_printed_from_its_counts() -> None:
    shown = command("study", "analyze", "--paper", columns=120).stdout
    names, _, counts, tests, _, *below = (line.split() for line in shown.split("\n")[:9])
    assert names == "UC: nDTW vs PL NE ONE CLS AD MD".split()
    assert counts == "+/- 242/17 254/9 255/9 162/46 254/12 253/12".split()
    assert below[0] == "SC: SDTW vs SR OSR SPL SED".split()
    assert below[2] == "+/- 219/16 220/14 219/17 213/26".split()
    expected = "4.1e-52 2.0e-63 1.0e-63 2.4e-16 3.6e-60 6.9e-60 9.6e-47 8.8e-49 6.7e-46 1.1e-37"
    assert [*tests[2:], *below[3][2:]] == expected.split()
    assert "253/12" in shown
    latex = command("study", "analyze", "--paper", "--format", "latex").stdout
    assert r"UC: nDTW vs & PL & NE & ONE & CLS & AD & MD \\" in latex
    assert all(p in latex for p in expected.split())
    found = json.loads(command("study", "analyze", "--paper", "--format", "json").stdout)
    assert found["NE"]["p"] == statistics.sign_test(254, 9)


def test_signs_are_counted_and_ties_discarded(study: Study) -> None:
    rankings = answers(study)
    found = correlate(study, rankings)
    for contest in contests(found):
        pairs = zip(found.values[:, 0], found.values[:, found.metrics.index(contest.rival)], strict=True)
        signs = [0 if math.isclose(a, b, abs_tol=1e-9) else math.copysign(1, a - b) for a, b in pairs]
        assert (contest.positive, contest.negative, contest.ties) == (signs.count(1), signs.count(-1), signs.count(0))
        assert contest.p == statistics.sign_test(contest.positive, contest.negative)


def test_correlations_that_differ_by_rounding_are_ties() -> None:
    found = Correlations(("nDTW", "NE"), np.array([[0.3, 0.1 + 0.2], [0.5, 0.4]]), ("1", "2"), ("a", "b"))
    assert found.differences("NE").tolist() == [0, 0.1]
    assert contests(found) == [table1.Contest("NE", 1, 0, 1)]


# Agreement


def literal_alpha(units: Sequence[Sequence[float]]) -> float:
    """Krippendorff's alpha, ordinal, as loops over pairs of ratings."""
    pairable = [unit for unit in units if len(unit) > 1]
    every = [value for unit in pairable for value in unit]

    def apart(a: float, b: float) -> float:
        low, high = min(a, b), max(a, b)
        between = sum(every.count(value) for value in {*every} if low <= value <= high)
        return (between - (every.count(a) + every.count(b)) / 2) ** 2

    observed = sum(
        apart(a, b) / (len(unit) - 1)
        for unit in pairable
        for i, a in enumerate(unit)
        for j, b in enumerate(unit)
        if i != j
    )
    expected = sum(apart(a, b) for i, a in enumerate(every) for j, b in enumerate(every) if i != j)
    return 1 - (observed / len(every)) / (expected / (len(every) * (len(every) - 1)))


@pytest.mark.parametrize(
    ("ranks", "w"),
    [  # Siegel (1956), six applicants: sums 8, 14, 11, 11, 11, 8; s = 25.5; W = 25.5 / (9 x 210 / 12) = 0.16
        ([[1, 6, 3, 2, 5, 4], [1, 5, 6, 4, 2, 3], [6, 3, 2, 5, 4, 1]], 25.5 / 157.5),
        # two raters who tie the same two of three: sums 2, 5, 5; T = 6 each; (12 x 54 - 3 x 4 x 48) / (4 x 24 - 2 x 12)
        ([[1, 2.5, 2.5], [1, 2.5, 2.5]], (648 - 576) / (96 - 24)),
        ([[2, 2, 2], [2, 2, 2]], None),
    ],
)
def test_w_by_hand(ranks: Any, w: float | None) -> None:
    assert kendall_w(ranks) == (w if w is None else pytest.approx(w))
    with pytest.raises(OptionError, match="two or more raters"):
        kendall_w(ranks[:1])


@given(st.lists(st.permutations([1.0, 2.0, 3.0, 4.0, 5.0]), min_size=2, max_size=6))
def test_w_follows_from_the_mean_correlation(ranks: list[list[float]]) -> None:
    m = len(ranks)
    w = kendall_w(ranks)
    rho = np.mean([statistics.spearman(a, b) for a, b in combinations(ranks, 2)])
    assert w == pytest.approx((rho * (m - 1) + 1) / m)


def test_alpha_of_krippendorffs_own_example() -> None:
    # Krippendorff (2011), four observers and twelve units: ordinal alpha is 0.815
    ratings = "111 2232 3333 3333 2222 1234 4444 1121 2222 555 11 3"
    units = [[float(rating) for rating in unit] for unit in ratings.split()]
    assert krippendorff_alpha(units) == pytest.approx(0.815, abs=5e-4)
    assert krippendorff_alpha(units) == pytest.approx(literal_alpha(units))


@given(st.lists(st.lists(st.sampled_from([1.0, 1.5, 2.0, 3.0, 5.0]), min_size=1, max_size=4), min_size=2, max_size=8))
def test_alpha_against_loops(units: list[list[float]]) -> None:
    every = {value for unit in units if len(unit) > 1 for value in unit}
    if len(every) < 2:
        assert krippendorff_alpha(units) is None
    else:
        assert krippendorff_alpha(units) == pytest.approx(literal_alpha(units))


def test_agreement_is_of_plain_sets_with_several_rankings(study: Study) -> None:
    same = [*ranked_by(study, "nDTW", "a"), *ranked_by(study, "nDTW", "b")]
    found = agree(study, same)
    assert (found.sets, found.raters, found.w, found.spearman, found.alpha) == (10, 2, 1, pytest.approx(1), 1)
    opposite = agree(study, [*ranked_by(study, "nDTW", "a"), *ranked_by(study, "nDTW", "b", reverse=True)])
    assert (opposite.w, opposite.spearman) == (0, pytest.approx(-1))
    assert opposite.alpha is not None
    assert opposite.alpha < -0.5
    alone = agree(study, ranked_by(study, "nDTW"))
    assert (alone.sets, alone.w, alone.alpha) == (0, None, None)


def test_checks_and_repeats_tell_who_takes_care(study: Study) -> None:
    careful, careless = ranked_by(study, "nDTW", "careful"), ranked_by(study, "nDTW", "careless", reverse=True)
    turned = [
        Ranking("fickle", one.set, one.groups[::-1] if one.set.endswith("-again") else one.groups) for one in careful
    ]
    care = care_of(study, [*careful, *careless, *turned])
    repeats = len(study.of_kind("repeat"))
    assert (care["careful"].passed, care["careful"].checks, care["careful"].same_best) == (3, 3, repeats)
    assert care["careful"].consistency == pytest.approx(1)
    assert (care["careless"].passed, care["careless"].consistency) == (0, pytest.approx(1))
    assert (care["fickle"].consistency, care["fickle"].same_best) == (pytest.approx(-1), 0)
    assert care["careful"].attentive(1.0)
    assert not care["careless"].attentive(0.1)
    assert care_of(study, [careful[0]])["careful"].attentive(1.0)  # who saw no check is taken to be


def test_a_check_is_passed_only_with_both_ends_right() -> None:
    made = create("UC", sets=1, raters=1, checks=1, worlds=1, ties=True)
    one = made.of_kind("check")[0]
    others = [query for query in range(5) if query not in (one.best, one.worst)]

    def passed(groups: list[list[int]]) -> int:
        return care_of(made, [Ranking("1", one.name, groups)])["1"].passed

    assert passed([[one.best], others, [one.worst]]) == 1
    assert passed([[one.best], [one.worst], others]) == 0
    assert passed([others, [one.best], [one.worst]]) == 0
    assert passed([[one.best, one.worst, *others]]) == 0


def test_the_inattentive_are_left_out_of_a_second_table(study: Study) -> None:
    rankings = [*ranked_by(study, "nDTW", "good"), *ranked_by(study, "nDTW", "bad", reverse=True)]
    found = analyze(study, rankings, resamples=100)
    assert found.left_out == ["bad"]
    assert found.attentive == contests(correlate(study, ranked_by(study, "nDTW", "good")))
    assert all(contest.negative == 0 for contest in found.attentive or ())
    assert analyze(study, rankings, pass_share=0, resamples=100).attentive is None


def timed(rankings: list[Ranking], seconds: float) -> list[Ranking]:
    return [msgspec.structs.replace(one, seconds=seconds) for one in rankings]


def test_fast_answers_are_left_out_of_a_third_table(study: Study) -> None:
    good = timed(ranked_by(study, "nDTW", "good"), 20.0)
    hasty = timed(ranked_by(study, "nDTW", "hasty", reverse=True), 4.9)
    found = analyze(study, [*good, *hasty], resamples=100)
    assert found.haste == Haste(least=5.0, timed=32, fast={"hasty": 16})
    assert found.unhurried == contests(correlate(study, good))
    assert found.contests != found.unhurried
    lines = report.findings(found)
    assert "Too fast (less than 5 s for a set): 16 of 32 answers with a time (rater hasty: 16)." in lines
    (without,) = (line for line in lines if line.startswith("Table 1 without answers that came too fast: "))
    assert f"NE {found.unhurried[1].counts} (p " in without
    assert "16 of 32 answers" in " ".join(str(report.document([found])).split())
    (plain,) = json.loads(report.document([found]).render("json"))
    assert plain["haste"] == {"least": 5.0, "timed": 32, "fast": {"hasty": 16}}
    assert plain["unhurried"][1]["p"] == found.unhurried[1].p
    html = re.sub(' style="[^"]*"', "", page([found]))
    assert '<tr><th scope="row">hasty</th><td>10</td><td>0/3</td><td>3</td><td>+1.00</td><td>16</td></tr>' in html


def test_the_threshold_is_per_picture(study: Study) -> None:
    answers = timed(ranked_by(study, "nDTW"), 5.0)
    assert haste_of(answers, 1.01).fast == {"1": 16}
    found = analyze(study, answers, resamples=100)
    assert (found.haste.fast, found.unhurried) == ({}, None)
    assert "Too fast (less than 5 s for a set): 0 of 16 answers with a time." in report.findings(found)
    hasty = analyze(study, timed(answers, 0.1), resamples=100)
    assert (hasty.haste.count, hasty.unhurried) == (16, None)
    assert "Without answers that came too fast, no ranking is left." in report.findings(hasty)


def test_what_has_no_time_is_not_fast(study: Study) -> None:
    """Nor are programs, which are as fast as they are."""
    for rankings in (ranked_by(study, "nDTW"), timed(simulate(study, seed=1), 0.1)):
        found = analyze(study, rankings, resamples=100)
        assert (found.haste, found.unhurried) == (Haste(least=5.0, timed=0, fast={}), None)
        assert not any("fast" in line for line in report.findings(found))
        assert re.search("<td[^>]*>–</td></tr>", page([found]))


# The whole


def test_an_analysis_says_what_its_parts_say(study: Study) -> None:
    rankings = answers(study)
    found = analyze(study, rankings, resamples=500)
    assert (found.rankings, found.raters, found.sets, found.simulated) == (30, 3, 10, 0)
    assert found.warning() == ""
    values = correlate(study, rankings)
    assert found.correlations["nDTW"].mean == pytest.approx(values.values[:, 0].mean())
    for effect, contest in zip(found.effects, found.contests, strict=True):
        d = values.differences(effect.rival)
        assert effect.mean == pytest.approx(d.mean())
        assert effect.d_z == pytest.approx(d.mean() / d.std(ddof=1))
        assert effect.superiority == pytest.approx((contest.positive + contest.ties / 2) / 30)
        assert effect.by_set.low <= effect.mean <= effect.by_set.high
        assert effect.by_rater is not None
    adjusted = statistics.holm([contest.p for contest in found.contests])
    assert [effect.p_holm for effect in found.effects] == adjusted
    assert analyze(study, rankings, resamples=500) == found


def test_intervals_by_rater_see_that_raters_differ(study: Study) -> None:
    # ten raters of two kinds: within a rater all rankings are alike
    rankings = [ranking for n in range(10) for ranking in ranked_by(study, "nDTW" if n % 2 else "MD", f"r{n}")]
    effect = next(effect for effect in analyze(study, rankings, resamples=2000).effects if effect.rival == "MD")
    assert effect.by_rater is not None
    assert effect.by_rater.high - effect.by_rater.low > 1.2 * (effect.by_set.high - effect.by_set.low)
    alone = analyze(study, ranked_by(study, "nDTW"), resamples=100).effects[0]
    assert alone.by_rater is None


def test_methods_and_directions_change_the_counts(study: Study) -> None:
    rankings = answers(study)
    kinds = {method: analyze(study, rankings, method=method, resamples=50) for method in METHODS}
    assert kinds["spearman"].correlations != kinds["kendall"].correlations != kinds["pearson"].correlations
    raw = analyze(study, rankings, directed=False, resamples=50)
    for metric in ("NE", "ONE", "AD", "MD"):
        assert raw.correlations[metric].mean == pytest.approx(-kinds["spearman"].correlations[metric].mean)
    assert raw.contests[3] == kinds["spearman"].contests[3]  # CLS has its direction anyhow
    assert any("Signs not changed" in line for line in report.notes([raw]))


def test_every_form_tells_the_same(study: Study) -> None:
    found = [analyze(study, answers(study), resamples=100)]
    plain, latex, told = (report.document(found).render(form) for form in ("text", "latex", "json"))
    html = page(found)
    parsed = json.loads(told)[0]
    assert parsed["simulated_raters"] is None
    for contest in found[0].contests:
        for shown in (plain, latex, html):
            assert contest.counts in shown
            assert table1.p_text(contest.p) in shown
    assert [one["p"] for one in parsed["contests"]] == [contest.p for contest in found[0].contests]
    assert parsed["effects"][0]["by_set"]["low"] == found[0].effects[0].by_set.low
    for words in ("Kendall's W", "Krippendorff's alpha", "Consistency", "Attention"):
        assert words in plain
        assert words.replace("'", "&#x27;") in html
    assert "imulated" not in plain + latex + html.partition("</style>")[2]
    assert max(map(len, plain.split("\n"))) <= 100
    assert "<script" not in html
    assert "http" not in re.sub(r'xmlns(:\w+)?="[^"]*"|"http://www.w3.org[^"]*"', "", html)


def test_names_cannot_write_into_the_page() -> None:
    made = create("UC", sets=2, raters=1, worlds=1, name="<b>&")
    html = page([analyze(made, ranked_by(made, "NE", "<script>"), resamples=20)])
    assert "<script>" not in html
    assert "&lt;b&gt;&amp;" in html


def test_the_figure_shows_every_metric(study: Study) -> None:
    found = analyze(study, answers(study), resamples=100)
    figure = figure_study([found])
    left, right = figure.axes
    assert [label.get_text() for label in left.get_yticklabels()] == ["nDTW", *RIVALS["UC"]]
    assert [label.get_text() for label in right.get_yticklabels()] == list(RIVALS["UC"])
    widths = [bar.get_width() for bar in right.patches]
    assert widths[:6] == [contest.positive for contest in found.contests]
    assert sum(widths) == 6 * found.rankings
    assert "imulated" not in figure.get_label()


def run(*words: Any) -> Any:
    return command("study", *words, columns=100)


def test_analyze_as_a_command(study: Study, tmp_path: Path) -> None:
    other = create("SC", sets=6, raters=2, seed=3, worlds=2)
    files = []
    for name, one in (("uc", study), ("sc", other)):
        write_study(tmp_path / f"{name}.json", one)
        write_rankings(tmp_path / f"{name}.jsonl", answers(one))
        files += [tmp_path / f"{name}.json", tmp_path / f"{name}.jsonl"]
    result = run("analyze", *files, "--resamples", 200, "--html", tmp_path / "a.html", "--figure", tmp_path / "a.png")
    assert result.exit_code == 0
    assert "UC: nDTW vs" in result.stdout
    assert "SC: SDTW vs" in result.stdout
    assert (tmp_path / "a.html").read_text().count("<h2>") == 3
    assert (tmp_path / "a.png").stat().st_size > 10_000
    assert run("analyze", *files, "--resamples", 200).stdout == result.stdout
    as_json = json.loads(run("analyze", *files[:2], "--format", "json", "--resamples", 50).stdout)
    assert as_json[0]["kind"] == "UC"


def test_the_score_of_a_set_is_the_packages_own(study: Study) -> None:
    one = study.sets[0]
    mine = goodness(study, [one], ["nDTW"])[0, :, 0]
    theirs = [
        ws.ndtw(reference=one.reference, query=query, distance=study.graph(one.scene), threshold=study.threshold)
        for query in one.queries
    ]
    assert mine == pytest.approx(theirs, abs=1e-9)
