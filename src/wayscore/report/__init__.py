"""Results and comparisons for people and for programs: text, JSON, CSV, Markdown, LaTeX, HTML, and a page."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wayscore.report.document import FORMS, check_form
    from wayscore.report.page import page_of, write_page
    from wayscore.report.results import render, render_comparison

_HOMES = {
    **dict.fromkeys(("FORMS", "check_form"), "wayscore.report.document"),
    **dict.fromkeys(("render", "render_comparison"), "wayscore.report.results"),
    **dict.fromkeys(("page_of", "write_page"), "wayscore.report.page"),
}
"""What is imported when it is first used: a table needs no page."""

__all__ = ["FORMS", "check_form", "page_of", "render", "render_comparison", "write_page"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'wayscore.report' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value
