"""One piece of work: read some rows, score them, write their scores, and return what can be merged.

The same function runs in this process, in processes beside it and on a cluster.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from wayscore import episodes
from wayscore.convention import Convention
from wayscore.episodes.batch import Rows
from wayscore.episodes.matching import Placed, Placer
from wayscore.episodes.targets import Asked, Course, open_course
from wayscore.errors import FormatError
from wayscore.evaluation.parts import Parts
from wayscore.formats.plan import Piece, read
from wayscore.metrics import find_metrics
from wayscore.paths import PathBatch
from wayscore.scoring import WARPED, score
from wayscore.statistics.bootstrap import units_of
from wayscore.statistics.tally import Tally

POLICIES: dict[str, tuple[str, ...]] = {**episodes.POLICIES, "duplicate": ("error", "all")}
"""What may be done about each kind of problem: as in memory, but that of an episode answered twice every answer is
scored ("all"), since which came first is not known where many workers read at once."""
WORDS = {
    "unknown": "answers an episode that the references do not have",
    "start": "does not begin where its reference does",
    "move": "takes a step that is not an edge",
    "node": "visits a place that its scene does not have",
}
NOTES = "lz4"
"""How the summaries of finished parts are compressed."""
SETTINGS = b"wayscore"
"""The key under which a table of scores keeps its settings, as `ScoreTable.save` writes them."""


@dataclass(frozen=True, slots=True)
class Task:
    """How all pieces of a run are scored.

    Attributes:
        rules: the convention.
        threshold: d_th.
        metrics: symbols.
        policies: what is done about each kind of problem.
        rows: how many rows are in memory at a time.
        target: the file of scores; "" for none.
        made_from: what the parts of that file say they were made from, beside their piece.
        advised: whether there are policies that errors may point to.
    """

    rules: Convention
    threshold: float
    metrics: tuple[str, ...]
    policies: Mapping[str, str]
    rows: int
    target: str = ""
    made_from: str = ""
    advised: bool = True

    def stamp(self, piece: Piece) -> str:
        """Return what a part says that it was made from."""
        name = PurePosixPath(piece.file).name  # wherever it is now
        return f"{name} {piece.stamp} {piece.kind} {piece.start}-{piece.stop} row {piece.first} {self.made_from}"


@dataclass(slots=True)
class Done:
    """What a piece comes to; two of them merge into one.

    Attributes:
        tally: of the scores.
        problems: by kind, how many rows have it.
        answers: how often each reference is answered; None where rows carry theirs.
        zeroed: by metric, how many undefined scores the convention made 0.
        scored: rows of the run that were read.
        scenes: the numbers of those in which rows were scored.
    """

    tally: Tally
    problems: dict[str, int] = field(default_factory=dict)
    answers: NDArray[np.int64] | None = None
    zeroed: dict[str, int] = field(default_factory=dict)
    scored: int = 0
    scenes: set[int] = field(default_factory=set)

    def merge(self, other: Done) -> None:
        """Add another piece's, which must not be used any more."""
        if self.scored:
            self.tally.merge(other.tally)
        else:
            self.tally = other.tally
        self.scored += other.scored
        self.scenes |= other.scenes
        for mine, theirs in ((self.problems, other.problems), (self.zeroed, other.zeroed)):
            for key, count in theirs.items():
                mine[key] = mine.get(key, 0) + count
        if other.answers is not None:
            self.answers = other.answers if self.answers is None else self.answers + other.answers

    def to_bytes(self) -> bytes:
        """Return it as bytes that `from_bytes` reads, for those who go on later."""
        import pyarrow as pa

        answers = None if self.answers is None else self.answers.tobytes()
        told = (self.tally.to_bytes(), self.problems, answers, self.zeroed, self.scored, sorted(self.scenes))
        content = msgspec.msgpack.encode(told)
        return len(content).to_bytes(8, "little") + bytes(pa.compress(content, codec=NOTES, asbytes=True))

    @classmethod
    def from_bytes(cls, content: bytes) -> Done:
        """Read what `to_bytes` wrote."""
        import pyarrow as pa

        told = pa.decompress(content[8:], int.from_bytes(content[:8], "little"), codec=NOTES, asbytes=True)
        tally, problems, answers, zeroed, scored, scenes = msgspec.msgpack.decode(told)
        counts = None if answers is None else np.frombuffer(answers, dtype=np.int64)
        return cls(Tally.from_bytes(tally), problems, counts, zeroed, scored, set(scenes))


