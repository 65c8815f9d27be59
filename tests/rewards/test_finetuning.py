"""Rewards of completions: how text is read, what malformed text gets, TRL's and verl's calls, and real VLN-CE walks."""

from __future__ import annotations

import gzip
import json
import math
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import wayscore as ws
from wayscore.rewards.finetuning import answer_of, heading_of, items_of, read_actions, read_points, walk

HOUSE = ws.Graph.from_edges(
    [("hall", "stairs"), ("stairs", "attic"), ("hall", "living room"), ("shed", "garden")], [2.0, 3.5, 4.0, 1.0]
)
WAY = ["hall", "stairs", "attic"]
SQUARE = [[0.0, 0.0], [0.0, 1.0], [1.0, 1.0]]


def message(text: Any) -> list[dict[str, Any]]:
    return [{"role": "assistant", "content": text}]


def rewards(reward: ws.PathReward, *completions: Any, **columns: Any) -> list[float | None]:
    """Call it as TRL does: everything by keyword, columns as lists, and some that are nobody's business."""
    every = {name: [value] * len(completions) for name, value in columns.items()}
    rest = {"trainer_state": object(), "log_extra": lambda column, values: None}
    prompts = ["Go upstairs."] * len(completions)
    return reward(
        prompts=prompts, completions=list(completions), completion_ids=[[1]] * len(completions), **every, **rest
    )


GOOD = [
    "hall, stairs, attic",
    "hall -> stairs -> attic",
    "hall stairs attic",
    "hall\nstairs\nattic\n",
    '["hall", "stairs", "attic"]',
    "I go up. <answer>hall, stairs, attic</answer> Done.",
    '<think>Not <answer>shed</answer>.</think><answer>\n["hall", "stairs", "attic"]\n</answer>',
    "<think>shed?</think>hall, stairs, attic",
    message("hall, stairs, attic"),
    [{"role": "tool", "content": "shed"}, *message("<answer>hall, stairs, attic</answer>")],
    message([{"type": "text", "text": "hall, stairs"}, {"type": "image"}, {"type": "text", "text": ", attic"}]),
]
BAD = [
    "",
    "hall, cellar",
    "Hall, stairs, attic",
    "hall,, stairs",
    "I go to the hall, then up the stairs",
    '["hall", "stairs"',
    '["hall", ["stairs"]]',
    '["hall", true]',
    '[{"node": "hall"}]',
    "[]",
    "[" * 100_000,
    "<answer></answer>",
    "<answer>hall</answer><answer>hall, stairs, attic</answer>",
    "</answer>hall, stairs, attic<answer>",
    "<answer>hall, <answer>stairs, attic</answer></answer>",
    "<think>hall, stairs, attic</think>",
    "\x00",
    [],
    [None],
    message([{"type": "text", "text": None}]),
    [{"role": "assistant"}],
    None,
    7,
]


@pytest.mark.parametrize("completion", GOOD)
def test_answers_that_are_understood(completion: Any) -> None:
    assert rewards(ws.PathReward(distance=HOUSE), completion, reference=WAY) == [1.0]


@pytest.mark.parametrize("completion", BAD)
def test_malformed_answers_get_the_worst_value_and_end_nothing(completion: Any) -> None:
    reward = ws.PathReward(distance=HOUSE)
    assert rewards(reward, completion, "hall, stairs, attic", reference=WAY) == [0.0, 1.0]
    assert ws.PathReward(distance=HOUSE, malformed=-0.5).compute_score("r2r", completion, WAY) == -0.5
    with pytest.raises(ws.PathError):
        reward.read(completion, reference=WAY)


