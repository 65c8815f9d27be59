"""Results for people and for programs: summaries and comparisons of runs as text, JSON, Markdown or LaTeX."""

from wayscore.report.comparison import Comparison, compare_runs
from wayscore.report.partition import Partition, partition
from wayscore.report.render import RENDERERS, render
from wayscore.report.render_comparison import render_comparison
from wayscore.report.runs import ScoredRun, distances_for, score_runs
from wayscore.report.summary import Summary, differences, summarize

__all__ = [
    "RENDERERS",
    "Comparison",
    "Partition",
    "ScoredRun",
    "Summary",
    "compare_runs",
    "differences",
    "distances_for",
    "partition",
    "render",
    "render_comparison",
    "score_runs",
    "summarize",
]
