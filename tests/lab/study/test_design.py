"""Studies: what is drawn, who sees it, and files that are the same byte for byte or refused in a sentence."""

from __future__ import annotations

import gzip
import json
import math
import re
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import wayscore as ws
from tests.house import command
from wayscore.errors import FormatError, OptionError
from wayscore.lab.study import correlations
from wayscore.lab.study.create import assign, create, create_from_runs, deal, rebuild
from wayscore.lab.study.files import read_study, study_bytes, write_study
from wayscore.lab.study.model import QUERIES, QUESTION, ComparisonSet, Study
from wayscore.lab.study.rankings import Ranking, fault_of, read_rankings, write_rankings
from wayscore.lab.study.sets import Around, far_path, make_check
from wayscore.worlds import World
from wayscore.worlds.files import Course, course_files, write_files

AGENTS = ("noisy", "detour", "overshoot", "early_stop", "shortest", "random_walk")


@pytest.fixture(scope="module")
def study() -> Study:
    return create("UC", sets=12, raters=4, each=2, repeats=2, checks=2, seed=5, worlds=3)


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """References, graphs and runs of scripted walkers, as the field's files have them."""
    folder = tmp_path_factory.mktemp("course")
    write_files(folder, course_files(Course(episodes=40, scans=2), AGENTS))
    return folder


def plain_sets(count: int) -> list[ComparisonSet]:
    return [ComparisonSet(f"s{n}", "w", ["a"], [["a"]] * QUERIES) for n in range(count)]


def scores(study: Study, one: ComparisonSet, metric: str) -> list[float]:
    table = ws.score(
        references=[one.reference] * QUERIES,
        queries=one.queries,
        distance=study.graph(one.scene),
        threshold=study.threshold,
        metrics=[metric],
    )
    return table[metric].tolist()


# Who sees what


@given(sets=st.integers(1, 40), raters=st.integers(1, 12), data=st.data(), seed=st.integers(0, 2**32))
def test_every_set_goes_to_as_many_raters_as_asked_and_loads_are_balanced(
    sets: int, raters: int, data: st.DataObject, seed: int
) -> None:
    each = data.draw(st.integers(1, raters))
    hands = deal([f"s{n}" for n in range(sets)], raters, each, np.random.default_rng(seed))
    seen = Counter(name for hand in hands for name in hand)
    assert len(hands) == raters
    assert seen == {f"s{n}": each for n in range(sets)}
    assert all(len(hand) == len({*hand}) for hand in hands)
    assert max(map(len, hands)) - min(map(len, hands)) <= 1


@given(sets=st.integers(4, 30), raters=st.integers(1, 5), repeats=st.integers(0, 2), checks=st.integers(0, 3))
def test_repeats_come_later_and_checks_come_to_everyone(sets: int, raters: int, repeats: int, checks: int) -> None:
    obvious = [ComparisonSet(f"c{n}", "w", ["a"], [["a"]] * QUERIES, kind="check") for n in range(checks)]
    rng = np.random.default_rng(sets)
    for one in assign(plain_sets(4 * sets), obvious, raters=raters, each=1, repeats=repeats, rng=rng):
        names = [item.set for item in one.items]
        again = [name for name in names if name.endswith("-again")]
        assert len(again) == repeats
        assert {check.name for check in obvious} <= {*names}
        assert len(names) == len({*names})
        for name in again:
            assert names.index(name) >= names.index(name.removesuffix("-again")) + 2
        assert all(sorted(item.order) == list(range(QUERIES)) for item in one.items)


def test_both_orders_are_random(study: Study) -> None:
    orders = [tuple(item.order) for one in study.assignments for item in one.items]
    assert len({*orders}) > len(orders) / 2
    names = [[item.set for item in one.items] for one in study.assignments]
    assert all(hand != sorted(hand) for hand in names)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"raters": 2, "each": 3}, "each set should go to 3 raters, but there are only 2; raise raters or lower each"),
        (
            {"raters": 9, "repeats": 2, "sets": 9},
            "of which at most 1 can be repeated, not 2; lower repeats or raise sets",
        ),
        ({"kind": "XY"}, "kind must be UC or SC, not 'XY'"),
        ({"success": "some"}, "success must be all or mixed, not 'some'"),
        ({"sampler": "far"}, "sampler must be near, start or independent, not 'far'"),
        ({"sets": 0}, "sets must be a whole number, 1 or more"),
        ({"seed": -1}, "seed must be a whole number, 0 or more"),
        ({"checks": -1}, "checks must be a whole number, 0 or more"),
    ],
)
def test_options_that_make_no_study_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(OptionError, match=re.escape(words)):
        create(**{"sets": 3, "worlds": 1, **options})


