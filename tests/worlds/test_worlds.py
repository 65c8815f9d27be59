"""The paper's world against brute force and networkx, and walkers whose scores are known in advance."""

from __future__ import annotations

import math
from collections import Counter
from itertools import combinations, pairwise

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

from wayscore import METRICS, OptionError, PathError, UnknownNodeError, World, score
from wayscore.worlds import WALKERS, detour, early_stop, noisy, overshoot, perfect, random_walk, reversed_walk, shortest

SEEDS = [0, 1, 2, 14, 89]  # in worlds 1, 14 and 89 a corner is cut off


def as_networkx(world: World) -> nx.Graph:
    graph = nx.Graph()
    graph.add_nodes_from(world.graph.nodes)
    for a, b in world.graph.edges:
        length = math.dist(world.positions[a], world.positions[b])
        graph.add_edge(world.graph.nodes[a], world.graph.nodes[b], weight=length)
    return graph


def sample(world: World, count: int = 30, seed: int = 5) -> list[list[tuple[int, int]]]:
    rng = np.random.default_rng(seed)
    return [world.sample_path(rng) for _ in range(count)]


def walkable(world: World, path: list[tuple[int, int]]) -> bool:
    return all(b in world.neighbors(a) for a, b in pairwise(path))


@pytest.fixture(scope="module")
def world() -> World:
    return World.paper(seed=3)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_world_of_the_paper(seed):
    world = World.paper(seed)
    assert set(world.graph.nodes) == {(i, j) for i in range(15) for j in range(15)}
    assert np.abs(shifts(world)).max() <= 0.3
    assert np.array_equal(world.graph.positions, world.positions)
    lengths = {
        (a, b): length
        for a, b in combinations(range(225), 2)
        if (length := math.dist(world.positions[a], world.positions[b])) <= 1.4
    }
    assert sorted(world.graph.edges) == sorted(lengths)
    assert world.threshold == pytest.approx(1.33 * sum(lengths.values()) / len(lengths), rel=1e-12)


def shifts(world: World) -> np.ndarray:
    return world.positions - np.array(world.graph.nodes)


def test_jitter_is_uniform_and_independent():
    x, y = np.concatenate([shifts(World.paper(seed)) for seed in range(40)]).T  # 9,000 nodes
    uniform = stats.uniform(loc=-0.3, scale=0.6).cdf
    assert stats.kstest(x, uniform).pvalue > 0.01
    assert stats.kstest(y, uniform).pvalue > 0.01
    assert min(x.min(), y.min()) < -0.299
    assert max(x.max(), y.max()) > 0.299
    cells = np.histogram2d(x, y, bins=6)[0]  # x and y together fill the square evenly
    assert stats.chisquare(cells.ravel()).pvalue > 0.01
    assert stats.pearsonr(x[:-1], x[1:]).pvalue > 0.01  # nor does a node depend on its neighbour


def test_a_world_is_a_value(world):
    again, other = World.paper(seed=3), World.paper(seed=4)
    assert world == again == World(15, 0.3, 1.4, 3) != other
    assert hash(world) == hash(again)
    assert repr(world) == "World(size=15, jitter=0.3, reach=1.4, seed=3)"
    assert again.graph.fingerprint == world.graph.fingerprint != other.graph.fingerprint
    assert sample(again) == sample(world)
    assert not np.isclose(other.positions, world.positions).any(axis=1).all()
    with pytest.raises(AttributeError):
        world.seed = 4
    with pytest.raises(ValueError, match="read-only"):
        world.positions[0] = 0


def test_nothing_is_seeded_globally():
    np.random.seed(11)  # noqa: NPY002
    expected = np.random.random()  # noqa: NPY002
    np.random.seed(11)  # noqa: NPY002
    World.paper(seed=9).sample_path(np.random.default_rng(1))
    assert np.random.random() == expected  # noqa: NPY002


def test_within_counts_edges(world):
    graph = as_networkx(world)
    for node in [(0, 0), (7, 7), (14, 3)]:
        assert world.within(node, 3) == nx.single_source_shortest_path_length(graph, node, cutoff=3)
    assert world.within((7, 7), 0) == {(7, 7): 0}


@pytest.mark.parametrize("seed", SEEDS)
def test_stages_are_two_or_three_edges_apart(seed):
    world = World.paper(seed)
    graph = as_networkx(world)
    rng = np.random.default_rng(seed)
    hops = []
    for stages in range(1, 21):
        drawn = world.sample_stages(rng, stages)
        assert len(drawn) == stages + 1
        hops += [nx.shortest_path_length(graph, a, b) for a, b in pairwise(drawn)]
    assert set(hops) == {2, 3}
    assert 0.3 < hops.count(2) / len(hops) < 0.6  # of a node's choices, some 10 of 25 are two edges away


