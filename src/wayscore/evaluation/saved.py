"""Saved results: Parquet with everything that made them; and the score files of other evaluators, read as results."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from wayscore import writing
from wayscore.errors import FormatError, OptionError, OutputError, check_choice, check_count, first_line, marked
from wayscore.escaping import escape
from wayscore.evaluation.groups import CLUSTERS
from wayscore.evaluation.policies import Problem, Problems
from wayscore.evaluation.result import Result
from wayscore.evaluation.table import FACTS, ScoreTable
from wayscore.formats import storage
from wayscore.formats.chunks import name_of
from wayscore.formats.scores import ScoreFile, is_score_file, read_scores
from wayscore.metrics import METRICS, Metric, find_metrics
from wayscore.statistics.bootstrap import MOST_RESAMPLES, Interval, join_clusters

RESULT = b"wayscore.result"
"""The key under which a Parquet file of scores says everything that made it."""
ENDINGS = (".parquet", ".csv", ".jsonl")
"""What a file of episodes may be."""


def save(result: Result, path: str | Path) -> None:
    """Write a result; `load_result` reads it back with the same means, intervals and signature."""
    target = os.fspath(path)
    if not target.endswith(".parquet"):
        raise OptionError(f"{target}: a result is saved as a .parquet file")
    import json

    facts = {
        "name": result.name,
        "settings": {**result.settings, "undefined": result.undefined},
        "episodes": result.episodes_scored,
        "problems": {
            kind: [count, result.problems.first.get(kind, [])] for kind, count in result.problems.counts.items()
        },
        "bootstrap": result.bootstrap,
        "warnings": [marked(warning) for warning in result.warnings],
        "runs": result.runs,
        "metrics": [_facts(metric) for metric in result.metrics],
        "intervals": {symbol: list(found) for symbol, found in result.intervals().items()},
    }
    table = result.to_arrow().replace_schema_metadata({RESULT: json.dumps(facts).encode()})
    with storage.writing_parquet(target, table.schema) as out:
        out.write_table(table)


def write_episodes(result: Result, path: str | Path) -> None:
    """Write one row per episode in the form that the file's ending names; what is infinite is empty or null."""
    target = os.fspath(path)
    check_target(target)
    if target.endswith(".parquet"):
        save(result, target)
        return
    import json

    from pyarrow import csv

    batches = result.to_arrow().to_batches(max_chunksize=65_536)
    with writing.replacing(target, folders=True) as stream:
        if target.endswith(".jsonl"):
            for batch in batches:
                rows = _plain(batch).to_pylist()
                stream.write("".join(json.dumps(row, allow_nan=False) + "\n" for row in rows).encode())
        elif batches:
            with csv.CSVWriter(stream, _plain(batches[0][:0], csv=True).schema) as writer:
                for batch in batches:
                    writer.write(_plain(batch, csv=True))


def check_target(target: str, files: Sequence[str] = ()) -> None:
    """Refuse a file for the scores of single episodes that would replace something else, such as a file of the run."""
    writing.check_place(target)
    if any(os.path.abspath(file) == os.path.abspath(target) for file in files):
        raise OutputError(f"{target}: is the run itself; write the scores to another file")
    if not target.endswith(ENDINGS):
        raise OptionError(f"<<episodes>> {target}: the ending must be .parquet, .csv or .jsonl")
    if os.path.isdir(target):
        raise OutputError(f"{target}: is a folder; name a file for the scores")


def _plain(batch: Any, csv: bool = False) -> Any:
    """Return a batch with nulls in place of infinity; for CSV, names that look like formulas are escaped."""
    import pyarrow as pa
    from pyarrow import compute

    columns = {}
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if pa.types.is_floating(column.type):
            column = compute.if_else(compute.is_finite(column), column, None)
        elif csv and pa.types.is_string(column.type):  # `from_cell` reads them back
            cells = [None if cell is None else escape(cell, "csv") for cell in column.to_pylist()]
            column = pa.array(cells, pa.string())
        columns[escape(name, "csv") if csv else name] = column
    return pa.record_batch(columns)


def is_saved_result(path: Any) -> bool:
    """Return whether a file is a saved result."""
    if not isinstance(path, str | os.PathLike) or not os.fspath(path).endswith(".parquet") or not os.path.isfile(path):
        return False
    with storage.damage(os.fspath(path)), storage.parquet_file(os.fspath(path)) as file:
        return RESULT in (file.schema_arrow.metadata or {})


