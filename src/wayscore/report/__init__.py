"""Results for people and for programs: summaries and comparisons of runs as text, JSON, Markdown, LaTeX or a page."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from wayscore.evaluation.groups import Partition, partition
from wayscore.evaluation.runs import ScoredRun, score_runs
from wayscore.evaluation.summary import Summary, differences, summarize
from wayscore.report.render import RENDERERS, render
from wayscore.report.render_comparison import render_comparison

if TYPE_CHECKING:
    from wayscore.evaluation.comparison import Comparison, compare_runs
    from wayscore.report.page import page_of, write_page

_LATER = {
    "Comparison": "evaluation.comparison",
    "compare_runs": "evaluation.comparison",
    "page_of": "report.page",
    "write_page": "report.page",
}
"""What a score does without -> the module that has it, imported when first asked for."""

__all__ = [
    "RENDERERS",
    "Comparison",
    "Partition",
    "ScoredRun",
    "Summary",
    "compare_runs",
    "differences",
    "page_of",
    "partition",
    "render",
    "render_comparison",
    "score_runs",
    "summarize",
    "write_page",
]


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'wayscore.report' has no attribute {name!r}")
    value = getattr(import_module(f"wayscore.{_LATER[name]}"), name)
    globals()[name] = value
    return value