def test_every_start_and_every_stage_is_equally_likely():
    world = World(size=4, jitter=0.0, reach=1.0)
    rng = np.random.default_rng(0)
    count = 20_000
    seen = Counter(tuple(world.sample_stages(rng, 1)) for _ in range(count))
    expected = {
        (start, stage): count / 16 / len(choices)
        for start in world.graph.nodes
        for choices in [[node for node, hops in world.within(start, 3).items() if hops >= 2]]
        for stage in choices
    }
    assert set(seen) == set(expected)
    assert all(abs(seen[pair] - mean) < 5 * math.sqrt(mean) for pair, mean in expected.items())


def test_paths_join_their_stages_by_shortest_ways(world):
    graph = as_networkx(world)
    for seed in range(20):
        drawn = world.sample_stages(np.random.default_rng(seed), 4)
        path = world.sample_path(np.random.default_rng(seed), 4)
        assert (path[0], path[-1]) == (drawn[0], drawn[-1])
        assert walkable(world, path)
        steps = pairwise(path)
        legs = pairwise(drawn)
        length = sum(graph.edges[a, b]["weight"] for a, b in steps)
        assert length == pytest.approx(sum(nx.dijkstra_path_length(graph, a, b) for a, b in legs))
        position = 0
        for stage in drawn:  # in their order
            position = path.index(stage, position)


@pytest.mark.parametrize("ends", [((0, 0), (14, 14)), ((3, 9), (3, 9)), ((14, 0), (2, 13))])
def test_shortest_path(world, ends):
    path = world.shortest_path(*ends)
    graph = as_networkx(world)
    assert (path[0], path[-1]) == ends
    assert nx.path_weight(graph, path, "weight") == pytest.approx(nx.dijkstra_path_length(graph, *ends))


def test_where_a_corner_is_cut_off():
    world = World.paper(seed=1)
    assert world.neighbors((0, 14)) == []
    with pytest.raises(PathError, match=r"no path leads from \(0, 14\) to \(0, 0\)"):
        world.shortest_path((0, 14), (0, 0))
    assert not any((0, 14) in path for path in sample(world, 300))
    assert overshoot(world, [(0, 14)], RNG, steps=2) == [(0, 14)] * 3
    assert random_walk(world, [(0, 14)], RNG) == [(0, 14)]


RNG = np.random.default_rng(0)
WRONG = [
    (World, "size must be a whole number, 1 or more, got 0", {"size": 0}),
    (World, "size must be a whole number", {"size": 2.5}),
    (World, "jitter must be a number, 0 or more, got -0.1", {"jitter": -0.1}),
    (World, "jitter must be a number", {"jitter": "wide"}),
    (World, "reach must be a number", {"reach": math.inf}),
    (World, "reach must be a number", {"reach": math.nan}),
    (World, "seed must be a whole number, 0 or more, got -1", {"seed": -1}),
    (World, "seed must be a whole number", {"seed": None}),
    (lambda: World(size=1).threshold, "has no edges", {}),
    (World(size=2, jitter=0.0, reach=1.5).sample_path, "two or three edges apart", {"rng": RNG}),
    (World().sample_path, "stages must be a whole number, 1 or more, got 0", {"rng": RNG, "stages": 0}),
    (detour, r"hops must be a whole number, 0 or more, got 1\.5", {"hops": 1.5}),
    (noisy, r"mistakes must be a number, from 0 to 1, got 1\.5", {"mistakes": 1.5}),
    (early_stop, "share must be a number", {"share": -1}),
    (overshoot, "steps must be a whole number", {"steps": -1}),
]


@pytest.mark.parametrize(("make", "message", "settings"), WRONG)
def test_worlds_and_walks_that_make_no_sense(make, message, settings):
    walk = {"world": World(size=2), "reference": [(0, 0)], "rng": RNG} if make in WALKERS.values() else {}
    with pytest.raises(OptionError, match=message):
        make(**walk, **settings)


def test_nodes_that_are_not_there(world):
    with pytest.raises(UnknownNodeError):
        world.shortest_path((0, 0), (0, 15))


@pytest.mark.parametrize("walk", WALKERS.values())
def test_walkers_repeat_themselves_and_leave_their_reference_alone(world, walk):
    references = sample(world)
    queries, again = ([walk(world, reference, np.random.default_rng(1)) for reference in references] for _ in range(2))
    assert again == queries
    assert sample(world) == references
    assert walk(world, references[0][:1], RNG)[0] == references[0][0]
    with pytest.raises(PathError, match="the reference is empty"):
        walk(world, [], RNG)


ANY_WORLD = st.builds(
    World,
    size=st.integers(4, 8),
    jitter=st.sampled_from([0.0, 0.3]),
    reach=st.sampled_from([1.0, 1.4, 2.0]),
    seed=st.integers(0, 20),
)
DIALS = {
    noisy: {"mistakes": st.floats(0, 1)},
    detour: {"hops": st.integers(0, 6)},
    overshoot: {"steps": st.integers(0, 6)},
    early_stop: {"share": st.floats(0, 1)},
}
PERFECT = {perfect: {}, noisy: {"mistakes": 0}, detour: {"hops": 0}, overshoot: {"steps": 0}, early_stop: {"share": 1}}
"""Where each dial leaves no fault."""


