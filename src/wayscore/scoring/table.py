"""ScoreTable: one row per episode, saved once and reported many times."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayscore.errors import FormatError, MissingPackageError, OptionError, did_you_mean, first_line, shortened
from wayscore.metrics import ALIASES, Metric, find_metric
from wayscore.metrics.registry import paper_symbol

Floats = NDArray[np.float64]
FOREIGN_NAMES: Mapping[str, str] = ALIASES
"""What evaluators call metrics in their files of single episodes -> the paper's symbols."""


class ScoreTable:
    """Scores by metric, one value per episode, with the settings that made them.

    Values are never NaN; infinity means undefined (an unreachable goal): such values are left out of the mean and
    counted.

    Attributes:
        columns: symbol -> one value per episode.
        settings: convention, threshold, distances and whatever else the values depend on.
        episodes: the names of the rows.
        scenes: the scene of each row, where known.
        own_metrics: symbol -> metric, for columns whose metric is not known by name.

    >>> table = ScoreTable({"NE": np.array([1.0, 3.0, np.inf])}, {"threshold": 3.0})
    >>> table.means(), table.undefined()
    ({'NE': 2.0}, {'NE': 1})
    """

    def __init__(
        self,
        columns: Mapping[str, Floats],
        settings: Mapping[str, Any],
        *,
        episodes: Sequence[Any] | None = None,
        scenes: Sequence[str] | None = None,
        own_metrics: Mapping[str, Metric] | None = None,
    ) -> None:
        self.columns = dict(columns)
        self.settings = dict(settings)
        count = len(next(iter(self.columns.values()), ()))
        self.episodes: Sequence[Any] = range(count) if episodes is None else episodes
        self.scenes = scenes
        self.own_metrics = dict(own_metrics or {})

    @classmethod
    def from_records(cls, records: Mapping[str, Mapping[str, float]]) -> ScoreTable:
        """Take scores of single episodes that another evaluator wrote, `{episode: {"success": 1.0, ...}}`.

        Names that the field's evaluators use become the paper's symbols, others stay; NaN and infinity count as
        undefined.

        >>> ScoreTable.from_records({"53": {"success": 1.0, "ndtw": 0.75}, "54": {"success": 0.0, "ndtw": 0.25}})
        <ScoreTable of 2 episodes: SR 0.5  nDTW 0.5>
        """
        names = list(dict.fromkeys(name for record in records.values() for name in record))
        for episode, record in records.items():
            for name in names:
                if not isinstance(record.get(name), int | float):
                    found = shortened(record.get(name))
                    raise FormatError(f"episode {shortened(episode)}: {name} must be a number, got {found}")
        columns = {
            paper_symbol(name) or name: np.array([float(record[name]) for record in records.values()]) for name in names
        }
        for values in columns.values():
            values[~np.isfinite(values)] = np.inf
        return cls(columns, {}, episodes=list(records))

    def __len__(self) -> int:
        return len(self.episodes)

    def __getitem__(self, metric: str) -> Floats:
        try:
            return self.columns[metric]
        except KeyError:
            raise OptionError(
                f"this table has no metric {shortened(metric)}{did_you_mean(metric, self.columns) or '.'} "
                f"It has: {', '.join(self.columns)}"
            ) from None

    @property
    def metrics(self) -> list[str]:
        """The symbols of the columns."""
        return list(self.columns)

    def metric(self, symbol: str) -> Metric:
        """Return the facts of a column: its name, unit and direction.

        >>> ScoreTable({"NE": np.array([1.0])}, {}).metric("NE").unit
        'm'
        """
        return find_metric(symbol, self.own_metrics)

    def means(self) -> dict[str, float]:
        """Return the mean of each metric over the episodes where it is defined (0 where it is nowhere)."""
        result = {}
        for metric, values in self.columns.items():
            finite = values[np.isfinite(values)]
            result[metric] = math.fsum(finite) / len(finite) if len(finite) else 0.0
        return result

    def undefined(self) -> dict[str, int]:
        """Return how many episodes are left out of the mean of each metric, for those metrics where any are."""
        counts = {metric: int(np.count_nonzero(~np.isfinite(values))) for metric, values in self.columns.items()}
        return {metric: count for metric, count in counts.items() if count}

    def __repr__(self) -> str:
        means = "  ".join(f"{metric} {value:.4g}" for metric, value in self.means().items())
        return f"<ScoreTable of {len(self)} episodes: {means}>"

    def to_arrow(self) -> Any:
        """Return a pyarrow Table with columns episode, scene (where known) and one for each metric."""
        import pyarrow as pa

        names = {"episode": pa.array(_plain_names(list(self.episodes)))}
        if self.scenes is not None:
            names["scene"] = pa.array(self.scenes)
        table = pa.table({**names, **{metric: pa.array(values) for metric, values in self.columns.items()}})
        return table.replace_schema_metadata({"wayscore": json.dumps(self.settings)})

    def to_pandas(self) -> Any:
        """Return a pandas DataFrame (pandas must be installed)."""
        _need("pandas")
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """Return a polars DataFrame (polars must be installed)."""
        return _need("polars").from_arrow(self.to_arrow())

    def save(self, path: str | Path) -> None:
        """Write a Parquet file that `ScoreTable.load` reads back, settings included."""
        import pyarrow.parquet as pq

        pq.write_table(self.to_arrow(), Path(path))

    @classmethod
    def load(cls, path: str | Path) -> ScoreTable:
        """Read a table that `save` wrote."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            table = pq.read_table(Path(path))
        except FileNotFoundError:
            raise FormatError(f"{path}: no such file") from None
        except (pa.ArrowException, OSError) as error:
            raise FormatError(f"{path}: not a readable Parquet file: {first_line(error)}") from None
        metadata = (table.schema.metadata or {}).get(b"wayscore")
        if metadata is None or "episode" not in table.column_names:
            raise FormatError(f"{path}: a Parquet file, but not one that ScoreTable.save wrote")
        scores = [name for name in table.column_names if name not in ("episode", "scene")]
        return cls(
            {name: table[name].to_numpy() for name in scores},
            json.loads(metadata),
            episodes=table["episode"].to_pylist(),
            scenes=table["scene"].to_pylist() if "scene" in table.column_names else None,
        )


def _plain_names(names: list[Any]) -> list[Any]:
    """Arrow columns have one type: names of several kinds become strings."""
    return names if len({type(name) for name in names}) <= 1 else [str(name) for name in names]


def _need(package: str) -> Any:
    from importlib import import_module

    try:
        return import_module(package)
    except ImportError:
        raise MissingPackageError(f"this needs {package}, which is not installed: pip install {package}") from None