@settings(max_examples=300, deadline=None)
@given(
    st.text() | st.text(alphabet='[]{}",:->0129.eE aftforwdleigsp<>/answer\n', max_size=60),
    st.sampled_from(["nodes", "points", "actions"]),
)
def test_no_text_ends_a_training(text: str, answers: str) -> None:
    reward = ws.PathReward(distance=HOUSE if answers == "nodes" else None, answers=answers)
    reference = WAY if answers == "nodes" else SQUARE
    (found,) = rewards(reward, text, reference=reference, start=[0.0, 0.0])
    assert found is not None
    assert 0.0 <= found <= 1.0


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(list(HOUSE.index or {})), min_size=1), st.sampled_from([", ", " -> ", "json"]))
def test_what_is_written_is_what_is_scored(nodes: list[str], separator: str) -> None:
    text = json.dumps(nodes) if separator == "json" else separator.join(nodes)
    if len(nodes) == 1 and " " in text and separator != "json":
        return  # one name with a space, and no separator that says so
    expected = ws.ndtw(reference=WAY, query=nodes, distance=HOUSE)
    assert rewards(ws.PathReward(distance=HOUSE), text, reference=WAY) == pytest.approx([expected], abs=1e-15)


def test_scores_by_name_and_weighted_sums() -> None:
    query = ["hall", "stairs"]
    table = ws.score(references=[WAY], queries=[query], distance=HOUSE, threshold=4.0)
    for metric in ("nDTW", "SDTW", "SPL", "sr", "CLS"):
        reward = ws.PathReward(distance=HOUSE, metric=metric, threshold=4.0)
        assert rewards(reward, "hall, stairs", reference=WAY) == table[reward.__name__].tolist()
    mixed = ws.PathReward(
        distance=HOUSE, metric={"nDTW": 1.0, "success": 0.5, "NE": -0.1}, threshold=4.0, malformed=-2.0
    )
    expected = table["nDTW"][0] + 0.5 * table["SR"][0] - 0.1 * table["NE"][0]
    assert rewards(mixed, "hall, stairs", "?", reference=WAY) == [pytest.approx(expected), -2.0]
    assert rewards(mixed, "shed, garden", reference=WAY) == [-2.0]  # unreachable: NE is undefined
    assert rewards(ws.PathReward(distance=HOUSE), "shed, garden", reference=WAY) == [0.0]
    assert mixed.__name__ == "nDTW+SR+NE"
    assert repr(mixed) == "<PathReward nDTW+SR+NE, malformed: -2>"


def again(episode: ws.Episode) -> float:
    return float(len(episode.query) - len(set(episode.query)))


AGAIN = ws.Metric("again", "Visited again", "down", (0, math.inf), "nodes", "|Q| - |set(Q)|", measure=again)


def test_metrics_of_ones_own_and_pickles() -> None:
    reward = ws.PathReward(distance={"home": HOUSE}, metric={"nDTW": 1.0, AGAIN: -0.25}, malformed=-1)
    for one in (reward, pickle.loads(pickle.dumps(reward))):
        assert one.__name__ == "nDTW+again"
        found = rewards(one, "hall, stairs, attic", "hall, hall, stairs, attic", reference=WAY, scene="home")
        assert found == [1.0, 0.75]


def test_rows_without_a_reference_are_left_out_and_malformed_ones_are_logged() -> None:
    logged: dict[str, float] = {}
    completions, references = ["hall, stairs, attic", "4", "?", "attic"], [WAY, None, WAY, WAY]
    reward = ws.PathReward(distance=HOUSE)
    found = reward(completions=completions, reference=references, log_metric=logged.__setitem__)
    assert found[:3] == [1.0, None, 0.0]
    assert logged == {"nDTW/malformed": 0.25}


def test_scenes_and_names_of_columns() -> None:
    flat = ws.Graph.from_edges([("hall", "attic")], [1.0])
    reward = ws.PathReward(
        distance={"house": HOUSE, "flat": flat}, columns={"reference": "path", "scene": "scan"}, threshold=1.0
    )
    completions = ["hall", "hall", "stairs"]
    found = reward(completions=completions, path=[["attic"]] * 3, scan=["house", "flat", "flat"])
    assert found == [pytest.approx(math.exp(-5.5)), pytest.approx(math.exp(-1)), 0.0]
    assert reward.compute_score("r2r", "hall", ["attic"], {"scan": "flat", "index": 3}) == pytest.approx(math.exp(-1))


