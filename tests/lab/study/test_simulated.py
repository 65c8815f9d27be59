"""Simulated raters: named so everywhere, reproducible, as noisy as told; and the studies that they help to plan."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.house import command
from wayscore.errors import OptionError
from wayscore.lab.study.analysis import analyze, care_of
from wayscore.lab.study.correlations import RIVALS, goodness
from wayscore.lab.study.create import create
from wayscore.lab.study.figures import figure_study
from wayscore.lab.study.files import read_study, write_study
from wayscore.lab.study.model import ComparisonSet, SceneMap, Study
from wayscore.lab.study.power import pilot_source, power, simulated_source
from wayscore.lab.study.protocol import find_winners, reproduce, winners_table
from wayscore.lab.study.rankings import fault_of, rankings_bytes, read_rankings, write_rankings
from wayscore.lab.study.rater_models import IN_WORDS, TASTES, Temper, dislikes, draw_weights, perceive, simulate
from wayscore.lab.study.report import document, page


@pytest.fixture(scope="module")
def study() -> Study:
    return create("UC", sets=12, raters=4, each=2, repeats=1, checks=3, seed=5, worlds=2)


def run(*words: Any) -> Any:
    return command("study", *words, columns=100)


# Their taste


def line_study() -> tuple[Study, ComparisonSet]:
    """A straight reference of four metres, and queries whose faults are known."""
    places = {f"{x},{y}": (float(x), float(y)) for x in range(5) for y in range(3)}
    reference = [f"{x},0" for x in range(5)]
    queries = [
        reference,
        [f"{x},1" for x in range(5)],  # a metre beside
        reference[::-1],
        reference[:3],
        ["2,0"],
    ]
    one = ComparisonSet("s", "w", reference, queries)
    scenes = {"w": SceneMap(places, [], [])}
    return Study("line", "UC", "?", False, 0, 2.0, scenes, [one], [], {}), one


BY_HAND: dict[str, list[list[float]]] = {  # distances in thresholds of 2 m
    "faithful": [[0, 1 / 2, 1, 1 / 2, 1 / 2], [0, 0, 4, 0, 0], [0, 1 / 4, 1, 1 / 2, 1 / 2]],
    "covering": [[0, 1 / 2, 0, 1 / 4, 1 / 2]],
    "arriving": [[0, 1 / 2, 2, 1, 1], [0.1, 0.1, 0.1, 0.05, 0]],
    "careful": [[0, 1 / 2, 0, 0, 0]],
    "orderless": [[0, 1 / 2, 0, 0, 0]],
}


@pytest.mark.parametrize("taste", TASTES)
def test_dislikes_are_those_computed_by_hand(taste: str) -> None:
    assert {*TASTES} == {*BY_HAND} == {*IN_WORDS}
    found = dislikes(*line_study(), taste)
    assert found.T == pytest.approx(np.array(BY_HAND[taste]), abs=0.02)  # means over 64 points of each line


@pytest.mark.parametrize("taste", TASTES)
def test_without_noise_the_taste_decides_and_is_no_metric(study: Study, taste: str) -> None:
    exact = Temper(taste, noise=0.0, spread=0.0, lapse=0.0)
    for ranking in simulate(study, temper=exact):
        disliked = dislikes(study, study.set(ranking.set), taste).sum(axis=1)
        assert [query for (query,) in ranking.groups] == np.argsort(disliked, kind="stable").tolist()
    plain = study.of_kind("plain")
    theirs = [np.argsort(dislikes(study, one, taste).sum(axis=1), kind="stable").tolist() for one in plain]
    for metric in (*RIVALS["UC"], *RIVALS["SC"], "nDTW", "SDTW", "DTW"):
        scores = goodness(study, plain, [metric])[..., 0]
        assert [np.argsort(-row, kind="stable").tolist() for row in scores] != theirs
    checked = create("UC", sets=1, raters=1, checks=12, seed=4, worlds=1)
    (care,) = care_of(checked, simulate(checked, temper=exact)).values()
    assert (care.passed, care.checks) == (12, 12)


def test_the_winner_follows_from_the_taste() -> None:
    found = find_winners(create("UC", sets=60, raters=3, seed=1, sampler="independent"), seed=1, resamples=100)
    winners = {one.taste: one.metric for one in found}
    assert winners == {"faithful": "nDTW", "covering": "CLS", "arriving": "NE", "careful": "MD", "orderless": "AD"}
    for one in found:
        assert one.correlations[one.metric] == max(one.correlations.values())
        assert one.lead.mean == pytest.approx(one.correlations[one.metric] - one.correlations[one.second])
    assert [row[0] for row in winners_table(found).rows] == list(TASTES)


def test_noise_is_that_of_plackett_and_luce() -> None:
    utility, noise, count = np.array([0.0, -0.5, -1.0]), 0.5, 20_000
    seen = perceive(np.tile(utility, (count, 1)), Temper(noise=noise, lapse=0.0), np.random.default_rng(0))
    orders = Counter(map(tuple, np.argsort(-seen, axis=1).tolist()))
    worth = np.exp(utility / noise)
    for order, found in orders.items():
        chance = worth[order[0]] / worth.sum() * worth[order[1]] / (worth[order[1]] + worth[order[2]])
        assert found / count == pytest.approx(chance, abs=4 * np.sqrt(chance * (1 - chance) / count))


def test_lapses_and_tastes_are_as_given() -> None:
    utility = np.tile([1e6, 0.0, 0.0, 0.0, 0.0], (20_000, 1))
    seen = perceive(utility, Temper(noise=0.1, lapse=0.25), np.random.default_rng(1))
    assert (seen.argmax(axis=1) == 0).mean() == pytest.approx(0.75 + 0.25 / 5, abs=0.01)
    weights = draw_weights(20_000, 3, Temper(spread=0.4), np.random.default_rng(2))
    assert np.log(weights).std(axis=0) == pytest.approx([0.4] * 3, abs=0.01)
    assert (draw_weights(5, 3, Temper(spread=0.0), np.random.default_rng(2)) == 1).all()


@pytest.mark.parametrize("wrong", [{"noise": -1.0}, {"lapse": 1.5}, {"careless": float("nan")}, {"spread": "x"}])
def test_tempers_that_make_no_sense_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match=f"{next(iter(wrong))} must be a number"):
        Temper(**wrong)
    with pytest.raises(OptionError, match=r"taste must be faithful or covering or .*did you mean 'careful'"):
        Temper("carefull")


# Their rankings


def test_every_ranking_says_that_it_is_simulated(study: Study) -> None:
    rankings = simulate(study, seed=1)
    assert len(rankings) == sum(len(one.items) for one in study.assignments)
    assert all(ranking.simulated and ranking.rater.startswith("simulated-") for ranking in rankings)
    assert all(fault_of(ranking.groups, ties=False) == "" for ranking in rankings)
    assert rankings_bytes(rankings).count(b'"simulated":true') == len(rankings)


def test_the_same_seed_gives_the_same_rankings(study: Study) -> None:
    assert simulate(study, seed=1) == simulate(study, seed=1)
    assert simulate(study, seed=1) != simulate(study, seed=2)


def test_ties_are_made_where_a_study_allows_them() -> None:
    made = create("UC", sets=40, raters=2, worlds=1, ties=True)
    sizes = Counter(len(group) for ranking in simulate(made) for group in ranking.groups)
    assert sizes[1] > sizes[2] > 0
    assert all(fault_of(ranking.groups) == "" for ranking in simulate(made))


def test_careless_raters_are_found_out(study: Study) -> None:
    found = analyze(study, simulate(study, seed=3, temper=Temper(noise=0.1, lapse=0.0, careless=0.5)), resamples=50)
    assert found.left_out == ["simulated-3", "simulated-4"]
    assert found.attentive is not None


def test_more_noise_is_less_agreement(study: Study) -> None:
    quiet, loud = (
        analyze(study, simulate(study, seed=4, temper=Temper(noise=noise, lapse=0.0)), resamples=50)
        for noise in (0.1, 3.0)
    )
    assert quiet.agreement.w is not None
    assert loud.agreement.w is not None
    assert quiet.agreement.w > loud.agreement.w + 0.1
    assert quiet.correlations["nDTW"].mean > loud.correlations["nDTW"].mean + 0.2


def test_results_of_simulated_raters_say_so_everywhere(study: Study) -> None:
    found = analyze(study, simulate(study), resamples=50)
    assert found.warning() == "SIMULATED raters: no person gave these rankings."
    for form in ("text", "latex", "json"):
        assert "SIMULATED" in document([found]).render(form)
    for form in ("text", "latex"):
        assert "simulated raters" in document([found]).render(form).split("sign test")[0]  # in the table itself
    html = page([found])
    assert "<title>Simulated raters" in html
    assert html.count("SIMULATED") >= 2
    figure = figure_study([found])
    assert "SIMULATED" in figure.get_label()
    assert "SIMULATED" in figure.get_suptitle()


def test_a_few_simulated_rankings_among_others_are_counted(study: Study) -> None:
    rankings = simulate(study)
    some = [*rankings[:5], *(r for r in (type(r)(r.rater, r.set, r.groups) for r in rankings[5:]))]
    plain = {one.name for one in study.of_kind("plain")}
    count = sum(ranking.set in plain for ranking in rankings[:5])
    assert f"{count} of these 24 rankings are SIMULATED" in analyze(study, some, resamples=50).warning()


# Power


@pytest.mark.soak
def test_larger_studies_find_more() -> None:
    found = power("SC", sizes=(10, 40, 160), simulations=150, seed=1)
    assert found.simulated
    for shares in found.found.values():
        assert shares[0] <= shares[1] + 0.05 <= shares[2] + 0.1
    assert found.found["SR"][2] > 0.99
    assert found.needed["SR"] in (10, 40)
    assert found.raters == (1, 2, 6)
    assert power("SC", sizes=(10, 40, 160), simulations=150, seed=1) == found


@pytest.mark.soak
def test_where_there_is_nothing_to_find_little_is_found() -> None:
    blind = Temper(lapse=1.0)  # rankings are chance
    found = power("UC", sizes=(60,), simulations=400, temper=blind)
    for rival in RIVALS["UC"]:
        assert found.found[rival][0] < 0.06
        assert found.against[rival][0] < 0.06
    assert found.needed_together is None


def test_findings_against_the_metric_are_not_findings_for_it() -> None:
    def always_worse(pairs: Any, rng: Any) -> Any:
        return np.full((len(pairs), 4), -1, dtype=np.int8)

    found = power("SC", source=always_worse, sizes=(30,), simulations=5)
    assert found.found == dict.fromkeys(RIVALS["SC"], (0.0,))
    assert found.against == dict.fromkeys(RIVALS["SC"], (1.0,))
    assert found.together == (0.0,)


@pytest.mark.soak
def test_simulated_studies_are_like_whole_ones() -> None:
    """The quick way to signs gives the counts that studies give, created, ranked and analyzed."""
    rng = np.random.default_rng(0)
    pairs = np.column_stack((np.arange(2000) % 9, np.arange(2000)))
    signs = simulated_source("UC", seed=1)(pairs, rng)
    quick = (signs > 0).mean(axis=0)
    made = create("UC", sets=400, raters=9, seed=1)
    found = analyze(made, simulate(made, seed=7), resamples=20)
    slow = [contest.positive / found.rankings for contest in found.contests]
    assert quick.tolist() == pytest.approx(slow, abs=0.09)


def test_a_pilot_can_take_the_place_of_simulated_raters(study: Study) -> None:
    rankings = simulate(study, seed=2)
    source = pilot_source(study, rankings)
    found = power("UC", source=source, named="pilot", simulated=False, sizes=(20, 80), simulations=100)
    assert (found.source, found.simulated) == ("pilot", False)
    contests = analyze(study, rankings, resamples=20).contests
    signs = source(np.column_stack((np.arange(3000) % 60, np.arange(3000))), np.random.default_rng(0))
    assert (signs > 0).mean(axis=0).tolist() == pytest.approx([c.positive / 24 for c in contests], abs=0.06)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"sizes": ()}, "numbers of sets must be 1 or more"),
        ({"sizes": (0,)}, "numbers of sets must be 1 or more"),
        ({"target": 2.0}, "target must be a number"),
        ({"alpha": -1.0}, "alpha must be a number"),
        ({"simulations": 0}, "simulations must be a whole number"),
        ({"each": 0}, "each must be a whole number"),
    ],
)
def test_plans_that_make_no_sense_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(OptionError, match=words):
        power("UC", **options)


def test_power_as_a_command(study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wayscore.lab.study.power.POOL", 40)
    words = ("power", "--kind", "SC", "--sets", 20, "--sets", 60, "--simulations", 10)
    shown = run(*words).stdout
    assert "SIMULATED" in shown
    rows = {line.split("  ")[0]: line for line in shown.split("\n")}
    assert [f"SDTW vs {rival}" in rows for rival in RIVALS["SC"]] == [True] * 4
    found = json.loads(run(*words, "--format", "json").stdout)
    assert found["simulated"] is True
    assert found["sizes"] == [20, 60]
    write_study(tmp_path / "p.json", study)
    run("simulate", tmp_path / "p.json")
    files = tmp_path / "p.json", tmp_path / "p-simulated.jsonl"
    pilot = run("power", "--pilot", *files, "--sets", 20, "--simulations", 20)
    assert "rankings from p-simulated.jsonl" in pilot.stdout
    assert "SIMULATED" in pilot.stdout


# Commands, end to end


def test_create_simulate_analyze(tmp_path: Path) -> None:
    file = tmp_path / "s.json"
    options = ("--kind", "SC", "--sets", 6, "--raters", 3, "--each", 2, "--repeats", 1, "--checks", 1, "--seed", 4)
    made = run("create", "-o", file, *options)
    assert made.exit_code == 0
    assert "SC, 6 sets, " in made.stdout
    first = file.read_bytes()
    run("create", "-o", tmp_path / "t.json", *options)
    run("create", "-o", tmp_path / "u.json", "--again", file)
    assert (tmp_path / "t.json").read_bytes() == (tmp_path / "u.json").read_bytes() == first
    told = run("simulate", file, "--seed", 2)
    assert "SIMULATED" in told.stdout
    rankings = read_rankings(tmp_path / "s-simulated.jsonl", read_study(file))
    assert rankings == simulate(read_study(file), seed=2)
    shown = run("analyze", file, tmp_path / "s-simulated.jsonl")
    assert shown.exit_code == 0
    assert "SC: SDTW vs" in shown.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("create", "stray.json"), "stray.json is not expected here; give runs after --from-runs"),
        (("create", "--from-runs", "a.json"), "--from-runs also needs --references FILE and --graphs"),
        (("create", "--references", "r.json"), "can only be used with --from-runs"),
        (("create", "--kind", "XC"), "--kind must be UC or SC, not 'XC'"),
        (("create", "--again", "none.json"), "no such file"),
        (("simulate", "none.json"), "no such file"),
        (("simulate", "s.json", "--noise", "-1"), "noise must be a number"),
        (("reproduce", "--sampler", "far"), "--sampler must be near, start or independent"),
        (("power", "--kind", "AC"), "--kind must be UC or SC"),
        (("power", "--format", "csv"), "--format must be text or json"),
        (("analyze",), "give a study and its answers"),
        (("analyze", "uc.json"), "or two such pairs; files given: 1"),
        (("analyze", "uc.json", "uc.jsonl", "uc.json", "uc.jsonl"), "two of the studies are UC"),
        (("analyze", "uc.json", "uc.jsonl", "--method", "rho"), "--method must be spearman, kendall or pearson, not"),
        (("analyze", "uc.json", "uc.jsonl", "--format", "csv"), "--format must be text, json or latex, not"),
        (("analyze", "uc.json", "uc.jsonl", "--pass-share", "2"), "pass_share must be a number, from 0 to 1"),
        (
            ("analyze", "uc.json", "uc.jsonl", "--seconds-per-picture", "-1"),
            "seconds_per_picture must be a number, 0 or more",
        ),
        (("analyze", "uc.json", "none.jsonl"), "no such file"),
        (("analyze", "uc.jsonl", "uc.json"), "is not a study"),
    ],
)
def test_mistakes_are_one_line(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("s", "uc"):
        write_study(f"{name}.json", study)
    write_rankings("uc.jsonl", simulate(study))
    result = run(*words)
    assert result.exit_code == (1 if message in ("no such file", "is not a study") else 2)
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.soak
def test_the_papers_protocol_is_one_command_and_gives_the_same_files(tmp_path: Path) -> None:
    shown = run("reproduce", "--out", tmp_path / "a", "--seed", 1)
    assert shown.exit_code == 0
    reproduce(tmp_path / "b", seed=1)
    names = sorted(file.name for file in (tmp_path / "a").iterdir())
    assert names == sorted(file.name for file in (tmp_path / "b").iterdir())
    for name in names:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes(), name
    assert all("simulated" in name for name in names if name not in ("uc.json", "sc.json"))
    analyses = json.loads((tmp_path / "a" / "analysis-simulated.json").read_text())
    counts = [[one[name] for name in ("rankings", "simulated", "sets", "raters")] for one in analyses]
    assert counts == [[265, 265, 265, 9], [240, 240, 240, 9]]
    assert "2,525 samples in 505 sets" in shown.stdout
    assert shown.stdout.count("sign test") == 6
    assert len(re.findall("^simulated raters ", shown.stdout, re.M)) == 2
    assert shown.stdout.count("\nsimulated raters, signs not changed ") == 2
    assert "drawn independently of the reference, as the paper describes it" in " ".join(shown.stdout.split())
    winners = re.findall(
        "^(faithful|covering|arriving|careful|orderless) .*  ([A-Za-z]+)  +[A-Za-z]+ by ", shown.stdout, re.M
    )
    expected = {"faithful": "nDTW", "covering": "CLS", "arriving": "NE", "careful": "MD", "orderless": "AD"}
    assert dict(winners[:5]) == expected
    assert "says nothing about people" in " ".join(shown.stdout.split())
    assert "242/17" in shown.stdout  # the paper's own, below
    for one in analyses:
        assert all(c["positive"] + c["negative"] + c["ties"] == one["rankings"] for c in one["contests"])
