"""Evaluation: files in, results out; comparisons, validation, and where batches of episodes are scored."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wayscore.evaluation.agents import pool
    from wayscore.evaluation.comparison import Comparison, compare
    from wayscore.evaluation.contrasts import Contrast
    from wayscore.evaluation.evaluator import evaluate
    from wayscore.evaluation.result import Result
    from wayscore.evaluation.saved import load_result
    from wayscore.evaluation.validation import Findings, validate

_HOMES = {
    "Comparison": "comparison",
    "Contrast": "contrasts",
    "Findings": "validation",
    "Result": "result",
    "compare": "comparison",
    "evaluate": "evaluator",
    "load_result": "saved",
    "pool": "agents",
    "validate": "validation",
}
"""What is imported when it is first asked for: a score needs no comparison."""

__all__ = ["Comparison", "Contrast", "Findings", "Result", "compare", "evaluate", "load_result", "pool", "validate"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'wayscore.evaluation' has no attribute {name!r}")
    value = getattr(import_module(f"wayscore.evaluation.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
