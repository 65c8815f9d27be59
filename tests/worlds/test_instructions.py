"""Instructions are followed by their words alone, by a reader that shares no code with the writer."""

from __future__ import annotations

import math
import re
from collections.abc import Hashable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from wayscore import Graph, OptionError, PathError, UnknownNodeError, World, load_graphs, load_references
from wayscore.worlds import instruct
from wayscore.worlds.instructions import NUMBERS, ORDINALS

COMPASS = {
    "north": (0, 1),
    "north-east": (1, 1),
    "east": (1, 0),
    "south-east": (1, -1),
    "south": (0, -1),
    "south-west": (-1, -1),
    "west": (-1, 0),
    "north-west": (-1, 1),
}
LIMITS = {"straight": (0.0, 22.5), "slight": (22.5, 67.5), "plain": (67.5, 112.5), "sharp": (112.5, 180.0)}


def follow(world: World | Graph, start: Hashable, instruction: str) -> list[Hashable]:
    """Walk by the words alone, as the module's documentation explains them."""
    graph = world.graph if isinstance(world, World) else world
    walked = [start]
    towards: Any = None
    for clause in clauses(instruction):
        count = steps_of(clause)
        if "back the way you came" in clause or "retrace your steps" in clause:
            pivot = len(walked) - 1
            walked += [walked[pivot - step] for step in range(1, count + 1)]
        else:
            for step in range(count):
                came = walked[-2] if len(walked) > 1 else None
                words = clause if not step else "go straight on" + stairs_of(clause)
                walked.append(choose(graph, walked[-1], came, towards, words))
                towards = direction(graph, walked[-2], walked[-1], towards)
        towards = direction(graph, walked[-2], walked[-1], towards)
    return walked


def clauses(instruction: str) -> list[str]:
    if re.search("where you are|there already", instruction):
        return []
    parts = filter(None, re.split(r", and then |, then |, |\.(?:\s|$)", instruction))
    around = r"^at the next node | and stop( there| at the next node)?$"
    return [re.sub(around, "", part[0].lower() + part[1:]) for part in parts]


def steps_of(clause: str) -> int:
    if found := re.search(r"past (\w+) nodes? to the (\w+)", clause):
        assert word(found[2]) == word(found[1]) + 1
        return word(found[2])
    found = re.search(r"(?:for|walk) (\w+) nodes?\b", clause)
    return word(found[1]) if found else 1


def word(text: str) -> int:
    if text in ORDINALS:
        return 1 + ORDINALS.index(text)
    return NUMBERS.index(text) if text in NUMBERS else int(text.removesuffix("th"))


def stairs_of(clause: str) -> str:
    found = re.search(r" (up|down) the stairs", clause)
    return found[0] if found else ""


def direction(graph: Graph, a: Hashable, b: Hashable, before: Any) -> Any:
    x, y = (graph.positions[graph.index[b]] - graph.positions[graph.index[a]])[:2]
    return (x, y) if x or y else before if before is not None else (0.0, 1.0)


def angle_between(old: Any, new: Any) -> float:
    """Degrees clockwise; exactly behind counts as left."""
    cross, dot = old[1] * new[0] - old[0] * new[1], old[0] * new[0] + old[1] * new[1]
    angle = round(math.degrees(math.atan2(cross, dot)), 6)
    return -180.0 if angle == 180 else angle


def choose(graph: Graph, here: Hashable, came: Hashable, towards: Any, clause: str) -> Hashable:
    way = re.search(r" by the (.+) of (\w+) ways", clause)
    words = clause.replace(way[0], "") if way else clause
    climb = {"": 0, " up the stairs": 1, " down the stairs": -1}[stairs_of(clause)]
    start = re.match(r"(?:head|walk|go|set off) ((?:north|south|east|west)[-a-z]*)", words)
    patterns = {"straight": "straight on", "slight": "slight|bear", "sharp": "sharp", "plain": ""}
    kind = next(kind for kind, pattern in patterns.items() if re.search(pattern, words))
    found = []
    for node in {*graph.neighbors(here)} - {here}:
        position = graph.positions[graph.index[node]] - graph.positions[graph.index[here]]
        rise = float(position[2]) if len(position) > 2 else 0.0
        angle = angle_between(COMPASS[start[1]] if start else towards, direction(graph, here, node, towards))
        if start:
            fits = -22.5 <= angle <= 22.5
        else:
            low, high = LIMITS[kind]
            side = re.search("left|right", words)
            fits = low <= abs(angle) <= high and (side is None or (angle < 0) == (side[0] == "left"))
        if fits and node != came and climb == (rise > 0.3) - (rise < -0.3):
            found.append((node, angle, float(np.linalg.norm(position))))
    assert found, f"no way out of {here} is meant by {clause!r}"
    if way is None:
        if kind == "straight":
            limit = min(abs(angle) for _, angle, _ in found) + 5
            found = [min((f for f in found if abs(f[1]) < limit), key=lambda f: f[2])]
        assert len(found) == 1, f"{len(found)} ways out of {here} are meant by {clause!r}"
        return found[0][0]
    assert len(found) == word(way[2])
    return ordered(found, way[1])


