"""A table in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from wayscore.foreign import shown


def markdown_table(heads: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> list[str]:
    r"""Return the lines of a Markdown table whose first `left` columns are words and the others numbers.

    >>> print(*markdown_table(["run", "SR"], [["agent", "21.4"]]), sep="\n")
    | run | SR |
    |---|---:|
    | agent | 21.4 |
    """
    lines = ["| " + " | ".join(cells) + " |" for cells in (heads, *rows)]
    return [lines[0], "|" + "---|" * left + "---:|" * (len(heads) - left), *lines[1:]]


def escaped(text: str) -> str:
    """Return text that means nothing to Markdown."""
    return shown(text, "markdown")
