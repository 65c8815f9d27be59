"""Paths of coordinates at a chosen step length: nDTW depends on how densely a path is sampled."""

from __future__ import annotations

import numpy as np

from wayscore.distances.base import Floats
from wayscore.errors import OptionError, shortened
from wayscore.paths import PathBatch, Paths


def apply_path_step(paths: Paths, step: float) -> PathBatch:
    """Resample paths of coordinates: points every step along the whole path.

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
    return PathBatch.from_points([_even(path, step) for path in batch])


def _even(path: Floats, step: float) -> Floats:
    along = np.concatenate(([0.0], np.cumsum(np.linalg.norm(np.diff(path, axis=0), axis=1))))
    rounding = 1e-9 * step  # so that a path of whole steps does not end in a tiny one
    at = np.append(np.arange(0.0, along[-1] - rounding, step), along[-1])
    return np.column_stack([np.interp(at, along, axis) for axis in path.T])
