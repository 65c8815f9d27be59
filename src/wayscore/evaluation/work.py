"""One chunk of work: read some answers, match them, score them. It runs here, in processes beside, or on a cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from msgspec import Struct, field, structs
from numpy.typing import NDArray

from wayscore.distances.base import Floats
from wayscore.errors import FormatError, OptionError
from wayscore.evaluation.inputs import Settings
from wayscore.evaluation.measure import PathSets, parts_of
from wayscore.evaluation.policies import NEVER, Problems, apply_policies, first_answers
from wayscore.evaluation.recorded import Recorded, wanted_records
from wayscore.evaluation.score import score_paths
from wayscore.evaluation.scorer import Matched, Scorer
from wayscore.evaluation.warnings import UNIT, Seen
from wayscore.formats.chunks import Chunk, read_chunk
from wayscore.formats.episodes import EpisodeBatch
from wayscore.paths import Offsets

COUNTED = ("zeroed", "recorded", "unrecorded", "goal", "thresholds")
"""What is counted: by metric, undefined scores that the convention made 0; by name, how many queries have something
recorded, and how many lack what the convention or a metric takes from the run; by source, how many queries it measured
the distances to the goal of; by threshold, how many were recorded with another than they are scored with."""


class Task(Struct, frozen=True):
    """How all chunks of a run are scored.

    Attributes:
        settings: the convention and the rest.
        rows: how many rows of Parquet are in memory at a time.
        first: the row of the first answer to each reference, where only that is scored and chunks cannot know it.
    """

    settings: Settings
    rows: int
    first: Offsets | None = None


class ScoredRows(NamedTuple):
    """Which answers were scored.

    Attributes:
        rows: their numbers in the run.
        pairs: the numbers of their references; None where rows carry their own.
        episodes: their names, where they have no reference number.
        scenes: likewise.
    """

    rows: NDArray[np.int64]
    pairs: NDArray[np.int64] | None
    episodes: list[str] | None = None
    scenes: list[str] | None = None


class Scored(Struct):
    """The scores of some answers, and what was seen of them; two of these merge into one.

    Attributes:
        answers: how often each reference is answered; nobody knows where rows carry theirs.
        counts: by kind (see `COUNTED`) and name.
        rows: how many answers were read.
        scenes: the numbers of those in which answers were scored.
        snap: how far a point was moved at most to fit its space, metres.
        parts: which answers were scored.
        pieces: their scores (metrics, answers), as far as they are not in `columns` yet, and in which order they go.
        columns: the scores of the others, and room for more.
        filled: how many these are.
        expected: how many there will be, where that is known.
    """

    problems: Problems = field(default_factory=Problems)
    answers: Any = 0
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    seen: Seen = field(default_factory=Seen)
    rows: int = 0
    scenes: set[int] = set()
    snap: float = 0.0
    parts: list[ScoredRows] = []
    pieces: list[tuple[Floats, Offsets]] = []
    columns: Floats = field(default_factory=lambda: np.empty((0, 0)))
    filled: int = 0
    expected: int = 0

    def gather(self) -> Floats:
        """Return all scores in one array, whose room doubles, so that those of many millions are in memory once."""
        for piece, order in self.pieces:
            end = self.filled + len(order)
            if len(self.columns) < len(piece) or end > self.columns.shape[1]:
                room = np.empty((len(piece), max(end, self.expected, 2 * self.columns.shape[1])))
                if self.filled:
                    room[:, : self.filled] = self.columns[:, : self.filled]
                self.columns = room
            for row, values in zip(self.columns, piece, strict=True):
                np.take(values, order, out=row[self.filled : end], mode="clip")  # which needs no buffer
            self.filled = end
        self.pieces = []
        return self.columns[:, : self.filled]

    def merge(self, other: Scored) -> None:
        """Add another's, which must not be used any more."""
        self.parts += other.parts
        self.pieces += other.pieces
        self.rows += other.rows
        self.scenes |= other.scenes
        self.snap = max(self.snap, other.snap)
        self.problems.merge(other.problems)
        self.counts.update(other.counts)
        self.seen.merge(other.seen)
        self.answers = self.answers + other.answers


def score_chunk(chunk: Chunk | EpisodeBatch, scorer: Scorer | str, task: Task) -> Scored:
    """Score answers: those of a batch, or of a chunk of a run, which is read.

    Args:
        chunk: which answers.
        scorer: what they are scored against; other processes read it from a file.
        task: how.
    """
    scorer = _read(scorer) if isinstance(scorer, str) else scorer
    settings, known, done = task.settings, scorer.references, Scored()
    batches: Iterable[EpisodeBatch] = ()
    if isinstance(chunk, EpisodeBatch):
        batches = [chunk]
    else:
        wanted = wanted_records(settings.metrics, settings.convention)
        leave = [] if wanted is None else [name for name in ("stopped", "headings") if name not in wanted]
        batches = read_chunk(chunk, task.rows, leave=leave if known is None else [*leave, "scene"])
    for batch in batches:
        matched, first = scorer.match(batch), task.first
        if known is not None and matched.pairs is not None:
            counts = np.zeros(len(known.episodes), dtype=np.int64)
            here = first_answers(batch, matched, counts)
            if first is None and settings.policies["duplicate"] != "all":
                first = here
            done.answers = done.answers + counts
        kept, worst, matched = apply_policies(matched, batch, scorer, settings.policies, done.problems, first)
        columns = np.empty((len(settings.metrics), 0))
        if len(kept):
            some = matched if len(kept) == len(matched.order) else matched.take(kept)
            done.scenes.update(np.flatnonzero(np.bincount(some.scenes)).tolist())
            scores, used = _scored(some, scorer, batch, settings)
            _look(some, scorer, batch, settings, scores, done.seen)
            columns = np.array(list(scores.values()))
            done.snap = max(done.snap, used.get("largest snap", 0.0))
            thresholds = batch.recorded.get("threshold")
            if thresholds is not None:
                others = (thresholds[row] for row in some.order.tolist())
                used["thresholds"] = Counter(f"{one:g}" for one in others if one not in (None, settings.threshold))
            done.counts.update({(kind, name): n for kind in COUNTED for name, n in used.get(kind, {}).items()})
        which = np.concatenate((kept, worst))
        if len(worst):
            columns = np.hstack(
                (columns, np.repeat([[metric.worst] for metric in settings.metrics], len(worst), axis=1))
            )
        places = np.full(len(batch), -1)  # in the order of the run: to sort all rows at last costs more
        places[matched.order[which]] = np.arange(len(which))
        own = np.flatnonzero(places >= 0)
        back = places[own]
        pairs = None if matched.pairs is None else matched.pairs[which[back]]
        names = [batch.episode(row) for row in own.tolist()] if pairs is None else None
        scenes = (
            [str(batch.scenes[row]) for row in own.tolist()] if pairs is None and batch.scenes is not None else None
        )
        done.rows += len(batch)
        done.parts.append(ScoredRows(batch.first + own, pairs, names, scenes))
        done.pieces.append((columns, back))
    return done


