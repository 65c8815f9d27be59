"""From paths as users give them to pieces of work: checked, encoded in their space, scene by scene."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayscore.distances.base import Distance, check_distance
from wayscore.distances.labels import encode_in_scenes
from wayscore.errors import OptionError, PathError, did_you_mean
from wayscore.paths import Offsets, PathBatch, Paths, Role, as_lists
from wayscore.scoring.measuring import Part, cut


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


def parts_of_one(
    references: Paths, queries: Paths, pairs: Offsets | None, space: Distance, names: Sequence[Any]
) -> list[Part]:
    """Encode the episodes of one scene; errors name the episode."""
    check_distance(space)
    r = space.encode(references, role=lambda n: f"episode {names[n]}, reference" if pairs is None else f"reference {n}")
    q = space.encode(queries, role=lambda n: f"episode {names[n]}, query")
    return list(cut(space, r, q, pairs, range(len(q))))


def parts_by_scene(
    references: Any,
    queries: Any,
    pairs: Offsets | None,
    distance: Mapping[str, Distance],
    scenes: Sequence[str] | None,
    names: Sequence[Any],
) -> list[Part]:
    """Put the episodes of each scene together and encode them; errors name the episode."""
    if scenes is None:
        raise OptionError("distance is a mapping from scene to distance; say with scenes= where each query was walked")
    groups: dict[str, list[int]] = {}
    for number, scene in enumerate(scenes):
        groups.setdefault(scene, []).append(number)
    for scene, numbers in groups.items():
        if scene not in distance:
            raise PathError(f"episode {names[numbers[0]]}: there is no scene {scene!r}{did_you_mean(scene, distance)}")
    references, queries = as_lists(references), as_lists(queries)
    order = list(chain.from_iterable(groups.values()))
    references = [references[i] for i in (order if pairs is None else pairs[order].tolist())]
    queries = [queries[i] for i in order]
    spaces = [distance[scene] for scene in groups]
    for space in spaces:
        check_distance(space)
    ends = np.cumsum([0, *map(len, groups.values())]).tolist()
    rows = np.array(order, dtype=np.int64)

    def role(kind: str, first: int = 0) -> Role:
        return lambda n: f"episode {names[order[first + n]]}, {kind}"

    parts: list[Part] = []
    if all(getattr(space, "table", None) is not None and hasattr(space, "index") for space in spaces):
        each = [space for space, numbers in zip(spaces, groups.values(), strict=True) for _ in numbers]
        r = encode_in_scenes(references, each, role=role("reference"))
        q = encode_in_scenes(queries, each, role=role("query"))
        for space, (start, stop) in zip(spaces, pairwise(ends), strict=True):
            parts += cut(space, r.part(start, stop), q.part(start, stop), None, rows[start:stop])
    else:
        for space, (start, stop) in zip(spaces, pairwise(ends), strict=True):
            r = space.encode(references[start:stop], role=role("reference", start))
            q = space.encode(queries[start:stop], role=role("query", start))
            parts += cut(space, r, q, None, rows[start:stop])
    return parts


def parts_by_number(
    references: PathBatch,
    queries: PathBatch,
    pairs: Offsets | None,
    spaces: Sequence[Distance],
    numbers: NDArray[np.integer[Any]],
) -> list[Part]:
    """Put encoded episodes of each scene together.

    Args:
        references: encoded each in its scene; with a pairing, all those of a scene side by side.
        queries: encoded likewise, in any order.
        pairs: the number of the reference of each query, or None where they go in step.
        spaces: the distance of each scene.
        numbers: the scene of each query.
    """
    counts = np.bincount(numbers, minlength=len(spaces))
    ends = np.cumsum([0, *counts]).tolist()
    order: range | Offsets = range(len(numbers))
    if (numbers[1:] < numbers[:-1]).any():
        order = np.argsort(numbers, kind="stable")
        queries = queries.take(order)
        references = references.take(order) if pairs is None else references
    parts: list[Part] = []
    for space, (start, stop) in zip(spaces, pairwise(ends), strict=True):
        if start == stop:
            continue
        rows, q = order[start:stop], queries.part(start, stop)
        if pairs is None:
            parts += cut(space, references.part(start, stop), q, None, rows)
        else:
            asked = pairs[start:stop] if isinstance(rows, range) else pairs[rows]
            first, last = int(asked.min()), int(asked.max())
            parts += cut(space, references.part(first, last + 1), q, asked - first, rows)
    return parts
