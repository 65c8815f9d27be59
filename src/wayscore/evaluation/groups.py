"""Episodes in groups: by scene, by path, by length; for clustered resampling and for tables that are split."""

from __future__ import annotations

from collections.abc import Sequence

from wayscore.errors import OptionError, check_choice
from wayscore.formats.episodes import References

CLUSTERS = ("auto", "none", "path", "scan")
"""What the bootstrap draws: single episodes, all of a path together, all of a scene together; "auto" draws paths
where episodes share paths."""
SPLITS = ("scan", "length", "path")
"""What a table of means may be split by."""
BINS_AT_MOST = 8
FEW_CLUSTERS = 30
"""With fewer clusters, bootstrap intervals are too narrow."""


def group_by(
    by: str, scenes: Sequence[str], path_ids: Sequence[str], lengths: Sequence[int]
) -> tuple[list[str], list[str]]:
    """Return the name of every episode's group, and the groups in the order in which they are printed.

    "scan" is the scene, "path" the path that several instructions may describe, and "length" the number of nodes of
    the reference, in at most 8 bins of equal width (1, 2, 5, 10, ...) that are named by their bounds.

    >>> group_by("length", ["S"] * 4, ["1", "2", "3", "4"], [4, 5, 7, 21])
    (['0-4', '5-9', '5-9', '20-24'], ['0-4', '5-9', '20-24'])
    """
    check_choice("split_by", by, SPLITS)
    if by == "scan":
        return list(scenes), sorted(set(scenes))
    if by == "path":
        labels = path_labels(scenes, path_ids)
        return labels, list(dict.fromkeys(labels))
    least, most = min(lengths, default=0), max(lengths, default=0)
    widths = (base * 10**power for power in range(20) for base in (1, 2, 5))
    width = next(width for width in widths if most // width - least // width < BINS_AT_MOST)
    first = [count // width * width for count in lengths]
    names = {one: str(one) if width == 1 else f"{one}-{one + width - 1}" for one in sorted(set(first))}
    return [names[one] for one in first], list(names.values())


def path_labels(scenes: Sequence[str], path_ids: Sequence[str]) -> list[str]:
    """Return a name for each episode's path: its id, with the scene where several scenes use one id."""
    scene_of = dict(zip(path_ids, scenes, strict=True))
    pairs = list(zip(scenes, path_ids, strict=True))
    several = {path for scene, path in pairs if scene_of[path] != scene}
    return [f"{scene}/{path}" if path in several else path for scene, path in pairs] if several else list(path_ids)


def choose_cluster(cluster: str, references: References | None, several: bool = False) -> str:
    """Return what to resample: for "auto", paths where episodes share them, or have several answers.

    >>> from wayscore.formats.episodes import Reference
    >>> one = {f"7_{n}": Reference(f"7_{n}", "S", ["a"], "7") for n in range(3)}
    >>> choose_cluster("auto", References("r", "r2r", one))
    'path'
    """
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
