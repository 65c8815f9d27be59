"""The native kernels and their NumPy twins return the same bits; `make twins` does this 10,000 times."""

from __future__ import annotations

import copy
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests import twins
from tests.oracles import fast
from wayscore.kernels import plain

native = pytest.importorskip("wayscore.kernels._native", reason="the native kernels were not built")


@pytest.mark.parametrize("first", [0, *(pytest.param(n, marks=pytest.mark.soak) for n in range(20, 200, 20))])
def test_twins_agree(first: int) -> None:
    for seed in range(first, first + 20):
        for kernel, arguments in twins.cases(seed):
            assert twins.disagreement(native, kernel, arguments) == "", f"seed {seed}"


@pytest.mark.parametrize("lanes", ["base", "avx2"])
@pytest.mark.soak
def test_lesser_instruction_sets_agree_too(lanes: str) -> None:
    if native.lanes in ("base", lanes):
        pytest.skip(f"this processor has nothing beyond {native.lanes}")
    result = subprocess.run(
        [sys.executable, "-m", "tests.twins", "40"],
        env={**os.environ, "WAYSCORE_LANES": lanes},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert f"native ({lanes})" in result.stdout


@pytest.mark.parametrize("scale", [1e-170, 1e-120, 1e-3, 1.0, 1e3, 1e120, 1e150])
def test_roots_are_correctly_rounded(scale: float) -> None:
    """Distances along one axis are roots of squares of every magnitude; a strip must round each as sqrt does."""
    R, Q = np.random.default_rng(0).normal(size=(2, 64, 3)) * scale
    borders = np.zeros((2, 2, 65))
    for module, (top, left) in zip((native, plain), borders, strict=True):
        module.warp(None, R, Q, top, left)
    assert np.array_equal(*borders)


@pytest.mark.parametrize("module", [native, plain], ids=["native", "numpy"])
def test_the_compiled_rule_of_fast_dtw(module: ModuleType) -> None:
    apart = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        n, m, k, radius = (int(rng.integers(1, most)) for most in (50, 50, 4, 4))
        R, Q = (
            rng.integers(-1, 2, (count, k)).cumsum(axis=0).astype(float)
            if seed % 3  # steps on a grid: many ties
            else rng.normal(size=(count, k)).cumsum(axis=0)
            for count in (n, m)
        )
        expected, warping = fast.compiled(Q.tolist(), R.tolist(), radius)
        cells = np.empty((n + m, 2), dtype=np.int64)
        cost, count = module.fast(None, R, Q, radius, 1, cells)
        assert cost == expected, f"seed {seed}"
        assert cells[:count, ::-1].tolist() == [list(cell) for cell in warping], f"seed {seed}"
        apart += cost != module.fast(None, R, Q, radius, 0, cells)[0]
    assert apart > 5


def test_every_native_kernel_has_a_twin_and_a_case() -> None:
    kernels = {name for name in dir(native) if not name.startswith("_") and callable(getattr(native, name))}
    assert kernels <= {*plain.__all__, "navmesh_search"}  # whose twin is an oracle of the tests
    assert kernels == {kernel for kernel, _ in twins.cases(0)}


def test_draws_are_even_and_the_same_where_some_are_repeated() -> None:
    units = 3_000_000  # some 1,400 of as many draws come out of those left over, and are made again
    values, totals = np.stack((np.ones(units), np.arange(units)), axis=1), np.empty((2, 1, 2))
    native.resample(7, 1, values, totals[0])
    plain.resample(7, 1, values, totals[1])
    assert totals[0].tolist() == totals[1].tolist()
    assert totals[0, 0, 0] == units
    assert abs(totals[0, 0, 1] / units**2 - 0.5) < 5 / np.sqrt(12 * units)


def test_early_stopped_dijkstra_settles_its_target() -> None:
    out = np.empty(3)
    native.dijkstra(ints(0, 1, 3, 4), codes(1, 0, 2, 1), np.array([2.0, 2.0, 3.0, 3.0]), 0, 1, out)
    assert out.tolist() == [0.0, 2.0, np.inf]


def floats(*shape: int) -> np.ndarray:
    return np.zeros(shape)


def ints(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def codes(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int32)


PLACES, CODES, CELLS, OUT = floats(2, 2), codes(0, 1), np.zeros((9, 2), dtype=np.int64), floats(12, 1)


@pytest.mark.parametrize(
    ("kernel", "arguments"),
    [
        ("warp", (None, PLACES, floats(2, 3), None, None)),
        ("warp", (None, PLACES, floats(0, 2), None, None)),
        ("warp", (None, PLACES, PLACES, floats(3), None)),
        ("warp", (None, PLACES.astype(np.float32), PLACES, None, None)),
        ("warp", (None, PLACES, None, None)),
        ("warp", (floats(4), CODES, CODES, None, None)),
        ("warp", (PLACES, CODES, CODES, floats(2), floats(3))),
        ("warp", (floats(2, 1), CODES, CODES, None, None)),
        ("trace", (PLACES, CODES, CODES, None, None, 2, 0, CELLS)),
        ("trace", (None, PLACES, PLACES, None, None, 1, 1, CELLS[:1])),
        ("pair_warping", ([[0.0]], [[0.0]], None, None, floats(1, 2))),
        ("euclidean_block", (PLACES, PLACES, floats(2, 3))),
        ("all_pairs", (floats(2, 3), 1)),
        ("dijkstra", (ints(0, 0), codes(), floats(0), 5, -1, floats(1))),
        ("fast", (None, PLACES, PLACES, -1, 0, CELLS)),
        ("fast", (None, PLACES, PLACES, 1, 2, CELLS)),
        ("fast", (None, PLACES, PLACES, 1, CELLS)),
        ("fast", (floats(1, 1), floats(3), floats(3), 1, 0, CELLS)),
        ("fast", (PLACES, codes(2, 2, 2), codes(0, 0, 0), 1, 0, CELLS)),
        ("fast", (PLACES, codes(-1, -1, -1), codes(0, 0, 0), 1, 0, CELLS)),
        ("advance_points", (floats(1, 2, 2), ints(3), floats(1, 3), None, floats(1), floats(1, 2))),
        ("advance_points", (floats(1, 2, 2), ints(0), floats(1, 3), None, floats(1), floats(1, 2))),
        ("advance_points", (floats(1, 2, 2), ints(1), floats(1, 3), None, floats(2), floats(1, 2))),
        ("advance_points", (floats(1, 2, 2), ints(2), floats(1, 3), None, floats(1), floats(1, 3))),
        *(
            ("advance_table", (codes(reference)[None], ints(1), floats(1, 2), None, floats(1), *rest))
            for reference, *rest in (
                (2, ints(0), ints(0), [PLACES]),
                (-1, ints(0), ints(0), [PLACES]),
                (0, ints(0), ints(1), [PLACES]),
                (0, ints(0), ints(0), [floats(2, 3)]),
                (0, ints(0), ints(0), []),
                (0, ints(0, 0), ints(0), [PLACES]),
            )
        ),
        ("look_up", (["a"], None, ints(0), ints(1), [{"a": 0}])),
        ("look_up", (["a"], None, ints(0, 0), ints(0, 0), [{"a": 0}])),
        ("look_up", (["a"], None, ints(0), ints(0), [3])),
        ("running", ([[1.0]], None)),
        ("resample", (0, 0, floats(0, 1), floats(1, 1))),
        ("resample", (0, 0, floats(2, 1), floats(1, 2))),
        ("resample", (0, -1, floats(2, 1), floats(1, 1))),
        ("encode", ({}, "not a list", codes(0))),
        ("encode", ({"a": 0}, [["a", "a"]], codes(0))),
        ("encode", ({"a": 0}, [[[]]], codes(0))),
        ("encode", ([], [["a"]], codes(0))),
        ("encode", ([3], [["a"]], codes(0))),
        *(
            ("measure", (floats(1, 1), codes(0, 0), codes(0, 0), ints(*r), ints(*q), pairing, 3, 1.0, 1.0, OUT, first))
            for r, q, pairing, first in (
                ((0, 3), (0, 2), None, 0),  # beyond the reference's places
                ((0, 2), (0, 0), None, 0),  # an empty query
                ((0, 2), (0, 2), ints(1), 0),  # a reference that is not there
                ((0, 2), (0, 1, 2), None, 0),  # more queries than references
                ((0, 2), (0, 2), None, 1),  # no room for the episode
                ((0, 2), (0, 2), None, -1),
            )
        ),
    ],
)
def test_native_kernels_refuse_what_does_not_fit(kernel: str, arguments: tuple[object, ...]) -> None:
    with pytest.raises((TypeError, ValueError, BufferError)):
        getattr(native, kernel)(*arguments)


@pytest.mark.parametrize(
    ("position", "value"),
    [
        (0, np.full((3, 1), 9)),  # an episode, a pose and steps that do not exist
        (0, np.zeros((2, 1), dtype=np.int64)),
        (2, floats(1, 2)),
        (3, np.zeros((2, 2), dtype=np.int64)),
        (4, np.zeros((1, 0), dtype=bool)),
        (5, floats(3, 1)),
        (6, np.zeros((3, 2), dtype=bool)),
        (7, ints(0, 0)),
        (8, ints(1)),
        (9, codes(2, 2)[None]),
        (10, ints(3)),
        (11, codes(1, 1)[None]),
        (12, ints(2)),
        (13, floats(2)),
        (14, [floats(2, 3)]),
        (14, []),
    ],
)
def test_walk_refuses_what_does_not_fit(position: int, value: object) -> None:
    arguments: list[Any] = [
        *(np.zeros((3, 1), dtype=np.int64), np.zeros(1, dtype=bool), floats(1, 3), ints(0, 0)[None]),
        *(np.zeros((1, 3), dtype=bool), floats(4, 1), np.zeros((3, 1), dtype=bool), ints(1), ints(0)),
        *(codes(0, 0)[None], ints(2), codes(0, 0)[None], ints(0), floats(1), [floats(2, 2)], 3.0),
    ]
    assert native.walk(*copy.deepcopy(arguments)) == 1
    arguments[position] = value
    with pytest.raises((TypeError, ValueError)):
        native.walk(*arguments)


def test_walks_that_share_their_beginnings_are_measured_as_if_alone() -> None:
    rng = np.random.default_rng(5)
    table = rng.uniform(0, 9, (12, 12))
    table[rng.random(table.shape) < 0.1] = np.inf
    r, r_offsets = rng.integers(0, 12, 20).astype(np.int32), np.array([0, 1, 8, 20])
    pairing = np.repeat([1, 0, 2, 1], [200, 40, 60, 33])
    q_offsets = np.concatenate(([0], np.cumsum(rng.integers(1, 8, len(pairing)))))
    q = rng.integers(0, 3, q_offsets[-1]).astype(np.int32)
    together, alone = np.zeros((12, len(pairing))), np.ones((12, len(pairing)))
    native.measure(table, r, q, r_offsets, q_offsets, pairing, 3, 3.0, 3.0, together, 0)
    for e in range(len(pairing)):
        own = q_offsets[e : e + 2]
        native.measure(table, r, q, r_offsets, own, pairing[e : e + 1], 3, 3.0, 3.0, alone, e)
    assert together.tobytes() == alone.tobytes()