def ordered(found: list[Any], which: str) -> Hashable:
    by_angle, by_length = (sorted(found, key=lambda f, k=k: f[k]) for k in (1, 2))
    ends = {"left-hand": by_angle[0], "leftmost": by_angle[0], "right-hand": by_angle[-1], "rightmost": by_angle[-1]}
    ends |= {"nearer": by_length[0], "nearest": by_length[0], "farther": by_length[-1], "farthest": by_length[-1]}
    if which in ends:
        return ends[which][0]
    if found := re.fullmatch(r"(\w+) from the left", which):
        return by_angle[word(found[1]) - 1][0]
    found = re.fullmatch(r"(\w+) nearest", which)
    return by_length[word(found[1]) - 1][0]


@pytest.mark.parametrize("seed", range(10))
def test_every_sampled_path_can_be_followed(seed):
    world, rng = World.paper(seed), np.random.default_rng(seed)
    for number in range(100):
        path = world.sample_path(rng)
        words = instruct(world, path, seed=number)
        assert follow(world, path[0], words) == path, words


@given(
    settings=st.builds(
        World,
        size=st.integers(2, 7),
        jitter=st.sampled_from([0.0, 0.3, 0.6]),
        reach=st.sampled_from([1.0, 1.4, 2.3]),
        seed=st.integers(0, 50),
    ),
    chance=st.integers(0, 1000),
    steps=st.integers(0, 25),
)
def test_any_walk_in_any_world_can_be_followed(settings, chance, steps):
    rng = np.random.default_rng(chance)
    path = [settings.graph.nodes[rng.integers(len(settings.graph))]]
    for _ in range(steps):
        if near := settings.neighbors(path[-1]):
            path.append(near[rng.integers(len(near))])
    words = instruct(settings, path, seed=chance)
    assert follow(settings, path[0], words) == path, words


@pytest.mark.parametrize("name", ["R2R_val_seen", "R2R_val_unseen"])
def test_real_paths_through_buildings_can_be_followed(data, name):
    graphs = load_graphs(data / "connectivity.tar.gz")
    references = load_references(data / "r2r" / f"{name}.json.gz").first_instructions(1)
    climbing = 0
    for number, asked in enumerate(references.episodes.values()):
        words = instruct(graphs[asked.scene], asked.path, seed=number)
        assert follow(graphs[asked.scene], asked.path[0], words) == asked.path, words
        climbing += "stairs" in words
    assert climbing > 20


def street(*positions: tuple[float, ...], **settings: Any) -> Graph:
    """Return a graph whose nodes 0, 1, 2, ... are joined one after the other."""
    nodes = range(len(positions))
    return Graph.from_edges(pairwise(nodes), positions=dict(zip(nodes, positions, strict=True)), **settings)


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ((0, 2), ["north for two nodes (2.0 m)", "north past one node to the second (2.0 m)"]),
        ((1, 2), ["bear right", "turn slightly right", "take a slight right"]),
        ((-1, 1), ["turn left", "go left", "take a left"]),
        ((1, 0.2), ["turn sharply right", "make a sharp right", "take a sharp right"]),
        ((-0.1, -1), ["turn sharply left", "make a sharp left", "take a sharp left"]),
    ],
)
def test_words_for_turns(place, words):
    said = {instruct(street((0, 0), (0, 1), place), [0, 1, 2], seed=seed) for seed in range(100)}
    used = [[wanted for wanted in words if wanted in text] for text in said]
    assert all(len(phrases) == 1 for phrases in used), said
    assert {phrase for phrases in used for phrase in phrases} == set(words)


def test_compass_points():
    for name, (x, y) in COMPASS.items():
        assert f" {name}" in instruct(street((0, 0), (x, y)), [0, 1])


