"""EpisodeBatch: some answers of a run in columns, as a reader gives them, not yet looked up in any scene."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from wayscore.episodes.references import Query
from wayscore.errors import FormatError
from wayscore.paths import Offsets, PathBatch

Where: TypeAlias = Callable[[int], str]
"""What errors call a row."""


class CodedPaths(Struct, frozen=True, eq=False):
    """Paths of labels: codes end to end, and the labels that they stand for.

    Attributes:
        codes: int32; path i has those from offsets[i] to offsets[i + 1].
        offsets: one more than there are paths.
        labels: by scene, the label of each code; under "" those of every scene.
    """

    codes: NDArray[np.int32]
    offsets: Offsets
    labels: Mapping[str, Sequence[Any]]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def path(self, number: int, scene: str = "") -> list[Any]:
        """Return the labels of one path."""
        labels = self.labels_of(scene)
        codes = self.codes[self.offsets[number] : self.offsets[number + 1]].tolist()
        if min(codes, default=0) < 0:
            raise IndexError(f"code {min(codes)} stands for no label")
        return [labels[code] for code in codes]

    def labels_of(self, scene: str) -> Sequence[Any]:
        """Return what codes stand for in a scene."""
        return self.labels.get(scene, self.labels.get("", ()))


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
        recorded = {name: [query.recorded.get(name) for query in answers] for name in _recorded_by(answers)}
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

    def path(self, row: int, scene: str = "") -> Any:
        """Return the path of a row: labels, or coordinates."""
        if not isinstance(self.queries, CodedPaths):
            return self.queries[row]
        try:
            return self.queries.path(row, scene)
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
        scenes = [""] * len(self) if self.scenes is None else list(map(str, _listed(self.scenes)))
        return [
            Query(
                self.episode(row),
                self.path(row, scenes[row]),
                stopped[row],
                {name: values[row] for name, values in recorded.items() if values[row] is not None},
            )
            for row in range(len(self))
        ]


def _recorded_by(queries: Iterable[Query]) -> dict[str, None]:
    return {name: None for query in queries for name in query.recorded}


def _listed(column: Any) -> Any:
    return column.to_pylist() if hasattr(column, "to_pylist") else column
