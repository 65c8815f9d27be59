"""Saved results: Parquet with everything that made them; and the score files of other evaluators, read as results."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
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
    table = result.to_arrow().replace_schema_metadata(metadata_of(result))
    with storage.writing_parquet(target, table.schema) as out:
        out.write_table(table)


def write_episodes(result: Result, path: str | Path) -> None:
    """Write one row per episode in the form that the file's ending names."""
    target = os.fspath(path)
    check_target(target)
    if target.endswith(".parquet"):
        save(result, target)
    else:
        _write_rows(target, result.to_arrow().to_batches(max_chunksize=65_536))


def check_target(target: str, files: Sequence[str] = ()) -> None:
    """Refuse a file for the scores of single episodes that would replace something else, such as a file of the run."""
    writing.check_place(target)
    if any(os.path.abspath(file) == os.path.abspath(target) for file in files):
        raise OutputError(f"{target}: is the run itself; write the scores to another file")
    if not target.endswith(ENDINGS):
        raise OptionError(f"<<episodes>> {target}: the ending must be .parquet, .csv or .jsonl")
    if os.path.isdir(target):
        raise OutputError(f"{target}: is a folder; name a file for the scores")


def _write_rows(target: str, batches: Iterable[Any]) -> None:
    """Write record batches as CSV or JSON lines; what is infinite is empty or null."""
    import json

    import pyarrow as pa
    from pyarrow import csv

    with writing.replacing(target, folders=True) as stream:
        if target.endswith(".csv"):
            writer = None
            for batch in batches:
                plain = _without_formulas(_plain(batch))
                writer = writer or csv.CSVWriter(stream, plain.schema)
                writer.write(plain)
            if writer is not None:
                writer.close()
        else:
            for batch in batches:
                rows = pa.Table.from_batches([_plain(batch)]).to_pylist()
                stream.write("".join(json.dumps(row, allow_nan=False) + "\n" for row in rows).encode())


def _without_formulas(batch: Any) -> Any:
    """Return a batch whose names spreadsheets take for text; `from_cell` reads them back."""
    import pyarrow as pa

    columns = {
        escape(name, "csv"): column
        if not pa.types.is_string(column.type)
        else pa.array([None if cell is None else escape(cell, "csv") for cell in column.to_pylist()], pa.string())
        for name, column in zip(batch.schema.names, batch.columns, strict=True)
    }
    return pa.record_batch(columns)


def _plain(batch: Any) -> Any:
    """Return a batch without codes for names, and with nothing in place of infinity."""
    import pyarrow as pa

    columns = {}
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if pa.types.is_dictionary(column.type):
            columns[name] = column.dictionary_decode()
        elif pa.types.is_floating(column.type):
            values = column.to_numpy(zero_copy_only=False)
            columns[name] = pa.array(values, mask=~np.isfinite(values))
        else:
            columns[name] = column
    return pa.record_batch(columns)


def metadata_of(result: Result) -> dict[bytes, bytes]:
    """Return what a file of scores says of itself."""
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
    return {RESULT: json.dumps(facts).encode()}


def is_saved_result(path: Any) -> bool:
    """Say whether a file is a saved result."""
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
    """Say whether a file holds scores rather than paths."""
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
        named = {fact: table.column(fact) for fact in FACTS if fact in table.column_names}
        listed = {
            fact: column.to_numpy() if fact in ("reference_nodes", "run") else column.to_pylist()
            for fact, column in named.items()
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
    settings = {
        "convention": "theirs",
        "version": __version__,
        "policies": {},
        "references": {"name": "unknown"},
        "format": "scores",
    }
    bootstrap = {"resamples": 10_000, "seed": 0, "cluster": "none", "clusters": len(found.episodes)}
    facts: dict[str, Any] = {"episode": found.episodes}
    if found.scenes is not None:
        facts["scene"] = found.scenes
    return Result(
        name,
        metrics,
        settings,
        len(found.episodes),
        Problems(),
        bootstrap,
        tuple(warnings),
        table=ScoreTable(columns, facts=facts),
        clusters=join_clusters(np.arange(len(found.episodes))),
    )


def _facts(metric: Metric) -> Any:
    """Return a metric's symbol; of one that is not found by name, its facts too."""
    if METRICS.get(metric.symbol) is metric:
        return metric.symbol
    bounds = [None if abs(bound) == np.inf else bound for bound in metric.bounds]
    return {
        "symbol": metric.symbol,
        "name": metric.name,
        "direction": metric.direction,
        "bounds": bounds,
        "unit": metric.unit,
        "formula": metric.formula,
    }


def _metric(saved: str | Mapping[str, Any]) -> Metric:
    if isinstance(saved, str):
        return find_metrics([saved])[0]
    low, high = saved["bounds"]
    bounds = (-np.inf if low is None else low, np.inf if high is None else high)
    return Metric(**{**saved, "bounds": bounds, "compute": _not_here})


def _not_here(_: Any) -> Any:
    raise OptionError("a metric of a saved result has its values, but not the function that made them")
