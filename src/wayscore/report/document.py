"""Document: tables and the words around them, and the six forms in which every verb prints them.

Small on purpose: a command that takes a third of a second cannot wait for a larger library to be loaded.
"""

from __future__ import annotations

import csv
import io
import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from wayscore.errors import OptionError, did_you_mean, in_command
from wayscore.escaping import escape

FORMS = ("text", "json", "csv", "markdown", "latex", "html")
DEFAULT_WIDTH = 100
NARROWEST = 4
"""Columns that do not fit are cut, but to no less than this."""
CODES = {"bold": "\x1b[1m", "dim": "\x1b[2m"}
PLAIN = "\x1b[0m"
NEEDED = r"% needs \usepackage{booktabs}"
EXACT = ("code", "warning")
"""Styles of lines that are not broken, so that they can be copied."""
RULE = "border-bottom:1px solid rgba(128,128,128,.45)"
CELL = "padding:.15em .7em;white-space:nowrap;vertical-align:top;background:none"
NOTE = "margin:.3em 0;font-size:90%"
"""In HTML, text keeps the notebook's colour, and lines are grey, so that both can be read on white and on black."""


class Cell(NamedTuple):
    """A cell that is more than a string.

    Attributes:
        text: the number or the words; may have several lines.
        rest: follows the text, never in bold: a spread, how many episodes are left out.
        below: an interval, which forms write beside or below it.
        mark: stars of a test, for tables that have no column for them.
        bold: whether the text is.
    """

    text: str
    rest: str = ""
    below: str = ""
    mark: str = ""
    bold: bool = False


class Line(NamedTuple):
    """A paragraph in a style: "bold", "dim", "code" (not broken: a signature, a command) or "warning"."""

    text: str
    style: str = ""


@dataclass(frozen=True)
class Table:
    """One table.

    Attributes:
        heads: of the columns; may have several lines.
        rows: the cells.
        title: the line above it.
        notes: lines below it.
        left: how many columns, the first ones, are words; every block of a table that is too wide begins with them.
        together: how many of the other columns belong into the first block.
    """

    heads: Sequence[str]
    rows: Sequence[Sequence[str | Cell]]
    title: str = ""
    notes: Sequence[str] = ()
    left: int = 1
    together: int = 0


Part: TypeAlias = str | Line | Table
Row: TypeAlias = Sequence[str | Cell]


class Documented(ABC):
    """A value that prints itself as a document."""

    __slots__ = ()

    @abstractmethod
    def document(self) -> Document:
        """Return it as tables, words and data."""

    def render(self, form: str = "text", width: int | None = None, color: bool = False) -> str:
        """Return it in one of `FORMS`; width and colour concern text only."""
        return self.document().render(form, width, color)

    def to_json(self) -> str:
        """Return one JSON object: fractions and metres, full precision; null where a value is undefined."""
        return self.render("json")

    def to_markdown(self) -> str:
        """Return Markdown tables."""
        return self.render("markdown")

    def __str__(self) -> str:
        return self.render().removesuffix("\n")

    def _repr_html_(self) -> str:
        return self.render("html")


@dataclass(frozen=True)
class Document(Documented):
    r"""What a verb prints.

    Attributes:
        parts: paragraphs and tables, in their order.
        data: JSON objects, each of which is printed on a line.
        records: rows of CSV, by column.

    >>> print(Document([Table(["run", "SR"], [["agent", Cell("21.4", bold=True)]], "Means"), "Over 3 episodes."]))
    Means
    <BLANKLINE>
    run      SR
    ───────────
    agent  21.4
    <BLANKLINE>
    Over 3 episodes.
    """

    parts: Sequence[Part] = ()
    data: Sequence[Any] = ()
    records: Sequence[Mapping[str, Any]] | None = None

    def render(self, form: str = "text", width: int | None = None, color: bool = False) -> str:
        """Return it in one of `FORMS`; width and colour concern text only."""
        if form not in FORMS:
            guess = did_you_mean(form, FORMS) or "."
            raise OptionError(f"there is no format {form!r}{guess} Known: {', '.join(FORMS)}")
        if form == "json":
            return "".join(json.dumps(one, allow_nan=False) + "\n" for one in self.data)
        if form == "csv":
            if self.records is None:
                raise OptionError("there is no table for CSV here; choose another <<format>>")
            return _csv(self.records)
        if form == "text":
            return _text(self.parts, width or DEFAULT_WIDTH, color)
        return {"markdown": _markdown, "latex": _latex, "html": _html}[form](self.parts)

    def document(self) -> Document:
        """Return itself."""
        return self


