"""A table in HTML."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from wayscore.foreign import shown
from wayscore.report.document import CELL, RULE as LINE


def html_table(heads: Sequence[str], rows: Iterable[Sequence[str]], caption: str, side: str = "top") -> str:
    """Return a table with a caption above or below; heads and caption are text, the cells of rows HTML already."""
    top = "".join(_cell("th", escaped(name), number) for number, name in enumerate(heads))
    lines = [f'<tr style="{LINE}">{top}</tr>']
    for name, *cells in rows:
        first = _cell("th", name, 0)
        lines.append(f"<tr>{first}{''.join(_cell('td', cell, 1) for cell in cells)}</tr>")
    said = f'<caption style="caption-side:{side};text-align:left;color:inherit">{escaped(caption)}</caption>'
    return f'<table style="border-collapse:collapse;color:inherit;margin:.5em 0">{said}{"".join(lines)}</table>'


def _cell(tag: str, content: str, column: int) -> str:
    weight = ";font-weight:normal" if tag == "th" and column == 0 else ""
    return f'<{tag} style="text-align:{"right" if column else "left"}{weight};{CELL}">{content}</{tag}>'


def escaped(text: str) -> str:
    """Return text that means nothing to a browser."""
    return shown(text, "html")
