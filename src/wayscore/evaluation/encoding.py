"""From paths as users give them to parts: checked, encoded in their space, scene by scene."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import chain, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayscore.distances.base import Distance
from wayscore.distances.labels import encode_in_scenes
from wayscore.errors import OptionError, PathError, did_you_mean, shortened
from wayscore.evaluation.parts import Part, PathSets, between, cut
from wayscore.paths import Offsets, PathBatch, Paths, Role, as_lists


def check_list_of_paths(kind: str, paths: Any, space: Distance | None) -> None:
    """Refuse what is not a list of paths, above all one bare path, which would pass for many of one point each.

    Args:
        kind: the keyword, "references" or "queries".
        paths: what was given.
        space: the distance, where there is one for all paths.
    """
    if isinstance(paths, PathBatch):
        return
    if hasattr(paths, "episodes") or hasattr(paths, "queries"):
        raise OptionError(
            f"{kind} is a {type(paths).__name__}, and ws.score takes lists of paths; "
            "ws.evaluate(run, references, graphs) scores a run against its references"
        )
    if isinstance(paths, str | bytes | Mapping) or not hasattr(paths, "__len__") or not hasattr(paths, "__getitem__"):
        raise PathError(f"{kind} must be a list of paths or a PathBatch, got {shortened(paths)}")
    if isinstance(paths, np.ndarray) and paths.dtype != object:
        bare = paths.ndim < 2 or (paths.ndim == 2 and paths.dtype.kind in "biufc")
    else:
        bare = len(paths) > 0 and _is_node(paths[0], space)
    if bare:
        raise PathError(
            f"{kind} must be a list of paths, but this is a single path: {shortened(paths, 80)}; wrap it in a list, "
            f"{kind}=[path]"
        )


def _is_node(first: Any, space: Distance | None) -> bool:
    """Say whether the first item of what should be paths is a node or a point."""
    if not hasattr(first, "__len__"):
        return True
    if space is not None and space.is_straight:
        return len(first) > 0 and isinstance(first[0], int | float | np.number)
    if isinstance(first, str) and len(first) == 1:  # "abc" is a path of three nodes, and "a" one of one
        return False
    return (
        isinstance(first, str | tuple) and space is not None and space.index is not None and _known(first, space.index)
    )


def _known(label: Any, index: dict[Any, int]) -> bool:
    try:
        return label in index
    except TypeError:  # a tuple of lists: a path
        return False


def check_pairing(references: Paths, queries: Paths, pairing: Any) -> Offsets | None:
    """Return the number of the reference of each query, or None where they go in step."""
    if pairing is None:
        if len(references) != len(queries):
            raise PathError(
                f"{len(references)} references but {len(queries)} queries; give one query for each reference, "
                "or say with pairing= which reference each query answers"
            )
        return None
    pairs = np.asarray(pairing, dtype=np.int64)
    if pairs.shape != (len(queries),):
        raise PathError(f"{len(queries)} queries but a pairing of shape {pairs.shape}; give one number for each query")
    if pairs.size and not (0 <= pairs.min() and pairs.max() < len(references)):
        raise PathError(f"the pairing names reference {pairs.max()}, but there are {len(references)}")
    return pairs


def parts_of_one(paths: PathSets, pairs: Offsets | None, space: Distance, names: Sequence[Any]) -> list[Part]:
    """Encode the episodes of one scene; errors name the episode."""

    def encode(some: Paths, kind: str) -> PathBatch:
        if kind.endswith("reference") and pairs is not None:
            return space.encode(some, role=kind)
        return space.encode(some, role=lambda n: f"episode {names[n]}, {kind}")

    encoded = _each(paths, encode)
    return list(cut(space, encoded, pairs, range(len(encoded.queries))))


def parts_by_scene(
    paths: PathSets,
    pairs: Offsets | None,
    distance: Mapping[str, Distance],
    scenes: Sequence[str] | None,
    names: Sequence[Any],
) -> list[Part]:
    """Put the episodes of each scene together and encode them; errors name the episode."""
    if scenes is None:
        raise OptionError("distance is a mapping from scene to distance; say with scenes= where each query was walked")
    groups: defaultdict[str, list[int]] = defaultdict(list)
    for number, scene in enumerate(scenes):
        groups[scene].append(number)
    for scene, numbers in groups.items():
        if scene not in distance:
            hint = did_you_mean(scene, distance)
            raise PathError(f"episode {names[numbers[0]]}: there is no scene {shortened(scene)}{hint}")
    order = list(chain.from_iterable(groups.values()))

    def in_order(some: Paths, kind: str) -> list[Any]:
        listed = as_lists(some)
        by_pair = kind.endswith("reference") and pairs is not None
        return [listed[number] for number in (pairs[order].tolist() if by_pair else order)]  # type: ignore[index]

    def role(kind: str, first: int = 0) -> Role:
        return lambda n: f"episode {names[order[first + n]]}, {kind}"

    paths = _each(paths, in_order)
    spaces = [distance[scene] for scene in groups]
    bounds = list(pairwise(np.cumsum([0, *map(len, groups.values())]).tolist()))
    rows = np.array(order, dtype=np.int64)
    parts: list[Part] = []
    if all(space.table is not None and space.index is not None for space in spaces):
        each = [space for space, numbers in zip(spaces, groups.values(), strict=True) for _ in numbers]
        encoded = _each(paths, lambda some, kind: encode_in_scenes(some, each, role=role(kind)))
        for space, (start, stop) in zip(spaces, bounds, strict=True):
            parts += cut(space, between(encoded, start, stop), None, rows[start:stop])
    else:
        for space, (start, stop) in zip(spaces, bounds, strict=True):
            encoded = _each(paths, _encoder(space, start, stop, role))
            parts += cut(space, encoded, None, rows[start:stop])
    return parts


def _encoder(space: Distance, start: int, stop: int, role: Callable[[str, int], Role]) -> Callable[[Any, str], Any]:
    return lambda some, kind: space.encode(some[start:stop], role=role(kind, start))


def parts_by_number(
    paths: PathSets, pairs: Offsets | None, spaces: Sequence[Distance], numbers: NDArray[np.integer[Any]]
) -> list[Part]:
    """Put encoded episodes of each scene together.

    Args:
        paths: encoded each in its scene; with a pairing, all references of a scene side by side.
        pairs: the number of the reference of each query, or None where they go in step.
        spaces: the distance of each scene.
        numbers: the scene of each query.
    """
    counts = np.bincount(numbers, minlength=len(spaces))
    order: range | Offsets = range(len(numbers))
    if (numbers[1:] < numbers[:-1]).any():
        order = np.argsort(numbers, kind="stable")

        def taken(some: PathBatch, kind: str) -> PathBatch:
            return some if kind.endswith("reference") and pairs is not None else some.take(order)

        paths = _each(paths, taken)
    parts: list[Part] = []
    for space, (start, stop) in zip(spaces, pairwise(np.cumsum([0, *counts]).tolist()), strict=True):
        if start == stop:
            continue
        rows = order[start:stop]
        if pairs is None:
            parts += cut(space, between(paths, start, stop), None, rows)
        else:
            some = pairs[start:stop] if isinstance(rows, range) else pairs[rows]
            first, last = int(some.min()), int(some.max())
            own = between(paths, start, stop, references=slice(first, last + 1))
            parts += cut(space, own, some - first, rows)
    return parts


def _each(paths: PathSets, function: Callable[[Any, str], Any]) -> PathSets:
    """Apply a function of paths and what errors call them to every set."""
    kinds = ("reference", "query", "dense reference", "query")
    return PathSets(*(None if some is None else function(some, kind) for some, kind in zip(paths, kinds, strict=True)))
