"""HEAR's human evaluation: people who followed instructions in a viewer, and their own ratings of the task.

The file maps a system to its instructions, and each instruction has the walks (`human_annotations`, with ratings in
words) and their scores (`human_scores`, with the same ratings as numbers and metrics of each walk), in one order.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from wayscore.errors import FormatError
from wayscore.formats.decoding import FAULTS, not_json, wrong_type
from wayscore.formats.files import Fault, Source
from wayscore.formats.rated import RatedWalk, RatedWalks, check_names, check_rating

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


def read_hear(source: Source) -> RatedWalks:
    """Read all walks; a walk whose recording has no ratings is kept without them."""
    walks: dict[str, RatedWalk] = {}
    try:
        systems = msgspec.json.decode(source.content, type=dict[str, dict[str, msgspec.Raw]])
    except msgspec.ValidationError as error:
        raise FormatError(wrong_type(str(error), where="", episode=None, expected=EXPECTED).of(source)) from None
    except FAULTS as error:
        raise FormatError(not_json(source.content, error, (), expected=EXPECTED).of(source)) from None
    for system, instructions in systems.items():
        for name, content in instructions.items():
            where = f"system {system!r}, instruction {name!r}"
            found = _decode(source, where, content)
            for number, (walk, scores) in enumerate(zip(found.human_annotations, found.human_scores, strict=True)):
                called = f"{where}, walk {number}"
                ratings = {rating: _rating(source, called, rating, walk, scores) for rating in MEANINGS}
                check_names(walks, called, source)
                walks[called] = RatedWalk(
                    called,
                    found.scan,
                    found.path,
                    walk.path,
                    {rating: value for rating, value in ratings.items() if value is not None},
                    {"instruction": f"{system} {name}", "path": name, "person": walk.annotator, "system": system},
                    {
                        "PL": scores.path_len,
                        "NE": scores.dist,
                        "SR": scores.score,
                        "SPL": scores.spl,
                        "nDTW": scores.ndtw,
                        "SDTW": scores.sdtw,
                    },
                )
    if not walks:
        raise FormatError(f"{source}: holds no walks; expected {EXPECTED}")
    return RatedWalks("HEAR", list(walks.values()), MEANINGS, "", "instruction", NOTES)


def _decode(source: Source, where: str, content: Any) -> Instruction:
    try:
        found = msgspec.json.decode(content, type=Instruction)
    except msgspec.ValidationError as error:
        raise FormatError(wrong_type(str(error), where=where, episode=None, expected=EXPECTED).of(source)) from None
    if len(found.human_annotations) != len(found.human_scores):
        what = f"has {len(found.human_annotations)} human_annotations and {len(found.human_scores)} human_scores"
        raise FormatError(Fault(what, where, expected="one of each per walk").of(source))
    paths = [("path", found.path), *((f"walk {n}", one.path) for n, one in enumerate(found.human_annotations))]
    for field, path in paths:
        if not path:
            raise FormatError(Fault("is empty", where, field=field, expected="the nodes of a path").of(source))
    return found


def _rating(source: Source, where: str, rating: str, walk: Annotation, scores: Scores) -> float | None:
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