def scan_chunk(chunk: Chunk, scorer: Scorer | str, task: Task) -> Offsets:
    """Return the row of the first answer to each reference within a chunk."""
    scorer = _read(scorer) if isinstance(scorer, str) else scorer
    assert scorer.references is not None
    counts = np.zeros(len(scorer.references.episodes), dtype=np.int64)
    first = np.full(len(counts), NEVER)
    for batch in read_chunk(chunk, task.rows):
        first = np.minimum(first, first_answers(batch, scorer.match(batch), counts))
    return first


@lru_cache(maxsize=2)
def _read(path: str) -> Scorer:
    import pickle

    scorer = pickle.loads(Path(path).read_bytes())  # which the process that started this one wrote
    assert isinstance(scorer, Scorer)
    return scorer


def _scored(
    matched: Matched, scorer: Scorer, batch: EpisodeBatch, settings: Settings
) -> tuple[dict[str, Floats], dict[str, Any]]:
    """Return the scores of matched answers by symbol, and what else is to be said of them."""
    known, pairs, convention = scorer.references, matched.pairs, settings.convention
    wanted = wanted_records(settings.metrics, convention)
    references, warped, up_axis, rows = matched.references, matched.references, None, matched.order.tolist()
    facts: list[tuple[Mapping[str, Any], list[int]]] = [(batch.recorded, rows)]
    names: Any
    if known is not None and pairs is not None:
        references, warped, up_axis, names = known.paths, known.dense, known.up_axis, known.episodes[pairs]
        facts.insert(0, (known.facts, pairs.tolist()))  # what the run records overrules it
    else:
        names = [batch.episode(row) for row in rows]
    recorded: dict[str, list[Any]] = {
        name: [values[number] for number in numbers]
        for known_facts, numbers in facts
        for name, values in known_facts.items()
        if wanted is None or name in wanted
    }
    sources: Counter[str] = Counter()
    if scorer.geodesics is not None:
        recorded["goal_distances"] = _goal_distances(matched, scorer, batch, recorded, sources)
    dense = convention.reference == "dense" and any("warping" in metric.needs for metric in settings.metrics)
    if dense and warped is None:
        raise FormatError(
            f"{'' if known is None else known.name}: not every reference has a dense walk, which this convention warps "
            "to; put the dataset's _gt file beside the references"
        )
    assert references is not None
    scores, used = score_paths(
        PathSets(references, matched.queries, warped if dense else None),
        lambda paths: parts_of(paths, pairs, scorer.spaces, matched.scenes),
        Recorded(names, np.array(scorer.scenes, dtype=object)[matched.scenes], recorded),
        settings.metrics,
        convention,
        settings.threshold,
        up_axis,
        threads=1,
    )
    return scores, {**used, "goal": sources}


def _goal_distances(
    matched: Matched, scorer: Scorer, batch: EpisodeBatch, recorded: Mapping[str, Any], sources: Counter[str]
) -> list[Any]:
    """Return the recorded distances to the goal, and measured ones where none are recorded; count those by source."""
    known, geodesics = scorer.references, scorer.geodesics
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
    matched: Matched, scorer: Scorer, batch: EpisodeBatch, settings: Settings, scores: Mapping[str, Floats], seen: Seen
) -> None:
    """Note what misleads in paths: repeated nodes, with nDTW both ways, and how densely points are sampled."""
    known, references = scorer.references, matched.references
    if known is not None and matched.pairs is not None:
        dense = settings.convention.reference == "dense" and known.dense is not None
        references = known.dense if dense else known.paths
    repeating = seen.look(matched.queries, references, matched.pairs)
    metric = next((one for one in settings.metrics if one.symbol == "nDTW" and one.compute is not None), None)
    if metric is None or settings.convention.repeats == "drop":
        return
    dropped = np.empty(0)
    if len(repeating):
        once = structs.replace(settings, metrics=(metric,), convention=replace(settings.convention, repeats="drop"))
        dropped = _scored(matched.take(repeating), scorer, batch, once)[0]["nDTW"]
    units = np.rint(scores["nDTW"] / UNIT)
    kept = int(units.sum())
    seen.kept += kept
    seen.dropped += kept - int(units[repeating].sum()) + int(np.rint(dropped / UNIT).sum())
    seen.valued += len(scores["nDTW"])
