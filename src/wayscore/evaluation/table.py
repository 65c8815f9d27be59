"""ScoreTable: the scores of some episodes, one row each; what `score` returns, and what a result holds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayscore.errors import OptionError, did_you_mean, need, shortened
from wayscore.evaluation.recorded import missing_warnings
from wayscore.metrics import Metric, find_metric

Floats = NDArray[np.float64]
FACTS = ("episode", "scene", "path_id", "reference_nodes", "run")
"""What is known of an episode beside its scores."""


class Rows(Mapping[str, Floats]):
    """Columns that are the rows of one array, each made when it is needed: one episode takes less time than that.

    Args:
        numbers: symbol -> row.
        scores: (metrics, episodes).
    """

    __slots__ = ("_numbers", "_scores")

    def __init__(self, numbers: Mapping[str, int], scores: Floats) -> None:
        self._numbers = numbers
        self._scores = scores

    def __getitem__(self, symbol: str) -> Floats:
        column: Floats = self._scores[self._numbers[symbol]]
        return column

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)


@dataclass(repr=False, eq=False)
class ScoreTable:
    """Scores by metric, one value per episode, with the settings that made them.

    Values are never NaN; infinity means undefined (an unreachable goal): such values are left out of the mean and
    counted.

    Attributes:
        columns: symbol -> one value per episode.
        settings: convention, threshold, distances and whatever else the values depend on.
        facts: by name (see `FACTS`), what is known of each episode: its name always, its scene where known.
        own_metrics: symbol -> metric, for columns whose metric is not known by name.

    >>> table = ScoreTable({"NE": np.array([1.0, 3.0, np.inf])}, {"threshold": 3.0})
    >>> table.means(), table.undefined()
    ({'NE': 2.0}, {'NE': 1})
    """

    columns: Mapping[str, Floats]
    settings: Mapping[str, Any] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict, kw_only=True)
    own_metrics: Mapping[str, Metric] = field(default_factory=dict, kw_only=True)

    def __len__(self) -> int:
        return len(self.facts["episode"] if "episode" in self.facts else next(iter(self.columns.values()), ()))

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

    @property
    def episodes(self) -> Sequence[Any]:
        """The names of the rows."""
        names = self.facts.get("episode", range(len(self)))
        return names.tolist() if isinstance(names, np.ndarray) else names  # type: ignore[no-any-return]

    @property
    def scenes(self) -> Sequence[str] | None:
        """The scene of each row, where known."""
        return self.facts.get("scene")

    def fact(self, name: str) -> Sequence[Any]:
        """Return what is known of each episode: "" where that is nothing."""
        found: Sequence[Any] = self.facts[name] if name in self.facts else [""] * len(self)
        return found

    def take(self, rows: NDArray[np.int64]) -> ScoreTable:
        """Return some rows, in this order."""
        facts = {
            name: values[rows] if isinstance(values, np.ndarray) else [values[row] for row in rows.tolist()]
            for name, values in self.facts.items()
        }
        columns = {symbol: values[rows] for symbol, values in self.columns.items()}
        return ScoreTable(columns, self.settings, facts=facts, own_metrics=self.own_metrics)

    def select(self, symbols: Iterable[str]) -> ScoreTable:
        """Return some columns, in this order."""
        columns = {symbol: self[symbol] for symbol in symbols}
        return ScoreTable(columns, self.settings, facts=self.facts, own_metrics=self.own_metrics)

    def metric(self, symbol: str) -> Metric:
        """Return the facts of a column: its name, unit and direction.

        >>> ScoreTable({"NE": np.array([1.0])}).metric("NE").unit
        'm'
        """
        return find_metric(symbol, self.own_metrics)

    def means(self) -> dict[str, float | None]:
        """Return the mean of each metric over the episodes where it is defined; None where it is nowhere."""
        means: dict[str, float | None] = {}
        for metric, values in self.columns.items():
            defined = values[np.isfinite(values)]
            means[metric] = float(defined.sum()) / len(defined) if len(defined) else None
        return means

    def undefined(self) -> dict[str, int]:
        """Return how many episodes are left out of the mean of each metric, for those metrics where any are."""
        counts = {metric: int(np.count_nonzero(~np.isfinite(values))) for metric, values in self.columns.items()}
        return {metric: count for metric, count in counts.items() if count}

    @property
    def warnings(self) -> list[str]:
        """What a reader must know before believing the numbers: what the run does not record, and what stands in."""
        return missing_warnings(self.settings.get("unrecorded", {}), len(self), [*map(self.metric, self.columns)])

    def __repr__(self) -> str:
        means = "  ".join(f"{m} {'–' if mean is None else f'{mean:.4g}'}" for m, mean in self.means().items())
        return f"<ScoreTable of {len(self)} episodes: {means}>"

    def to_arrow(self) -> Any:
        """Return a pyarrow Table with what is known of each episode, and one column for each metric."""
        import pyarrow as pa

        facts = {name: pa.array(_of_one_type(values)) for name, values in self.facts.items()}
        return pa.table({**facts, **{metric: pa.array(values) for metric, values in self.columns.items()}})

    def to_pandas(self) -> Any:
        """Return a pandas DataFrame (pandas must be installed)."""
        need("pandas")
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """Return a polars DataFrame (polars must be installed)."""
        return need("polars").from_arrow(self.to_arrow())


def _of_one_type(values: Any) -> Any:
    """Arrow columns have one type: names of several kinds become strings."""
    if isinstance(values, np.ndarray):
        return values
    listed = list(values)
    return listed if len({type(value) for value in listed}) <= 1 else [str(value) for value in listed]
