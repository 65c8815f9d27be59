"""The report as one page of HTML: tables, figures and a browser of episodes in a file that needs no network."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

from wayscore.errors import OptionError
from wayscore.escaping import escape, escape_json
from wayscore.palette import base_css
from wayscore.report.page.episodes import episodes_of
from wayscore.report.page.results import references_name, results_of, sections_of
from wayscore.writing import write_whole

if TYPE_CHECKING:
    from wayscore.evaluation.comparison import Comparison
    from wayscore.evaluation.result import Result

SCRIPTS = (
    *("base", "data", "charts", "tables", "figures"),
    *("drawing", "map", "warping", "episode", "list", "filters", "browser", "main"),
)
"""The parts of the page's program, in the order in which they are joined into one module."""
COMPRESSION = 6
"""The highest level, 9, takes twice as long and saves two bytes in a hundred."""


def write_page(
    path: str | Path,
    results: Sequence[Result],
    comparison: Comparison | None = None,
    title: str | None = None,
    split_by: str | None = None,
) -> None:
    """Write results as one self-contained page: `page_of`, in a file that is written whole or not at all.

    Args:
        path: the file to write.
        results: of one or more runs; those that were loaded from files have scores, but no paths to draw.
        comparison: of the same runs, where they were compared.
        title: of the page; by default the names of the runs and of the references.
        split_by: what the page's table of groups shows first: "scan", "length" or "path".
    """
    page = page_of(results, comparison, title, split_by).encode("utf-8", "xmlcharrefreplace")
    write_whole(path, page)


def page_of(
    results: Sequence[Result],
    comparison: Comparison | None = None,
    title: str | None = None,
    split_by: str | None = None,
) -> str:
    """Return the page: tables that are shown at once, episodes compressed, and a program that draws both."""
    names = [result.name for result in results]
    if not results or len({*names}) < len(names):
        raise OptionError(f"a page needs one or more results with different names, got {names}")
    if comparison is not None and not {comparison.baseline, *comparison.others} <= {*names}:
        raise OptionError("the comparison must be of the runs that the page shows; give comparison.results")
    references = references_name(results).removesuffix(".gz").removesuffix(".json")
    who = " and ".join(names) if len(names) <= 2 else f"{names[0]} and {len(names) - 1} others"
    title = title or (f"{who} on {references}" if references else who)
    data = {"split_by": split_by, **results_of(results, comparison)}
    episodes = _json(episodes_of(results, split_by)).encode()
    style = base_css() + _file("page.css")
    script = "\n".join(_file(f"{part}.js") for part in SCRIPTS)
    return Template(_file("page.html")).substitute(
        title=escape(title, "html"),
        policy=f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; base-uri 'none'; "
        "form-action 'none'",
        style=style,
        results=_json(data).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"),
        episodes=base64.b64encode(gzip.compress(episodes, COMPRESSION, mtime=0)).decode(),
        script=script,
        **sections_of(results, comparison),
    )


def _json(value: Any) -> str:
    """Return JSON in ASCII, so that nothing in it can end a line or a script; numbers must be finite."""
    return escape_json(json.dumps(value, allow_nan=False, separators=(",", ":")))


def _hash(text: str) -> str:
    """Return what allows exactly this text in a content security policy: its hash."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@cache
def _file(name: str) -> str:
    """Return a static file without its indentation, a tenth of its size."""
    return re.sub(r"\n\s+", "\n", files(__package__).joinpath("static", name).read_text(encoding="utf-8"))
