"""References (the ground-truth paths), runs (the paths of an agent), and batches of a run in columns."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from wayscore.errors import FormatError, OptionError
from wayscore.paths import Offsets, PathBatch


@dataclass(frozen=True, slots=True)
class Reference:
    """One instructed path.

    Attributes:
        episode: its name, by which a run's query is found ("4332_1": the second instruction of path 4332).
        scene: the scan, building or map that it lies in.
        path: node labels, or an (n, k) float64 array of coordinates in metres.
        path_id: shared by the episodes that describe one path in different words.
        instruction: the words.
        goals: nodes any of which is a right end, where the dataset names more than the last one.
        start_distance: the dataset's own distance from start to goal, metres, where it gives one.
        dense: a finely sampled version of the path, (n, 3), where the dataset has one.
        heading: where the agent looks at the start, radians clockwise from +y; 0 where the dataset has none.
        facts: whatever else the dataset says that evaluators take, by name (see `Episode.recorded`).
    """

    episode: str
    scene: str
    path: Any
    path_id: str
    instruction: str = ""
    goals: tuple[Any, ...] = ()
    start_distance: float | None = None
    dense: Any = None
    heading: float = 0.0
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Query:
    """The path of an agent in one episode.

    Attributes:
        episode: the name of the reference that it answers.
        path: node labels, or an (n, k) float64 array of coordinates in metres.
        stopped: whether the agent said that it stopped; None where the file does not record it.
        recorded: whatever else the run recorded that evaluators take, by name (see `Episode.recorded`).
    """

    episode: str
    path: Any
    stopped: bool | None = None
    recorded: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class References:
    """The references of one file.

    Attributes:
        name: the file's name, for tables.
        format: which reader read it.
        episodes: by episode name, in the file's order.
        withheld: the file is a test split: paths hold the start only, so nothing can be scored.
        up_axis: which coordinate points up, where paths are points in space and the format says so.
        agent: height and radius of the agent that they are for, metres, where the format says so.
    """

    name: str
    format: str
    episodes: Mapping[str, Reference] = field(repr=False)
    withheld: bool = False
    up_axis: int | None = None
    agent: tuple[float, float] | None = None

    def __len__(self) -> int:
        return len(self.episodes)

    def __repr__(self) -> str:
        scenes = len({reference.scene for reference in self.episodes.values()})
        return f"<References {self.name} ({self.format}): {len(self):,} episodes in {scenes:,} scenes>"

    def first_instructions(self, count: int) -> References:
        """Return the same with at most `count` episodes per path, the first of each; 0 for all of them."""
        if not count:
            return self
        seen: dict[tuple[str, str], int] = {}
        kept = {}
        for name, reference in self.episodes.items():
            path = (reference.scene, reference.path_id)
            seen[path] = seen.get(path, 0) + 1
            if seen[path] <= count:
                kept[name] = reference
        return replace(self, episodes=kept)

    @cached_property
    def fingerprint(self) -> str:
        """Eight digits that change with any path, goal, dense walk, start distance or fact, and with nothing else.

        >>> one = References("a.json", "r2r", {"1": Reference("1", "s", ["a", "b"], "1")})
        >>> other = References("b.json.gz", "table", {"1": Reference("1", "s", ["a", "b"], "1", "Go to b.")})
        >>> one.fingerprint == other.fingerprint
        True
        """
        encode = msgspec.msgpack.Encoder(enc_hook=_plain).encode
        packed = []
        for name, one in self.episodes.items():
            content = (name, one.scene, one.path, one.goals, one.start_distance, one.dense)
            packed.append(encode((*content, dict(one.facts)) if one.facts else content))
        return hashlib.sha256(b"".join(packed)).hexdigest()[:8]


class Run:
    """The answers of one agent.

    Attributes:
        name: what tables call it: the file's name without its endings.
        format: which reader read it.
        answers: every query, in the file's order.
        queries: by episode; of several answers to one episode, the first.

    >>> run = Run("agent", "r2r", [Query("1_0", ["a", "b"]), Query("1_0", ["a"])])
    >>> run.queries["1_0"].path, run.duplicates
    (['a', 'b'], ('1_0',))
    """

    def __init__(self, name: str, format: str, answers: Iterable[Query] | Mapping[str, Query]) -> None:  # noqa: A002
        self.name = name
        self.format = format
        self.answers = tuple(answers.values() if isinstance(answers, Mapping) else answers)
        self.queries: dict[str, Query] = {}
        for query in self.answers:
            self.queries.setdefault(query.episode, query)

    @classmethod
    def from_paths(cls, paths: Mapping[Any, Any], name: str = "run") -> Run:
        """Take paths by episode: lists of labels, or coordinates."""
        for episode, path in paths.items():
            if isinstance(path, str) or not hasattr(path, "__len__"):
                raise OptionError(f"episode {episode!r}: its path must be a list of labels or points, got {path!r:.80}")
        return cls(name, "table", [Query(str(episode), path) for episode, path in paths.items()])

    @property
    def duplicates(self) -> tuple[str, ...]:
        """The episodes that are answered more than once."""
        return tuple(dict.fromkeys(query.episode for query in self.answers if self.queries[query.episode] is not query))

    def __len__(self) -> int:
        return len(self.queries)

    def __repr__(self) -> str:
        return f"<Run {self.name} ({self.format}): {len(self.answers):,} answers to {len(self):,} episodes>"


def _plain(path: Any) -> Any:
    """Return a path that is no list as what can be packed: an array as the bytes of doubles."""
    if isinstance(path, np.ndarray):
        return (path.shape, np.ascontiguousarray(path, dtype="<f8").tobytes())
    return list(path)


Where: TypeAlias = Callable[[int], str]
"""What errors call a row."""


class CodedPaths(Struct, frozen=True, eq=False):
    """Paths of labels: path i has the codes from offsets[i] to offsets[i + 1], which stand for `labels`."""

    codes: NDArray[np.int32]
    offsets: Offsets
    labels: Sequence[Any]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def path(self, number: int) -> list[Any]:
        """Return the labels of one path."""
        codes = self.codes[self.offsets[number] : self.offsets[number + 1]].tolist()
        if min(codes, default=0) < 0:
            raise IndexError(f"code {min(codes)} stands for no label")
        return [self.labels[code] for code in codes]


BatchPaths: TypeAlias = CodedPaths | PathBatch | Sequence[Any]
"""Labels by code, points, or a list of paths as people write them."""


class EpisodeBatch(Struct, frozen=True, eq=False):
    """Some answers of a run.

    Attributes:
        queries: the paths of the agent.
        episodes: the names of the references (a list or an Arrow array), where rows name them.
        scenes: where each path was walked, likewise.
        references: the ground-truth paths, where rows carry them.
        recorded: what rows record beside their paths (`stopped`, `goal_distances`, ...), by name, one value per row.
        first: the number of the first row in the run.
        where: what errors call a row.
    """

    queries: BatchPaths
    episodes: Any
    scenes: Any = None
    references: BatchPaths | None = None
    recorded: Mapping[str, Sequence[Any]] = {}
    first: int = 0
    where: Where = "row {}".format

    def __len__(self) -> int:
        return len(self.queries)

    @classmethod
    def from_queries(cls, queries: Iterable[Query], first: int = 0, where: Where | None = None) -> EpisodeBatch:
        """Put single queries into columns."""
        answers = list(queries)
        names = [query.episode for query in answers]
        known = dict.fromkeys(name for query in answers for name in query.recorded)
        recorded = {name: [query.recorded.get(name) for query in answers] for name in known}
        stopped = [query.stopped for query in answers]
        if any(flag is not None for flag in stopped):
            recorded["stopped"] = stopped
        return cls(
            [query.path for query in answers],
            names,
            recorded=recorded,
            first=first,
            where=where or (lambda row: f"episode {names[row]!r}"),
        )

    def episode(self, row: int) -> str:
        """Return the name of the episode that a row answers; where rows carry references, their number."""
        return str(self.first + row) if self.episodes is None else str(self.episodes[row])

    def path(self, row: int) -> Any:
        """Return the path of a row: labels, or coordinates."""
        if not isinstance(self.queries, CodedPaths):
            return self.queries[row]
        try:
            return self.queries.path(row)
        except IndexError:
            raise FormatError(
                f"{self.named(row)}: a code of its path stands for no label; convert the original file again"
            ) from None

    def named(self, row: int) -> str:
        """Return what errors call a row, with its episode."""
        where = self.where(row)
        return where if self.episodes is None or "episode" in where else f"{where} (episode {self.episode(row)!r})"

    def to_queries(self) -> list[Query]:
        """Return the rows one by one, as people use them."""
        recorded = {name: values for name, values in self.recorded.items() if name != "stopped"}
        stopped = self.recorded.get("stopped") or [None] * len(self)
        return [
            Query(
                self.episode(row),
                self.path(row),
                stopped[row],
                {name: values[row] for name, values in recorded.items() if values[row] is not None},
            )
            for row in range(len(self))
        ]
