"""Results and comparisons for programs: JSON and CSV, with full precision."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from wayscore.foreign import shown
from wayscore.report.contrasts import contrasts_of
from wayscore.report.layout import metrics_of, split
from wayscore.report.notes import warnings_of

if TYPE_CHECKING:
    from wayscore.evaluation.comparison import Comparison
    from wayscore.evaluation.contrasts import Contrast
    from wayscore.evaluation.result import Result

TESTS = "run baseline metric episodes difference low high p p_holm wins ties losses superiority effect_size".split()
"""The columns of a comparison."""


def render_json(results: Sequence[Result], *, split_by: str | None = None) -> str:
    """Return one JSON object per run, one per line; null where a mean is undefined."""
    objects = [_ordered(result) for result in results]
    for one, part in zip(objects, split(results, split_by), strict=False):
        groups = {
            group.name: {
                "episodes": group.episodes,
                "undefined": group.undefined,
                "metrics": {symbol: {"mean": group.means[symbol]} for symbol in one["metrics"]},
            }
            for group in part.groups
        }
        one |= {"split_by": split_by, "groups": groups}
    return "".join(json.dumps(one, allow_nan=False) + "\n" for one in objects)


def _ordered(result: Result) -> dict[str, Any]:
    """Return a result's object, its metrics in the order of tables."""
    found = result.to_dict()
    return found | {"metrics": {metric.symbol: found["metrics"][metric.symbol] for metric in metrics_of([result])}}


def render_csv(results: Sequence[Result], *, split_by: str | None = None) -> str:
    """Return one row per run, or per run and group; fractions (not percent) and metres, empty where undefined.

    Each metric has columns for its mean and interval (groups have no intervals), for how many episodes are left out
    of its mean where any are, and for the spread over runs where an agent has several.
    """
    symbols = [metric.symbol for metric in metrics_of(results)]
    parts = split(results, split_by)
    gone = {symbol for result in results for symbol in result.undefined}
    rows: list[dict[str, Any]] = []
    for part in parts:
        for group in part.groups:
            row: dict[str, Any] = {"run": part.result.name, part.head: group.name, "episodes": group.episodes}
            for symbol in symbols:
                row[symbol] = group.means.get(symbol)
                row |= {f"{symbol}_undefined": group.undefined.get(symbol, 0)} if symbol in gone else {}
            rows.append({**row, "signature": part.result.signature})
    several = any(result.runs > 1 for result in results)
    for result in results if not parts else ():
        known, spread = result.intervals(), result.spread() if several else {}
        row = {"run": result.name, "episodes": result.episodes_scored}
        for symbol in symbols:
            mean, low, high = known.get(symbol, (None, None, None))
            row |= {symbol: mean, f"{symbol}_low": low, f"{symbol}_high": high}
            row |= {f"{symbol}_undefined": result.undefined.get(symbol, 0)} if symbol in gone else {}
            row |= {f"{symbol}_spread": spread.get(symbol)} if several else {}
        rows.append({**row, "signature": result.signature})
    return csv_table(list(rows[0]) if rows else ["run"], rows)


def comparison_json(comparison: Comparison) -> str:
    """Return one JSON object; null for what is infinite or undefined."""
    found = {
        **comparison.to_dict(),
        "runs": [_ordered(result) for result in comparison.results],
        "tests": [contrast.to_dict() for contrast in _tests(comparison)],
        "warnings": warnings_of(comparison.results, comparison.warnings),
    }
    return json.dumps(found, allow_nan=False) + "\n"


def comparison_csv(comparison: Comparison) -> str:
    """Return one row per agent and metric, empty for what is infinite or undefined."""
    rows = []
    for contrast in _tests(comparison):
        found = contrast.to_dict()
        difference = found.pop("difference")
        found |= {"baseline": comparison.baseline, "difference": difference["mean"]}
        rows.append(found | {bound: difference[bound] for bound in ("low", "high")})
    return csv_table(TESTS, rows)


def _tests(comparison: Comparison) -> list[Contrast]:
    return [contrast for run in comparison.others for _, contrast in contrasts_of(comparison, run)]


def csv_table(columns: Sequence[str], rows: Iterable[dict[str, Any]]) -> str:
    """Return rows as CSV with a line of heads; None is empty."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for cells in (columns, *([row.get(column) for column in columns] for row in rows)):
        writer.writerow(
            [cell if cell is None or isinstance(cell, int | float) else shown(str(cell), "csv") for cell in cells]
        )
    return out.getvalue()