# What is drawn


@pytest.mark.parametrize("sampler", ["near", "start", "independent"])
def test_paths_are_walks_in_their_world_and_queries_differ(sampler: Any) -> None:
    made = create("UC", sets=6, raters=2, seed=2, worlds=2, sampler=sampler)
    for one in made.sets:
        graph = made.graph(one.scene)
        assert len({tuple(query) for query in one.queries}) == QUERIES
        for path in (one.reference, *one.queries):
            assert all(graph.has_edge(a, b) for a, b in pairwise(path))
        starts = {query[0] for query in one.queries}
        assert (starts == {one.reference[0]}) == (sampler != "independent")


@pytest.mark.parametrize(("success", "counts"), [("all", {5.0}), ("mixed", {2.0, 3.0, 4.0})])
def test_success_constrained_queries_meet_the_rule(success: Any, counts: set[float]) -> None:
    made = create("SC", sets=12, raters=2, seed=1, worlds=2, success=success)
    assert {sum(scores(made, one, "SR")) for one in made.sets} == counts


def test_checks_have_an_obvious_answer_by_construction(study: Study) -> None:
    checks = study.of_kind("check")
    assert len(checks) == 2
    for one in checks:
        points = {node: np.array(point) for node, point in study.scenes[one.scene].positions.items()}
        away = [[min(math.dist(points[a], points[b]) for b in one.reference) for a in query] for query in one.queries]
        short = [[math.dist(points[node], points[one.reference[-1]]) for node in query] for query in one.queries]
        assert one.queries[one.best] == one.reference
        for number, query in enumerate(one.queries):
            if number not in (one.best, one.worst):
                half = len(one.reference) // 2
                assert query[: half + 1] == one.reference[: half + 1]
                assert 0 < away[number][-1] <= max(away[number]) < min(away[one.worst])
                assert short[number][-1] < min(short[one.worst])
    assert len({one.best for one in create(sets=1, raters=1, checks=6, worlds=1).of_kind("check")}) > 1


