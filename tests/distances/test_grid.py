"""Grid: octile against hand counts, networkx and published lengths; eikonal against geometry."""

from __future__ import annotations

import math
import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from wayscore.distances.grid import METRICS, Grid
from wayscore.errors import DistanceError, OptionError, PathError, WayscoreError
from wayscore.kernels.plain.march import march as plain_march
from wayscore.paths import PathBatch


def draw(*rows: str) -> np.ndarray:
    """A grid from text, `.` free; row i of the text is i of the grid."""
    return np.array([[mark == "." for mark in row] for row in rows])


def read_map(path: Path) -> np.ndarray:
    """A MovingAI map as free[x, y]; the file has y for rows."""
    rows = path.read_text().splitlines()[4:]
    return np.array([[mark in ".GS" for mark in row] for row in rows]).T


def octile_by_networkx(free: np.ndarray, source: int) -> np.ndarray:
    cells = {tuple(cell) for cell in np.argwhere(free).tolist()}
    graph = nx.empty_graph(cells)
    for i, j in cells:
        for y, x in ((i, j + 1), (i + 1, j), (i + 1, j + 1), (i + 1, j - 1)):
            if {(y, x), (i, x), (y, j)} <= cells:
                graph.add_edge((i, j), (y, x), weight=math.hypot(y - i, x - j))
    found = np.full(free.shape, np.inf)
    for cell, length in nx.single_source_dijkstra_path_length(graph, divmod(source, free.shape[1])).items():
        found[cell] = length
    return found


def field(grid: Grid, source: int) -> np.ndarray:
    """Distances from one cell to all, infinite at obstacles."""
    cells = np.flatnonzero(grid.free).astype(np.int32)
    out = np.full(grid.free.size, np.inf)
    out[cells] = grid.between(np.array([source], dtype=np.int32), cells)[0]
    return out.reshape(grid.free.shape)