def _csv(records: Sequence[Mapping[str, Any]]) -> str:
    """Return one row per record below the names of the columns; None is empty."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for cells in (list(records[0]) if records else ["run"], *(record.values() for record in records)):
        writer.writerow(
            [cell if cell is None or isinstance(cell, int | float) else escape(str(cell), "csv") for cell in cells]
        )
    return out.getvalue()


def _line(part: str | Line) -> Line:
    return part if isinstance(part, Line) else Line(part)


def _cell(cell: str | Cell) -> Cell:
    return cell if isinstance(cell, Cell) else Cell(cell)


def _text(parts: Iterable[Part], width: int, color: bool) -> str:
    blocks: list[list[str]] = []
    last = None
    for part in parts:
        if isinstance(part, Table):
            blocks += [_broken(part.title, width, "bold", color)] if part.title else []
            blocks += text_table(part, width, color)
            notes = [line for note in part.notes for line in _broken(note, width, "dim", color)]
            blocks += [notes] if notes else []
            last = None
            continue
        text, style = _line(part)
        if style == "warning":
            text = f"warning: {in_command(text)}"
        lines = [escape(text)] if style in EXACT else _broken(text, width, style, color)
        kind = "exact" if style in EXACT else style
        if kind == last:
            blocks[-1] += lines
        else:
            blocks.append(lines)
        last = kind
    return "\n\n".join("\n".join(block) for block in blocks) + "\n"


def _broken(text: str, width: int, style: str, color: bool) -> list[str]:
    lines = escape(text, "text").split("\n")
    if any(len(line) > width for line in lines):
        from textwrap import wrap

        lines = [part for line in lines for part in (wrap(line, width) or [""])]
    return [_styled(line, style, color) for line in lines]


def _styled(text: str, style: str, color: bool) -> str:
    return f"{CODES[style]}{text}{PLAIN}" if color and style and text else text


def text_table(table: Table, width: int = DEFAULT_WIDTH, color: bool = False) -> list[list[str]]:
    """Return the lines of the blocks of columns that fit the width.

    Intervals stand beside or below their means, and tables without any are set closer, whichever cuts no column, puts
    the columns that belong together into the first block, and then takes fewer lines.
    """
    columns = [list(map(_cell, column)) for column in zip(table.heads, *table.rows, strict=True)]
    intervals = any(cell.below for column in columns for cell in column)
    found = []
    for below, space in ((False, 2), (True, 2)) if intervals else ((False, 2), (False, 1)):
        laid = [_laid_out(column, place < table.left, below, color) for place, column in enumerate(columns)]
        blocks = [laid[: table.left]]
        for column in laid[table.left :]:
            if len(blocks[-1]) > table.left and _width([*blocks[-1], column], space) > width:
                blocks.append(laid[: table.left])
            blocks[-1] = [*blocks[-1], column]
        lines = [_block(block, space, width) for block in blocks]
        cut = any(_width(block, space) > width for block in blocks)
        apart = len(blocks[0]) - table.left < table.together
        found.append(((cut, apart, sum(len(one) + 1 for one in lines)), lines))
    return min(found, key=lambda one: one[0])[1]


Column: TypeAlias = tuple[int, bool, list[list[str]]]
"""Its width, whether it is flush left, and the lines of its cells."""


def _laid_out(column: Sequence[Cell], left: bool, below: bool, color: bool) -> Column:
    """Return a column's cells as lines: beside each other, numbers are aligned, and so are intervals."""
    head, *cells = column
    apart = not below and any(cell.rest or cell.below for cell in cells)
    room = max((len(cell.text) for cell in cells), default=0)
    rest = max((len(cell.rest) for cell in cells), default=0)
    lines = [[_styled(line, "bold", color) for line in escape(head.text, "text").split("\n")]]
    for cell in cells:
        style = "bold" if cell.bold else ""
        if apart:
            beside = _styled(f" {cell.below}" if cell.below else "", "dim", color)
            lines.append([_styled(cell.text.rjust(room), style, color) + cell.rest.ljust(rest) + beside])
        else:
            found = [_styled(line, style, color) for line in escape(cell.text, "text").split("\n")]
            found[-1] += cell.rest
            lines.append([*found, _styled(cell.below, "dim", color)] if cell.below else found)
    return max(breadth(line) for some in lines for line in some), left or apart, lines


