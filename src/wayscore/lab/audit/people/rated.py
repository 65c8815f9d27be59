"""Walks that people rated: HEAR's human evaluation and NDH's dialogs.

HEAR's file maps a system to its instructions, and each instruction has the walks (`human_annotations`, with ratings in
words) and their scores (`human_scores`, with the same ratings as numbers and metrics of each walk), in one order.
In NDH, the walk of the navigator (`player_path`) is measured against the route that the oracle was shown
(`planner_path`).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from wayscore.errors import FormatError, OptionError
from wayscore.formats.base import Fault, Source, read
from wayscore.formats.decoding import FAULTS, damage_of, decode_each, place
from wayscore.formats.trajectories import Name

T = TypeVar("T")
EXPECTED = (
    'HEAR\'s human evaluation: {system: {instruction: {"scan": ..., "path": [...], "human_annotations": [...], '
    '"human_scores": [...]}}}'
)
WORDS = {"Strongly Disagree": 1, "Disagree": 2, "Neutral": 3, "Agree": 4, "Strongly Agree": 5}
MEANINGS = {
    "path_score": 'the walker on "I am confident that I traversed the path that the AI system tried to describe", '
    "1 to 5",
    "quality_score": 'the walker on "I found it easy to follow the instructions", 1 to 5',
    "mental_score": 'the walker on "I found this navigation task mentally demanding", 1 to 5: higher is harder',
}
NOTES = (
    "Walkers rated their own walk; nobody who knew the reference compared the two paths. High agreement with a metric "
    "says what walkers feel sure of, not what is faithful.",
    "A button in the viewer told walkers whether they stood at the goal, as often as they asked. So they knew about "
    "success when they rated, and nothing told them about the rest of the path.",
    "The systems share their instructions: they mark or correct different words of the same texts. Walks of one path "
    "therefore resemble each other across systems too; cluster by path for intervals that respect this.",
)


class Annotation(Struct, gc=False):
    """A walk and the ratings in words; null where the recording was not submitted with ratings."""

    path: list[str]
    annotator: str
    quality_score: str | None
    path_score: str | None
    mental_score: str | None


class Scores(Struct, gc=False):
    """The ratings as numbers, and the metrics of the walk as the dataset's authors computed them."""

    quality_score: float
    path_score: float
    mental_score: float
    dist: float
    score: float
    spl: float
    ndtw: float
    sdtw: float
    path_len: float


class Instruction(Struct, gc=False):
    """One instruction of one system."""

    scan: str
    path: list[str]
    human_annotations: list[Annotation]
    human_scores: list[Scores]


RECORDED = {"PL": "path_len", "NE": "dist", "SR": "score", "SPL": "spl", "nDTW": "ndtw", "SDTW": "sdtw"}
"""Metric -> the field of `Scores` with the authors' value."""


def read_hear(source: Source) -> RatedWalks:
    """Read all walks; a walk whose recording has no ratings is kept without them."""
    walks = []
    for system, instructions in _decode(source, source.content, dict[str, dict[str, msgspec.Raw]], "").items():
        for name, content in instructions.items():
            where = f"system {system!r}, instruction {name!r}"
            found = _decode(source, content, Instruction, where)
            if len(found.human_annotations) != len(found.human_scores):
                what = (
                    f"has {len(found.human_annotations)} human_annotations and {len(found.human_scores)} human_scores"
                )
                raise FormatError(Fault(what, where, expected="one of each per walk").of(source))
            paths = [("path", found.path), *((f"walk {n}", one.path) for n, one in enumerate(found.human_annotations))]
            for field, path in paths:
                if not path:
                    raise FormatError(Fault("is empty", where, field=field, expected="the nodes of a path").of(source))
            for number, (walk, scores) in enumerate(zip(found.human_annotations, found.human_scores, strict=True)):
                called = f"{where}, walk {number}"
                ratings = {rating: _rating(source, called, rating, walk, scores) for rating in MEANINGS}
                walks.append(
                    RatedWalk(
                        called,
                        found.scan,
                        found.path,
                        walk.path,
                        {rating: value for rating, value in ratings.items() if value is not None},
                        {"instruction": f"{system} {name}", "path": name, "person": walk.annotator, "system": system},
                        {metric: getattr(scores, field) for metric, field in RECORDED.items()},
                    )
                )
    if not walks:
        raise FormatError(f"{source}: holds no walks; expected {EXPECTED}")
    return RatedWalks("HEAR", walks, MEANINGS, "", "instruction", NOTES)


def _decode(source: Source, content: Any, kind: type[T], where: str) -> T:
    try:
        return msgspec.json.decode(content, type=kind)
    except FAULTS as error:
        raise FormatError(damage_of(error, bytes(content), where, expected=EXPECTED).of(source)) from None


def _rating(source: Source, where: str, rating: str, walk: Annotation, scores: Scores) -> float | None:
    """Return a rating that is the same in words and as a number; None where the recording has none."""
    word, value = getattr(walk, rating), getattr(scores, rating)
    if word is None:
        return None
    fault = check_rating(value)
    if word not in WORDS:
        fault = f"must be one of {', '.join(WORDS)}, got {word!r}"
    elif not fault and WORDS[word] != value:
        fault = f"is {word!r} in human_annotations ({WORDS[word]}), but {value:g} in human_scores"
    if fault:
        raise FormatError(Fault(fault, where, field=f"field {rating!r}", expected="one rating in both").of(source))
    return float(value)