def load_result(path: str | os.PathLike[str], name: str | None = None) -> Result:
    """Read a saved result, or the score file of another evaluator.

    Args:
        path: what `Result.save` or `wayscore score --save` wrote; or scores of single episodes: JSON lines, a JSON
            object `{episode: {...}}`, a JSON list, or CSV.
        name: what tables call it; by default the name it was saved under.
    """
    address = os.fspath(path)
    if is_saved_result(address):
        return _load(address, name)
    if not storage.is_remote(address) and not os.path.exists(address):
        raise FormatError(f"{address}: no such file")
    return _from_scores(read_scores(address), name or name_of(address))


def is_result(path: Any) -> bool:
    """Return whether a file holds scores rather than paths."""
    return is_saved_result(path) or is_score_file(path)


def _load(path: str, name: str | None) -> Result:
    import json

    table = storage.parquet_table(path)
    try:
        facts: dict[str, Any] = json.loads(table.schema.metadata[RESULT])
        metrics = tuple(_metric(one) for one in facts["metrics"])
        columns = {metric.symbol: table.column(metric.symbol).to_numpy() for metric in metrics}
        known = {symbol: Interval(*found) for symbol, found in facts["intervals"].items()}
        problems = Problems(
            counts={kind: count for kind, (count, _) in facts["problems"].items()},
            first={kind: [Problem(*one) for one in some] for kind, (_, some) in facts["problems"].items()},
        )
        listed: dict[str, Any] = {
            fact: table.column(fact).to_numpy()
            if fact in ("reference_nodes", "run")
            else table.column(fact).to_pylist()
            for fact in FACTS
            if fact in table.column_names
        }
        result = Result(
            str(name or facts["name"]),
            metrics,
            facts["settings"],
            check_count("episodes", facts["episodes"], least=0),
            problems,
            facts["bootstrap"],
            tuple(map(str, facts["warnings"])),
            table=ScoreTable(columns, facts=listed),
            known=known,
            runs=check_count("runs", facts["runs"]),
        )
        for fact, most in (("resamples", MOST_RESAMPLES), ("seed", None), ("clusters", None)):
            check_count(fact, result.bootstrap[fact], least=0, most=most)
        check_choice("cluster", result.bootstrap["cluster"], CLUSTERS)
        str(result.signature)  # which needs everything else that describes a result
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError) as error:
        what = first_line(error)
        raise FormatError(f"{path}: the description of this result is damaged ({what}); save it again") from None
    return result


def _from_scores(found: ScoreFile, name: str) -> Result:
    """Take scores that another evaluator wrote; what it did is not known."""
    from wayscore import __version__

    metrics = find_metrics([*found.columns])
    columns = {metric.symbol: found.columns[metric.symbol] for metric in metrics}
    warnings = [
        f"{count} values of {symbol} are NaN: they count as {'undefined' if undefined else 'the worst value'}"
        for symbol, (count, undefined) in found.not_numbers.items()
    ]
    count = len(found.episodes)
    settings = {"convention": "theirs", "version": __version__, "policies": {}, "references": {"name": "unknown"}}
    scenes = {} if found.scenes is None else {"scene": found.scenes}
    return Result(
        name,
        metrics,
        settings | {"format": "scores"},
        count,
        Problems(),
        {"resamples": 10_000, "seed": 0, "cluster": "none", "clusters": count},
        tuple(warnings),
        table=ScoreTable(columns, facts={"episode": found.episodes, **scenes}),
        clusters=join_clusters(np.arange(count)),
    )


def _facts(metric: Metric) -> Any:
    """Return a metric's symbol; of one that is not found by name, its facts too."""
    if METRICS.get(metric.symbol) is metric:
        return metric.symbol
    bounds = [None if abs(bound) == np.inf else bound for bound in metric.bounds]
    return {fact: getattr(metric, fact) for fact in ("symbol", "name", "direction", "unit", "formula")} | {
        "bounds": bounds
    }


def _metric(saved: str | Mapping[str, Any]) -> Metric:
    if isinstance(saved, str):
        return find_metrics([saved])[0]
    low, high = saved["bounds"]
    bounds = (-np.inf if low is None else low, np.inf if high is None else high)
    return Metric(**{**saved, "bounds": bounds, "compute": _not_here})


def _not_here(_: Any) -> Any:
    raise OptionError("a metric of a saved result has its values, but not the function that made them")
