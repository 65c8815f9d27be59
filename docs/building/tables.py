"""How directives write: tables, words and values in Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any


def table(head: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[str] = ()) -> str:
    """Return a table; columns named in `right` stand to the right."""
    lines = [head, ["---:" if name in right else "---" for name in head], *rows]
    return "\n".join("| " + " | ".join(_escaped(cell) for cell in line) + " |" for line in lines)


def _escaped(cell: str) -> str:
    """Return a cell whose bars do not end it; those of formulas are gone before tables are read."""
    return re.sub(r"\$[^$]*\$|\|", lambda match: "\\|" if match[0] == "|" else match[0], cell)


def words(text: str) -> str:
    """Return words in which signs of HTML and Markdown mean nothing; a name before a colon is code.

    >>> words("start_distance: from start to <goal>")
    '`start_distance`: from start to &#60;goal>'
    """
    text = re.sub(r"^([a-z_]+): ", r"`\1`: ", text)
    return re.sub(r"`[^`]*`|[<*_]", lambda match: match[0] if len(match[0]) > 1 else f"&#{ord(match[0])};", text)


def shown(given: Any) -> str:
    """Return the value of a choice."""
    return f"`{given}`" if isinstance(given, str) else f"{given:g}"


def symbol_of(key: str) -> str:
    """Return the symbol of a column.

    >>> symbol_of("DTW:valan"), symbol_of("DTW")
    ('DTW', 'DTW')
    """
    return key.partition(":")[0]
