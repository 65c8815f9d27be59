"""One piece of work: read some answers, score them, and return what can be merged.

The same function runs in this process, in processes beside it and on a cluster.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from msgspec import Struct, field, structs
from numpy.typing import NDArray

from wayscore.distances.base import Floats
from wayscore.episodes import EpisodeBatch
from wayscore.errors import FormatError, OptionError
from wayscore.evaluation.encoding import parts_by_number
from wayscore.evaluation.match import Matched, Matcher
from wayscore.evaluation.pairing import first_answers, sort_out
from wayscore.evaluation.policies import Problems
from wayscore.evaluation.recorded import Recorded, wanted_records
from wayscore.evaluation.score import score_paths
from wayscore.evaluation.settings import Settings
from wayscore.evaluation.targets import EncodedReferences, Targets
from wayscore.evaluation.warnings import Seen
from wayscore.formats.pieces import Piece, read_piece
from wayscore.paths import Offsets, PathBatch

COUNTED = ("zeroed", "recorded", "unrecorded", "goal", "thresholds")
"""What is counted: by metric, undefined scores that the convention made 0; by name, how many queries have something
recorded, and how many lack what the convention or a metric takes from the run; by source, how many queries it measured
the distances to the goal of; by threshold, how many were recorded with another than they are scored with."""


class Task(Struct, frozen=True):
    """How all pieces of a run are scored.

    Attributes:
        settings: the convention and the rest.
        rows: how many rows of Parquet are in memory at a time.
        first: the row of the first answer to each reference, where only that is scored and pieces cannot know it.
    """

    settings: Settings
    rows: int
    first: Offsets | None = None


class Part(NamedTuple):
    """The scores of some answers.

    Attributes:
        rows: their numbers in the run.
        pairs: the numbers of their references; None where rows carry their own.
        columns: (metrics, answers).
        episodes: their names, where they have no reference number.
        scenes: likewise.
    """

    rows: NDArray[np.int64]
    pairs: NDArray[np.int64] | None
    columns: NDArray[np.float64]
    episodes: list[str] | None = None
    scenes: list[str] | None = None


class Partial(Struct):
    """What some answers come to; two of them merge into one.

    Attributes:
        problems: what is wrong with the answers.
        answers: how often each reference is answered; None where rows carry theirs.
        counts: of scores and of what was recorded: see `COUNTED`.
        seen: what was seen of the paths, for warnings.
        rows: how many answers were read.
        scenes: the numbers of those in which answers were scored.
        snap: how far a point was moved at most to fit its space, metres.
        parts: the scores.
    """

    problems: Problems = field(default_factory=Problems)
    answers: NDArray[np.int64] | None = None
    counts: dict[str, dict[str, int]] = {}
    seen: Seen = field(default_factory=Seen)
    rows: int = 0
    scenes: set[int] = set()
    snap: float = 0.0
    parts: list[Part] = []

    @classmethod
    def empty(cls, targets: Targets) -> Partial:
        """Return that of no answers."""
        known = targets.references
        return cls(answers=None if known is None else np.zeros(len(known), dtype=np.int64))

    def merge(self, other: Partial) -> None:
        """Add another's, which must not be used any more."""
        self.rows += other.rows
        self.scenes |= other.scenes
        self.snap = max(self.snap, other.snap)
        self.parts += other.parts
        self.problems.merge(other.problems)
        self.count(other.counts)
        self.seen.merge(other.seen)
        if other.answers is not None:
            self.answers = other.answers if self.answers is None else self.answers + other.answers

    def count(self, found: Mapping[str, Any]) -> None:
        """Add what a table of scores, or another part, counted."""
        for kind in COUNTED:
            mine = self.counts.setdefault(kind, {})
            for name, count in found.get(kind, {}).items():
                mine[name] = mine.get(name, 0) + count


def score_piece(piece: Piece, matcher: Matcher | str | bytes, task: Task) -> Partial:
    """Score a piece.

    Args:
        piece: which answers.
        matcher: what finds their references; or the file that its targets are mapped from, or their block of bytes.
        task: how.
    """
    matcher = opened(matcher)
    done = Partial.empty(matcher.targets)
    for batch in read_piece(piece, task.rows, leave=_unneeded(task.settings, matcher.targets)):
        score_batch(batch, matcher, task, done)
    return done


