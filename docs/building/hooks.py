"""What mkdocs calls while it builds the site: pictures are drawn, examples run, facts filled in, formulas set.

It is started as `python -m mkdocs` in the folder above `docs`, where these modules are found.
"""

from __future__ import annotations

import re
import tempfile
from itertools import count
from pathlib import Path
from typing import Any

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


def on_post_build(**_: Any) -> None:
    """Remove the folders in which examples ran."""
    while _folders:
        _folders.pop().cleanup()


def _set_aside(match: re.Match[str]) -> str:
    block, line = match.groups()
    if block is None and line is None:
        return match[0]
    mark = f"⟦{next(_numbers)}⟧"
    _formulas[mark] = mathml(block or line, block=block is not None)
    return mark
