"""How a convention is applied to distances, to paths and to undefined scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from wayscore.convention.choices import Convention
from wayscore.distances.base import ByScene, Distance, Floats, Reversed, as_distance
from wayscore.distances.graph import Graph
from wayscore.errors import OptionError, shortened
from wayscore.paths import PathBatch, Paths, in_plane
from wayscore.warping.alignment import Alignment, align, fast_dtw


def distance_by(distance: Any, convention: Convention) -> Any:
    """Return the distance, or the distances by scene, as the convention measures them.

    A list holds distances to which this was applied before, one per scene; None (Euclidean) stays None.
    """
    if isinstance(distance, list):
        return [as_distance(one) for one in distance]
    by_scene = isinstance(distance, Mapping)
    given = None if distance is None or by_scene else as_distance(distance)
    if convention.plane != "none" and (by_scene or (given is not None and not given.is_straight)):
        raise OptionError(
            f"the convention {convention.name} measures in the plane, which needs coordinates; got "
            f"{shortened(distance)}"
        )
    if convention.path_step and (by_scene or (given is not None and given.index is not None)):
        raise OptionError(
            f"a path step of {convention.path_step:g} m needs paths of coordinates; the nodes of a graph cannot be "
            "resampled"
        )
    if convention.distance == "given":
        return distance if by_scene else given
    if by_scene:
        loaders = {scene: lambda scene=scene: _in_hops(distance[scene], convention) for scene in distance}
        return ByScene(Path(), loaders, ("scene", "scenes"))
    return _in_hops(given, convention)


def _in_hops(graph: Any, convention: Convention) -> Distance:
    if not isinstance(graph, Graph):
        raise OptionError(f"the convention {convention.name} counts hops, which needs a Graph; got {shortened(graph)}")
    return Reversed(graph.hops) if convention.distance == "directed hops" else graph.both_ways.hops


def flatten(paths: Paths, up_axis: int | None = None) -> PathBatch:
    """Return paths of coordinates without the one that points up, for conventions that measure in the plane."""
    batch = paths if isinstance(paths, PathBatch) else PathBatch.from_points(paths)
    return PathBatch(in_plane(batch.places, up_axis), batch.offsets)


def apply_path_step(paths: Paths, step: float) -> PathBatch:
    """Resample paths of coordinates, since nDTW depends on how densely a path is sampled: points every step along it.

    Args:
        paths: (n, k) coordinates each, metres.
        step: how far apart the new points lie along the path, metres; the last may be nearer.

    >>> apply_path_step([[[0.0, 0.0], [1.0, 0.0], [1.0, 0.7]]], 0.5)[0].tolist()
    [[0.0, 0.0], [0.5, 0.0], [1.0, 0.0], [1.0, 0.5], [1.0, 0.7]]
    """
    if not (np.isfinite(step) and step > 0):
        raise OptionError(f"the path step must be a length above 0, in metres, got {shortened(step)}")
    batch = paths if isinstance(paths, PathBatch) else PathBatch.from_points(paths)
    if getattr(batch.places, "ndim", 1) != 2:
        raise OptionError("a path step needs paths of coordinates; the nodes of a graph cannot be resampled")
    rounding = 1e-9 * step  # so that a path of whole steps does not end in a tiny one
    resampled = []
    for path in batch:
        along = np.concatenate(([0.0], np.cumsum(np.linalg.norm(np.diff(path, axis=0), axis=1))))
        at = np.append(np.arange(0.0, along[-1] - rounding, step), along[-1])
        resampled.append(np.column_stack([np.interp(at, along, axis) for axis in path.T]))
    return PathBatch.from_points(resampled)


def align_by(convention: Convention) -> Callable[..., Alignment]:
    """Return the function that aligns two paths as the convention warps them."""
    if convention.warping == "exact":
        return align
    return partial(fast_dtw, build="compiled" if convention.warping == "fast-compiled" else "python")


def zero_undefined(columns: Mapping[str, Floats]) -> dict[str, int]:
    """Make undefined scores 0; return how many of each metric became 0."""
    undefined = {symbol: np.flatnonzero(~np.isfinite(values)) for symbol, values in columns.items()}
    for symbol, rows in undefined.items():
        columns[symbol][rows] = 0.0
    return {symbol: rows.size for symbol, rows in undefined.items() if rows.size}
