"""What mkdocs calls while it builds the site: pictures are drawn, examples run, facts filled in, formulas set.

It is started as `python -m mkdocs` in the folder above `docs`, where these modules are found.
"""

from __future__ import annotations

import re
import tempfile
from html.parser import HTMLParser
from itertools import count
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

from docs.building import workspace
from docs.building.directives import expand
from docs.building.examples import Runner
from docs.building.formulas import IN_TEXT, mathml
from docs.building.pictures import PICTURES, svg

_folders: list[tempfile.TemporaryDirectory[str]] = []
_formulas: dict[str, str] = {}
_numbers = count()


def on_files(files: Any, config: Any) -> Any:
    """Add the pictures to the site's files."""
    for name in PICTURES:
        files.append(File.generated(config, f"pictures/{name}.svg", content=svg(name)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Run a page's examples, carry out its directives, and set its formulas aside."""
    folder = tempfile.TemporaryDirectory(prefix="wayscore-docs-")
    _folders.append(folder)
    home = Path(folder.name).resolve()
    workspace.write(home)
    text = Runner(page.file.src_uri, home).run(markdown)
    return IN_TEXT.sub(_set_aside, expand(text, home))


def on_page_content(html: str, **_: Any) -> str:
    """Put the formulas where they belong: Markdown would have read their stars and bars as its own."""
    return re.sub(r"⟦\d+⟧", lambda match: _formulas[match[0]], html)


class Requests(HTMLParser):
    """Collects what a browser fetches by itself while it shows a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note sources, and links that are not for clicking."""
        for name, value in attrs:
            fetched = name in ("src", "srcset", "data", "poster") or (name == "href" and tag not in ("a", "area"))
            if fetched and value:
                self.found.append(value)


def on_post_build(config: Any) -> None:
    """Remove the folders in which examples ran; refuse a site that is not whole or loads something from elsewhere."""
    while _folders:
        _folders.pop().cleanup()
    site = Path(config["site_dir"])
    pages = list(site.rglob("*.html"))
    wrong = [*site.rglob("*.py")]
    for page in pages:
        text = page.read_text(encoding="utf-8")
        requests = Requests()
        requests.feed(text)
        elsewhere = [url for url in requests.found if re.match(r"(?:https?:)?//", url)]
        if elsewhere or not requests.found or str(Path.cwd()) in text or "⟦" in text:
            wrong.append(page)
    abroad = re.compile(r"@import|url\(['\"]?(?:https?:)?//")
    wrong += [style for style in site.rglob("*.css") if abroad.search(style.read_text(encoding="utf-8"))]
    sources = len(list(Path(config["docs_dir"]).rglob("*.md")))
    if wrong or len(pages) != sources + 1:  # and the page for what is not found
        raise PluginError(f"{len(pages)} pages of {sources} sources; what is wrong: {', '.join(map(str, wrong))}")


def _set_aside(match: re.Match[str]) -> str:
    block, line = match.groups()
    if block is None and line is None:
        return match[0]
    mark = f"⟦{next(_numbers)}⟧"
    _formulas[mark] = mathml(block or line, block=block is not None)
    return mark
