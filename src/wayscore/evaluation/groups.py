"""Episodes in groups: by scene, by path, by length; for clustered resampling and for tables that are split."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wayscore.errors import OptionError, did_you_mean

if TYPE_CHECKING:
    from wayscore.episodes import Reference
    from wayscore.scoring.table import ScoreTable

CLUSTERS = ("none", "path", "scan")
"""What episodes may be resampled by: one by one, all of a path together, all of a scene together."""
SPLITS = ("scan", "length", "path")
"""What a table of means may be split by."""
BINS_AT_MOST = 8
FEW_CLUSTERS = 30
"""With fewer clusters, bootstrap intervals are too narrow."""


@dataclass(frozen=True, slots=True)
class Partition:
    """Every episode in one group.

    Attributes:
        by: what the groups have in common: scan, path or length.
        labels: episode -> name of its group.
        names: the groups, in the order in which they are printed.
    """

    by: str
    labels: Mapping[str, str]
    names: tuple[str, ...]

    def of(self, table: ScoreTable) -> list[str]:
        """Return the group of every row of a table."""
        return [self.labels[name] for name in table.episodes]


def partition(references: Iterable[Reference], by: str) -> Partition:
    """Put references in groups.

    "scan" is the scene, "path" the path that several instructions may share, and "length" the number of nodes of the
    reference, in at most 8 bins of equal width (1, 2, 5, 10, ...) that are named by their bounds.

    >>> from wayscore.episodes import Reference
    >>> asked = [Reference(f"e{n}", "S", ["a"] * n, str(n)) for n in (4, 5, 7, 21)]
    >>> partition(asked, "length").labels
    {'e4': '0-4', 'e5': '5-9', 'e7': '5-9', 'e21': '20-24'}
    """
    check_choice("split by", by, SPLITS)
    asked = list(references)
    if by == "length":
        return _by_length(asked)
    if by == "scan":
        labels = {reference.episode: reference.scene for reference in asked}
        return Partition(by, labels, tuple(sorted(set(labels.values()))))
    scenes: dict[str, set[str]] = {}
    for reference in asked:
        scenes.setdefault(reference.path_id, set()).add(reference.scene)
    labels = {
        reference.episode: reference.path_id
        if len(scenes[reference.path_id]) == 1
        else f"{reference.scene}/{reference.path_id}"
        for reference in asked
    }
    return Partition(by, labels, tuple(dict.fromkeys(labels.values())))


def clusters_of(references: Iterable[Reference], by: str) -> Partition | None:
    """Return the clusters to resample, None where every episode is its own."""
    check_choice("cluster by", by, CLUSTERS)
    return None if by == "none" else partition(references, by)


def few_clusters(by: str, labels: Sequence[str] | None) -> list[str]:
    """Return a warning where there are too few clusters for intervals to be trusted."""
    count = FEW_CLUSTERS if labels is None else len({*labels})
    if count >= FEW_CLUSTERS:
        return []
    return [f"warning: only {count} clusters ({by}): with fewer than {FEW_CLUSTERS}, intervals are too narrow"]


def check_choice(what: str, given: str, known: tuple[str, ...]) -> None:
    """Refuse a word that is not among those known."""
    if given not in known:
        raise OptionError(f"cannot {what} {given!r}{did_you_mean(given, known)} Known: {', '.join(known)}")


def _by_length(asked: list[Reference]) -> Partition:
    counts = {reference.episode: len(reference.path) for reference in asked}
    least, most = min(counts.values(), default=0), max(counts.values(), default=0)
    widths = (base * 10**power for power in range(20) for base in (1, 2, 5))
    width = next(width for width in widths if most // width - least // width < BINS_AT_MOST)

    def name(number: int) -> str:
        first = number * width
        return str(first) if width == 1 else f"{first}-{first + width - 1}"

    labels = {episode: name(count // width) for episode, count in counts.items()}
    return Partition("length", labels, tuple(name(n) for n in sorted({count // width for count in counts.values()})))
