"""Audits against people: made-up walks whose correlations are known, damaged files, and the real data."""

from __future__ import annotations

import copy
import json

import numpy as np
import pytest

import wayscore as ws
from tests.house import command, connectivity
from wayscore.errors import FormatError, OptionError
from wayscore.lab.audit.figures import figure_people
from wayscore.lab.audit.people import audit_people
from wayscore.lab.audit.people.rated import MEANINGS, WORDS, RatedWalk, RatedWalks, read_rated
from wayscore.statistics import kendall, spearman

LINE = {"S": ws.Graph.from_edges([(a, b) for a, b in zip("abcdefg", "bcdefgh", strict=True)], [2.0] * 7)}
REFERENCE = list("abcd")


def walks(ratings, *, cluster=lambda n: str(n), queries=None):
    """Walks along the line, each one node longer than the last, unless `queries` says otherwise."""
    queries = queries or ["abcdefgh"[: 1 + n % 8] for n in range(len(ratings))]
    made = [
        RatedWalk(f"walk {n}", "S", REFERENCE, list(query), {"score": rating}, {"person": cluster(n)}, {})
        for n, (rating, query) in enumerate(zip(ratings, queries, strict=True))
    ]
    return RatedWalks("made up", made, {"score": "nobody on nothing"}, "", "person", ())


def hear(**changes):
    """A file as HEAR's, of one system, two instructions and two walks each; `changes` are of the last walk."""
    fields = {"path_len": "PL", "dist": "NE", "score": "SR", "spl": "SPL", "ndtw": "nDTW", "sdtw": "SDTW"}
    words = {number: word for word, number in WORDS.items()}

    def instruction(**rated):
        table = ws.score(references=[REFERENCE] * 2, queries=[*map(list, rated)], distance=LINE["S"], threshold=3.0)
        annotations = [
            {"path": list(path), "annotator": "A1", **dict.fromkeys(MEANINGS, words[rating])}
            for path, rating in rated.items()
        ]
        scores = [
            {**dict.fromkeys(MEANINGS, rating), **{field: float(table[fields[field]][n]) for field in fields}}
            for n, rating in enumerate(rated.values())
        ]
        return {"scan": "S", "path": REFERENCE, "human_annotations": annotations, "human_scores": scores}

    whole = {"system": {"1_0": instruction(abcd=5, abc=4), "2_0": instruction(a=1, abcde=4)}}
    for field, value in changes.items():
        first, _, rest = field.partition("__")
        where = whole["system"]["2_0"][first][1] if rest else whole["system"]["2_0"]
        where[rest or first] = value
    return whole


def write(folder, content):
    file = folder / "rated.json"
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    return file


def test_correlations_are_those_of_all_walks():
    rng = np.random.default_rng(0)
    ratings = rng.integers(1, 6, 40).tolist()
    audit = audit_people(walks(ratings), LINE, metrics=["NE", "nDTW", "PL"], resamples=50)
    queries = [walk.query for walk in walks(ratings).walks]
    table = ws.score(references=[REFERENCE] * 40, queries=queries, distance=LINE["S"], threshold=3.0)
    expected = {"NE": -table["NE"], "nDTW": table["nDTW"], "PL": -np.abs(table["PL"] - 6.0)}
    for metric, values in expected.items():
        assert audit[metric].spearman.mean == pytest.approx(spearman(values, ratings), abs=1e-12)
        assert audit[metric].kendall.mean == pytest.approx(kendall(values, ratings), abs=1e-12)
    assert [one.metric for one in audit.correlations] == sorted(expected, key=lambda m: -audit[m].spearman.mean)


def test_what_follows_a_metric_is_found_and_the_gap_is_clear():
    queries = ["abcdefgh"[: 1 + n % 8] for n in range(160)]
    ratings = [float(len(query)) for query in queries]  # people who like long walks
    audit = audit_people(walks(ratings, queries=queries), LINE, metrics=["NE", "SR", "nDTW"], resamples=400)
    longer = audit_people(
        walks([6 - abs(4 - r) for r in ratings], queries=queries), LINE, metrics=["NE", "SR"], resamples=400
    )
    assert longer["NE"].spearman.mean == pytest.approx(1.0)
    assert longer.gap("NE", "SR").clear
    assert longer.gaps[0].metric == "NE"
    assert audit["SR"].spearman.mean < 0.5


def test_a_constant_metric_is_undefined_and_not_zero():
    audit = audit_people(walks([1, 2, 3, 4], queries=["abcd"] * 4), LINE, metrics=["NE", "SR"], resamples=20)
    assert (*audit["SR"].spearman, audit["SR"].p, audit.gaps) == (None, None, None, None, [])
    assert json.loads(audit.to_json())["correlations"][0]["spearman"] == {"mean": None, "low": None, "high": None}
    assert "–" in str(audit)