def straight_line(shape: tuple[int, int], source: int) -> np.ndarray:
    i, j = np.indices(shape)
    return np.hypot(i - source // shape[1], j - source % shape[1])


@st.composite
def grids(draw_from, side: int = 10):
    """A random occupancy with at least one free cell, and one of its free cells."""
    shape = draw_from(st.tuples(st.integers(1, side), st.integers(1, side)))
    seed, density = draw_from(st.integers(0, 2**32 - 1)), draw_from(st.sampled_from([0.0, 0.1, 0.3, 0.5]))
    free = np.random.default_rng(seed).random(shape) >= density
    source = draw_from(st.integers(0, free.size - 1))
    free.flat[source] = True
    return free, source


def test_axis_0_is_the_first_coordinate_and_the_border_is_nearest_to_what_lies_outside():
    grid = Grid(np.ones((2, 3)), cell=0.5, origin=(10, 20))
    cells, errors = grid.snap([[10.0, 20.0], [10.5, 21.0], [10.5, 20.0]])
    assert (cells.tolist(), errors.tolist()) == ([0, 5, 3], [0, 0, 0])
    assert grid.centres(np.array([5])).tolist() == [[10.5, 21.0]]
    cells, errors = Grid(np.ones((3, 4)), cell=1).snap([[-5, 1], [7, 30], [1e308, 0], [-1e308, -1e308]])
    assert cells.tolist() == [1, 11, 8, 0]
    assert errors[:2].tolist() == pytest.approx([5, math.hypot(5, 27)])
    assert (errors[2:] >= 1e308).all()


@pytest.mark.parametrize("metric", METRICS)
def test_around_a_wall(metric):
    free = draw("...", ".#.", ".#.")
    expected = [[2, 3, 4], [1, np.inf, 5], [0, np.inf, 6]]
    assert field(Grid(free, cell=1, metric=metric), 6).tolist() == expected
    assert np.allclose(field(Grid(free, cell=0.25, metric=metric), 6), np.array(expected) / 4)


@pytest.mark.parametrize("metric", METRICS)
def test_a_diagonal_step_needs_both_cells_beside_it(metric):
    assert field(Grid(draw("..", "#."), cell=1, metric=metric), 0).tolist() == [[0, 1], [np.inf, 2]]


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("size", [2, 40])
def test_nothing_passes_between_obstacles_that_touch_at_a_corner(metric, size):
    i, j = np.indices((size, size))
    free = i + j != size - 1
    found = field(Grid(free, metric=metric), 0)
    assert np.isfinite(found[i + j < size - 1]).all()
    assert np.isinf(found[i + j >= size - 1]).all()


@pytest.mark.parametrize("metric", METRICS)
def test_no_way_and_nothing_to_measure(metric):
    grid = Grid(draw(".#.", ".#."), metric=metric)
    codes, none = np.array([0, 3, 2], dtype=np.int32), np.empty(0, np.int32)
    assert np.isinf(grid.between(codes[:2], codes[2:])).all()
    assert grid.pairs(codes, codes[::-1].copy()).tolist() == [np.inf, 0.0, np.inf]
    assert grid.between(none, codes).shape == (0, 3)
    assert grid.between(codes, none).shape == (3, 0)
    assert grid.pairs(none, none).shape == (0,)


@given(grids())
def test_octile_is_the_shortest_path(case):
    free, source = case
    expected, found = octile_by_networkx(free, source), field(Grid(free, cell=1), source)
    assert (np.isinf(found) == np.isinf(expected)).all()
    assert np.allclose(found, expected, rtol=0, atol=1e-9)


def published_maps() -> list:
    data = os.environ.get("WAYSCORE_DATA")
    if not data:
        skip = pytest.mark.skip(reason="WAYSCORE_DATA is not set: no grids with published lengths")
        return [pytest.param(None, marks=skip)]
    return [pytest.param(path, id=path.stem) for path in sorted(Path(data, "grids").glob("*.map"))]


@pytest.mark.parametrize("path", published_maps())
def test_octile_gives_the_published_lengths_and_eikonal_shorter_ones(path):
    free = read_map(path)
    rows = np.loadtxt(path.with_name(path.name + ".scen"), skiprows=1, usecols=range(4, 9))
    starts, goals, lengths = rows[:, 0:2], rows[:, 2:4], rows[:, 4]
    lengths = np.where((lengths == 0) & (starts != goals).any(axis=1), np.inf, lengths)
    grid = Grid(free, cell=1)
    ways = grid.encode(np.stack([starts, goals], axis=1))
    assert not ways.moved.any()
    found = grid.pairs(ways.places[::2], ways.places[1::2])
    assert len(found) >= 100
    assert (np.isinf(found) == np.isinf(lengths)).all()
    assert np.allclose(found, lengths, rtol=0, atol=1e-3)
    if path.stem == "brc000d":
        assert np.isinf(found).sum() == 10
    cells = np.flatnonzero(free)
    for source in cells[[len(cells) // 5, len(cells) // 2]].tolist():
        assert_between_the_line_and_octile(free, source)


def assert_between_the_line_and_octile(free: np.ndarray, source: int) -> None:
    octile = field(Grid(free, cell=1), source)
    eikonal = field(Grid(free, cell=1, metric="eikonal"), source)
    assert (np.isinf(octile) == np.isinf(eikonal)).all()
    assert (eikonal >= straight_line(free.shape, source) - 1e-9).all()
    assert (eikonal <= octile + 1e-9).all()


@pytest.mark.parametrize("source", [(100, 100), (0, 0), (37, 141), (0, 63)])
def test_eikonal_is_the_straight_line_where_nothing_is_in_the_way(source):
    shape = (200, 200)
    code = source[0] * 200 + source[1]
    found, line = field(Grid(np.ones(shape), cell=1, metric="eikonal"), code), straight_line(shape, code)
    assert (found[line <= 8] == line[line <= 8]).all()  # exact near the source
    assert (abs(found - line) <= 0.002 * line + 1e-12).all()


def test_eikonal_turns_a_corner():
    """Behind a thin wall the way is two straight lines that meet just past the wall's end."""
    free = np.ones((121, 121), dtype=bool)
    free[60, :60] = False
    found = field(Grid(free, cell=1, metric="eikonal"), 30 * 121 + 20)
    assert found[90, 20] == pytest.approx(2 * math.hypot(30, 40), rel=0.02)


@given(grids(side=24))
def test_eikonal_lies_between_the_line_and_octile(case):
    assert_between_the_line_and_octile(*case)


def test_eikonal_is_nearly_a_metric_among_rooms():
    rng = np.random.default_rng(3)
    free = np.ones((60, 60), dtype=bool)
    free[[19, 39], :] = free[:, [29]] = False
    for door in (5, 25, 45):
        free[:, door : door + 3] = free[door : door + 3, :] = True
    grid = Grid(free, cell=1, metric="eikonal")
    cells = rng.choice(np.flatnonzero(free), 40, replace=False).astype(np.int32)
    d = grid.between(cells, cells)
    assert (np.diag(d) == 0).all()
    assert np.allclose(d, d.T, rtol=0.06)
    assert (d[:, None, :] <= 1.03 * (d[:, :, None] + d[None, :, :]) + 1e-9).all()


@given(grids(side=12), st.sampled_from(METRICS), st.integers(0, 2**32 - 1))
def test_a_distance_does_not_depend_on_its_batch(case, metric, seed):
    free, _ = case
    rng = np.random.default_rng(seed)
    a, b = rng.choice(np.flatnonzero(free), (2, 15)).astype(np.int32)
    block = Grid(free, metric=metric).between(a, b)
    assert block.shape == (15, 15)
    assert not np.isnan(block).any()
    warm = Grid(free, metric=metric)
    warm.between(a[:5], b)
    for grid in (Grid(free, metric=metric), warm, Grid(free, metric=metric, cache_bytes=0)):
        assert grid.pairs(a, b).tolist() == np.diag(block).tolist()
        assert grid.between(a[::-1], b[:3]).tolist() == block[::-1, :3].tolist()


@given(grids(), st.sampled_from([0.5, 1.0, 2.0]), st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=80)
def test_points_snap_to_the_nearest_free_cell(case, cell, seed):
    free, _ = case
    grid = Grid(free, cell=cell, origin=(-3.0, 8.0))
    # Quarters of a cell: exact in binary, and often equally near to several cells.
    steps = np.random.default_rng(seed).integers(-20, 4 * 14, (40, 2))
    points = steps * cell / 4 + grid.origin
    centres = grid.centres(np.flatnonzero(free))
    squares = ((points[:, None, :] - centres) ** 2).sum(axis=2)
    cells, errors = grid.snap(points)
    assert cells.dtype == np.int32
    assert cells.tolist() == np.flatnonzero(free)[squares.argmin(axis=1)].tolist()
    assert errors.tolist() == pytest.approx(np.sqrt(squares.min(axis=1)).tolist())


def test_encode_reports_how_far_points_moved():
    batch = Grid(draw("..", "#."), cell=2).encode([[[0, 0], [2, 0.5]], [[2.5, 2]]])
    assert batch.places.dtype == np.int32
    assert batch.places.tolist() == [0, 3, 3]
    assert batch.offsets.tolist() == [0, 2, 3]
    assert batch.moved.tolist() == [0, 1.5, 0.5]
    points = PathBatch.from_points([[[0, 0], [1, 1]], [[0.1, 0]]])
    batch = Grid(np.ones((20, 20))).encode(points)
    assert batch.places.tolist() == [0, 210, 20]
    assert batch.offsets is points.offsets
    none = Grid([[1]]).encode([])
    assert (len(none), none.places.dtype) == (0, np.int32)


@pytest.mark.parametrize("metric", METRICS)
def test_kept_fields_stay_within_their_bytes(metric):
    free = np.ones((5, 5))
    grid = Grid(free, metric=metric, cache_bytes=3 * 25 * 8 + 7)
    cells = np.arange(25, dtype=np.int32)
    expected = Grid(free, metric=metric).between(cells, cells)
    for source in [0, 1, 2, 0, 3]:  # 1 was used least lately when 3 came
        grid.between(cells[source : source + 1], cells)
    assert list(grid._fields) == [2, 0, 3]
    assert grid.between(cells, cells).tolist() == expected.tolist()
    assert sum(kept.nbytes for kept in grid._fields.values()) <= grid.cache_bytes


def test_what_is_not_kept():
    for cache_bytes, kept in ((0, []), (25 * 8 - 1, []), (25 * 8, [0])):  # a field takes 25 * 8 bytes
        grid = Grid(np.ones((5, 5)), cache_bytes=cache_bytes)
        grid.pairs(np.array([0, 1, 2]), np.array([1, 2, 3]))  # single steps are never kept
        assert not grid._fields
        assert grid.between(np.array([0]), np.array([1, 2])).tolist() == [[0.1, 0.2]]
        assert list(grid._fields) == kept
    grid = Grid(np.ones((5, 5)))
    grid.pairs(np.array([0, 0]), np.array([1, 2]))
    assert list(grid._fields) == [0]


@pytest.mark.parametrize("metric", METRICS)
def test_threads_share_a_grid(metric):
    free = np.random.default_rng(0).random((30, 30)) >= 0.2
    cells = np.flatnonzero(free)[:60].astype(np.int32)
    expected = Grid(free, metric=metric).between(cells, cells)
    grid = Grid(free, metric=metric, cache_bytes=5 * 8 * int(free.sum()))
    with ThreadPoolExecutor(8) as pool:
        assert all((block == expected).all() for block in pool.map(lambda _: grid.between(cells, cells), range(8)))
    assert len(grid._fields) <= 5


def test_fingerprint():
    free = draw("..", "#.")
    assert Grid(free).fingerprint == "grid-octile#07e868ef"
    assert Grid(free.astype(np.float32) * 7, origin=[-0.0, 0]).fingerprint == Grid(free).fingerprint
    others = [{"free": ~free}, {"cell": 0.2}, {"origin": (0, 1)}, {"metric": "eikonal"}, {"free": [[1, 1, 0, 1]]}]
    assert len({Grid(**{"free": free, **other}).fingerprint for other in [{}, *others]}) == 6


def test_pickle_and_repr():
    grid = Grid(draw("..", "#."), cell=0.5, origin=(1, 2), metric="eikonal", cache_bytes=100)
    cells = np.array([0, 1, 3])
    again = pickle.loads(pickle.dumps(grid))
    assert (again.fingerprint, again.cache_bytes) == (grid.fingerprint, 100)
    assert again.between(cells, cells).tolist() == grid.between(cells, cells).tolist()
    assert repr(grid) == "<Grid 2 x 2, 0.5 m cells, eikonal>"


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int64, np.float32])
def test_any_numbers_nonzero_are_free(dtype):
    array = np.array([[2, 0], [1, 3]]).astype(dtype)
    grid = Grid(np.asfortranarray(array))
    assert grid.between(np.array([0]), np.array([3])).tolist() == [[0.2]]
    array[:] = 0  # the grid is a copy
    assert grid.free.tolist() == [[True, False], [True, True]]
    with pytest.raises(ValueError, match="read-only"):
        grid.free[0, 0] = False


def test_scipy_is_imported_only_to_snap_from_outside():
    code = (
        "import sys, numpy as np; from wayscore.distances.grid import Grid;"
        "g = Grid(np.ones((3, 3)), metric='eikonal');"
        "g.snap([[0, 0]]); g.between(np.array([0]), np.array([8]));"
        "assert 'scipy' not in sys.modules; g.snap([[9, 9]]); assert 'scipy' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"free": [1, 1]}, DistanceError, r"2-dimensional array, got shape \(2,\)"),
        ({"free": [[1], [1, 1]]}, DistanceError, "rows of different lengths"),
        ({"free": [["a"]]}, DistanceError, "booleans or numbers"),
        ({"free": [[1.0, np.nan]]}, DistanceError, "NaN"),
        ({"free": [[0, 0]]}, DistanceError, "no free cell"),
        ({"free": np.broadcast_to(np.True_, (2**16, 2**16))}, DistanceError, "fewer than 2"),
        ({"cell": 0}, DistanceError, "cell must be"),
        ({"cell": -1.0}, DistanceError, "got -1.0"),
        ({"cell": np.nan}, DistanceError, "cell must be"),
        ({"cell": "wide"}, DistanceError, "got 'wide'"),
        ({"origin": (1, 2, 3)}, DistanceError, r"two finite numbers.*got \(1, 2, 3\)"),
        ({"origin": (0, np.inf)}, DistanceError, "two finite numbers"),
        ({"origin": 0.0}, DistanceError, "two finite numbers"),
        ({"metric": "eikonl"}, OptionError, "one of octile, eikonal, got 'eikonl'; did you mean 'eikonal'"),
        ({"cache_bytes": -1}, OptionError, "cache_bytes"),
        ({"cache_bytes": 1.5}, OptionError, "cache_bytes"),
    ],
)
def test_bad_grids(arguments, error, message):
    with pytest.raises(error, match=message) as caught:
        Grid(**{"free": [[1]], **arguments})
    assert isinstance(caught.value, WayscoreError)


