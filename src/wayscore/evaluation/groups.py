"""Episodes in groups: by scene, by path, by length; for clustered resampling and for tables that are split."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from wayscore.episodes import Reference, References
from wayscore.errors import OptionError

CLUSTERS = ("auto", "none", "path", "scan")
"""What the bootstrap draws: single episodes, all of a path together, all of a scene together; "auto" draws paths
where episodes share paths."""
SPLITS = ("scan", "length", "path")
"""What a table of means may be split by."""
BINS_AT_MOST = 8
FEW_CLUSTERS = 30
"""With fewer clusters, bootstrap intervals are too narrow."""


class Groups(Struct, frozen=True):
    """Every episode in one group.

    Attributes:
        by: what the groups have in common: scan, path or length.
        labels: episode -> name of its group.
        names: the groups, in the order in which they are printed.
    """

    by: str
    labels: Mapping[str, str]
    names: tuple[str, ...]

    def numbers(self, episodes: Iterable[str]) -> NDArray[np.int64]:
        """Return the number of each episode's group, in the order in which groups first come."""
        known = {name: number for number, name in enumerate(dict.fromkeys(self.labels.values()))}
        return np.array([known[self.labels[episode]] for episode in episodes], dtype=np.int64)


def group_by(
    by: str, episodes: Sequence[str], scenes: Sequence[str], path_ids: Sequence[str], lengths: Sequence[int]
) -> Groups:
    """Put episodes in groups.

    "scan" is the scene, "path" the path that several instructions may describe, and "length" the number of nodes of
    the reference, in at most 8 bins of equal width (1, 2, 5, 10, ...) that are named by their bounds.

    >>> group_by("length", ["a", "b", "c", "d"], ["S"] * 4, ["1", "2", "3", "4"], [4, 5, 7, 21]).labels
    {'a': '0-4', 'b': '5-9', 'c': '5-9', 'd': '20-24'}
    """
    check_choice("split_by", by, SPLITS)
    if by == "length":
        return _by_length(episodes, lengths)
    if by == "scan":
        labels = dict(zip(episodes, scenes, strict=True))
        return Groups(by, labels, tuple(sorted(set(labels.values()))))
    labels = dict(zip(episodes, path_labels(scenes, path_ids), strict=True))
    return Groups(by, labels, tuple(dict.fromkeys(labels.values())))


def path_labels(scenes: Sequence[str], path_ids: Sequence[str]) -> list[str]:
    """Return a name for each episode's path: its id, with the scene where several scenes use one id."""
    scene_of = dict(zip(path_ids, scenes, strict=True))
    pairs = list(zip(scenes, path_ids, strict=True))
    several = {path for scene, path in pairs if scene_of[path] != scene}
    return [f"{scene}/{path}" if path in several else path for scene, path in pairs] if several else list(path_ids)


def clusters_of(references: Sequence[Reference], cluster: str) -> Groups | None:
    """Return the clusters to resample, None where every episode is its own."""
    check_choice("cluster", cluster, CLUSTERS)
    if cluster == "none":
        return None
    scenes, path_ids = [one.scene for one in references], [one.path_id for one in references]
    return group_by(cluster, [one.episode for one in references], scenes, path_ids, ())


def choose_cluster(cluster: str, references: References | None, several: bool = False) -> str:
    """Return what to resample: for "auto", paths where episodes share them, or have several answers.

    >>> one = {f"7_{n}": Reference(f"7_{n}", "S", ["a"], "7") for n in range(3)}
    >>> choose_cluster("auto", References("r", "r2r", one))
    'path'
    """
    check_choice("cluster", cluster, CLUSTERS)
    if references is None:
        if cluster in ("path", "scan"):
            raise OptionError("rows that carry their references have no paths to resample by; leave <<cluster>> out")
        return "none"
    if cluster != "auto":
        return cluster
    if several:
        return "path"
    seen = set()
    for count, one in enumerate(references.episodes.values(), start=1):
        seen.add((one.scene, one.path_id))
        if len(seen) < count:
            return "path"
    return "none"


def few_clusters(cluster: str, count: int) -> list[str]:
    """Return a warning where there are too few clusters for intervals to be trusted."""
    if cluster == "none" or count >= FEW_CLUSTERS:
        return []
    several = cluster if count == 1 else f"{cluster}s"
    return [f"intervals resample only {count} {several}; with fewer than {FEW_CLUSTERS} they are too narrow"]


def check_choice(setting: str, given: str, known: Sequence[str]) -> None:
    """Refuse a word that is not among those known."""
    if given not in known:
        raise OptionError(f"<<{setting}>> must be {', '.join(known[:-1])} or {known[-1]}, not {given!r}")


def _by_length(episodes: Sequence[str], lengths: Sequence[int]) -> Groups:
    least, most = min(lengths, default=0), max(lengths, default=0)
    widths = (base * 10**power for power in range(20) for base in (1, 2, 5))
    width = next(width for width in widths if most // width - least // width < BINS_AT_MOST)

    def name(number: int) -> str:
        first = number * width
        return str(first) if width == 1 else f"{first}-{first + width - 1}"

    labels = {episode: name(count // width) for episode, count in zip(episodes, lengths, strict=True)}
    return Groups("length", labels, tuple(name(n) for n in sorted({count // width for count in lengths})))