NDH_EXPECTED = (
    'NDH references with ratings: [{"inst_idx": ..., "game_idx": ..., "scan": ..., "planner_path": [...], '
    '"player_path": [...], "navigator_game_quality": ..., "oracle_game_quality": ...}, ...]'
)
NDH_MEANINGS = {
    "navigator_game_quality": "the oracle, who saw the best route, on the navigator, who walked; 1 to 5, once a game",
    "oracle_game_quality": "the navigator, who walked, on the oracle, who gave directions; 1 to 5, once a game",
}
NDH_NOTES = (
    "People rated their partner in a whole game: help, patience, and how long it took, not how faithful a walk was.",
    "Most ratings are the best one possible, so ranks have many ties and correlations are small (range restriction).",
    "One rating is about all walks of a game, so the metrics of its walks are averaged first.",
)


class RatedInstance(Struct, gc=False):
    """One record of a reference file, as far as ratings need it."""

    inst_idx: Name
    game_idx: Name
    scan: str
    planner_path: list[str]
    player_path: list[str]
    navigator_game_quality: float
    oracle_game_quality: float
    R2R_success: float | None = None
    R2R_oracle_success: float | None = None


def read_ndh_rated(sources: Sequence[Source]) -> RatedWalks:
    """Read the walks and ratings of one or more splits; the same game must have the same ratings everywhere."""
    walks: dict[str, RatedWalk] = {}
    games: dict[str, dict[str, float]] = {}
    for source in sources:
        for number, record in decode_each(source, RatedInstance, names=("inst_idx",), expected=NDH_EXPECTED):
            ratings = {name: float(getattr(record, name)) for name in NDH_MEANINGS}
            game, name = str(record.game_idx), f"instance {record.inst_idx}"
            fault, field = _fault(record, ratings, games.setdefault(game, ratings))
            if fault:
                where = place(number, source)
                named = Fault(fault, where, str(record.inst_idx), f"field {field!r}", NDH_EXPECTED)
                raise FormatError(named.of(source))
            if name in walks:
                raise FormatError(f"{source}: {name} comes twice; give each file once, and each walk once")
            recorded = {"SR": record.R2R_success, "OSR": record.R2R_oracle_success}
            walks[name] = RatedWalk(
                name,
                record.scan,
                record.planner_path,
                record.player_path,
                ratings,
                {"game": game, "scan": record.scan},
                {metric: value for metric, value in recorded.items() if value is not None},
            )
    return RatedWalks("NDH", list(walks.values()), NDH_MEANINGS, "game", "game", NDH_NOTES)


def _fault(record: RatedInstance, ratings: dict[str, float], before: dict[str, float]) -> tuple[str, str]:
    """Return what is wrong with a record and in which field, or two empty texts."""
    for field in ("planner_path", "player_path"):
        if not getattr(record, field):
            return "is empty; a walk has one node at least", field
    for field, value in ratings.items():
        if fault := check_rating(value):
            return fault, field
        if value != before[field]:
            return f"is {value:g}, but {before[field]:g} in another record of game {record.game_idx}", field
    return "", ""


class RatedWalk(Struct, frozen=True):
    """One walk by a person, and how people rated it."""

    name: str  # what errors and reports call it
    scene: str
    reference: list[str]  # the instructed path (ground truth), as node labels
    query: list[str]  # the path that the person walked
    ratings: dict[str, float]  # name -> rating; empty if the walk has none
    labels: dict[str, str]  # what the walk belongs to, such as its instruction, its path, the person, or the game
    recorded: dict[str, float]  # metric -> the value that the file has for this walk


class RatedWalks(Struct, frozen=True):
    """All walks of one dataset, and what its ratings are."""

    name: str
    walks: list[RatedWalk]
    meanings: dict[str, str]  # name of a rating -> who rated what, in a sentence. The first is the default
    unit: str  # the label of what one rating is about, if that is more than one walk; else empty
    cluster: str  # the label of walks that resemble each other, so that intervals resample them together
    notes: tuple[str, ...]  # what the ratings cannot show, in sentences


def read_rated(paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> RatedWalks:
    """Read rated walks: the file of HEAR's human evaluation, or one or more reference files of NDH.

    Raises:
        FormatError: a file is missing, damaged, or holds no rated walks.
    """
    files = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    if not files:
        raise OptionError("give a file with rated walks: that of HEAR's human evaluation, or NDH's references")
    sources = [read(path) for path in files]
    if sources[0].content.lstrip()[:1] == b"[":
        return read_ndh_rated(sources)
    if len(sources) > 1:
        raise FormatError(f"{sources[1]}: HEAR's human evaluation is one file; give each dataset in a call of its own")
    return read_hear(sources[0])


def check_rating(value: float) -> str:
    """Return what is wrong with a rating, or an empty text.

    >>> check_rating(3), check_rating(0)
    ('', 'must be a rating from 1 to 5, got 0')
    """
    return "" if 1 <= value <= 5 else f"must be a rating from 1 to 5, got {value:g}"