def test_checks_ask_no_metric(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever scores paths is broken here, and checks are the same."""
    before = create(sets=1, raters=1, checks=2, worlds=1).of_kind("check")

    def broken(*_: Any, **__: Any) -> None:
        raise AssertionError("a check asked a metric")

    for name in ("wayscore.warping.alignment.ndtw", "wayscore.evaluation.score.score"):
        monkeypatch.setattr(name, broken)
    monkeypatch.setattr(correlations, "score", broken)
    assert create(sets=1, raters=1, checks=2, worlds=1).of_kind("check") == before


def test_a_graph_without_room_has_no_check() -> None:
    line = ws.Graph.from_edges([("a", "b"), ("b", "c")], [1.0, 1.0], positions={"a": (0, 0), "b": (1, 0), "c": (2, 0)})
    assert make_check(line, ["a", "b", "c"], np.random.default_rng(0)) is None


@pytest.mark.parametrize("seed", range(5))
def test_the_worst_of_a_check_keeps_away_all_along(seed: int) -> None:
    world = World.paper(seed)
    reference = world.shortest_path((7, 6), (7, 8))  # in the middle, which ways between corners pass
    path = far_path(world.graph, Around.of(world.graph, reference), np.random.default_rng(seed))
    places = dict(zip(world.graph.nodes, world.positions.tolist(), strict=True))
    away = [min(math.dist(places[node], places[near]) for near in reference) for node in path]
    assert min(away) >= away[0] / 2 > 2.5
    assert len(path) > 3


def test_threshold_and_question_are_the_papers() -> None:
    made = create(sets=2, raters=1, seed=4, worlds=2)
    lengths = [length for scene in made.scenes.values() for length in scene.lengths]
    assert made.threshold == pytest.approx(1.33 * np.mean(lengths), rel=1e-12)
    assert all(max(scene.lengths) <= 1.4 for scene in made.scenes.values())
    assert (made.question, made.name, made.title) == (QUESTION, "UC study, seed 4", "Which path would you prefer?")
    assert create(sets=1, raters=1, worlds=1, name="Paths of a robot").title == "Paths of a robot"


# Files


def test_a_study_can_be_rebuilt_from_its_seed_byte_for_byte(study: Study, tmp_path: Path) -> None:
    write_study(tmp_path / "a.json", study)
    write_study(tmp_path / "a.json.gz", study)
    again = read_study(tmp_path / "a.json")
    assert again == study
    assert read_study(tmp_path / "a.json.gz") == study
    assert study_bytes(rebuild(again)) == (tmp_path / "a.json").read_bytes()
    assert gzip.decompress((tmp_path / "a.json.gz").read_bytes()) == study_bytes(study)
    assert study_bytes(create(**{**study.how["options"], "seed": 6})) != study_bytes(study)


def test_raters_change_no_set(study: Study) -> None:
    other = create(**{**study.how["options"], "raters": 3, "each": 1, "repeats": 0})
    assert other.of_kind("plain") == study.of_kind("plain")
    assert other.of_kind("check") == study.of_kind("check")


def change(study: Study, path: Path, edit: Any) -> Path:
    """Write a study whose JSON was edited."""
    content = json.loads(study_bytes(study))
    edit(content)
    path.write_text(json.dumps(content))
    return path


DAMAGE: dict[str, tuple[Any, str]] = {
    "format": (lambda s: s.update(format="wayscore study 9"), "its format is 'wayscore study 9'"),
    "kind": (lambda s: s.update(kind="QC"), "is not a study (Invalid enum value 'QC' - at `$.kind`)"),
    "threshold": (lambda s: s.update(threshold=0), "its threshold must be a number of metres above 0, not 0"),
    "missing": (lambda s: s.pop("sets"), "is not a study (Object missing required field `sets`)"),
    "unknown": (lambda s: s.update(more=1), "is not a study (Object contains unknown field `more`)"),
    "twice": (lambda s: s["sets"].append(s["sets"][0]), "two sets are named 'uc-01'"),
    "four": (lambda s: s["sets"][0]["queries"].pop(), "set 'uc-01' must have 5 queries, not 4"),
    "empty": (lambda s: s["sets"][0]["queries"][0].clear(), "set 'uc-01' has an empty path"),
    "node": (lambda s: s["sets"][0]["reference"].append("x99y99"), "visits a node 'x99y99'"),
    "scene": (lambda s: s["sets"][0].update(scene="world9"), "is in scene 'world9', which does not exist"),
    "repeat": (lambda s: s["sets"][12].update(of="uc-99"), "repeats 'uc-99', which is not a plain set"),
    "of": (lambda s: s["sets"][0].update(of="uc-02"), "is not a repeat, but names a set that it repeats, 'uc-02'"),
    "check": (lambda s: s["sets"][-1].update(best=7), "is a check, but does not say which query is best"),
    "sources": (lambda s: s["sets"][0].update(sources=["a"]), "has 1 sources for 5 queries"),
    "item": (lambda s: s["assignments"][0]["items"][0].update(set="uc-77"), "has a set 'uc-77' that does not exist"),
    "order": (lambda s: s["assignments"][0]["items"][0].update(order=[0, 1, 2, 3, 3]), "must list 0 to 4 once"),
    "rater": (lambda s: s["assignments"][1].update(rater=1), "rater 1 has two assignments"),
    "edge": (lambda s: s["scenes"]["world1"]["edges"].append([0, 999]), "has an edge to a node that does not exist"),
    "length": (lambda s: s["scenes"]["world1"]["lengths"].pop(), "edges and"),
    "negative": (lambda s: s["scenes"]["world1"]["lengths"].__setitem__(0, -1), "negative or not finite"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_studies_are_refused_in_a_sentence(study: Study, tmp_path: Path, damage: str) -> None:
    edit, words = DAMAGE[damage]
    with pytest.raises(FormatError, match=re.escape(words)) as error:
        read_study(change(study, tmp_path / "study.json", edit))
    assert str(error.value).startswith(str(tmp_path / "study.json"))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"", "damaged JSON"), (b'{"name": "x"', "damaged JSON"), (b"[]", "is not a study"), (b"\xff\xfe", "damaged")],
)
def test_what_is_no_study_is_refused(study: Study, tmp_path: Path, content: bytes, words: str) -> None:
    (tmp_path / "x.json").write_bytes(content)
    with pytest.raises(FormatError, match=words):
        read_study(tmp_path / "x.json")
    (tmp_path / "x.json").write_bytes(study_bytes(study)[:-3])
    with pytest.raises(FormatError, match="damaged JSON"):
        read_study(tmp_path / "x.json")


def test_a_study_without_its_design_cannot_be_rebuilt(study: Study, tmp_path: Path) -> None:
    edited = change(study, tmp_path / "x.json", lambda content: content.update(how={"from": "worlds"}))
    with pytest.raises(OptionError, match="has no saved design"):
        rebuild(read_study(edited))


# Rankings


def test_rankings_survive_their_file(study: Study, tmp_path: Path) -> None:
    name = study.sets[0].name
    given_ = [
        Ranking("1", name, [[2], [0], [1], [3], [4]], seconds=12.5, at="2026-01-01T10:00:00Z"),
        Ranking("zoë", name, [[4], [3], [2], [1], [0]], simulated=True),
    ]
    write_rankings(tmp_path / "a.jsonl", given_)
    assert read_rankings(tmp_path / "a.jsonl", study) == given_
    assert (tmp_path / "a.jsonl").read_bytes().count(b"\n") == 2
    assert b"simulated" not in (tmp_path / "a.jsonl").read_bytes().split(b"\n")[0]


def answer(groups: Any, rater: Any = "1", name: str = "uc-01") -> str:
    return json.dumps({"rater": rater, "set": name, "groups": groups})


ONE_BY_ONE = [[0], [1], [2], [3], [4]]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (answer([[0, 1, 2, 3]]), "line 2: an order must name each of the queries 0 to 4 once, not [[0, 1, 2, 3]]"),
        (answer([[0], [1], [2], [3], [5]]), "must name each of the queries 0 to 4 once"),
        (answer([[0], [], [1], [2], [3], [4]]), "must not have empty ranks"),
        (answer([[0, 1], [2], [3], [4]]), "queries 0 and 1 are tied, which the study does not allow"),
        (answer(ONE_BY_ONE, name="uc-99"), "the study has no set 'uc-99'"),
        (answer(ONE_BY_ONE, rater=""), "the rater has no name"),
        (answer(ONE_BY_ONE, rater="0"), "rater '0' ranks 'uc-01' again, after line 1"),
        (answer(ONE_BY_ONE, rater=1), "line 2"),
        ('{"rater": "1", "set": "uc-01"}', "groups"),
        (answer(ONE_BY_ONE)[:30], "line 2"),
        ("nonsense", "line 2"),
    ],
)
def test_damaged_answers_are_refused_in_a_sentence(study: Study, tmp_path: Path, line: str, words: str) -> None:
    (tmp_path / "a.jsonl").write_text(f"{answer(ONE_BY_ONE, rater='0')}\n{line}\n")
    with pytest.raises(FormatError, match=re.escape(words)) as error:
        read_rankings(tmp_path / "a.jsonl", study)
    assert str(error.value).startswith(str(tmp_path / "a.jsonl"))
    (tmp_path / "a.jsonl").write_text("")
    with pytest.raises(FormatError):
        read_rankings(tmp_path / "a.jsonl", study)


@given(st.permutations(range(QUERIES)), st.lists(st.integers(1, QUERIES), max_size=4))
def test_ranks_of_any_order_share_their_places(order: list[int], cuts: list[int]) -> None:
    ends = sorted({*cuts, QUERIES})
    groups = [order[a:b] for a, b in zip([0, *ends], ends, strict=False)]
    ranking = Ranking("1", "s", groups)
    assert fault_of(groups) == ""
    assert sum(ranking.ranks()) == 15
    positions = [n for query in range(QUERIES) for n, group in enumerate(groups) if query in group]
    assert [a < b for a in ranking.ranks() for b in ranking.ranks()] == [a < b for a in positions for b in positions]


# From runs


def from_course(course: Path, agents: Any = AGENTS, **options: Any) -> Study:
    return create_from_runs(
        [course / "runs" / f"{agent}.json" for agent in agents],
        references=course / "references.json",
        graphs=course / "connectivity",
        **{"sets": 8, "raters": 3, "threshold": 1.41, **options},
    )


def test_runs_become_sets_with_their_sources(course: Path, tmp_path: Path) -> None:
    made = from_course(course, checks=1, repeats=1)
    asked = ws.load_references(course / "references.json")
    walked = {agent: ws.load_run(course / "runs" / f"{agent}.json") for agent in AGENTS}
    for one in made.of_kind("plain"):
        episode = one.name.removeprefix("uc-")
        assert one.reference == asked.episodes[episode].path
        assert len({*one.sources}) == QUERIES
        for source, query in zip(one.sources, one.queries, strict=True):
            steps = walked[source].queries[episode].path
            assert query == [node for n, node in enumerate(steps) if n == 0 or node != steps[n - 1]]
    assert len({tuple(one.reference) for one in made.of_kind("plain")}) == 8
    graphs = ws.load_graphs(course / "connectivity")
    for one in made.sets[:3]:
        ends = one.reference[0], one.queries[0][-1]
        assert made.graph(one.scene).distance(*ends) == graphs[one.scene].distance(*ends)
    assert [one.queries[one.best] == one.reference for one in made.of_kind("check")] == [True]
    write_study(tmp_path / "s.json", made)
    assert read_study(tmp_path / "s.json") == made
    assert study_bytes(from_course(course, checks=1, repeats=1)) == study_bytes(made)
    assert {*made.how["runs"]} == {*AGENTS}
    assert str(course) not in study_bytes(made).decode()
    with pytest.raises(OptionError, match="was created from runs"):
        rebuild(made)


def test_success_constrained_sets_of_runs(course: Path) -> None:
    made = from_course(course, kind="SC", success="mixed", sets=4)
    assert all(2 <= sum(scores(made, one, "SR")) <= 4 for one in made.sets)


def test_too_few_runs_or_sets_are_told(course: Path) -> None:
    with pytest.raises(OptionError, match="give 5 runs or more, not 4"):
        from_course(course, AGENTS[:4])
    with pytest.raises(OptionError, match="cannot find 90 sets: in only"):
        from_course(course, sets=90)
    with pytest.raises(OptionError, match="cannot make 99 checks: only"):
        from_course(course, checks=99)


def test_five_real_agents_make_a_study_from_the_command_line(data: Path, tmp_path: Path) -> None:
    agents = ("prevalent_add", "seq2seq_iter19000", "seq2seq_iter05000", "random_agent", "phi3_agent")
    runs = [data / "predictions" / "r2r" / f"val_unseen_{agent}.json.gz" for agent in agents]
    given = ("--references", data / "r2r" / "R2R_val_unseen.json.gz", "--graphs", data / "connectivity.tar.gz")
    sizes = ("--sets", 40, "--raters", 5, "--each", 2, "--checks", 2)
    file, answers = tmp_path / "s.json", tmp_path / "s-simulated.jsonl"
    command("study", "create", "-o", file, *sizes, "--from-runs", *runs, *given, status=0)
    made = read_study(file)
    assert made.threshold == 3.0
    graphs = ws.load_graphs(data / "connectivity.tar.gz")
    for one in made.of_kind("plain"):
        assert {*one.sources} == {f"val_unseen_{agent}" for agent in agents}
        heights = graphs[one.scene].positions[:, 2]
        places = [graphs[one.scene].index[node] for path in (one.reference, *one.queries) for node in path]
        assert np.ptp(heights[places]) <= 2.0
        theirs = ws.score(
            references=[one.reference] * QUERIES, queries=one.queries, distance=graphs[one.scene], metrics=["nDTW"]
        )
        assert scores(made, one, "nDTW") == pytest.approx(theirs["nDTW"].tolist(), abs=1e-12)
    command("study", "simulate", file, status=0)
    assert "d_th = 3.00 m" in command("study", "analyze", file, answers, "--resamples", 100, status=0).stdout
