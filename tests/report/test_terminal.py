"""Tables and lines for a terminal: alignment, widths, cuts, styles."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from wayscore.report.terminal import PLAIN, TextPage, TextTable, breadth


def table(**settings: object) -> TextTable:
    rows = [["a", "1"], ["longer", "1,000"]]
    return TextTable(["name", "n\nepisodes"], rows=rows, **settings)  # type: ignore[arg-type]


def test_columns_are_aligned() -> None:
    assert table().lines() == [
        "name            n",
        "         episodes",
        "─" * 17,
        "a               1",
        "longer      1,000",
    ]
    assert table(left=(0, 1), space=1).lines()[-2:] == ["a      1", "longer 1,000"]
    assert table().width() == 17


def test_a_table_without_rows_has_its_heads() -> None:
    assert TextTable(["a", "b"]).lines() == ["a   b", "─────"]


@pytest.mark.parametrize("most", range(11, 18))
def test_the_widest_columns_are_cut(most: int) -> None:
    lines = table().lines(most)
    assert max(map(len, lines)) == max(most, 4 + 3 + 4)
    assert ("…" in "".join(lines)) == (most < 17)


def test_cells_of_several_lines_and_styles() -> None:
    grid = TextTable(["", "x"], rows=[["a", [("12.3", "bold"), ("\n[1, 2]", "dim")]]])
    assert grid.lines()[2:] == ["a     12.3", "    [1, 2]"]
    coloured = grid.lines(color=True)
    assert coloured[2:] == [f"a     \x1b[1m12.3{PLAIN}", f"    \x1b[2m[1, 2]{PLAIN}"]
    assert coloured[0] == f"         \x1b[1mx{PLAIN}"
    cut = grid.lines(9, color=True)
    assert re.sub("\x1b\\[\\dm", "", cut[3]) == "    [1, …"


def test_wide_and_combining_characters() -> None:
    assert [breadth(text) for text in ("abc", "↑", "代理", "e\u0301")] == [3, 1, 4, 1]
    grid = TextTable(["run", "SR"], rows=[["代理", "1"], ["ab", "2"]])
    assert grid.lines()[2:] == ["代理    1", "ab      2"]
    assert TextTable(["代理人代理人", "n"], rows=[]).lines(11)[0] == "代理人…   n"


def test_a_page_breaks_long_lines_and_leaves_short_ones() -> None:
    page = TextPage(width=20)
    page.add("Means over 3 episodes\n", table(), style="bold")
    page.add("   indented", "")
    assert page.lines[:3] == ["Means over 3", "episodes", ""]
    assert page.lines[-2:] == ["   indented", ""]
    assert str(page).endswith("   indented\n\n")
    assert page.fits(table())
    assert not TextPage(width=16).fits(table())
    coloured = TextPage(color=True)
    coloured.add("\nnote", style="dim")
    assert coloured.lines == ["", f"\x1b[2mnote{PLAIN}"]


@pytest.mark.parametrize(("width", "heads"), [(13, ["abc"]), (12, ["ab", "c"]), (9, ["ab", "c"]), (8, ["a", "b", "c"])])
def test_blocks_hold_as_many_columns_as_fit(width: int, heads: list[str]) -> None:
    def table_of(some: Sequence[str]) -> TextTable:
        return TextTable(["n", *some], space=2, rows=[["1", *("23" for _ in some)]])

    page = TextPage(width=width)
    tables = page.blocks("abc", table_of)
    assert ["".join(table.heads[1:]) for table in tables] == heads
    page.add_apart(tables)
    assert page.lines.count("") == len(heads) - 1
    assert page.blocks("", table_of) == []
