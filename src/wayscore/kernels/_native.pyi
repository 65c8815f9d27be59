from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

_Floats = NDArray[np.float64]
_Codes = NDArray[np.int32]
_Offsets = NDArray[np.int64]

lanes: str

def euclidean_block(a: _Floats, b: _Floats, out: _Floats, /) -> None: ...
def all_finite(numbers: _Floats, /) -> bool: ...
def warp_block(costs: _Floats, top: _Floats | None, left: _Floats | None, /) -> float: ...
def warp_points(reference: _Floats, query: _Floats, top: _Floats | None, left: _Floats | None, /) -> float: ...
def pruned_points(reference: _Floats, query: _Floats, budget: int, /) -> float | None: ...
def trace_block(costs: _Floats, top: _Floats, left: _Floats, i: int, j: int, cells: _Offsets, /) -> int: ...
def advance_cost(costs: _Floats, row: _Floats, /) -> float: ...
def advance_point(reference: _Floats, row: _Floats, place: _Floats, /) -> float | None: ...
def advance_block(costs: _Floats, lengths: _Offsets, rows: _Floats, active: NDArray[np.uint8] | None, /) -> None: ...
def advance_points(
    references: _Floats,
    lengths: _Offsets,
    rows: _Floats,
    places: _Floats,
    active: NDArray[np.uint8] | None,
    /,
) -> None: ...
def all_pairs(matrix: _Floats, symmetric: int, /) -> None: ...
def dijkstra(
    indptr: _Offsets, indices: _Codes, weights: _Floats, source: int, target: int, out: _Floats, /
) -> None: ...
def resample(seed: int, first: int, values: _Floats, totals: _Floats, /) -> None: ...
def tally(
    values: _Floats,
    units: _Offsets,
    sums: _Offsets,
    large: _Offsets,
    lacking: _Offsets,
    sizes: _Offsets,
    least: _Floats,
    /,
) -> None: ...
def place(
    codes: _Codes,
    offsets: _Offsets,
    rows: _Offsets,
    known: _Codes | None,
    edges: NDArray[np.uint8] | None,
    out: _Codes,
    ends: _Offsets,
    flags: NDArray[np.uint8],
    /,
) -> int: ...
def march(free: NDArray[np.uint8], source: int, target: int, out: _Floats, /) -> None: ...
def encode(index: dict[Any, int] | list[dict[Any, int]], paths: Sequence[Sequence[Any]], codes: _Codes, /) -> int: ...
def fast_points(reference: _Floats, query: _Floats, radius: int, cells: _Offsets, /) -> tuple[float, int]: ...
def fast_table(
    table: _Floats, reference: _Codes, query: _Codes, radius: int, cells: _Offsets, /
) -> tuple[float, int]: ...
def measure_table(
    table: _Floats,
    r: _Codes,
    r_offsets: _Offsets,
    q: _Codes,
    q_offsets: _Offsets,
    pairing: _Offsets | None,
    scale: float,
    reach: float,
    out: _Floats,
    first: int,
    /,
) -> None: ...
def measure_points(
    r: _Floats,
    r_offsets: _Offsets,
    q: _Floats,
    q_offsets: _Offsets,
    pairing: _Offsets | None,
    scale: float,
    reach: float,
    out: _Floats,
    first: int,
    /,
) -> None: ...
def measure_block(
    blocks: _Floats,
    block_offsets: _Offsets,
    r_steps: _Floats,
    q_steps: _Floats,
    r: _Codes,
    r_offsets: _Offsets,
    q: _Codes,
    q_offsets: _Offsets,
    pairing: _Offsets | None,
    scale: float,
    reach: float,
    out: _Floats,
    first: int,
    /,
) -> None: ...