def score_piece(piece: Piece, course: Course | str | bytes, task: Task) -> Done:
    """Score a piece; with a target, its part is there afterwards.

    Args:
        piece: which rows.
        course: what they are scored against, the file that it is mapped from, or its block of bytes.
        task: how.
    """
    course = opened(course)
    placer = placer_of(course)
    done = Done(
        Tally(task.metrics),
        answers=None if course.asked is None else np.zeros(len(course.asked.episodes), dtype=np.int64),
    )
    batches = read(piece, task.rows, own=course.asked is None)
    if not task.target:
        for rows in batches:
            score_rows(rows, placer, task, done, tabled=False)
        return done
    first = next(batches)
    table = score_rows(first, placer, task, done)
    parts = Parts(task.target)
    with parts.writing(piece.number, table.schema, task.stamp(piece)) as add:
        add(table)
        for rows in batches:
            names, table = table.schema.names, score_rows(rows, placer, task, done)
            if table.schema.names != names:
                raise FormatError(
                    f"{rows.where(0)}: gives the columns {', '.join(table.schema.names)}, others {', '.join(names)}; "
                    "give all rows an episode and a scene, or none"
                )
            add(table)
        parts.keep(piece.number, done.to_bytes())
    return done


def score_rows(rows: Rows, placer: Placer, task: Task, done: Done, *, tabled: bool = True) -> Any:
    """Score rows, add them to what is done, and return their table: episode, scene, a column a metric; in order."""
    course = placer.course
    placed = placer.place(rows)
    kept, worst = _dealt_with(placed, rows, task, done)
    columns = np.empty((len(task.metrics), 0))
    if len(kept):
        some = _some(placed, kept)
        done.scenes.update(np.flatnonzero(np.bincount(some.scenes)).tolist())
        table = _scored(some, course, rows, task)
        columns = _together(list(table.columns.values()))
        for symbol, count in table.settings.get("zeroed", {}).items():
            done.zeroed[symbol] = done.zeroed.get(symbol, 0) + count
    which: Any = kept if len(kept) < len(placed.order) else slice(None)
    if len(worst):
        which = np.concatenate((kept, worst))
        columns = np.hstack((columns, np.repeat(worst_values(task.metrics)[:, None], len(worst), axis=1)))
    chosen, pairs = placed.order[which], None if placed.pairs is None else placed.pairs[which]
    asked = course.asked
    numbers = rows.first + chosen
    if asked is not None and asked.units is not None and pairs is not None:
        numbers = asked.units[pairs]
    done.tally.add(columns, units_of(numbers))
    done.scored += len(rows)
    if done.answers is not None and placed.pairs is not None:
        done.answers += np.bincount(placed.pairs, minlength=len(done.answers))
    if not tabled:
        return None
    order = np.argsort(chosen)
    pairs = None if pairs is None else pairs[order]
    everything = len(chosen) == len(rows)
    return _table(rows, columns[:, order], None if everything else chosen[order], pairs, course, task)