@pytest.mark.parametrize(
    ("paths", "message"),
    [
        ([[[0, 0, 0]]], "2-dimensional points, but those of query 0 have dimension 3"),
        ([[0, 0, 0]], "dimension 1"),
        ([[[0, 0]], np.empty((0, 2))], "query 1 is empty"),
        ([[[0, 0]], [[0, 0], [np.nan, 0]]], "query 1, step 1: coordinates must be finite"),
        ([["a", "b"]], "query 0 must hold coordinates"),
        ([[[0, 0]], [[0, 0, 0]]], "query 1 has 3-dimensional points"),
        (PathBatch(np.array([0, 3], dtype=np.int32), np.array([0, 2])), "dimension 1"),
        (PathBatch(np.array([0.0, 3.0]), np.array([0, 2])), "dimension 1"),
        (PathBatch(np.array([[0.0, np.inf]]), np.array([0, 1])), "query 0, step 0: coordinates must be finite"),
    ],
)
def test_bad_paths(paths, message):
    with pytest.raises(PathError, match=message):
        Grid(np.ones((3, 3))).encode(paths, role="query")


@pytest.mark.parametrize("points", [[0, 0], [[0, 0, 0]], "ab", [[0, np.nan]], [[0], [0, 1]], None])
def test_bad_points(points):
    with pytest.raises(PathError, match="point"):
        Grid([[1]]).snap(points)