def _unneeded(settings: Settings, targets: Targets) -> list[str]:
    """Return the columns of a run that nothing is taken from, where rows name their references."""
    wanted = wanted_records(settings.metrics, settings.convention)
    recorded = [] if wanted is None else [name for name in ("stopped", "headings") if name not in wanted]
    return recorded if targets.references is None else [*recorded, "scene"]


def score_batch(batch: EpisodeBatch, matcher: Matcher, task: Task, done: Partial) -> None:
    """Score answers and add them to what is done."""
    targets, settings = matcher.targets, task.settings
    known = targets.references
    matched = matcher.match(batch)
    first = task.first
    if known is not None and matched.pairs is not None:
        assert done.answers is not None
        if first is None and settings.policies["duplicate"] != "all":
            first = first_answers([(batch, matched)], len(known), done.answers)
        else:
            done.answers += np.bincount(matched.pairs, minlength=len(known))
    kept, worst, matched = sort_out(matched, batch, matcher, settings.policies, done.problems, first)
    columns = np.empty((len(settings.metrics), 0))
    if len(kept):
        some = matched.take(kept)
        done.scenes.update(np.flatnonzero(np.bincount(some.scenes)).tolist())
        scores, used = _scored(some, targets, batch, settings)
        _look(some, targets, batch, settings, scores, done.seen)
        columns = np.array(list(scores.values()))
        done.snap = max(done.snap, used.get("largest snap", 0.0))
        done.count(used)
        done.count({"thresholds": _other_thresholds(some, batch, settings.threshold)})
    which: Any = kept if len(kept) < len(matched.order) else slice(None)
    if len(worst):
        which = np.concatenate((kept, worst))
        columns = np.hstack((columns, np.repeat(worst_values(settings)[:, None], len(worst), axis=1)))
    rows, pairs = batch.first + matched.order[which], None if matched.pairs is None else matched.pairs[which]
    done.rows += len(batch)
    back = _back(rows - batch.first, len(batch))  # in the order of the run: to sort all rows at last costs more
    rows, columns, pairs = rows[back], columns[:, back], None if pairs is None else pairs[back]
    own = (rows - batch.first).tolist() if pairs is None else []
    names = [batch.episode(row) for row in own] if pairs is None else None
    scenes = [str(batch.scenes[row]) for row in own] if pairs is None and batch.scenes is not None else None
    done.parts.append(Part(rows, pairs, columns, names, scenes))


def _back(rows: Offsets, count: int) -> Offsets:
    """Return where the rows of a batch are, in their order."""
    places = np.full(count, -1)
    places[rows] = np.arange(len(rows))
    return places if len(rows) == count else places[places >= 0]


def scan_piece(piece: Piece, matcher: Matcher | str | bytes, task: Task) -> Offsets:
    """Return the row of the first answer to each reference within a piece."""
    matcher = opened(matcher)
    known = matcher.targets.references
    assert known is not None
    counts = np.zeros(len(known), dtype=np.int64)
    return first_answers(((b, matcher.match(b)) for b in read_piece(piece, task.rows)), len(known), counts)


def _scored(
    matched: Matched, targets: Targets, batch: EpisodeBatch, settings: Settings
) -> tuple[dict[str, Floats], dict[str, Any]]:
    """Return the scores of matched answers by symbol, and what else is to be said of them."""
    known = targets.references if matched.pairs is not None else None
    convention = settings.convention
    wanted = wanted_records(settings.metrics, convention)
    recorded = {
        name: [values[number] for number in matched.pairs.tolist()]
        for name, values in ({} if known is None else known.facts).items()
        if matched.pairs is not None and (wanted is None or name in wanted)
    }
    for name, values in batch.recorded.items():
        if wanted is None or name in wanted:
            recorded[name] = [values[row] for row in matched.order.tolist()]
    sources: Counter[str] = Counter()
    if targets.geodesics is not None:
        recorded["goal_distances"] = _goal_distances(matched, targets, batch, recorded, sources)
    dense = convention.reference == "dense" and any("warping" in metric.needs for metric in settings.metrics)
    scores, used, _ = score_paths(
        matched.references if known is None else known.paths,  # type: ignore[arg-type]
        matched.queries,
        _dense(known, matched) if dense else None,
        lambda paths: parts_by_number(paths, matched.pairs, targets.spaces, matched.scenes),
        Recorded(_Names(batch, matched.order), matched.scenes, targets.scenes, recorded),
        settings.metrics,
        convention,
        settings.threshold,
        None if known is None else known.up_axis,
        threads=1,
    )
    return scores, {**used, "goal": dict(sources)}