def _width(columns: Sequence[Column], space: int) -> int:
    return sum(width for width, _, _ in columns) + space * (len(columns) - 1)


def _block(columns: Sequence[Column], space: int, most: int) -> list[str]:
    """Return the lines of a table; where these would be wider than `most`, the widest columns are cut."""
    widths = [width for width, _, _ in columns]
    while (total := sum(widths) + space * (len(widths) - 1)) > most and max(widths) > NARROWEST:
        widths[widths.index(max(widths))] -= 1
    lines = []
    for row in zip(*(cells for _, _, cells in columns), strict=True):
        for place in range(max(map(len, row))):
            out = []
            for cell, width, (_, left, _) in zip(row, widths, columns, strict=True):
                text = cell[place] if place < len(cell) else ""
                if breadth(text) > width:
                    text = _plain(text)
                    while breadth(text) > width - 1:
                        text = text[:-1]
                    text += "…"
                blank = " " * (width - breadth(text))
                out.append(text + blank if left else blank + text)
            lines.append((" " * space).join(out).rstrip())
    heads = max(len(cells[0]) for _, _, cells in columns)
    return [*lines[:heads], "─" * total, *lines[heads:]]


def _plain(text: str) -> str:
    """Return text without the codes of its styles."""
    for code in (*CODES.values(), PLAIN) if "\x1b" in text else ():
        text = text.replace(code, "")
    return text


def breadth(text: str) -> int:
    """Return how many columns of a terminal a line takes, without the codes of its styles.

    >>> breadth("agent ↑"), breadth("代理")
    (7, 4)
    """
    text = _plain(text)
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1 for char in text)


def _markdown(parts: Iterable[Part]) -> str:
    def escaped(text: str) -> str:
        return escape(text.replace("\n", " "), "markdown")

    def written(one: str | Cell) -> str:
        cell = _cell(one)
        text = f"**{escaped(cell.text)}**" if cell.bold else escaped(cell.text)
        return f"{text}{escaped(cell.mark + cell.rest)} {escaped(cell.below)}".rstrip()

    blocks = []
    for part in parts:
        if isinstance(part, Table):
            blocks += [f"**{escaped(part.title)}**"] if part.title else []
            rows = ["| " + " | ".join(map(written, row)) + " |" for row in (part.heads, *part.rows)]
            bar = "|" + "---|" * part.left + "---:|" * (len(part.heads) - part.left)
            blocks += ["\n".join([rows[0], bar, *rows[1:]]), *map(escaped, part.notes)]
            continue
        text, style = _line(part)
        if style == "code":
            blocks.append(f"`{escape(text.replace('`', chr(39)))}`")
        elif style == "warning":
            blocks.append(f"> {escaped(f'warning: {in_command(text)}')}")
        else:
            blocks.append(f"**{escaped(text)}**" if style == "bold" else escaped(text))
    return "\n\n".join(blocks) + "\n"