def test_verl() -> None:
    """By keyword, with what Parquet makes of lists: arrays, arrays of arrays, or text."""
    reward = ws.PathReward(distance=HOUSE)
    for truth in (WAY, np.array(WAY, dtype=object), json.dumps(WAY), "hall, stairs, attic"):
        found = reward.compute_score(data_source="r2r", solution_str=GOOD[5], ground_truth=truth, extra_info=None)
        assert found == 1.0
        assert type(found) is float
    rows = np.empty(3, dtype=object)
    rows[:] = [np.array(point, dtype=np.float32) for point in SQUARE]
    points = ws.PathReward(answers="points")
    for truth in (SQUARE, rows, np.array(SQUARE), json.dumps(SQUARE)):
        assert points.compute_score("x", json.dumps(SQUARE), truth, {}, reward_router_address="nowhere") == 1.0
    walked = ws.PathReward(answers="actions", step=1.0, turn=90.0)
    extra = {"start": np.array([0.0, 0.0]), "heading": 0.0}
    assert walked.compute_score("x", "forward right forward stop", np.array(SQUARE), extra) == pytest.approx(1.0)


def test_nodes_that_are_numbers_or_cells() -> None:
    numbers = ws.Graph.from_edges([(0, 1), (1, 2)], [1.0, 1.0])
    texts = ws.Graph.from_edges([("0", "1"), ("1", "2")], [1.0, 1.0])
    for graph, way in ((numbers, [0, 1, 2]), (texts, ["0", "1", "2"])):
        reward = ws.PathReward(distance=graph)
        found = rewards(reward, "0, 1, 2", "[0, 1, 2]", '["0", "1", "2"]', "0.0, 1, 2", "3", reference=way)
        assert found == [1.0, 1.0, 1.0, 0.0, 0.0]
    cells = ws.Graph.from_edges([((0, 0), (0, 1))], [1.0])
    assert rewards(ws.PathReward(distance=cells), "[[0, 0], [0, 1]]", reference=[[0, 0], [0, 1]]) == [1.0]


def test_points() -> None:
    reward = ws.PathReward(answers="points", threshold=2.0)
    bad = ["[[0, 0], [0]]", "[[0, 0, 0]]", "[0, 1]", "[[NaN, 0]]", "[[1e999, 0]]", "[[true, 0]]", "[[]]", "0, 1"]
    bad += [f"[[{'9' * 400}, 0]]", '[["0", 0]]', "[[[0, 0]]]", "[null]"]
    found = rewards(reward, "[[0, 0], [0, 1], [1, 1]]", "[[0, 0]]", *bad, reference=SQUARE)
    assert found == [1.0, pytest.approx(math.exp(-(1 + math.sqrt(2)) / 6)), *[0.0] * len(bad)]


@pytest.mark.parametrize("distance", [None, ws.Grid(np.ones((3, 3), dtype=bool), cell=1.0)])
def test_points_that_are_far_away(distance: ws.Distance | None) -> None:
    for metric in ("nDTW", "SPL", {"nDTW": 1.0, "CLS": 1.0, "SED": 1.0}):
        reward = ws.PathReward(answers="points", distance=distance, metric=metric)
        far = [f"[[{far}, 0]]" for far in ("1e12", "-1e150", "1e160", "1e308", "-1.7e308")]
        for value in rewards(reward, *far, *(f"[[0, 0], {one[1:]}" for one in far), reference=SQUARE):
            assert value is not None
            assert 0.0 <= value < 2.0


def test_actions_by_hand() -> None:
    reward = ws.PathReward(answers="actions", step=1.0, turn=90.0, threshold=1.0)
    texts = ["forward, right, forward, stop", '["MOVE_FORWARD", 3, "1", 0]', "1 3 1", "stop", "left forward"]
    found = rewards(reward, *texts, reference=SQUARE, start=[0, 0], heading=0.0)
    alone = math.exp(-(1 + math.sqrt(2)) / 3)
    west = math.exp(-(0 + 1 + math.sqrt(5)) / 3)  # the second point is warped to the start
    assert found == pytest.approx([1.0, 1.0, 1.0, alone, west])
    bad = ["forward, jump", "stop, forward", "[1, true]", "[1, 1.0]", "[4]", "forward 2 m", "[[1]]", "-1"]
    assert rewards(reward, *bad, reference=SQUARE, start=[0, 0]) == [0.0] * len(bad)


