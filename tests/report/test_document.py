"""Documents in their forms: alignment, blocks, cuts and styles of text, and the parts of every other form."""

from __future__ import annotations

import re

import pytest

from wayscore import OptionError
from wayscore.report.document import PLAIN, Cell, Document, Line, Table, breadth, text_table

ROWS = [["a", "1"], ["longer", "1,000"]]
NAMES = Table(["name", "n\nepisodes"], ROWS)
WHOLE = Document(
    [
        "Over 3 episodes.",
        Table(["run", "SR"], [["a_1", Cell("12.3", " ± 1", "[1, 2]", "*", bold=True)]], "Means", ["A note."]),
        Line("wayscore|a:`1`", "code"),
        Line("use <<repeats=drop>>", "warning"),
    ],
    data=[{"run": "a_1"}, {"run": "b"}],
    records=[{"run": "=a_1", "SR": 12.3, "NE": None}],
)


def lines(table: Table, width: int = 100, color: bool = False) -> list[str]:
    (block,) = text_table(table, width, color)
    return block


def test_columns_are_aligned() -> None:
    assert lines(NAMES) == ["name           n", "        episodes", "─" * 16, "a              1", "longer     1,000"]
    assert lines(Table(["name", "n"], ROWS, left=2))[-2:] == ["a       1", "longer  1,000"]
    assert lines(Table(["a", "b"], [])) == ["a  b", "────"]
    assert lines(NAMES, 15)[-2:] == ["a             1", "longer    1,000"]  # closer, where that is enough


@pytest.mark.parametrize("most", range(10, 17))
def test_the_widest_columns_are_cut(most: int) -> None:
    found = lines(Table(["name", "n\nepisodes"], ROWS, left=2), most)
    assert max(map(len, found)) == max(most, 4 + 2 + 4)
    assert ("…" in "".join(found)) == (most < 15)  # closer columns fit into 15


def test_cells_of_several_lines_and_styles() -> None:
    grid = Table(["", "x", "y"], [["a", Cell("12.3", below="[1, 2]", bold=True), Cell("4", " (1 unreachable)")]])
    assert lines(grid)[2:] == ["a  12.3 [1, 2]  4 (1 unreachable)"]
    coloured = lines(grid, color=True)
    assert coloured[2] == f"a  \x1b[1m12.3{PLAIN}\x1b[2m [1, 2]{PLAIN}  4 (1 unreachable)"
    below = lines(Table(["", "x"], [["a", Cell("12.3", below="[1, 2]")]]), 9)
    assert below[2:] == ["a    12.3", "   [1, 2]"]
    cut = lines(Table(["", "x"], [["a", Cell("12.3", below="[1, 2]")]]), 8, color=True)
    assert cut[2] == "a  12.3…"


def test_wide_and_combining_characters() -> None:
    assert [breadth(text) for text in ("abc", "↑", "代理", "e\u0301")] == [3, 1, 4, 1]
    grid = Table(["run", "SR"], [["代理", "1"], ["ab", "2"]])
    assert lines(grid)[2:] == ["代理   1", "ab     2"]
    assert lines(Table(["代理人代理人", "n"], []), 10)[0] == "代理人…  n"


def test_long_lines_are_broken_and_short_ones_are_left() -> None:
    text = Document([Line("Means over 3 episodes", "bold"), "   indented", NAMES]).render(width=20)
    assert text.splitlines()[:5] == ["Means over 3", "episodes", "", "   indented", ""]
    assert Document([Line("note", "dim")]).render(color=True) == f"\x1b[2mnote{PLAIN}\n"
    signature = Line("x" * 50, "code")
    assert Document(["one", "two", signature, signature]).render(width=20) == "\n".join(
        ["one", "two", "", "x" * 50, "x" * 50, ""]
    )


@pytest.mark.parametrize(("width", "heads"), [(13, ["abc"]), (10, ["abc"]), (9, ["ab", "c"]), (5, ["a", "b", "c"])])
def test_blocks_hold_as_many_columns_as_fit(width: int, heads: list[str]) -> None:
    table = Table(["n", *"abc"], [["1", "23", "23", "23"]])
    blocks = text_table(table, width)
    assert ["".join(block[0].split()[1:]) for block in blocks] == heads
    assert [line for block in blocks for line in block if len(line) > width] == []
    assert Document([table]).render(width=width).count("\n\n") == len(heads) - 1


FORMS = {
    "text": """\
Over 3 episodes.

Means

run  SR
────────────────────
a_1  12.3 ± 1 [1, 2]

A note.

wayscore|a:`1`
warning: use --repeats drop
""",
    "markdown": """\
Over 3 episodes.

**Means**

| run | SR |
|---|---:|
| a_1 | **12.3**\\* ± 1 [1, 2] |

A note.

`wayscore|a:'1'`

> warning: use --repeats drop
""",
    "latex": r"""% Over 3 episodes.
% Means
\begin{tabular}{lc}
\toprule
run & SR \\
\midrule
a\_1 & \textbf{12.3}$^{*}$ $\pm$ 1 \\
 & \scriptsize [1, 2] \\
\bottomrule
\end{tabular}
% needs \usepackage{booktabs}
% A note.
% wayscore|a:`1`
% warning: use --repeats drop
""",
    "html": """\
<div><p>Over 3 episodes.</p>
<table><caption>Means</caption><thead><tr><th scope="col">run</th><th scope="col">SR</th></tr></thead>\
<tbody><tr><th scope="row">a_1</th><td><b>12.3</b><sup>*</sup> ± 1<br><span>[1, 2]</span></td></tr></tbody></table>
<p>A note.</p>
<p><code>wayscore|a:`1`</code></p>
<p><b>warning:</b> use &lt;&lt;repeats=drop&gt;&gt;</p></div>
""",
    "json": '{"run": "a_1"}\n{"run": "b"}\n',
    "csv": "run,SR,NE\n'=a_1,12.3,\n",
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_to_the_letter(form: str) -> None:
    assert re.sub(' style="[^"]*"', "", WHOLE.render(form)) == FORMS[form]
    assert str(WHOLE) + "\n" == FORMS["text"]
    assert WHOLE._repr_html_() == WHOLE.render("html")


def test_forms_that_do_not_exist() -> None:
    with pytest.raises(OptionError, match=r"there is no format 'pdf'\. Known: text, json, csv, markdown, latex, html"):
        WHOLE.render("pdf")
    with pytest.raises(OptionError, match="there is no format 'jsn'; did you mean 'json'"):
        WHOLE.render("jsn")
    with pytest.raises(OptionError, match="there is no table for CSV here"):
        Document(["words"]).render("csv")
