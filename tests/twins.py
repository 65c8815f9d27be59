"""Random inputs on which the native kernels and their NumPy twins must agree, shared by tests and sanitizer runs.

Run as a program it checks many shapes: `python -m tests.twins 10000`.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from tests import navmeshes
from tests.oracles import navmesh_search
from wayscore.distances.navmesh_build import build
from wayscore.distances.navmesh_file import parse
from wayscore.errors import FormatError
from wayscore.kernels import plain

Arrays = tuple[Any, ...]


def _points(rng: np.random.Generator, count: int, dimension: int) -> np.ndarray:
    if rng.random() < 0.5:  # a lattice makes ties, where twins could part ways
        return rng.integers(0, 4, (count, dimension)).astype(np.float64)
    return rng.normal(size=(count, dimension)).cumsum(axis=0)


def _table(rng: np.random.Generator, size: int) -> np.ndarray:
    table = rng.integers(0, 6, (size, size)).astype(np.float64) if rng.random() < 0.5 else rng.random((size, size)) * 9
    table = np.minimum(table, table.T)
    table[rng.random((size, size)) < rng.choice([0.0, 0.02, 0.3])] = np.inf
    np.fill_diagonal(table, 0.0)
    return table


def _length(rng: np.random.Generator, longest: int) -> int:
    return int(rng.integers(1, longest + 1)) if rng.random() < 0.5 else int(rng.integers(1, min(longest, 40) + 1))


def _borders(rng: np.random.Generator, n: int, m: int) -> tuple[np.ndarray, np.ndarray]:
    top, left = rng.random(m + 1) * 50, rng.random(n + 1) * 50
    top[rng.random(m + 1) < 0.1] = np.inf
    left[0] = top[0]
    return top, left


def cases(seed: int, longest: int = 300) -> Iterator[tuple[str, Arrays]]:
    """Yield (kernel, arguments) for one random shape; arguments that kernels write are arrays."""
    rng = np.random.default_rng(seed)
    n, m, k = _length(rng, longest), _length(rng, longest), int(rng.integers(1, 6))
    R, Q = _points(rng, n, k), _points(rng, m, k)
    size = int(rng.integers(1, 60))
    table = _table(rng, size)
    r, q = (rng.integers(0, size, count).astype(np.int32) for count in (n, m))
    costs = np.ascontiguousarray(table[r[:, None], q[None, :]])
    cells = np.zeros((n + m + 1, 2), dtype=np.int64)

    yield "euclidean_block", (R, Q, np.empty((n, m)))
    yield "all_within", (R, float(rng.choice([1.0, 1e150])))
    for paths in ((None, R, Q), (table, r, q)):
        yield "warp", (*paths, None, None)
        yield "warp", (*paths, *_borders(rng, n, m))
        yield "trace", (*paths, None, None, n - 1, m - 1, cells.copy())
        yield "trace", (*paths, *_borders(rng, n, m), int(rng.integers(n)), int(rng.integers(m)), cells.copy())
        for rule in (0, 1):
            yield "fast", (*paths, int(rng.integers(0, 5)), rule, cells.copy())
    yield "warp", (costs, *(np.arange(count, dtype=np.int32) for count in costs.shape), None, None)

    yield from _pair_cases(rng, R, Q, table, r, q)

    edges = _table(rng, size)
    yield "all_pairs", (edges.copy(), 1 if np.array_equal(edges, edges.T) else 0)
    symmetric = np.minimum(edges, edges.T)
    yield "all_pairs", (symmetric.copy(), 1)
    sources, targets = np.nonzero(np.isfinite(edges) & (edges > 0))
    starts = np.concatenate(([0], np.cumsum(np.bincount(sources, minlength=size)))).astype(np.int64)
    graph = (starts, targets.astype(np.int32), np.ascontiguousarray(edges[sources, targets]))
    yield "dijkstra", (*graph, int(rng.integers(size)), -1, np.empty(size))

    labels = [f"node {code}" for code in range(size)]
    slowly = np.repeat(r, 1 + rng.integers(0, 3, len(r)))  # an agent that turns logs its node again
    paths = [[f"node {code}" for code in slowly], tuple(labels[code] for code in q), np.array(labels, dtype=object)[r]]
    if rng.random() < 0.3:
        paths[1] = (*paths[1], "elsewhere")
    total = sum(len(path) for path in paths)
    index = {label: code for code, label in enumerate(labels)}
    yield "encode", (index, paths, np.zeros(total, dtype=np.int32))
    reverse = {label: size - 1 - code for label, code in index.items()}
    yield "encode", ([index, reverse, index], paths, np.zeros(total, dtype=np.int32))

    yield from _running_cases(rng, R, Q, table, r, q)
    yield "walk", _walk_arguments(rng, table)

    yield from _measure_cases(rng, table, k, longest)

    whole = rng.integers(0, 2**40, (m, int(rng.integers(1, 20)))).astype(np.float64)
    totals = np.empty((int(rng.integers(1, 20)), whole.shape[1]))
    yield "resample", (int(rng.integers(-(2**63), 2**63)), int(rng.integers(2**40)), whole, totals)

    free = (rng.random((int(rng.integers(1, 25)), int(rng.integers(1, 25)))) > 0.25).astype(np.uint8)
    start = int(rng.integers(free.size))
    free.reshape(-1)[start] = 1
    yield "march", (free, start, int(rng.integers(-1, free.size)), np.empty(free.shape))
    yield "navmesh_search", _navmesh_arguments(rng)


def _navmesh_arguments(rng: np.random.Generator) -> Arrays:
    """A small mesh, sometimes of a file with random bytes in it, or of two tiles; and a few pairs of points."""
    vertices, polygons = navmeshes.random_floor(rng, side=int(rng.integers(1, 6)))
    whole = navmeshes.two_tiles() if rng.random() < 0.1 else navmeshes.write(vertices, polygons)
    rounds = bool(rng.random() < 0.5)
    try:
        damaged = navmeshes.flipped(rng, whole, int(rng.integers(0, 4)))
        mesh, _ = build(parse(damaged, "mesh"), rounds=rounds, where="mesh")
    except FormatError:
        mesh, _ = build(parse(whole, "mesh"), rounds=rounds, where="mesh")
    points = navmeshes.random_points(rng, vertices, 4)
    pairs = rng.integers(0, 4, (3, 2)).astype(np.int32)
    paths = np.zeros((3, 256, 3), dtype=np.float32) if rng.random() < 0.5 else None
    found = np.zeros((4, 3), np.float32), np.zeros(4, np.int32), np.zeros(3), np.zeros((3, 3), np.int32)
    return mesh, points, pairs, int(rng.integers(2)), *found, paths


def _pair_cases(
    rng: np.random.Generator, R: np.ndarray, Q: np.ndarray, table: np.ndarray, r: np.ndarray, q: np.ndarray
) -> Iterator[tuple[str, Arrays]]:
    """Yield one pair in every form that people hold, and now and then something unusual, which must give None."""
    index = {f"node {code}": code for code in range(len(table))}
    labels = [[f"node {code}" for code in codes.tolist()] for codes in (r, q)]
    points = Q.tolist()
    at = int(rng.integers(len(points)))
    points[at] = [*points[at][:-1], rng.choice([np.nan, np.inf, 1e200])]
    unusual = [points, [*Q.tolist(), [1.0]], [], R.astype(np.int64), "abc", [[True] * R.shape[1]], Q[:, 0], [10**400]]
    given: list[Arrays] = [
        (R, Q, None, None),
        (R.astype(np.float32), Q.tolist(), None, None),
        (tuple(map(tuple, R.tolist())), np.asfortranarray(Q), None, None),
        (labels[0], tuple(labels[1]), index, table),
        (R, unusual[int(rng.integers(len(unusual)))], None, None),
        (labels[0], [*labels[1], rng.choice(["elsewhere", ""])], index, table),
        (labels[0], [*labels[1], ["unhashable"]], index, table),
    ]
    for arguments in given:
        yield "pair_value", arguments
        yield "pair_ndtw", (*arguments, [3.0, 0.25, 0.0, -1.0, np.nan, np.inf, 3, None][int(rng.integers(8))])
        cells = np.zeros((len(arguments[0]) + len(arguments[1]), 2), dtype=np.int64)
        yield "pair_warping", (*arguments, cells)
        yield "pair_measures", (*arguments, float(rng.choice([0.0, 3.0])), float(rng.choice([-1.0, np.inf])))


def _running_cases(
    rng: np.random.Generator, R: np.ndarray, Q: np.ndarray, table: np.ndarray, r: np.ndarray, q: np.ndarray
) -> Iterator[tuple[str, Arrays]]:
    """Yield steps of one query (`running` takes them as a last argument) and of several side by side."""
    size, (n, k) = len(table), R.shape
    index = {f"node {code}": code for code in range(size)}
    labels = [[f"node {code}" for code in codes.tolist()] for codes in (r, q)]
    strided = np.repeat(Q, 2, axis=1)[:, ::2]
    forms = [*Q[:5], *Q[:5].tolist(), *map(tuple, Q[:5].tolist()), *Q[:5].astype(np.float32), *strided[:5]]
    wrong = [None, "ab", Q[0].astype(np.int64), [10**400] * k, [True] * k, [1e200] * k, [np.nan] * k, [1.0] * (k + 1)]
    steps = [forms[at] for at in rng.permutation(len(forms))] + [wrong[int(rng.integers(len(wrong)))], Q[0]]
    for reference in (R, R.tolist(), tuple(map(tuple, R.tolist()))):
        yield "running", (reference, None, None, steps)
    unusual = [[], R.astype(np.float32), R[:, :0], R.T, [1.0], np.full_like(R, np.inf), "abc", None, 0]
    yield "running", (unusual[int(rng.integers(len(unusual)))], None, None, [])
    yield "running", (labels[0], index, table, [*labels[1], "elsewhere", ["unhashable"], labels[1][0]])
    yield "running", (r, index, table, labels[1])
    yield "running", (r, None, table, [*q.tolist(), -1, size, 2**70, "a", 0])
    yield "running", ([*labels[0], "elsewhere"], index, table, [])
    yield "running", (r, index, table[:, :-1], [])
    yield "running", (n, None, None, [rng.random(n) for _ in range(3)])

    count = int(rng.integers(1, 5))
    lengths = rng.integers(1, n + 1, count)
    active = None if rng.random() < 0.5 else rng.integers(0, 2, count).astype(np.uint8)
    rows = rng.random((count, n + 1)) * 20
    rows[:, 0] = np.where(rng.random(count) < 0.5, 0.0, np.inf)
    rest = (lengths, rows, active, np.zeros(count))
    references = np.stack([_points(rng, n, k).T.copy() for _ in range(count)])
    points = _points(rng, count, k)
    yield "advance_points", (references, *rest, points)
    points[int(rng.integers(count)), 0] = rng.choice([np.inf, 1e200])
    yield "advance_points", (references, *rest, points)
    tables = [table, np.zeros((1, 1)), table.T.copy()]
    scenes = rng.integers(0, 3, count)
    codes = np.where(scenes == 1, 0, rng.integers(0, size, count))
    here = np.where(scenes[:, None] == 1, 0, rng.integers(0, size, (count, n))).astype(np.int32)
    yield "advance_table", (here, *rest, codes, scenes, tables)
    codes[int(rng.integers(count))] = rng.choice([-1, size, 2**40])
    yield "advance_table", (here, *rest, codes, scenes, tables)
    names: list[Any] = [f"node {code}" for code in rng.integers(0, size, count)]
    indexes = [index, dict.fromkeys(names, 7), dict(reversed(index.items()))]
    yield "look_up", (names, active, np.zeros(count, dtype=np.int64), scenes, indexes)
    names[int(rng.integers(count))] = rng.choice(["elsewhere", ""]) if rng.random() < 0.5 else ["unhashable"]
    yield "look_up", (names, active, np.zeros(count, dtype=np.int64), scenes, indexes)


def _run(module: Any, reference: Any, index: Any, table: Any, steps: list[Any]) -> Any:
    """Return what a running warping and a fork of it say at every step, or None where there is no such warping."""
    state = module.running(reference, index, table)
    if state is None:
        return None
    found: list[Any] = [state.count, state.dimension, state.steps, state.dtw, state.ndtw(2.0)]
    for at, node in enumerate(steps):
        fork = state.fork() if at % 3 == 0 else state
        found += [state.advance(node) if isinstance(reference, int) else state.step(node), fork.dtw]
        found += [state.steps, state.dtw, *(state.ndtw(threshold) for threshold in (0.5, 3, "x", -1.0))]
    return found


def _walk_arguments(rng: np.random.Generator, table: np.ndarray) -> Arrays:
    size, count, poses, episodes = len(table), *(int(rng.integers(1, 9)) for _ in range(3))
    longest, most, actions = (int(rng.integers(1, 6)) for _ in range(3))
    state = np.stack([rng.integers(0, bound, count) for bound in (episodes, poses, most)])
    rows = rng.random((count, longest + 1)) * 9
    visited = np.zeros((count, size + 1), dtype=bool)
    outcome = np.ones((3, count), dtype=bool)
    taken = rng.integers(-1, actions + 2, count)
    paths, after = rng.integers(0, size, (episodes, longest)), rng.integers(-1, poses, (poses, actions))
    return (
        *(state, rng.random(count) < 0.3, rows, np.zeros((count, most + 1), dtype=np.int64), visited),
        *(rng.random((4, count)), outcome, taken, rng.integers(0, 2, episodes), paths.astype(np.int32)),
        *(rng.integers(1, longest + 1, episodes), after.astype(np.int32), rng.integers(0, size, poses)),
        *(rng.random(poses), [table, table.T.copy()], float(rng.choice([0.5, 3.0]))),
    )


def _shared_walks(rng: np.random.Generator, table: np.ndarray) -> Arrays:
    """Many short walks of each reference, one after the other: the native kernel lays a reference out once."""
    size, references = len(table), int(rng.integers(1, 5))
    r_offsets = np.concatenate(([0], np.cumsum(rng.integers(1, int(rng.choice([4, 9, 18, 40])) + 1, references))))
    pairing = np.repeat(np.arange(references), rng.choice([1, 31, 32, 33, 100], references))
    places = min(size, int(rng.choice([2, 3, size])))
    lengths = rng.integers(1, int(rng.choice([2, 8, 20])) + 1, len(pairing))
    q_offsets = np.concatenate(([0], np.cumsum(lengths)))
    r, q = (rng.integers(0, places, offsets[-1]).astype(np.int32) for offsets in (r_offsets, q_offsets))
    limits = float(rng.choice([0.0, 3.0])), float(rng.choice([-1.0, 3.0, np.inf]))
    first = int(rng.integers(0, 3))
    out = np.zeros((12, first + len(pairing)))
    return table, r, q, r_offsets, q_offsets, pairing, int(rng.integers(4)), *limits, out, first


def _measure_cases(rng: np.random.Generator, table: np.ndarray, k: int, longest: int) -> Iterator[tuple[str, Arrays]]:
    size = len(table)
    episodes, references = int(rng.integers(1, 20)), int(rng.integers(1, 20))
    pairing = rng.integers(0, references, episodes) if rng.random() < 0.5 else None
    if pairing is None:
        references = episodes
    short = min(longest, int(rng.choice([6, 30, longest])))
    r_lengths = rng.integers(1, short + 1, references)
    q_lengths = rng.integers(1, short + 1, episodes)
    r_offsets, q_offsets = (np.concatenate(([0], np.cumsum(counts))) for counts in (r_lengths, q_lengths))
    r, q = (rng.integers(0, size, offsets[-1]).astype(np.int32) for offsets in (r_offsets, q_offsets))
    for e in range(episodes):  # some queries follow their reference, so that edits are few
        if rng.random() < 0.5:
            reference = r[r_offsets[e if pairing is None else pairing[e]] :][: q_lengths[e]]
            q[q_offsets[e] : q_offsets[e] + len(reference)] = reference
    scale, reach = float(rng.choice([0.0, 3.0])), float(rng.choice([-1.0, 3.0, np.inf]))
    first = int(rng.integers(0, 3))
    out = np.zeros((12, first + episodes + int(rng.integers(0, 3))))
    rest = (pairing, int(rng.integers(4)), scale, reach)
    yield "measure", (table, r, q, r_offsets, q_offsets, *rest, out.copy(), first)
    yield "measure", _shared_walks(rng, table)

    places = _points(rng, size, k)
    yield "measure", (None, places[r], places[q], r_offsets, q_offsets, *rest, out.copy(), first)

    path, query = r[: r_lengths[0]], q[: q_lengths[0]]
    steps = [np.append(table[places[:-1], places[1:]], 0.0) for places in (path, query)]
    block = rng.random((len(path), len(query))) * 9
    block[rng.random(block.shape) < 0.01] = np.inf
    yield "measure_block", (block, *steps, path, query, *rest[1:], out.copy(), first)


def _outcome(module: Any, kernel: str, arguments: Arrays) -> list[np.ndarray]:
    """Run a kernel on copies; return what it returned and what stands in its arrays, where that matters."""
    given = tuple(value.copy() if isinstance(value, np.ndarray) else value for value in arguments)
    result = getattr(module, kernel)(*given)
    if kernel.startswith("advance"):  # what stands behind a reference does not matter
        given[2][np.arange(given[2].shape[1]) > given[1][:, None]] = 0.0
    elif kernel == "walk":
        given[2][np.arange(given[2].shape[1]) > given[10][given[0][0], None]] = 0.0
    elif kernel in ("fast", "trace", "pair_warping"):
        given[-1][result[1] if result else 0 :] = 0
    elif kernel == "encode" and result >= 0:
        given[-1][:] = 0
    returned = np.array([] if result is None else result, dtype=np.float64)
    return [returned, *(value for value in given if isinstance(value, np.ndarray))]


def disagreement(native: Any, kernel: str, arguments: Arrays) -> str:
    """Describe how the results of both twins differ; empty where they agree."""
    if kernel == "running":
        found, expected = (_run(module, *arguments) for module in (native, plain))
        return "" if found == expected else f"running gave {found}, its twin {expected}"
    twin = navmesh_search if kernel == "navmesh_search" else plain
    both = list(zip(_outcome(native, kernel, arguments), _outcome(twin, kernel, arguments), strict=True))
    measured = 0 if kernel == "pair_measures" else len(both) - 1 if kernel.startswith("measure") else -1
    for position, (a, b) in enumerate(both):
        if a.shape != b.shape:
            return f"{kernel} returned {a}, its twin {b}"
        apart = np.asarray(a != b)
        if position == measured and len(a):  # the coverage takes exponentials
            apart[7] = ~np.isclose(a[7], b[7], rtol=1e-15, atol=0)
        if apart.any():
            return f"{kernel}: in array {position}, {a[apart]} should be {b[apart]}"
    return ""


def main() -> None:
    """Compare the twins on a number of shapes, from the first seed on, or until the seconds are over."""
    from wayscore.kernels import _native

    parser = argparse.ArgumentParser()
    parser.add_argument("shapes", type=int, nargs="?", default=1000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    given = parser.parse_args()
    end = time.monotonic() + given.seconds
    shapes = checked = 0
    for seed in range(given.first, given.first + given.shapes):
        if time.monotonic() > end:
            break
        for kernel, arguments in cases(seed):
            difference = disagreement(_native, kernel, arguments)
            if difference:
                raise SystemExit(f"seed {seed}: {difference}")
            checked += 1
        shapes += 1
    print(f"{shapes} random shapes, {checked} kernel calls: native ({_native.lanes}) and NumPy agree")


if __name__ == "__main__":
    main()