@pytest.mark.parametrize(
    ("up_axis", "start", "ahead", "right"),
    [(2, [1, 2, 3], [1, 3, 3], [2, 2, 3]), (1, [1, 2, 3], [1, 2, 2], [2, 2, 3]), (0, [1, 2, 3], [1, 2, 4], [1, 3, 3])],
)
def test_directions(up_axis: int, start: list[float], ahead: list[float], right: list[float]) -> None:
    def step(*actions: str, heading: Any = 0.0) -> Any:
        turned = heading_of(heading, up_axis)
        return walk([*actions, "forward"], start, turned, step=1.0, turn=90.0, up_axis=up_axis)[-1]

    assert step() == pytest.approx(ahead)
    assert step("right") == pytest.approx(right)
    assert step(heading=math.pi / 2) == pytest.approx(right)
    around = [0.0, 0.0, 0.0, math.sqrt(0.5)]
    around[up_axis] = -math.sqrt(0.5)  # clockwise, seen from above
    assert step(heading=around) == pytest.approx(right)
    assert step("left", "right", "right", "stop") == pytest.approx(right)
    assert walk(["left"] * 24 + ["forward"], start, step=1.0, up_axis=up_axis)[-1] == pytest.approx(ahead, abs=1e-12)


@pytest.mark.parametrize("split", ["val_seen", "val_unseen"])
def test_dead_reckoning_is_what_habitat_did(split: str) -> None:
    """VLN-CE's own actions lead where its simulator went, but for walls that it slid along and floors that slope."""
    folder = Path(os.environ.get("WAYSCORE_DATA", "/nowhere")) / "vlnce" / "R2R_VLNCE_v1-3" / split
    if not folder.is_dir():
        pytest.skip("needs VLN-CE below WAYSCORE_DATA")
    with gzip.open(folder / f"{split}.json.gz") as episodes, gzip.open(folder / f"{split}_gt.json.gz") as truth:
        starts = {str(one["episode_id"]): one for one in json.load(episodes)["episodes"]}
        walks = json.load(truth)
    first, worst = [], []
    reward = ws.PathReward(
        answers="actions", up_axis=1, columns={"start": "start_position", "heading": "start_rotation"}
    )
    for name, told in walks.items():
        row = {"reference": told["locations"], **starts[name]}
        apart = np.abs(reward.read(str(told["actions"]), **row) - told["locations"])[:, [0, 2]].max(axis=1)
        first.append(apart[1])
        worst.append(apart.max())
    assert np.mean(np.array(first) < 1e-3) > 0.99
    assert np.median(worst) < 0.01
    assert np.quantile(worst, 0.9) < 0.1


def shouted(text: str) -> list[str]:
    if not text.isupper():
        raise ValueError("shout!")
    return text.lower().split("!")


