"""The table of episodes: one row per scored episode, in memory or in Parquet files on disk."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wayscore.episodes.targets import Targets
from wayscore.errors import OptionError, did_you_mean
from wayscore.evaluation.settings import Settings
from wayscore.formats import storage

Floats = NDArray[np.float64]
FACTS = ("episode", "scene", "path_id", "reference_nodes", "run")
"""The columns that are not scores."""


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
    columns: Floats
    episodes: list[str] | None
    scenes: list[str] | None


class Names(Sequence[str]):
    """Names that repeat: each once, and for every row the number of its name."""

    def __init__(self, names: Sequence[str], numbers: NDArray[Any]) -> None:
        self._names = names
        self._numbers = numbers

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, row: Any) -> Any:
        if isinstance(row, np.ndarray):
            return Names(self._names, self._numbers[row])
        if isinstance(row, slice):
            return [self._names[number] for number in self._numbers[row].tolist()]
        return self._names[int(self._numbers[row])]

    def __iter__(self) -> Iterator[str]:
        return map(self._names.__getitem__, self._numbers.tolist())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, self[:3]))
        return f"[{shown}]" if len(self) <= 3 else f"[{shown}, ... {len(self):,} names]"

    def to_arrow(self) -> Any:
        """Return an Arrow array of codes and their names."""
        import pyarrow as pa

        return pa.DictionaryArray.from_arrays(self._numbers.astype(np.int32), pa.array(list(self._names), pa.string()))


class EpisodeTable:
    """One row per scored episode.

    Attributes:
        facts: by name (see `FACTS`), what is known of each episode: a list each.
        columns: by symbol, the scores; infinite where they are undefined.
    """

    def __init__(self, facts: Mapping[str, Any], columns: Mapping[str, Floats]) -> None:
        self.facts = facts
        self.columns = columns

    @classmethod
    def of(cls, parts: Sequence[Part], targets: Targets, settings: Settings, ordered: bool = False) -> EpisodeTable:
        """Put parts together.

        Args:
            parts: the scores.
            targets: what they were scored against.
            settings: how.
            ordered: in the order of the references, else in that of the run.
        """
        rows = np.concatenate([part.rows for part in parts]) if parts else np.empty(0, dtype=np.int64)
        columns = (
            np.concatenate([part.columns for part in parts], axis=1) if parts else np.empty((len(settings.metrics), 0))
        )
        known = targets.references
        facts: dict[str, Any]
        if known is not None and all(part.pairs is not None for part in parts):
            pairs = np.concatenate([part.pairs for part in parts]) if parts else rows
            order = np.lexsort((rows, known.order[pairs])) if ordered else np.argsort(rows, kind="stable")
            pairs = pairs[order]
            scenes = targets.scenes if targets.scenes != ("",) else None
            facts = {"episode": Names(known.episodes, pairs)}
            if scenes is not None:
                facts["scene"] = Names(scenes, known.scenes[pairs])
            different = {path: number for number, path in enumerate(dict.fromkeys(known.path_ids))}
            codes = np.array([different[path] for path in known.path_ids], dtype=np.int64)
            facts["path_id"] = Names(list(different), codes[pairs])
            facts["reference_nodes"] = known.paths.lengths[pairs]
        else:
            order = np.argsort(rows, kind="stable")
            facts = {"episode": _sorted([name for part in parts for name in part.episodes or ()], order)}
            if all(part.scenes is not None for part in parts):
                facts["scene"] = _sorted([name for part in parts for name in part.scenes or ()], order)
        if len(order) and (order[1:] < order[:-1]).any():
            columns = columns[:, order]
        return cls(facts, dict(zip(settings.symbols, columns, strict=True)))

    def __len__(self) -> int:
        return len(self.facts["episode"])

    def __getitem__(self, symbol: str) -> Floats:
        try:
            return self.columns[symbol]
        except KeyError:
            raise OptionError(
                f"this result has no metric {symbol!r}{did_you_mean(symbol, self.columns)} "
                f"It has: {', '.join(self.columns)}"
            ) from None

    @property
    def episodes(self) -> Sequence[str]:
        """The names of the episodes."""
        names: Sequence[str] = self.facts["episode"]
        return names

    def fact(self, name: str) -> Sequence[Any]:
        """Return what is known of each episode: "" where that is nothing."""
        found: Sequence[Any] = self.facts[name] if name in self.facts else [""] * len(self)
        return found

    def take(self, rows: NDArray[np.int64]) -> EpisodeTable:
        """Return some rows, in this order."""
        picked = rows.tolist()
        facts = {
            name: [values[row] for row in picked] if isinstance(values, list) else values[rows]
            for name, values in self.facts.items()
        }
        return EpisodeTable(facts, {symbol: values[rows] for symbol, values in self.columns.items()})

    def to_arrow(self, coded: bool = False) -> Any:
        """Return a pyarrow Table; `coded` leaves names as codes, which is quicker."""
        import pyarrow as pa

        def column(name: str) -> Any:
            values = self.facts[name]
            if not isinstance(values, Names):
                return pa.array(values)
            return values.to_arrow() if coded else values.to_arrow().dictionary_decode()

        return pa.table({**{name: column(name) for name in self.facts}, **dict(self.columns)})


class ParquetTable(EpisodeTable):
    """The same in Parquet files, of which a column is read when it is asked for."""

    def __init__(self, files: Sequence[str], facts: Sequence[str], symbols: Sequence[str]) -> None:
        super().__init__(_Columns(files, facts), _Columns(files, symbols))
        self._files = files
        self._rows: int | None = None

    def __len__(self) -> int:
        if self._rows is None:
            self._rows = sum(storage.parquet_at(file).metadata.num_rows for file in self._files)
        return self._rows

    def batches(self) -> Iterator[Any]:
        """Go through the rows as Arrow record batches."""
        for file in self._files:
            with storage.damage(file), storage.parquet_at(file) as opened:
                yield from opened.iter_batches()


class _Columns(Mapping[str, Any]):
    def __init__(self, files: Sequence[str], names: Sequence[str]) -> None:
        self._files = files
        self._names = tuple(names)

    def __getitem__(self, name: str) -> Any:
        if name not in self._names:
            raise KeyError(name)
        found = []
        for file in self._files:
            with storage.damage(file), storage.parquet_at(file) as opened:
                found.append(opened.read(columns=[name]).column(name))
        if name in FACTS and name not in ("reference_nodes", "run"):
            return [value for column in found for value in column.to_pylist()]
        return np.concatenate([column.to_numpy() for column in found])

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def _sorted(values: list[Any], order: NDArray[np.int64]) -> list[Any]:
    return [values[place] for place in order.tolist()]