def _together(columns: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return columns as rows of one array: the one that they are views of, where they are all of it."""
    whole = columns[0].base
    shape = (len(columns), len(columns[0]))
    if isinstance(whole, np.ndarray) and whole.shape == shape and all(column.base is whole for column in columns):
        return whole
    return np.array(columns)


def _dealt_with(placed: Placed, rows: Rows, task: Task, done: Done) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return which of the placed rows are scored and which get the worst scores, as the policies say."""
    found = {"unknown": placed.unknown, **{kind: np.flatnonzero(bad) for kind, bad in placed.problems.items()}}
    for kind, which in found.items():
        if len(which):
            done.problems[kind] = done.problems.get(kind, 0) + len(which)
            if task.policies[kind] == "error":
                row = int((which if kind == "unknown" else placed.order[which]).min())
                others = " or ".join(policy for policy in POLICIES[kind] if policy != "error")
                advice = f"see {kind}={others}" if task.advised else "leave the row out"
                raise FormatError(f"{rows.where(row)}{_named(rows, row)}: {WORDS[kind]}; {advice}")
    if not any(map(len, found.values())):
        return np.arange(len(placed.order)), np.empty(0, dtype=np.int64)
    state = np.zeros(len(placed.order), dtype=np.int8)
    for policy, mark in (("skip", 1), ("zero", 2)):
        for kind, bad in placed.problems.items():
            if task.policies[kind] == policy:
                state[bad] = np.maximum(state[bad], mark)
    return np.flatnonzero(state == 0), np.flatnonzero(state == 2)


def _named(rows: Rows, row: int) -> str:
    return "" if rows.episodes is None else f" (episode {str(rows.episodes[row])!r})"


def _some(placed: Placed, kept: NDArray[Any]) -> Placed:
    if len(kept) == len(placed.order):
        return placed
    return Placed(
        placed.order[kept],
        placed.scenes[kept],
        placed.walks.take(kept),
        None if placed.pairs is None else placed.pairs[kept],
        None if placed.references is None else placed.references.take(kept),
        placed.unknown,
        {},
    )


def _scored(placed: Placed, course: Course, rows: Rows, task: Task) -> Any:
    asked = course.asked
    own = asked is None or placed.pairs is None
    dataset = task.rules.spl_length == "dataset"
    asked_for = (asked is not None and asked.goals is not None) or dataset
    pairs = placed.pairs.tolist() if asked_for and placed.pairs is not None else []
    stopped = rows.stopped if task.rules.stop != "any" else None
    return score(
        references=placed.references if own else asked.paths,  # type: ignore[union-attr, arg-type]
        queries=placed.walks,
        pairing=placed.pairs,
        distance=list(course.spaces),
        scenes=placed.scenes,
        threshold=task.threshold,
        metrics=task.metrics,
        convention=task.rules,
        goals=None if own or asked.goals is None else [asked.goals[number] for number in pairs],  # type: ignore[union-attr]
        start_distances=None if own or not dataset else [asked.start_distances[number] for number in pairs],  # type: ignore[union-attr]
        dense=_dense(asked) if task.rules.reference == "dense" and not WARPED.isdisjoint(task.metrics) else None,
        stopped=None if stopped is None else [stopped[row] for row in placed.order.tolist()],
        episodes=_Names(rows, placed.order),
        threads=1,
    )


def _dense(asked: Asked | None) -> PathBatch:
    if asked is None or asked.dense is None:
        raise FormatError(
            f"{'these rows' if asked is None else asked.name}: not every reference has a dense walk, which this "
            "convention warps to; put the dataset's _gt file beside the references"
        )
    return asked.dense


class _Names(Sequence[str]):
    """What errors call scored rows, made when asked for."""

    def __init__(self, rows: Rows, order: NDArray[Any]) -> None:
        self._rows = rows
        self._order = order

    def __len__(self) -> int:
        return len(self._order)

    def __getitem__(self, number: Any) -> Any:
        row = int(self._order[number])
        return f"{self._rows.where(row)}{_named(self._rows, row)}"


def worst_values(symbols: Sequence[str]) -> NDArray[np.float64]:
    """Return the worst value of each metric."""
    return np.array([metric.worst for metric in find_metrics(list(symbols))])


def _table(
    rows: Rows, columns: NDArray[Any], chosen: NDArray[Any] | None, pairs: Any, course: Course, task: Task
) -> Any:
    import pyarrow as pa

    def picked(values: Any) -> Any:
        values = pa.array(values) if isinstance(values, list) else values
        values = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
        return values if chosen is None else values.take(pa.array(chosen))

    named = {}
    if rows.episodes is not None:
        named["episode"] = picked(rows.episodes).cast(pa.dictionary(pa.int32(), pa.string()))
    if pairs is not None and course.asked is not None and not course.is_flat:
        scenes = pa.array(course.asked.scenes[pairs])
        named["scene"] = pa.DictionaryArray.from_arrays(scenes, pa.array(course.scenes))
    elif rows.scenes is not None:
        named["scene"] = picked(rows.scenes).cast(pa.dictionary(pa.int32(), pa.string()))
    return pa.table({**named, **dict(zip(task.metrics, columns, strict=True))})


@lru_cache(maxsize=2)
def _unpacked(block: bytes) -> Course:
    return Course.from_bytes(block)


def opened(course: Course | str | bytes) -> Course:
    """Return a course from whatever form it came in; opened once in a process."""
    if isinstance(course, str):
        return open_course(course)
    return _unpacked(course) if isinstance(course, bytes) else course


_PLACERS: dict[int, tuple[Course, Placer]] = {}


def placer_of(course: Course) -> Placer:
    """Return the placer of a course, the same one for all pieces, so that labels are looked up once in a process."""
    if id(course) not in _PLACERS:
        _PLACERS.clear()
        _PLACERS[id(course)] = (course, Placer(course))
    return _PLACERS[id(course)][1]