@pytest.mark.parametrize("codes", [[-1], [4], [0, 2]])
def test_codes_of_another_grid(codes):
    grid, good = Grid(draw("..", "#.")), np.zeros(len(codes), dtype=np.int32)
    for a, b in [(np.array(codes), good), (good, np.array(codes))]:
        for measure in (grid.between, grid.pairs):
            with pytest.raises(DistanceError, match="encode the paths with this grid"):
                measure(a, b)


# The kernel; tests/kernels compares native and plain


@given(grids(side=20), st.data())
def test_march_stops_at_its_target(case, data):
    free, source = case
    target = data.draw(st.sampled_from(np.flatnonzero(free).tolist()))
    whole, stopped = np.empty(free.shape), np.empty(free.shape)
    for goal, out in ((-1, whole), (target, stopped)):
        plain_march(free.astype(np.uint8), source, goal, out)
    assert stopped.flat[target] == whole.flat[target]
    settled = np.isfinite(stopped)
    assert (stopped[settled] == whole[settled]).all()
    assert (whole[settled] <= whole.flat[target]).all()
    assert (whole[~settled] >= whole.flat[target]).all()


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize(
    ("shape", "source", "target", "out_shape"),
    [
        ((2, 3), -1, -1, (2, 3)),
        ((2, 3), 6, -1, (2, 3)),
        ((2, 3), 5, -1, (2, 3)),  # an obstacle
        ((2, 3), 0, -2, (2, 3)),
        ((2, 3), 0, 6, (2, 3)),
        ((2, 3), 0, -1, (3, 2)),
        ((0, 3), 0, -1, (0, 3)),
    ],
)
def test_march_refuses_what_is_out_of_range(native, shape, source, target, out_shape):
    free = np.ones(shape, dtype=np.uint8)
    free[1:, 2:] = 0
    built = "the native kernels are not built"
    march = pytest.importorskip("wayscore.kernels._native", reason=built).march if native else plain_march
    with pytest.raises(ValueError, match="must"):
        march(free, source, target, np.empty(out_shape))
