"""Text for a terminal: lines, and tables of aligned columns, in bold and dim where there is colour.

Small on purpose: a command that takes a third of a second cannot wait for a larger library to be loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import accumulate
from typing import TypeAlias, TypeVar

from msgspec import Struct

from wayscore.foreign import shown

Item = TypeVar("Item")
Cell: TypeAlias = str | Sequence[tuple[str, str]]
"""Text, or pieces of it each with its style: "bold", "dim" or ""."""
DEFAULT_WIDTH = 100
CODES = {"bold": "\x1b[1m", "dim": "\x1b[2m"}
PLAIN = "\x1b[0m"
NARROWEST = 4
"""Columns that do not fit are cut, but to no less than this."""


class TextTable(Struct, frozen=True):
    r"""A table with one line under its heads.

    Attributes:
        heads: of the columns; may have several lines.
        left: the columns that are flush left; the others are flush right.
        space: between columns.
        rows: cells; those of one piece may have several lines.

    >>> table = TextTable(["", "SR"])
    >>> table.rows.append(["agent", "21.4"])
    >>> print("\n".join(table.lines()))
              SR
    ────────────
    agent   21.4
    """

    heads: Sequence[str]
    left: Collection[int] = (0,)
    space: int = 3
    rows: list[Sequence[Cell]] = []

    def width(self) -> int:
        """Return how many columns of a terminal the table takes."""
        return self._width(self.widths())

    def widths(self) -> list[int]:
        """Return how many each column takes."""
        columns = zip(self.heads, *self.rows, strict=True)
        return [max(breadth(line) for cell in column for line in _text(cell).split("\n")) for column in columns]

    def height(self) -> int:
        """Return how many lines there are."""
        return 1 + sum(1 + max(_text(cell).count("\n") for cell in row) for row in (self.heads, *self.rows))

    def lines(self, most: int | None = None, *, color: bool = False) -> list[str]:
        """Return the lines; where these would be wider than `most`, the widest columns are cut."""
        widths = self.widths()
        while most is not None and self._width(widths) > most and max(widths) > NARROWEST:
            widths[widths.index(max(widths))] -= 1
        heads = [[(head, "bold")] for head in self.heads]
        rule = "─" * self._width(widths)
        below = (line for row in self.rows for line in self._lines(row, widths, color))
        return [*self._lines(heads, widths, color), rule, *below]

    def _width(self, widths: Sequence[int]) -> int:
        return sum(widths) + self.space * (len(widths) - 1)

    def _lines(self, row: Sequence[Cell], widths: Sequence[int], color: bool) -> list[str]:
        cells = [_split(cell) for cell in row]
        height = max(map(len, cells))
        gap = " " * self.space
        return [
            gap.join(
                _aligned(cell[number] if number < len(cell) else [], width, place in self.left, color)
                for place, (cell, width) in enumerate(zip(cells, widths, strict=True))
            ).rstrip()
            for number in range(height)
        ]


class TextPage(Struct, frozen=True):
    """What a command prints, as wide as there is room."""

    width: int = DEFAULT_WIDTH
    color: bool = False
    lines: list[str] = []

    def fits(self, table: TextTable) -> bool:
        """Whether a table needs no more than the page's width."""
        return table.width() <= self.width

    def blocks(self, columns: Sequence[Item], table_of: Callable[[Sequence[Item]], TextTable]) -> list[TextTable]:
        """Return as few tables as hold all columns in the page's width, each with as many of them as fit.

        Args:
            columns: what the tables are to show; every table has one of them at least.
            table_of: makes the table of some of them.
        """
        whole = table_of(columns)
        widths = whole.widths()
        before = whole._width([widths.pop(0) for _ in range(len(widths) - len(columns))])
        found: list[TextTable] = []
        while columns:
            taken = accumulate(widths, lambda sum_, width: sum_ + whole.space + width, initial=before)
            count = max(1, sum(width <= self.width for width in taken) - 1)
            found.append(table_of(columns[:count]))
            columns, widths = columns[count:], widths[count:]
        return found

    def add_apart(self, tables: Iterable[TextTable]) -> None:
        """Add tables with an empty line between them."""
        for number, table in enumerate(tables):
            self.add(*([""] if number else []), table)

    def add(self, *parts: str | TextTable, style: str = "") -> None:
        """Add lines, which are broken between words where they are too long, and tables."""
        for part in parts:
            if isinstance(part, TextTable):
                self.lines.extend(part.lines(self.width, color=self.color))
            else:
                self.lines.extend(_styled(line, style, self.color) for line in self._broken(part))

    def _broken(self, text: str) -> list[str]:
        lines = shown(text, "text").split("\n")
        if all(len(line) <= self.width for line in lines):
            return lines
        from textwrap import wrap

        return [part for line in lines for part in (wrap(line, self.width) or [""])]

    def __str__(self) -> str:
        return "\n".join(self.lines) + "\n"


def breadth(text: str) -> int:
    """Return how many columns of a terminal a line takes.

    >>> breadth("agent ↑"), breadth("代理")
    (7, 4)
    """
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1 for char in text)


def _text(cell: Cell) -> str:
    return shown(cell if isinstance(cell, str) else "".join(text for text, _ in cell), "text")


def _split(cell: Cell) -> list[list[tuple[str, str]]]:
    """Return the pieces of each line of a cell."""
    lines: list[list[tuple[str, str]]] = [[]]
    for text, style in [(cell, "")] if isinstance(cell, str) else cell:
        first, *others = shown(text, "text").split("\n")
        lines[-1].append((first, style))
        lines += [[(line, style)] for line in others]
    return lines


def _aligned(pieces: Sequence[tuple[str, str]], width: int, left: bool, color: bool) -> str:
    taken = sum(breadth(text) for text, _ in pieces)
    if taken > width:
        pieces, taken = _cut(pieces, width)
    blank = " " * (width - taken)
    shown = "".join(_styled(text, style, color) for text, style in pieces)
    return shown + blank if left else blank + shown


def _cut(pieces: Sequence[tuple[str, str]], width: int) -> tuple[list[tuple[str, str]], int]:
    kept: list[tuple[str, str]] = []
    room = width - 1
    for text, style in pieces:
        end = len(text)
        while breadth(text[:end]) > room:
            end -= 1
        kept.append((text[:end], style))
        room -= breadth(text[:end])
        if end < len(text):
            break
    return [*kept, ("…", "")], width - room


def _styled(text: str, style: str, color: bool) -> str:
    return f"{CODES[style]}{text}{PLAIN}" if color and style and text else text
