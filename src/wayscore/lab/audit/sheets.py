"""What an audit shows: a few tables with titles and notes, as text, Markdown and HTML; and its JSON."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from textwrap import wrap
from typing import Any

from wayscore.errors import OptionError
from wayscore.report.html import html_table
from wayscore.report.markdown import escaped, markdown_table
from wayscore.report.notes import warning_lines
from wayscore.report.terminal import DEFAULT_WIDTH, TextPage, TextTable

FORMS = ("text", "json", "markdown", "html")
WORDS = 34
"""Cells of words are broken into lines of this many characters, in text."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """One table.

    Attributes:
        title: the line above it.
        heads: of the columns.
        rows: cells of text; a cell may have several lines.
        fixed: how many columns every block of a table that is too wide begins with.
        left: how many columns, the first ones, are words; the others are numbers.
        notes: lines below it.
    """

    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    fixed: int = 1
    left: int = 1
    notes: Sequence[str] = ()


class Shown(ABC):
    """A value that shows itself as sheets, with a first line and warnings; what Battery and Systems have in common."""

    __slots__ = ()

    @abstractmethod
    def scope(self) -> str:
        """Say what was audited, in one line."""

    @abstractmethod
    def sheets(self) -> list[Sheet]:
        """Return the tables."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return the object that `--format json` prints."""

    def said(self) -> Sequence[str]:
        """Return what a reader must know before believing the numbers."""
        return ()

    def to_json(self) -> str:
        """Return one JSON object: fractions and metres, full precision; null where a value is undefined."""
        return json.dumps(self.to_dict(), allow_nan=False) + "\n"

    def to_markdown(self) -> str:
        """Return Markdown tables."""
        return self.render("markdown")

    def __str__(self) -> str:
        return self.render("text").rstrip("\n")

    def _repr_html_(self) -> str:
        return self.render("html")

    def render(self, form: str = "text", *, width: int | None = None, color: bool = False) -> str:
        """Return it in one of `FORMS`; width and colour concern text only."""
        if form not in FORMS:
            raise OptionError(f"<<format>> must be text, json, markdown or html, not {form!r}")
        if form == "json":
            return self.to_json()
        if form == "text":
            return _text(self, TextPage(width or DEFAULT_WIDTH, color))
        return _markdown(self) if form == "markdown" else _html(self)


def _text(shown: Shown, page: TextPage) -> str:
    page.add(shown.scope())
    for sheet in shown.sheets():
        page.add(f"\n{sheet.title}\n", style="bold")
        columns = list(zip(sheet.heads, *(map(_broken, row) for row in sheet.rows), strict=True))
        fixed, others = columns[: sheet.fixed], columns[sheet.fixed :]

        def table(
            some: Sequence[Sequence[str]], fixed: Sequence[Sequence[str]] = fixed, left: int = sheet.left
        ) -> TextTable:
            heads, *rows = zip(*fixed, *some, strict=True)
            return TextTable(list(heads), left=range(left), space=2, rows=[*rows])

        page.add_apart(page.blocks(others, table) if others else [table([])])
        page.add(*([""] if sheet.notes else []), *sheet.notes, style="dim")
    page.add(*(f"\n{line}" for line in warning_lines(shown.said())))
    return str(page)


def _broken(cell: str) -> str:
    return "\n".join(line for part in cell.split("\n") for line in wrap(part, WORDS) or [""])


def _markdown(shown: Shown) -> str:
    lines = [escaped(shown.scope()), ""]
    for sheet in shown.sheets():
        rows = [[escaped(cell.replace("\n", " ")) for cell in row] for row in sheet.rows]
        heads = [escaped(head.replace("\n", " ")) for head in sheet.heads]
        lines += [f"**{escaped(sheet.title)}**", "", *markdown_table(heads, rows, left=sheet.left), ""]
        lines += [part for note in sheet.notes for part in (escaped(note), "")]
    lines += [part for warning in warning_lines(shown.said()) for part in (f"> {escaped(warning)}", "")]
    return "\n".join(lines).rstrip("\n") + "\n"


def _html(shown: Shown) -> str:
    parts = [f"<p>{escape(shown.scope())}</p>"]
    for sheet in shown.sheets():
        rows = [[escape(cell).replace("\n", "<br>") for cell in row] for row in sheet.rows]
        parts.append(html_table([head.replace("\n", " ") for head in sheet.heads], rows, sheet.title))
        parts += [f'<p style="font-size:90%">{escape(note)}</p>' for note in sheet.notes]
    parts += [f"<p><b>warning:</b> {escape(warning)}</p>" for warning in shown.said()]
    return f'<div style="overflow-x:auto">{"".join(parts)}</div>\n'