def _latex(parts: Iterable[Part]) -> str:
    """Return booktabs tables, with intervals in small type below; everything else in comments."""

    def written(one: str | Cell) -> str:
        cell = _cell(one)
        text = escape(cell.text.replace("\n", " "), "latex")
        text = rf"\textbf{{{text}}}" if cell.bold else text
        return text + (f"$^{{{cell.mark}}}$" if cell.mark else "") + escape(cell.rest, "latex")

    def comment(text: str) -> str:
        return f"% {escape(text.replace(chr(10), ' '))}"

    lines = []
    for part in parts:
        if isinstance(part, Table):
            rows = [" & ".join(map(written, part.heads))]
            intervals = False
            for row in part.rows:
                rows.append(" & ".join(map(written, row)))
                below = [cell.below for cell in map(_cell, row)]
                if any(below):
                    intervals = True
                    rows.append(" & ".join(rf"\scriptsize {one}" if one else "" for one in below))
            others = len(part.heads) - part.left
            head, *body = (rf"{row} \\" for row in rows)
            lines += [comment(part.title)] if part.title else []
            lines += [rf"\begin{{tabular}}{{{'l' * part.left}{('c' if intervals else 'r') * others}}}", r"\toprule"]
            lines += [head, r"\midrule", *body, r"\bottomrule", r"\end{tabular}"]
            lines += [*([] if NEEDED in lines else [NEEDED]), *map(comment, part.notes)]
        else:
            text, style = _line(part)
            lines.append(comment(f"warning: {in_command(text)}" if style == "warning" else text))
    return "\n".join(lines) + "\n"


def _html(parts: Iterable[Part]) -> str:
    """Return small tables for notebooks: no scripts, no style sheets, any background."""

    def escaped(text: str) -> str:
        return "<br>".join(escape(line, "html") for line in text.split("\n"))

    def written(one: str | Cell, column: int, left: int, head: bool = False) -> str:
        cell = _cell(one)
        tag = "th" if head or column == 0 else "td"
        scope = f' scope="{"col" if head else "row"}"' if tag == "th" else ""
        weight = ";font-weight:normal" if tag == "th" and column == 0 else ""
        text = f"<b>{escaped(cell.text)}</b>" if cell.bold else escaped(cell.text)
        text += (f"<sup>{escaped(cell.mark)}</sup>" if cell.mark else "") + escaped(cell.rest)
        text += f'<br><span style="font-size:85%">{escaped(cell.below)}</span>' if cell.below else ""
        return f'<{tag}{scope} style="text-align:{"left" if column < left else "right"}{weight};{CELL}">{text}</{tag}>'

    out = []
    for part in parts:
        if isinstance(part, Table):
            heads, *rows = (
                "".join(written(cell, place, part.left, row is part.heads) for place, cell in enumerate(row))
                for row in (part.heads, *part.rows)
            )
            title = f'<caption style="caption-side:top;text-align:left;color:inherit">{escaped(part.title)}</caption>'
            body = "".join(f"<tr>{row}</tr>" for row in rows)
            out.append(
                f'<table style="border-collapse:collapse;color:inherit;margin:.5em 0">{title if part.title else ""}'
                f'<thead><tr style="{RULE}">{heads}</tr></thead><tbody>{body}</tbody></table>'
            )
        lines = map(Line, part.notes) if isinstance(part, Table) else [_line(part)]
        for text, style in lines:
            before, after = {
                "bold": ("<b>", "</b>"),
                "code": ('<code style="overflow-wrap:anywhere">', "</code>"),
                "warning": ("<b>warning:</b> ", ""),
            }.get(style, ("", ""))
            out.append(f'<p style="{NOTE}">{before}{escaped(text)}{after}</p>')
    return f'<div style="overflow-x:auto">{chr(10).join(out)}</div>\n'