def test_within_groups_takes_the_mean_over_groups():
    queries = ["a", "ab", "abc", "abcd"] * 3
    ratings = [1, 2, 3, 4, 11, 12, 13, 14, 24, 23, 22, 21]
    made = walks(ratings, cluster=lambda n: str(n // 4), queries=queries)
    audit = audit_people(made, LINE, metrics=["NE"], within="person", resamples=50)
    assert audit["NE"].spearman.mean == pytest.approx(1 / 3)
    assert (audit.groups, audit.clusters, audit.cluster) == (3, 3, "person")
    assert "With 3 persons (fewer than 30) intervals are too narrow" in " ".join(str(audit).split())


def test_too_few_resamples_are_said():
    few, enough = (
        str(audit_people(walks([1, 2, 3, 4, 5]), LINE, metrics=["NE", "nDTW"], resamples=number))
        for number in (20, 100)
    )
    assert "20 resamples are too few to find any of 1 difference; take more resamples." in " ".join(few.split())
    assert "too few to find" not in enough


def test_several_walks_of_one_game_are_averaged(tmp_path):
    def instance(number, game, path, rating):
        return {
            "inst_idx": number, "game_idx": game, "scan": "S", "planner_path": REFERENCE, "player_path": list(path),
            "navigator_game_quality": rating, "oracle_game_quality": 5 - rating,
            "R2R_success": int(path in ("abc", "abcd")),
        }  # fmt: skip

    records = [instance(1, 7, "abcd", 4), instance(2, 7, "a", 4), instance(3, 8, "ab", 1), instance(4, 9, "abc", 2)]
    audit = audit_people(write(tmp_path, records), LINE, metrics=["NE", "PL"], resamples=20)
    assert (audit.judgements, audit.walks, audit.unit, audit.different) == (3, 4, "game", [])
    assert audit["NE"].spearman.mean == pytest.approx(spearman([-3, -4, -2], [4, 1, 2]))
    assert "SR are reproduced to 1e-6 in 4 of 4 walks" in " ".join(str(audit).split())
    for changed, said in (
        ({"navigator_game_quality": 6}, "must be a rating from 1 to 5, got 6"),
        ({"navigator_game_quality": 3}, "is 3, but 4 in another record of game 7"),
        ({"player_path": []}, "field 'player_path': is empty"),
        ({"inst_idx": 1}, "instance 1 comes twice"),
        ({"oracle_game_quality": None}, "field 'oracle_game_quality': must be a number, got null"),
    ):
        damaged = copy.deepcopy(records)
        damaged[1].update(changed)
        with pytest.raises(FormatError, match=r"rated\.json") as error:
            read_rated(write(tmp_path, damaged))
        assert said in str(error.value)


def test_hear_reproduces_its_scores_and_leaves_out_walks_without_ratings(tmp_path):
    audit = audit_people(write(tmp_path, hear()), LINE, resamples=20)
    assert (audit.judgements, audit.clusters, audit.different, audit.left_out) == (4, 2, [], [])
    broken = hear(**{f"human_annotations__{name}": None for name in MEANINGS}, human_scores__path_len=67.8)
    audit = audit_people(write(tmp_path, broken), LINE, resamples=20)
    assert audit.judgements == 3
    assert audit.left_out == audit.different == ["system 'system', instruction '2_0', walk 1"]
    assert "reproduced to 1e-6 in 3 of 4 walks; not in system 'system'" in " ".join(str(audit).split())


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "ends in the middle of a record"),
        ("{}", "holds no walks"),
        ('{"system": []}', "must be an object, got a list"),
        (hear(scan=3), "system 'system', instruction '2_0', field 'scan': must be text, got an integer"),
        (hear(human_scores=[]), "has 2 human_annotations and 0 human_scores"),
        (hear(path=[]), "path: is empty"),
        (hear(human_annotations__path=[]), "walk 1: is empty"),
        (hear(human_annotations__path_score="Maybe"), "must be one of Strongly Disagree, Disagree"),
        (hear(human_scores__path_score=2), "is 'Agree' in human_annotations (4), but 2 in human_scores"),
        (hear(human_scores__path_score=9), "must be a rating from 1 to 5, got 9"),
    ],
)  # fmt: skip
def test_damaged_files_of_hear_are_explained(tmp_path, content, said):
    with pytest.raises(FormatError, match=r"rated\.json") as error:
        read_rated(write(tmp_path, content))
    assert said in str(error.value)


