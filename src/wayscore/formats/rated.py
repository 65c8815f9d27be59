"""Walks that people rated: HEAR's followers of instructions, and the partners of NDH's games."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from msgspec import Struct

from wayscore.errors import FormatError, OptionError
from wayscore.formats.files import Source, read


class RatedWalk(Struct, frozen=True):
    """One walk by a person, and how people rated it.

    Attributes:
        name: what errors and reports call it.
        scene: the scene of both paths.
        reference: the instructed path (ground truth), as node labels.
        query: the path that the person walked.
        ratings: name -> rating; empty if the walk has none.
        labels: what the walk belongs to, such as its instruction, its path, the person, or the game.
        recorded: metric -> the value that the file has for this walk.
    """

    name: str
    scene: str
    reference: list[str]
    query: list[str]
    ratings: dict[str, float]
    labels: dict[str, str]
    recorded: dict[str, float]


class RatedWalks(Struct, frozen=True):
    """All walks of one dataset, and what its ratings are.

    Attributes:
        name: of the dataset.
        walks: one or more.
        meanings: name of a rating -> who rated what, in a sentence. The first is the default.
        unit: the label of what one rating is about, if that is more than one walk; else empty.
        cluster: the label of walks that resemble each other, so that intervals resample them together.
        notes: what the ratings cannot show, in sentences.
    """

    name: str
    walks: list[RatedWalk]
    meanings: dict[str, str]
    unit: str
    cluster: str
    notes: tuple[str, ...]


def read_rated(paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> RatedWalks:
    """Read rated walks: the file of HEAR's human evaluation, or one or more reference files of NDH.

    Raises:
        FormatError: a file is missing, damaged, or holds no rated walks.
    """
    from wayscore.formats.hear import read_hear
    from wayscore.formats.ndh_rated import read_ndh_rated

    files = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    if not files:
        raise OptionError("give a file with rated walks: that of HEAR's human evaluation, or NDH's references")
    sources = [read(path) for path in files]
    if _is_list(sources[0]):
        return read_ndh_rated(sources)
    if len(sources) > 1:
        raise FormatError(f"{sources[1]}: HEAR's human evaluation is one file; give each dataset in a call of its own")
    return read_hear(sources[0])


def check_rating(value: float, most: int = 5) -> str:
    """Return what is wrong with a rating on a scale from 1, or an empty text.

    >>> check_rating(3), check_rating(0)
    ('', 'must be a rating from 1 to 5, got 0')
    """
    return "" if 1 <= value <= most else f"must be a rating from 1 to {most}, got {value:g}"


def check_names(walks: Mapping[str, RatedWalk], name: str, source: Source) -> None:
    """Refuse a walk that comes twice."""
    if name in walks:
        raise FormatError(f"{source}: {name} comes twice; give each file once, and each walk once")


def _is_list(source: Source) -> bool:
    return source.content.lstrip()[:1] == b"["