def test_stairs_are_mentioned():
    graph = street((0, 0, 0), (0, 2, 0.1), (0, 4, 1.2), (0, 6, 2.3), (2, 6, 1.1))
    up, down = instruct(graph, [0, 1, 2, 3, 4]), instruct(graph, [3, 2, 1, 0])
    assert re.search(r"straight on up the stairs (for two nodes|past one node to the second) \(4\.6 m\)", up), up
    assert re.search(r"right down the stairs", up), up
    assert re.match(r"\w+( off)? south down the stairs", down), down
    assert "stairs" not in instruct(street((0, 0, 0), (0, 2, 0.2)), [0, 1])


def test_going_back():
    graph = street((0, 0), (0, 1), (1, 1), (1, 0))
    for seed in range(20):
        words = instruct(graph, [0, 1, 2, 3, 2, 1, 2], seed=seed)
        assert len(re.findall("back the way you came|retrace your steps", words)) == 2, words
        assert "for two nodes (2.0 m)" in words
        assert follow(graph, 0, words) == [0, 1, 2, 3, 2, 1, 2]


def test_long_runs_are_counted_in_figures():
    graph = street(*((0, y) for y in range(15)))
    said = {instruct(graph, range(15), seed=seed) for seed in range(20)}
    assert any("for 14 nodes (14.0 m)" in text for text in said)
    assert any("past 13 nodes to the 14th (14.0 m)" in text for text in said)


def test_ways_alike_are_told_apart():
    positions = {"here": (0, 0), "ahead": (0, 1), **{f"way{n}": (-1 + 0.3 * n, 1.9 + 0.1 * n) for n in range(4)}}
    near = {f"far{n}": (1 + n, 2 + n) for n in range(3)}
    graph = Graph.from_edges(
        [("here", "ahead"), *(("ahead", node) for node in positions if "way" in node), *(("ahead", n) for n in near)],
        positions=positions | near,
    )
    for node in graph.neighbors("ahead"):
        assert follow(graph, "here", instruct(graph, ["here", "ahead", node])) == ["here", "ahead", node]
    assert "by the second nearest of three ways" in instruct(graph, ["here", "ahead", "far1"])


def test_parallel_edges_and_loops_are_no_further_ways():
    places = {"a": (0, 0), "b": (0, 1), "c": (0, 2)}
    graph = Graph.from_edges(["ab", "bc", "bc", "bb"], [1, 1, 2, 5], positions=places)
    words = instruct(graph, "abc")
    assert "ways" not in words
    assert follow(graph, "a", words) == ["a", "b", "c"]


def test_the_same_seed_says_the_same_and_others_vary():
    world = World.paper(1)
    path = world.sample_path(np.random.default_rng(4))
    assert instruct(world, path) == instruct(world, path, seed=0) == instruct(world.graph, path)
    assert len({instruct(world, path, seed=seed) for seed in range(20)}) > 15
    rng = np.random.default_rng(5)
    assert instruct(world, path, seed=rng) == instruct(world, path, seed=5)
    assert instruct(world, path, seed=rng) != instruct(world, path, seed=5)  # the generator has moved on


def test_standing_still():
    graph = street((0, 0), (0, 1))
    assert {instruct(graph, [0], seed=seed) for seed in range(20)} == {
        "Stay where you are.",
        "Stop where you are.",
        "You are there already.",
    }
    assert instruct(graph, [0, 0, 1, 1]) == instruct(graph, [0, 1])


def test_an_edge_straight_up_keeps_the_heading():
    graph = street((0, 0, 0), (0, 1, 0), (0, 1, 3), (0, 2, 3))
    words = instruct(graph, [0, 1, 2, 3])
    assert re.findall("left|right|north|straight", words) == ["north", "straight", "straight"]
    assert follow(graph, 0, words) == [0, 1, 2, 3]


def test_paths_that_make_no_sense():
    graph, one_way = street((0, 0), (0, 1), (0, 2)), street((0, 0), (0, 1), directed=True)
    assert "north" in instruct(one_way, [0, 1])
    for where, path, error, message in (
        (graph, [], PathError, "the path is empty"),
        (graph, [0, 2], PathError, "step 0 of the path, from 0 to 2, is not an edge of the graph"),
        (one_way, [1, 0], PathError, "from 1 to 0, is not an edge of the graph"),
        (graph, [0, 7], UnknownNodeError, "7"),
        (Graph.from_edges([(0, 1)]), [0, 1], OptionError, "the graph has no positions"),
    ):
        with pytest.raises(error, match=message):
            instruct(where, path)
    with pytest.raises(OptionError, match="seed must be a whole number"):
        instruct(graph, [0, 1], seed=-1)
