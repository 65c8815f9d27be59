"""score_table: Arrow in, Arrow out, for use inside other programs: DuckDB, Polars, Ray Data, Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from wayscore.convention import Convention
from wayscore.convention.presets import find_convention
from wayscore.distances.base import Distance
from wayscore.distances.euclidean import Euclidean
from wayscore.distances.graph import Graph
from wayscore.episodes import Joined, Query, Reference, References
from wayscore.episodes.batch import Coded, Rows, Walks, from_arrow
from wayscore.episodes.matching import Placer
from wayscore.episodes.targets import Course, lay_out
from wayscore.errors import FormatError, OptionError
from wayscore.evaluation.work import Done, Task, score_rows
from wayscore.metrics import find_metrics
from wayscore.scoring import score_joined
from wayscore.statistics.tally import Tally
from wayscore.warping.alignment import check_threshold

KEPT = {"missing": "skip", "unknown": "error", "duplicate": "all", "start": "keep", "move": "keep", "node": "error"}
"""A table may be any part of a run, so it is not asked whether it is all of one."""


def score_table(
    table: Any,
    *,
    distance: Distance | Mapping[str, Distance] | None = None,
    references: References | None = None,
    threshold: float | None = None,
    metrics: Any = None,
    convention: str | Path | Convention = "paper",
) -> Any:
    """Score the rows of an Arrow table and return a table of their scores, row by row.

    Args:
        table: anything that PyArrow can take in (a pyarrow Table or RecordBatch, a Polars or pandas frame, a DuckDB
            relation's Arrow). Its columns: `query` (or `path`), lists of labels or of points; and `reference` beside
            it, or `episode`, the name of one of the references. `scene` where distances differ by scene.
        distance: the metric on places; None is Euclidean. A mapping goes by scene.
        references: what was asked for, where the rows do not carry it.
        threshold: d_th, in the units of the distance; the convention's by default.
        metrics: which metrics; the convention's by default.
        convention: the set of choices to score by.

    Returns:
        A pyarrow Table: `episode` where the rows have it, `scene` where distances differ by scene, and a column for
        each metric.

    >>> import pyarrow as pa
    >>> walks = pa.table({"reference": [[[0.0, 0.0], [4.0, 0.0]]], "query": [[[0.0, 0.0], [4.0, 1.0]]]})
    >>> score_table(walks, metrics="NE,SR").to_pylist()
    [{'NE': 1.0, 'SR': 1.0}]
    """
    rules = find_convention(convention)
    d_th = rules.threshold if threshold is None else threshold
    check_threshold(d_th)
    symbols = tuple(metric.symbol for metric in find_metrics(metrics if metrics is not None else rules.metrics or None))
    rows = from_arrow(as_arrow(table), 0, lambda number: f"row {number}")
    if not _is_placed(distance):
        return _score_each(rows, references, distance, convention=rules, threshold=d_th, metrics=symbols)
    scorer = _placer(distance, references, rules)
    if rows.references is not None and not isinstance(distance, Mapping):
        rows = replace(rows, scenes=[scorer.course.scenes[0]] * len(rows))
    task = Task(rules, d_th, symbols, KEPT, len(rows), advised=False)
    scores = score_rows(rows, scorer, task, Done(Tally(symbols)))
    if isinstance(distance, Mapping) or "scene" not in scores.column_names:
        return scores
    return scores.drop_columns("scene")


def _is_placed(distance: Any) -> bool:
    """Say whether a distance is one that rows are looked up in: graphs, and straight lines."""
    first = next(iter(distance.values()), None) if isinstance(distance, Mapping) else distance
    return first is None or isinstance(first, Graph | Euclidean)


def _score_each(rows: Rows, references: References | None, distance: Any, **options: Any) -> Any:
    """Score rows by any other distance, as a run that was joined with its references."""
    import pyarrow as pa

    names = None if rows.episodes is None else [str(name) for name in rows.episodes]
    scenes = [""] * len(rows) if rows.scenes is None else [str(scene) for scene in rows.scenes]
    walks = _as_lists(rows.walks, scenes)
    if rows.references is not None:
        own = _as_lists(rows.references, scenes)
        asked = [Reference(str(n), scene, path, "") for n, (scene, path) in enumerate(zip(scenes, own, strict=True))]
    elif references is None:
        raise FormatError("row 0: rows carry no reference; give the references with references=")
    else:
        known = references.episodes
        for number, name in enumerate(names or ()):
            if name not in known:
                raise FormatError(f"row {number}: there is no episode {name!r} among the references; leave the row out")
        asked = [known[name] for name in names or ()]
    stopped = [None] * len(rows) if rows.stopped is None else rows.stopped
    pairs = tuple((one, Query("", *walk)) for one, walk in zip(asked, zip(walks, stopped, strict=True), strict=True))
    labels = tuple(f"row {number}" for number in range(len(rows)))
    scored = score_joined(Joined("", "", labels, pairs, (), {}, {}, {}), distance=distance, **options)
    named = {} if names is None else {"episode": names}
    named |= {"scene": [one.scene for one in asked]} if isinstance(distance, Mapping) else {}
    return pa.table({**named, **scored.columns})


def _as_lists(walks: Walks, scenes: Sequence[str]) -> list[Any]:
    if not isinstance(walks, Coded):
        return list(walks)
    paths = []
    for scene, start, stop in zip(scenes, walks.offsets[:-1].tolist(), walks.offsets[1:].tolist(), strict=True):
        labels = walks.labels.get(scene, walks.labels.get("", ()))
        paths.append([labels[code] for code in walks.codes[start:stop].tolist()])
    return paths


def as_arrow(table: Any) -> Any:
    """Return a table of any library as PyArrow's, without copying where both keep Arrow's layout."""
    import pyarrow as pa

    if isinstance(table, pa.Table | pa.RecordBatch):
        return table
    try:
        return pa.table(table) if hasattr(table, "__arrow_c_stream__") else pa.Table.from_pandas(table)
    except (AttributeError, TypeError, pa.ArrowException) as error:
        why = f" ({error.args[0]})" if isinstance(error, pa.ArrowException) else ""
        raise OptionError(
            f"expected an Arrow table or a frame that turns into one, got {type(table).__name__}{why}"
        ) from None


_LAST: list[tuple[Any, Any, Convention, Placer]] = []
"""The placer of the last call: whoever scores batch after batch does so against the same things."""


def _placer(distance: Any, references: References | None, rules: Convention) -> Placer:
    if _LAST:
        same_distance, same_references, same_rules, placer = _LAST[0]
        if same_distance is distance and same_references is references and same_rules == rules:
            return placer
    graphs = distance if distance is None or isinstance(distance, Mapping) else {"": distance}
    if references is not None and graphs is not None and not isinstance(distance, Mapping):
        graphs = dict.fromkeys((reference.scene for reference in references.episodes.values()), distance)
    course: Course = lay_out(references, graphs, rules)
    _LAST[:] = [(distance, references, rules, Placer(course))]
    return _LAST[0][3]