@given(place=ANY_WORLD, seed=st.integers(0, 1000), stages=st.integers(1, 5), data=st.data())
def test_every_walk_is_made_of_edges_and_starts_rightly(place, seed, stages, data):
    rng = np.random.default_rng(seed)
    reference = place.sample_path(rng, stages)
    for walk in WALKERS.values():
        dials = {name: data.draw(dial, name) for name, dial in DIALS.get(walk, {}).items()}
        query = walk(place, reference, rng, **dials)
        assert walkable(place, query), walk
        assert query[0] == (reference[-1] if walk is reversed_walk else reference[0])


@given(place=ANY_WORLD, seed=st.integers(0, 1000), stages=st.integers(1, 5))
def test_dials_at_their_ends(place, seed, stages):
    rng = np.random.default_rng(seed)
    reference = place.sample_path(rng, stages)
    for walk, dials in PERFECT.items():
        assert walk(place, reference, rng, **dials) == reference, walk
    assert early_stop(place, reference, rng, share=0) == reference[:1]
    assert len(noisy(place, reference, rng, mistakes=1)) == len(random_walk(place, reference, rng)) == len(reference)
    direct = shortest(place, reference, rng)
    assert (direct[0], direct[-1]) == (reference[0], reference[-1])
    assert length(place, direct) <= length(place, reference) + 1e-9


def length(world, path):
    return sum(world.graph.distance(a, b) for a, b in pairwise(path))


@pytest.mark.parametrize("hops", [1, 2, 3, 5])
def test_detour_visits_a_node_so_many_edges_away(world, hops):
    graph = as_networkx(world)
    left = set()
    for number, reference in enumerate(sample(world)):
        query = detour(world, reference, np.random.default_rng(number), hops=hops)
        last = len(reference) - 1
        explained = [
            place / last
            for place in range(last + 1)
            for via in set(query)
            if nx.shortest_path_length(graph, reference[place], via) == hops
            and query
            == [
                *reference[:place],
                *world.shortest_path(reference[place], via),
                *world.shortest_path(via, reference[min(place + 1, last)])[1:],
                *reference[place + 2 :],
            ]
        ]
        assert explained
        left.update(explained)
    assert min(left) < 0.2  # anywhere on the way
    assert max(left) > 0.8


def test_detour_where_the_world_is_small():
    small = World(size=2, jitter=0.0, reach=1.0)
    assert set(detour(small, [(0, 0), (0, 1)], RNG, hops=9)) >= {(0, 0), (0, 1)}
    assert detour(World(size=1), [(0, 0)], RNG) == [(0, 0)]


def scores(world, walk, **dials):
    references = sample(world)
    rng = np.random.default_rng(2)
    queries = [walk(world, reference, rng, **dials) for reference in references]
    return score(references=references, queries=queries, distance=world.graph, threshold=world.threshold)


def test_perfect_scores_perfectly(world):
    table = scores(world, perfect)
    assert (table["SPL"] <= 1).all()  # a reference need not be the shortest way
    for metric in METRICS.values():
        if metric.direction and metric.symbol != "SPL":
            assert (table[metric.symbol] == (metric.direction == "up")).all(), metric


@pytest.mark.parametrize(
    ("walk", "expected", "ndtw"),
    [
        (detour, {"SR": 1, "NE": 0}, 1),
        (shortest, {"SR": 1, "SPL": 1}, 0.8),
        (reversed_walk, {"CLS": 1}, 0.5),  # CLS does not see order; nDTW does
        (overshoot, {"OSR": 1}, 1),
        (early_stop, {"MD": 0}, 1),
    ],
)
def test_walkers_score_as_they_walk(world, walk, expected, ndtw):
    table = scores(world, walk)
    for metric, value in expected.items():
        assert table[metric] == pytest.approx(value), metric
    assert table.means()["nDTW"] < ndtw


@pytest.mark.parametrize(
    ("walk", "dial", "values"), [(noisy, "mistakes", (0, 0.2, 0.5, 1)), (detour, "hops", (0, 1, 3, 6))]
)
def test_more_mistakes_score_less(world, walk, dial, values):
    means = [scores(world, walk, **{dial: value}).means()["nDTW"] for value in values]
    assert means == sorted(means, reverse=True)
    assert means[0] == 1


def test_where_walkers_stop(world):
    reference = sample(world, 1)[0]
    assert early_stop(world, reference, RNG) == reference[: 1 + round((len(reference) - 1) / 2)]
    longer = overshoot(world, reference, RNG, steps=3)
    assert longer[: len(reference)] == reference
    assert len(longer) == len(reference) + 3
    assert reversed_walk(world, reference, RNG) == reference[::-1]
