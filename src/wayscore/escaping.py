r"""How strings from outside are escaped: names of runs, episodes, scans, metrics and studies, which anybody can choose.

Characters that nobody sees, but that terminals and browsers obey (escape sequences, marks that turn the direction of
writing, ends of lines), are written as Python writes them: `\x1b`, `\u202e`. What has a meaning in the format of the
output (tags, tables, commands, formulas) is escaped.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False  # `typing` takes time, and `wayscore --version` needs none of it
if TYPE_CHECKING:
    from typing import Literal, TypeAlias

    Form: TypeAlias = Literal["line", "text", "html", "markdown", "latex", "csv", "figure"]

JOINERS = "\u200c\u200d"
"""Invisible characters that scripts of India and Persia need between letters."""
DASH = "\u2013"
MARKDOWN = str.maketrans({char: f"\\{char}" for char in "\\`*|<&"})
_LINK = re.compile(r"\](?=[(\[:])")
"""The middle of a link or a picture; an interval such as [0.1, 0.2] has none."""
LATEX = str.maketrans(
    {char: "\\" + char for char in "_%&#${}"}
    | {char: f"{{{char}}}" for char in "[*"}  # after the end of a line these would be its options
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}"}
    | {"\u2191": r"$\uparrow$", "\u2193": r"$\downarrow$", "\u00b1": r"$\pm$", DASH: "--"}
)
_FORMULA = re.compile(r"[=@\t\r]|[+\-](?!\d*\.?\d*(?:[eE][+-]?\d+)?$)")
"""What a spreadsheet would compute; +1.5 and -3 are numbers."""
_QUOTED = re.compile(r"'(?=[=+\-@\t\r])")


def escape(text: str, form: Form = "line") -> str:
    r"""Return a string from outside as it can be shown.

    Args:
        text: the string.
        form: where it goes: a "line" of a terminal, "text" of several lines, "html", "markdown", "latex", a "figure"
            of matplotlib, or the cell of a "csv" table, where a formula gets an apostrophe before it, as spreadsheets
            write text.

    >>> print(escape("\x1b]0;owned\x07 \u202e1_0"), escape("a\nb"))
    \x1b]0;owned\x07 \u202e1_0 a\nb
    >>> print(escape("<b>", "html"), escape("a|[b](c)", "markdown"), escape("50%", "latex"), escape("=1+1", "csv"))
    &lt;b&gt; a\|[b\](c) 50\% '=1+1
    """
    if form == "csv":  # for programs, which must find every other character as it was
        return f"'{text}" if _FORMULA.match(text) else text
    if not text.isprintable():
        text = "\n".join(map(_visible, text.split("\n"))) if form == "text" else _visible(text)
    if form == "markdown":
        return _LINK.sub(r"\]", text.translate(MARKDOWN))
    if form == "figure":
        return text.replace("$", r"\$")
    if form == "latex":
        return text.translate(LATEX)
    if form == "html":
        from html import escape as escape_html

        return escape_html(text)
    return text


def from_cell(text: str) -> str:
    """Return what `escape` wrote to a cell of CSV.

    >>> from_cell("'=1+1"), from_cell("'tis")
    ('=1+1', "'tis")
    """
    return _QUOTED.sub("", text, count=1) if text[:1] == "'" else text


def escape_json(text: str) -> str:
    r"""Return JSON in ASCII whose strings can be shown: what nobody would see is written as `escape` writes it.

    >>> print(escape_json(r'{"a\u202eb": "\u0939"}'))
    {"a\\u202eb": "\u0939"}
    """
    return _ESCAPED.sub(_kept, text) if "\\u" in text else text


_ESCAPED = re.compile(r"\\\\|\\u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})|\\u([0-9a-f]{4})")


def _kept(found: re.Match[str]) -> str:
    high, low, single = found.groups()
    if high is None and single is None:  # a backslash
        return found[0]
    code = int(single, 16) if high is None else 0x10000 + ((int(high, 16) - 0xD800) << 10) + int(low, 16) - 0xDC00
    written = _visible_one(chr(code))
    return "\\" + written if written.startswith("\\") else found[0]


def _visible(text: str) -> str:
    return text if text.isprintable() else "".join(map(_visible_one, text))


def _visible_one(char: str) -> str:
    if char.isprintable() or char in JOINERS or (char.isspace() and ord(char) >= 0xA0 and char not in "\u2028\u2029"):
        return char
    return repr(char)[1:-1]
