"""Results for people and for programs: one Summary a run, rendered as text, JSON, Markdown or LaTeX."""

from wayscore.report.render import RENDERERS, render
from wayscore.report.summary import Summary, summarize

__all__ = ["RENDERERS", "Summary", "render", "summarize"]