def test_a_parser_of_ones_own() -> None:
    reward = pickle.loads(pickle.dumps(ws.PathReward(distance=HOUSE, answers=shouted)))
    assert rewards(reward, "HALL!STAIRS!ATTIC", "hall", "CELLAR", reference=WAY) == [1.0, 0.0, 0.0]
    with pytest.raises(ws.PathError, match="the answer is malformed: shout!"):
        reward.read("hall", reference=WAY)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"metric": "NE", "distance": HOUSE}, 'NE is better when lower, .* use metric={"NE": -1}'),
        ({"metric": {"nDTW": -1.0}, "distance": HOUSE}, 'nDTW is better when higher, .* use metric={"nDTW": 1}'),
        ({"metric": {"NE": -1.0}, "distance": HOUSE}, "NE has no worst value; .* malformed="),
        ({"metric": {"nDTW": math.nan}, "distance": HOUSE}, "the weight of nDTW must be a finite number, got nan"),
        ({"metric": {}, "distance": HOUSE}, "at least one metric"),
        ({"metric": "nDTV", "distance": HOUSE}, "there is no metric 'nDTV'; did you mean 'nDTW'"),
        ({}, 'answers="nodes" need distance='),
        ({"answers": "node"}, "answers must be one of nodes, points, actions, .* did you mean 'nodes'"),
        ({"answers": "points", "threshold": -1.0}, "threshold"),
        ({"answers": "points", "malformed": math.inf}, "malformed must be a finite number, got inf"),
        ({"answers": "actions", "turn": "15"}, "turn must be a finite number, got '15'"),
        ({"answers": "actions", "up_axis": 3}, "up_axis must be 0, 1 or 2"),
        ({"answers": "points", "columns": {"refs": "path"}}, "columns renames reference, .* not 'refs'"),
        ({"distance": 5}, "distance must be a Graph"),
    ],
)
def test_settings_that_make_no_sense(options: dict[str, Any], text: str) -> None:
    with pytest.raises(ws.OptionError, match=text):
        ws.PathReward(**options)


@pytest.mark.parametrize(
    ("options", "columns", "text"),
    [
        ({"distance": HOUSE}, {"path": WAY}, 'the dataset has no column "reference"'),
        ({"distance": HOUSE}, {"reference": ["hall", "cellar"]}, "row 0 of the batch: the reference.* node 'cellar'"),
        ({"distance": HOUSE}, {"reference": []}, "row 0 of the batch: the reference"),
        ({"distance": HOUSE}, {"reference": 7}, "a reference must be a list of nodes or points, got 7"),
        ({"distance": {"a": HOUSE}}, {"reference": WAY}, 'the column "scene" says None, and distance= has no such'),
        ({"distance": {"ab": HOUSE}}, {"reference": WAY, "scene": "aB"}, "no such scene; did you mean 'ab'"),
        ({"distance": {"ab": HOUSE}}, {"reference": WAY, "scene": []}, "no such scene"),
        ({"distance": {"a": ws.Euclidean()}}, {"reference": SQUARE, "scene": "a"}, "answers are nodes, and the"),
        ({"answers": "points", "distance": HOUSE}, {"reference": WAY}, "answers are points, and the .* between nodes"),
        ({"answers": "points"}, {"reference": [[0.0, math.inf]]}, "row 0 of the batch: the reference"),
        ({"answers": "points"}, {"reference": [[0.0], [0.0, 1.0]]}, "row 0 of the batch: points must be lists"),
        ({"answers": "actions"}, {"reference": SQUARE}, "a start must be two or three finite coordinates, got None"),
        ({"answers": "actions"}, {"reference": SQUARE, "start": [0, 0, 0]}, "the start has 3 coordinates, the ref"),
        ({"answers": "actions"}, {"reference": SQUARE, "start": [0, 0], "heading": "N"}, "a heading must be one num"),
        ({"answers": "actions"}, {"reference": SQUARE, "start": [0, 0], "heading": [0] * 4}, "a heading must be one"),
    ],
)
def test_datasets_that_make_no_sense(options: dict[str, Any], columns: dict[str, Any], text: str) -> None:
    """Also where the completion is malformed: a dataset is checked by any completions."""
    with pytest.raises(ws.WayscoreError, match=text):
        rewards(ws.PathReward(**options), "?", **columns)


def test_reasons() -> None:
    with pytest.raises(ws.OptionError, match="2 completions but 1 values of reference"):
        ws.PathReward(distance=HOUSE)(completions=["hall", "hall"], reference=[WAY])
    for read, what, why in (
        (answer_of, "<answer>", "must have one <answer>...</answer> block"),
        (items_of, "a,,b", "the answer has an empty item: 'a,,b'"),
        (read_actions, ["stop", "left"], "1 actions follow a stop"),
        (read_points, [[1], [1, 2]], "all of the same length, got \\[1, 2\\]"),
    ):
        with pytest.raises(ws.PathError, match=why):
            read(what)  # type: ignore[operator]