def test_wrong_calls_are_explained(tmp_path):
    file = write(tmp_path, hear())
    for settings, said in (
        ({"rating": "path"}, "rating must be path_score or quality_score or mental_score, not 'path'"),
        ({"cluster": "house"}, "cluster must be instruction or path"),
        ({"within": "path", "cluster": "path"}, "give either within or cluster"),
        ({"method": "pearson"}, "method must be spearman or kendall"),
        ({"answers": file}, "is not a study"),
    ):
        with pytest.raises((OptionError, FormatError)) as error:
            audit_people(file, None if "answers" in settings else LINE, **settings)
        assert said in str(error.value)
    with pytest.raises(OptionError, match="give the connectivity files"):
        audit_people(file)
    with pytest.raises(OptionError, match=r"all judgements .* are equal"):
        audit_people(walks([3, 3, 3]), LINE)
    with pytest.raises(OptionError, match="there is only one person"):
        audit_people(walks([1, 2, 3], cluster=lambda _: "me"), LINE)


def test_answers_to_a_study_agree_with_its_analysis(tmp_path):
    from wayscore.lab.study.analysis import analyze
    from wayscore.lab.study.create import create
    from wayscore.lab.study.files import write_study
    from wayscore.lab.study.rankings import write_rankings
    from wayscore.lab.study.rater_models import simulate

    study = create("UC", sets=8, raters=4, each=2, checks=1, repeats=1, seed=2, worlds=1)
    rankings = simulate(study, seed=2)
    write_study(tmp_path / "uc.json", study)
    write_rankings(tmp_path / "uc.jsonl", rankings)
    audit = audit_people(tmp_path / "uc.json", answers=tmp_path / "uc.jsonl", resamples=50)
    analysis = analyze(study, rankings, resamples=50)
    for metric, found in analysis.correlations.items():
        assert audit[metric].spearman.mean == pytest.approx(found.mean, abs=1e-12)
    assert (audit.judgements, audit.clusters, audit.simulated) == (16, 8, True)
    assert str(audit).startswith("SIMULATED raters")
    with pytest.raises(OptionError, match="a study has its own graphs"):
        audit_people(tmp_path / "uc.json", answers=tmp_path / "uc.jsonl", rating="rank")


def test_the_verb_prints_text_and_json_and_draws(tmp_path):
    (tmp_path / "S_connectivity.json").write_text(json.dumps(connectivity("abcdefgh", "ab bc cd de ef fg gh")))
    words = ["audit-people", write(tmp_path, hear()), "--graphs", tmp_path, "--resamples", 20]
    text = command(*words, status=0).stdout
    assert "HEAR, path_score" in text
    assert "p (Holm)" in text
    drawn = tmp_path / "people.png"
    found = json.loads(command(*words, "--metrics", "NE,nDTW", "-f", "json", "--figure", drawn, status=0).stdout)
    assert {row["metric"] for row in found["correlations"]} == {"NE", "nDTW"}
    assert len(found["gaps"]) == 1
    assert drawn.read_bytes().startswith(b"\x89PNG")


def test_the_figure_says_what_it_shows():
    audit = audit_people(walks([1, 2, 3, 4, 5]), LINE, metrics=["NE", "SR", "nDTW"], resamples=20)
    figure = figure_people([audit, audit])
    assert [ax.get_title() for ax in figure.axes] == ["made up: score (5 walks)"] * 2
    assert "95 % intervals" in figure.get_label()
    with pytest.raises(OptionError, match="at least one audit"):
        figure_people([])


def test_the_real_walks_of_hear(data):
    audit = audit_people(data / "human" / "hear.json.gz", data / "connectivity.tar.gz", resamples=500)
    assert (audit.walks, audit.judgements, audit.clusters) == (450, 449, 90)
    assert audit.left_out == audit.different == ["system 'No communication', instruction '5231_0', walk 1"]
    expected = {"SR": 0.33, "SDTW": 0.29, "SPL": 0.29, "SED": 0.25, "CLS": 0.22, "AD": 0.21, "nDTW": 0.21}
    assert {metric: round(audit[metric].spearman.mean, 2) for metric in expected} == expected


def test_the_real_games_of_ndh(data):
    files = [data / "ndh" / f"NDH_{split}.json.gz" for split in ("val_seen", "val_unseen")]
    audit = audit_people(files, data / "connectivity.tar.gz", resamples=500)
    assert (audit.walks, audit.judgements, audit.different) == (1289, 354, [])
    assert {m: round(audit[m].spearman.mean, 2) for m in ("CLS", "nDTW", "SR")} == {
        "CLS": 0.16,
        "nDTW": 0.12,
        "SR": 0.1,
    }
