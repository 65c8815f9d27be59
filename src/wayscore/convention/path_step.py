"""Paths of coordinates at a chosen step length: nDTW depends on how densely a path is sampled."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from wayscore.distances.base import Floats
from wayscore.errors import OptionError, shortened
from wayscore.paths import PathBatch, Paths


def apply_path_step(paths: Paths, step: float, by: Literal["even", "moves"] = "even") -> PathBatch:
    """Resample paths of coordinates.

    Args:
        paths: (n, k) coordinates each, metres.
        step: how far apart the new points lie along the path, metres; the last may be nearer.
        by: "even" lays points every step along the whole path. "moves" keeps every point and adds new ones within each
            move, every step of its horizontal length (the first and the third coordinate of three), none nearer to the
            move's end than one step.

    >>> apply_path_step([[[0.0, 0.0], [1.0, 0.0], [1.0, 0.7]]], 0.5)[0].tolist()
    [[0.0, 0.0], [0.5, 0.0], [1.0, 0.0], [1.0, 0.5], [1.0, 0.7]]
    """
    if not (np.isfinite(step) and step > 0):
        raise OptionError(f"the path step must be a length above 0, in metres, got {shortened(step)}")
    batch = paths if isinstance(paths, PathBatch) else PathBatch.from_points(paths)
    if getattr(batch.places, "ndim", 1) != 2:
        raise OptionError("a path step needs paths of coordinates; the nodes of a graph cannot be resampled")
    resampled = _even if by == "even" else _within_moves
    return PathBatch.from_points([resampled(path, step) for path in batch])


def _even(path: Floats, step: float) -> Floats:
    along = np.concatenate(([0.0], np.cumsum(np.linalg.norm(np.diff(path, axis=0), axis=1))))
    rounding = 1e-9 * step  # so that a path of whole steps does not end in a tiny one
    at = np.append(np.arange(0.0, along[-1] - rounding, step), along[-1])
    return np.column_stack([np.interp(at, along, axis) for axis in path.T])


def _within_moves(path: Floats, step: float) -> Floats:
    flat: Any = path[:, [0, 2]] if path.shape[1] == 3 else path
    lengths = np.linalg.norm(np.diff(flat, axis=0), axis=1)
    pieces = [path[:1]]
    for start, end, length in zip(path[:-1], path[1:], lengths, strict=True):
        between = np.arange(1, max(int(length / step), 1))[:, None]
        pieces += [start + between * (step / length if length else 0.0) * (end - start), end[None, :]]
    return np.concatenate(pieces)
