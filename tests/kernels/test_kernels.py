"""The native kernels and their NumPy twins return the same bits; `make twins` does this 10,000 times."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from tests import twins
from tests.oracles import fast
from wayscore.kernels import plain

native = pytest.importorskip("wayscore.kernels._native", reason="the native kernels were not built")
CODES = np.array([0, 1], dtype=np.int32)


@pytest.mark.parametrize("first", [0, *(pytest.param(n, marks=pytest.mark.soak) for n in range(20, 200, 20))])
def test_twins_agree(first: int) -> None:
    for seed in range(first, first + 20):
        for kernel, arguments, tolerance in twins.cases(seed):
            assert twins.disagreement(native, kernel, arguments, tolerance) == "", f"seed {seed}"


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


def test_roots_are_correctly_rounded() -> None:
    """Distances along one axis are roots of squares of every magnitude; a strip must round each as sqrt does."""
    rng = np.random.default_rng(0)
    for scale in (1e-170, 1e-120, 1e-3, 1.0, 1e3, 1e120, 1e150):
        R, Q = rng.normal(size=(2, 64, 3)) * scale
        top, left = np.zeros(65), np.zeros(65)
        native.warp(None, R, Q, top, left)
        plain_top, plain_left = np.zeros(65), np.zeros(65)
        plain.warp(None, R, Q, plain_top, plain_left)
        assert top.tolist() == plain_top.tolist()
        assert left.tolist() == plain_left.tolist()


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
    assert kernels == {kernel for kernel, _, _ in twins.cases(0)}


def test_draws_are_even_and_the_same_where_some_are_repeated() -> None:
    units = 3_000_000  # some 1,400 of as many draws come out of those left over, and are made again
    values, totals = np.stack((np.ones(units), np.arange(units)), axis=1), np.empty((2, 1, 2))
    native.resample(7, 1, values, totals[0])
    plain.resample(7, 1, values, totals[1])
    assert totals[0].tolist() == totals[1].tolist()
    assert totals[0, 0, 0] == units
    assert abs(totals[0, 0, 1] / units**2 - 0.5) < 5 / np.sqrt(12 * units)


@pytest.mark.parametrize(
    ("position", "value"),
    [
        (0, np.full((3, 1), 9)),  # an episode, a pose and steps that do not exist
        (0, np.zeros((2, 1), dtype=np.int64)),
        (2, np.zeros((1, 2))),
        (3, np.zeros((2, 2), dtype=np.int64)),
        (4, np.zeros((1, 0), dtype=bool)),
        (5, np.zeros((3, 1))),
        (6, np.zeros((3, 2), dtype=bool)),
        (7, np.zeros(2, dtype=np.int64)),
        (8, np.ones(1, dtype=np.int64)),
        (9, np.full((1, 2), 2, dtype=np.int32)),
        (10, np.full(1, 3)),
        (11, np.full((1, 2), 1, dtype=np.int32)),
        (12, np.full(1, 2)),
        (13, np.zeros(2)),
        (14, [np.zeros((2, 3))]),
        (14, []),
    ],
)
def test_walk_refuses_what_does_not_fit(position: int, value: object) -> None:
    arguments: list[object] = [
        *(np.zeros((3, 1), dtype=np.int64), np.zeros(1, dtype=bool), np.zeros((1, 3)), np.zeros((1, 2), np.int64)),
        *(np.zeros((1, 3), dtype=bool), np.zeros((4, 1)), np.zeros((3, 1), dtype=bool), np.ones(1, dtype=np.int64)),
        *(np.zeros(1, dtype=np.int64), np.zeros((1, 2), dtype=np.int32), np.full(1, 2), np.zeros((1, 2), np.int32)),
        *(np.zeros(1, dtype=np.int64), np.zeros(1), [np.zeros((2, 2))], 3.0),
    ]
    assert native.walk(*(np.copy(value) if isinstance(value, np.ndarray) else value for value in arguments)) == 1
    arguments[position] = value
    with pytest.raises((TypeError, ValueError)):
        native.walk(*arguments)


def test_early_stopped_dijkstra_settles_its_target() -> None:
    starts, targets = np.array([0, 1, 3, 4]), np.array([1, 0, 2, 1], dtype=np.int32)
    weights, out = np.array([2.0, 2.0, 3.0, 3.0]), np.empty(3)
    native.dijkstra(starts, targets, weights, 0, 1, out)
    assert out.tolist() == [0.0, 2.0, np.inf]


@pytest.mark.parametrize(
    ("kernel", "arguments"),
    [
        ("warp", (None, np.zeros((2, 2)), np.zeros((2, 3)), None, None)),
        ("warp", (None, np.zeros((2, 2)), np.zeros((0, 2)), None, None)),
        ("warp", (None, np.zeros((2, 2)), np.zeros((2, 2)), np.zeros(3), None)),
        ("warp", (None, np.zeros((2, 2), dtype=np.float32), np.zeros((2, 2)), None, None)),
        ("warp", (None, np.zeros((2, 2)), None, None)),
        ("warp", (np.zeros(4), CODES, CODES, None, None)),
        ("warp", (np.zeros((2, 2)), CODES, CODES, np.zeros(2), np.zeros(3))),
        ("warp", (np.zeros((2, 1)), CODES, CODES, None, None)),
        ("trace", (np.zeros((2, 2)), CODES, CODES, None, None, 2, 0, np.zeros((9, 2), dtype=np.int64))),
        ("trace", (None, np.zeros((2, 2)), np.zeros((2, 2)), None, None, 1, 1, np.zeros((1, 2), dtype=np.int64))),
        ("pair_warping", ([[0.0]], [[0.0]], None, None, np.zeros((1, 2)))),
        ("euclidean_block", (np.zeros((2, 2)), np.zeros((2, 2)), np.zeros((2, 3)))),
        ("all_pairs", (np.zeros((2, 3)), 1)),
        ("dijkstra", (np.zeros(2, dtype=np.int64), np.zeros(0, dtype=np.int32), np.zeros(0), 5, -1, np.zeros(1))),
        ("fast", (None, np.zeros((2, 2)), np.zeros((2, 2)), -1, 0, np.zeros((9, 2), dtype=np.int64))),
        ("fast", (None, np.zeros((2, 2)), np.zeros((2, 2)), 1, 2, np.zeros((9, 2), dtype=np.int64))),
        ("fast", (None, np.zeros((2, 2)), np.zeros((2, 2)), 1, np.zeros((9, 2), dtype=np.int64))),
        ("fast", (np.zeros((1, 1)), np.zeros(3), np.zeros(3), 1, 0, np.zeros((9, 2), dtype=np.int64))),
        ("fast", (np.zeros((2, 2)), np.full(3, 2, np.int32), np.zeros(3, np.int32), 1, 0, np.zeros((9, 2), np.int64))),
        ("fast", (np.zeros((2, 2)), np.full(3, -1, np.int32), np.zeros(3, np.int32), 1, 0, np.zeros((9, 2), np.int64))),
        ("advance_block", (np.zeros((1, 2)), np.ones(1, np.int64), np.zeros((1, 2)), None, np.zeros(1))),
        ("advance_block", (np.zeros((1, 2)), np.full(1, 9), np.zeros((1, 3)), None, np.zeros(1))),
        ("advance_block", (np.zeros((1, 2)), np.full(1, 0), np.zeros((1, 3)), None, np.zeros(1))),
        ("advance_block", (np.zeros((1, 2)), np.ones(1, np.int64), np.zeros((1, 3)), None, np.zeros(2))),
        ("advance_points", (np.zeros((1, 2, 2)), np.full(1, 3), np.zeros((1, 3)), None, np.zeros(1), np.zeros((1, 2)))),
        ("advance_points", (np.zeros((1, 2, 2)), np.full(1, 2), np.zeros((1, 3)), None, np.zeros(1), np.zeros((1, 3)))),
        *(
            ("advance_table", (reference, np.ones(1, np.int64), np.zeros((1, 2)), None, np.zeros(1), *rest))
            for reference, *rest in (
                (np.full((1, 1), 2, np.int32), np.zeros(1, np.int64), np.zeros(1, np.int64), [np.zeros((2, 2))]),
                (np.full((1, 1), -1, np.int32), np.zeros(1, np.int64), np.zeros(1, np.int64), [np.zeros((2, 2))]),
                (np.zeros((1, 1), np.int32), np.zeros(1, np.int64), np.ones(1, np.int64), [np.zeros((2, 2))]),
                (np.zeros((1, 1), np.int32), np.zeros(1, np.int64), np.zeros(1, np.int64), [np.zeros((2, 3))]),
                (np.zeros((1, 1), np.int32), np.zeros(1, np.int64), np.zeros(1, np.int64), []),
                (np.zeros((1, 1), np.int32), np.zeros(2, np.int64), np.zeros(1, np.int64), [np.zeros((2, 2))]),
            )
        ),
        ("look_up", (["a"], None, np.zeros(1, np.int64), np.ones(1, np.int64), [{"a": 0}])),
        ("look_up", (["a"], None, np.zeros(2, np.int64), np.zeros(2, np.int64), [{"a": 0}])),
        ("look_up", (["a"], None, np.zeros(1, np.int64), np.zeros(1, np.int64), [3])),
        ("running", ([[1.0]], None)),
        ("resample", (0, 0, np.zeros((0, 1)), np.zeros((1, 1)))),
        ("resample", (0, 0, np.zeros((2, 1)), np.zeros((1, 2)))),
        ("resample", (0, -1, np.zeros((2, 1)), np.zeros((1, 1)))),
        ("encode", ({}, "not a list", np.zeros(1, dtype=np.int32))),
        ("encode", ({"a": 0}, [["a", "a"]], np.zeros(1, dtype=np.int32))),
        ("encode", ({"a": 0}, [[[]]], np.zeros(1, dtype=np.int32))),
        ("encode", ([], [["a"]], np.zeros(1, dtype=np.int32))),
        ("encode", ([3], [["a"]], np.zeros(1, dtype=np.int32))),
    ],
)
def test_native_kernels_refuse_what_does_not_fit(kernel: str, arguments: tuple[object, ...]) -> None:
    with pytest.raises((TypeError, ValueError, BufferError)):
        getattr(native, kernel)(*arguments)


@pytest.mark.parametrize(
    ("r_offsets", "q_offsets", "pairing", "first"),
    [
        ([0, 3], [0, 2], None, 0),  # beyond the reference's places
        ([0, 2], [0, 0], None, 0),  # an empty query
        ([0, 2], [0, 2], [1], 0),  # a reference that is not there
        ([0, 2], [0, 1, 2], None, 0),  # more queries than references
        ([0, 2], [0, 2], None, 1),  # no room for the episode
        ([0, 2], [0, 2], None, -1),
    ],
)
def test_measure_refuses_offsets_that_do_not_fit(
    r_offsets: list[int], q_offsets: list[int], pairing: list[int] | None, first: int
) -> None:
    codes = np.zeros(2, dtype=np.int32)
    with pytest.raises(ValueError, match="fit"):
        native.measure(
            np.zeros((1, 1)),
            codes,
            codes,
            np.array(r_offsets),
            np.array(q_offsets),
            None if pairing is None else np.array(pairing),
            3,
            1.0,
            1.0,
            np.empty((12, 1)),
            first,
        )


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
