"""Turns labels of nodes into int32 codes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wayscore import kernels
from wayscore.distances.base import Distance
from wayscore.errors import PathError, UnknownNodeError, did_you_mean, shortened
from wayscore.paths import PathBatch, Paths, Role, offsets_of, path_name


def encode_labels(paths: Paths, index: dict[Any, int], *, role: Role, scene: str) -> PathBatch:
    """Return paths of labels as codes by `index`; an unknown label is an error that names path, step and label.

    >>> encode_labels([["a", "b"], ["b"]], {"a": 0, "b": 1}, role="query", scene="graph").places.tolist()
    [0, 1, 1]
    """
    if isinstance(paths, PathBatch):
        return _check_codes(paths, len(index), scene)
    paths = paths if isinstance(paths, list) else list(paths)
    return _encode_lists(paths, index, role, lambda _: (index, scene))


def encode_in_scenes(paths: list[Any], spaces: list[Distance], *, role: Role) -> PathBatch:
    """Return paths of labels as codes, each by the index of its own graph or table."""
    indices: list[dict[Any, int]] = [space.index or {} for space in spaces]
    return _encode_lists(paths, indices, role, lambda number: (indices[number], spaces[number].name))


def _encode_lists(
    paths: list[Any],
    index: dict[Any, int] | list[dict[Any, int]],
    role: Role,
    scene_of: Callable[[int], tuple[dict[Any, int], str]],
) -> PathBatch:
    offsets = offsets_of(paths, role=role)
    codes = np.empty(int(offsets[-1]), dtype=np.int32)
    try:
        unknown = kernels.encode(index, paths, codes)
    except TypeError:
        raise _unhashable(paths, role) from None
    if unknown >= 0:
        number = int(np.searchsorted(offsets, unknown, side="right")) - 1
        step = unknown - int(offsets[number])
        raise unknown_node(paths[number][step], f"{path_name(role, number)}, step {step}", *scene_of(number))
    return PathBatch(codes, offsets)


def unknown_node(label: Any, where: str, index: dict[Any, int], scene: str) -> UnknownNodeError:
    """Return the error that a scene has no such node, with the name of a node that is spelled similarly."""
    return UnknownNodeError(
        f"{where}: node {shortened(label)} is not among the {len(index)} nodes of the {scene}"
        f"{did_you_mean(label, index)}"
    )


def _check_codes(batch: PathBatch, count: int, scene: str) -> PathBatch:
    codes = batch.places
    if codes.ndim > 1:
        raise PathError(f"paths hold points, but the {scene} knows nodes by their labels")
    if codes.size and not (0 <= codes.min() and codes.max() < count):
        raise PathError(f"paths hold codes from {codes.min()} to {codes.max()}, but the {scene} has {count} nodes")
    return batch


def _unhashable(paths: list[Any], role: Role) -> PathError:
    for number, path in enumerate(paths):
        for step, label in enumerate(path):
            try:
                hash(label)
            except TypeError:
                return PathError(
                    f"{path_name(role, number)}, step {step}: a node is a hashable label such as a string or a "
                    f"tuple, got {shortened(label)}"
                )
    return PathError("paths must be sequences of node labels")
