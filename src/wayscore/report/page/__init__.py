"""The report as one page of HTML: tables, figures and a browser of episodes in a file that needs no network."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

from wayscore.errors import OptionError
from wayscore.palette import css
from wayscore.report.page.episodes import episodes_of
from wayscore.report.page.results import results_of
from wayscore.report.render import render
from wayscore.report.render_comparison import render_comparison

if TYPE_CHECKING:
    from wayscore.distances.base import Distance
    from wayscore.episodes import References
    from wayscore.evaluation.comparison import Comparison
    from wayscore.evaluation.runs import ScoredRun
    from wayscore.evaluation.summary import Summary

SCRIPTS = (
    "base",
    "data",
    "charts",
    "results",
    "comparison",
    "distributions",
    "breakdown",
    "scatter",
    "drawing",
    "map",
    "warping",
    "episode",
    "list",
    "browser",
    "main",
)
"""The parts of the page's program, in the order in which they are joined into one module."""
STYLES = ("page", "tables", "figures", "episodes", "map", "media")
"""The parts of its style sheet; later ones overrule earlier ones."""
PRINT_WIDTH = 100


def write_page(
    path: str | Path,
    runs: Sequence[ScoredRun],
    summaries: Sequence[Summary],
    references: References,
    distance: Distance | Mapping[str, Distance] | None,
    *,
    comparison: Comparison | None = None,
    title: str | None = None,
) -> None:
    """Write runs and their scores as one self-contained page: `page_of`, in a file.

    Args:
        path: the file to write.
        runs: what was scored, all by one convention.
        summaries: of the same runs, in the same order.
        references: what was asked for.
        distance: what they were scored with: a distance, scene -> distance, or None for Euclidean.
        comparison: of the same runs, where they were compared.
        title: of the page; by default the names of the runs and of the references.
    """
    page = page_of(runs, summaries, references, distance, comparison=comparison, title=title)
    try:
        Path(path).write_text(page, encoding="utf-8", errors="xmlcharrefreplace", newline="\n")
    except OSError as error:
        raise OptionError(f"cannot write the page {path}: {error.strerror or error}; choose another file") from None


def page_of(
    runs: Sequence[ScoredRun],
    summaries: Sequence[Summary],
    references: References,
    distance: Distance | Mapping[str, Distance] | None,
    *,
    comparison: Comparison | None = None,
    title: str | None = None,
) -> str:
    """Return the page: results as JSON that is shown at once, episodes compressed, and a program that draws both."""
    if not runs or [run.name for run in runs] != [summary.run for summary in summaries]:
        raise OptionError("a page needs at least one run, and the summary of each in the same order")
    title = title or _title(runs, references)
    results = {"title": title, **results_of(runs, summaries, references, comparison)}
    episodes = _json(episodes_of(runs, references, distance)).encode()
    style = "\n".join((css(), *(_file(f"{part}.css") for part in STYLES)))
    script = "\n".join(_file(f"{part}.js") for part in SCRIPTS)
    if comparison is None:
        plain = render(summaries, "text", width=PRINT_WIDTH)
    else:
        plain = render_comparison(comparison, "text", width=PRINT_WIDTH)
    return Template(_file("page.html")).substitute(
        title=escape(title),
        policy=f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; base-uri 'none'; "
        "form-action 'none'",
        style=style,
        plain=escape(plain),
        results=_json(results).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"),
        episodes=base64.b64encode(gzip.compress(episodes, mtime=0)).decode(),
        script=script,
    )


def _title(runs: Sequence[ScoredRun], references: References) -> str:
    names = [run.name for run in runs]
    who = " and ".join(names) if len(names) <= 2 else f"{names[0]} and {len(names) - 1} others"
    return f"{who} on {references.name.removesuffix('.gz').removesuffix('.json')}"


def _json(value: Any) -> str:
    """Return JSON in ASCII, so that nothing in it can end a line or a script; what is not finite is a mistake."""
    return json.dumps(value, allow_nan=False, separators=(",", ":"))


def _hash(text: str) -> str:
    """Return a source of the content security policy: this very text."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@cache
def _file(name: str) -> str:
    return files(__package__).joinpath("static", name).read_text(encoding="utf-8")