def _goal_distances(
    matched: Matched, targets: Targets, batch: EpisodeBatch, recorded: Mapping[str, Any], sources: Counter[str]
) -> list[Any]:
    """Return the recorded distances to the goal, and measured ones where none are recorded; count those by source."""
    known, geodesics = targets.references if matched.pairs is not None else None, targets.geodesics
    assert geodesics is not None
    if matched.queries.places.ndim == 1:
        raise OptionError(
            "distances to the goal by navigation meshes need paths of coordinates, and these are nodes of a graph"
        )
    found = list(recorded.get("goal_distances") or [None] * len(matched.queries))
    goals = recorded.get("goals") or [None] * len(found)
    for row, query in enumerate(matched.queries):
        if found[row] is not None:
            continue
        number = int(matched.order[row])
        if known is not None and matched.pairs is not None:
            pair = int(matched.pairs[row])
            scene, reference = known.scene_names[pair], known.paths[pair]
        else:
            assert matched.references is not None
            scene, reference = "" if batch.scenes is None else str(batch.scenes[number]), matched.references[row]
        ends = np.array(goals[row] or reference[-1:], dtype=np.float64)
        measured = geodesics.measure(scene, query, ends, batch.episode(number))
        if measured is not None:
            sources[measured[0]] += 1
            found[row] = measured[1]
    return found


def _look(
    matched: Matched,
    targets: Targets,
    batch: EpisodeBatch,
    settings: Settings,
    scores: Mapping[str, Floats],
    seen: Seen,
) -> None:
    """Note what misleads in paths: repeated nodes, with nDTW both ways, and how densely points are sampled."""
    known = targets.references if matched.pairs is not None else None
    references = matched.references
    if known is not None:
        dense = settings.convention.reference == "dense" and known.dense is not None
        references = known.dense if dense else known.paths
    repeating = seen.look(matched.queries, references, matched.pairs)
    metric = next((one for one in settings.metrics if one.symbol == "nDTW" and one.compute is not None), None)
    if metric is None or settings.convention.repeats == "drop":
        return
    dropped = np.empty(0)
    if len(repeating):
        once = structs.replace(settings, metrics=(metric,), convention=replace(settings.convention, repeats="drop"))
        dropped = _scored(matched.take(repeating), targets, batch, once)[0]["nDTW"]
    seen.add_scores(scores["nDTW"], repeating, dropped)


def _dense(known: EncodedReferences | None, matched: Matched) -> PathBatch:
    """Return what a convention with dense walks warps to; rows that carry references have no other path."""
    if known is None:
        assert matched.references is not None
        return matched.references
    if known.dense is None:
        raise FormatError(
            f"{known.name}: not every reference has a dense walk, which this convention warps to; put the dataset's "
            "_gt file beside the references"
        )
    return known.dense


def _other_thresholds(matched: Matched, batch: EpisodeBatch, threshold: float) -> dict[str, int]:
    """Return how many queries were recorded with each threshold but the one that they are scored with."""
    known = batch.recorded.get("threshold")
    if known is None:
        return {}
    return Counter(f"{known[row]:g}" for row in matched.order.tolist() if known[row] not in (None, threshold))


class _Names(Sequence[str]):
    """What errors call scored answers, made when asked for: Arrow takes a microsecond for each."""

    def __init__(self, batch: EpisodeBatch, order: Offsets) -> None:
        self._batch = batch
        self._order = order

    def __len__(self) -> int:
        return len(self._order)

    def __getitem__(self, number: Any) -> Any:
        return self._batch.episode(int(self._order[number]))


def worst_values(settings: Settings) -> NDArray[np.float64]:
    """Return the worst value of each metric."""
    return np.array([metric.worst for metric in settings.metrics])


@lru_cache(maxsize=2)
def _unpacked(block: bytes) -> Matcher:
    return Matcher(Targets.from_bytes(block))


@lru_cache(maxsize=2)
def _mapped(path: str) -> Matcher:
    return Matcher(Targets.mapped(path))


def opened(matcher: Matcher | str | bytes) -> Matcher:
    """Return a matcher from whatever form it came to this process in; opened once, so labels are looked up once."""
    if isinstance(matcher, str):
        return _mapped(matcher)
    return _unpacked(matcher) if isinstance(matcher, bytes) else matcher
