"""The documentation: every example runs, every link leads somewhere, and the site loads nothing from elsewhere."""

from __future__ import annotations

import doctest
import importlib.util
import json
import os
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

import wayscore as ws
from docs.building import formulas, pictures, workspace
from docs.building.directives import DIRECTIVE, RUNS, every_metric, expand, meanings
from docs.building.examples import ExampleError, Runner, blocks_of
from tests.house import command
from wayscore import statistics
from wayscore.convention import Convention
from wayscore.convention.presets import CONVENTIONS
from wayscore.formats import FORMATS
from wayscore.lab.study.correlations import correlate
from wayscore.lab.study.create import PAPER, create
from wayscore.lab.study.rater_models import simulate
from wayscore.lab.study.table1 import contests
from wayscore.metrics import METRICS
from wayscore.metrics.extra import EXTRA

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))
EXEMPT = {
    "agents.md": 1,
    "bulk.md": 3,
    "geodesics.md": 3,
    "index.md": 1,
    "people.md": 3,
    "recorder.md": 2,
    "rewards.md": 1,
    "study.md": 2,
    "study-server.md": 4,
}
"""Pages with blocks that are not run, and how many; each says why."""
LINK = re.compile(r"(!?)\[[^\]]*\]\(([^)#\s]*)(?:#([^)\s]+))?\)")


def text_of(page: str) -> str:
    """Read a page."""
    return (DOCS / page).read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.soak
def test_a_page_does_what_it_says(page: str, tmp_path: Path) -> None:
    workspace.write(tmp_path)
    runner = Runner(page, tmp_path)
    done = expand(runner.run(text_of(page)), tmp_path)
    blocks = blocks_of(text_of(page))
    assert runner.counts.exempt == EXEMPT.get(page, 0)
    assert runner.counts.python == sum(b.language == "python" and not b.title and not b.exempt for b in blocks)
    assert runner.counts.commands == sum(
        len(b.commands) for b in blocks if b.language in ("sh", "console") and not b.exempt
    )
    assert not DIRECTIVE.search(done)
    assert os.fspath(tmp_path) not in done
    assert str(ROOT) not in done
    for block, line in formulas.IN_TEXT.findall(done):
        assert not (block or line) or formulas.mathml(block or line).startswith("<math>")


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    for picture, target, anchor in LINK.findall(text_of(page)):
        if re.match(r"[a-z]+:", target):
            continue
        path = (DOCS / page).parent / target if target else DOCS / page
        if picture:  # drawn when the site is built, or drawn before, from data that is not in the repository
            drawn = {(DOCS / "pictures" / f"{name}.svg").resolve() for name in pictures.PICTURES}
            assert path.resolve() in drawn or (path.parent.name == "images" and path.is_file())
        else:
            assert path.is_file(), target
            assert not anchor or anchor in anchors_of(path), f"{target}#{anchor}"


def anchors_of(path: Path) -> set[str]:
    """Return where a page can be entered: its headings as mkdocs names them, and what mkdocstrings documents."""
    found = set(re.findall(r"^::: (\S+)$", path.read_text(), re.M))
    for heading in re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```$", "", path.read_text(), flags=re.M | re.S), re.M):
        named = re.search(r"\{ #(\S+) \}", heading)
        plain = re.sub(r"[^\w\s-]", "", heading).strip().lower()
        found.add(named[1] if named else re.sub(r"[-\s]+", "-", plain))
    return found


@pytest.mark.parametrize("page", PAGES)
def test_a_page_explains_what_a_query_is(page: str) -> None:
    written = " ".join(re.sub(r"^```.*?^```$", "", text_of(page), flags=re.M | re.S).split())
    if re.search(r"\bquer(?:y|ies)\b", written):
        assert re.search(r"(?:your|the) agent's trajector|trajectory of an agent", written)


def test_every_public_name_is_documented() -> None:
    listed = re.findall(r"^::: wayscore\.(\w+)$", text_of("api.md"), re.M)
    assert sorted(listed) == sorted(ws.__all__)
    of_statistics = re.findall(r"^::: wayscore\.statistics\.(\w+)$", text_of("api.md"), re.M)
    assert sorted(of_statistics) == sorted(statistics.__all__)


@pytest.mark.soak
def test_the_readme_does_what_it_says(tmp_path: Path) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    workspace.write(tmp_path)
    runner = Runner("README.md", tmp_path)
    runner.run(text)
    assert (runner.counts.python, runner.counts.commands, runner.counts.exempt) == (2, 5, 2)
    for _, target, anchor in LINK.findall(text):
        assert (ROOT / target).is_file(), target
        assert not anchor or anchor in anchors_of(ROOT / target), f"{target}#{anchor}"


def test_the_readme_shows_the_demo(tmp_path: Path) -> None:
    (table,) = re.findall(r"^```text\n(.*?)^```$", (ROOT / "README.md").read_text(encoding="utf-8"), re.M | re.S)
    arguments = ["demo", "--out", os.fspath(tmp_path / "demo")]
    printed = command(*arguments, columns=100).output.splitlines()
    assert [line for line in table.splitlines() if line not in printed] == []


@pytest.mark.soak
def test_the_notebook_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("nbclient", "ipykernel", "matplotlib"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed")
    for variable in ("JUPYTER_RUNTIME_DIR", "JUPYTER_DATA_DIR", "JUPYTER_CONFIG_DIR", "IPYTHONDIR"):
        monkeypatch.setenv(variable, os.fspath(tmp_path / "jupyter"))
    command = [sys.executable, "-c", EXECUTE, os.fspath(ROOT / "examples" / "evaluate.ipynb")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    shown = json.loads(done.stdout.splitlines()[-1])
    assert shown == [[], ["text/html"], ["text/html"], ["text/html"], ["text/html"], ["image/png"]]
    assert (tmp_path / "wayscore-notebook" / "gallery.pdf").is_file()


EXECUTE = """
import json, os, sys
import nbformat
from nbclient import NotebookClient

notebook = nbformat.read(sys.argv[1], as_version=4)
cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
assert not any(cell.outputs or cell.execution_count for cell in cells), "strip the outputs"
NotebookClient(notebook, timeout=300, resources={"metadata": {"path": os.getcwd()}}).execute()
kinds = [[kind for output in cell.outputs for kind in output.data if kind != "text/plain"] for cell in cells]
print(json.dumps(kinds))
"""
"""Runs a notebook in this folder and prints what each cell shows; a process of its own, since it has an event loop."""


def test_what_is_said_of_the_demo(tmp_path: Path) -> None:
    assert "only SED, DTW, nDTW and SDTW notice all of them" in " ".join(text_of("metrics/index.md").split())
    shown = Runner("page.md", tmp_path).run("```console\n$ wayscore demo\n```\n")
    assert "SED, DTW, nDTW and SDTW notice every fault." in shown


@pytest.mark.soak
def test_what_is_said_of_directions() -> None:
    """The ranges of the table in study.md: what nDTW wins against NE, and how often they tie."""
    found: dict[bool, list[tuple[int, int]]] = {True: [], False: []}
    for seed, sampler in ((1, "near"), (2, "near"), (3, "near"), (1, "start"), (1, "independent")):
        study = create("UC", seed=seed, sampler=sampler, **PAPER["UC"])  # type: ignore[arg-type]
        rankings = simulate(study, seed=seed)
        for directed, pairs in found.items():
            (against_ne,) = (
                one for one in contests(correlate(study, rankings, directed=directed)) if one.rival == "NE"
            )
            pairs.append((against_ne.positive, against_ne.ties))
    for directed, sign in ((False, "sign not changed"), (True, "sign changed")):
        wins, ties = ([min(row), max(row)] for row in zip(*found[directed], strict=True))
        row = f"| simulated raters, {sign} | {wins[0]} to {wins[1]} | {ties[0]} to {ties[1]} |"
        assert row in text_of("study.md")


def test_every_page_is_in_the_navigation() -> None:
    listed = re.findall(r"([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.M)
    assert sorted(listed) == PAGES


@pytest.mark.parametrize("symbol", METRICS)
def test_every_metric_has_its_page(symbol: str) -> None:
    page = text_of(f"metrics/{symbol.lower()}.md")
    assert f"# {symbol}\n" in page
    assert f"<!-- facts {symbol} -->" in page
    assert f"pictures/{symbol}.svg" in page
    assert "## Pitfalls" in page


def test_everything_is_explained() -> None:
    extra, moving, formats = map(text_of, ("metrics/extra.md", "moving.md", "formats.md"))
    assert [symbol for symbol in EXTRA if f"<!-- facts {symbol} -->" not in extra] == []
    assert {name for *_, names in RUNS.values() for name in names} == set(CONVENTIONS)
    assert [name for name in CONVENTIONS if f"--convention {name}" not in moving and name != "paper"] == []
    assert len(meanings()) == len(fields(Convention)) - 3  # but for name, about and metrics
    printed = " ".join(re.findall(r"print\(.*\)  # (.*)", formats)).split()
    assert [name for name in FORMATS if name not in printed and name != "street"] == []
    assert "--convention touchdown-vlnt" in formats  # streets are read through the command
    assert {f"d{number}" for number in range(1, 22)} <= anchors_of(DOCS / "disagreements.md")


def test_formulas() -> None:
    assert doctest.testmod(formulas).failed == 0
    for metric in every_metric().values():
        assert metric.formula
        assert formulas.mathml(metric.formula, block=True).startswith('<math display="block">')
    inside = formulas.mathml("SR * (1 - ED / max(|A|, 2))")
    assert inside.index("<mo>·</mo>") < inside.index("<mfrac><mrow><mi>ED</mi></mrow>")
    assert "<mo>∑" not in inside
    # What a fraction's line holds together needs no parentheses; what a power applies to does.
    assert formulas.mathml("1 / (2 + 3)") == (
        "<math><mfrac><mrow><mn>1</mn></mrow><mrow><mn>2</mn><mo>+</mo><mn>3</mn></mrow></mfrac></math>"
    )
    assert "(" in formulas.mathml("(2 + 3)^2")


@pytest.mark.parametrize("wrong", ["exp(", "1 +", "|R", "a ; b", ")", "", "d(q,"])
def test_formulas_that_make_no_sense(wrong: str) -> None:
    with pytest.raises(ValueError, match="cannot read the formula"):
        formulas.mathml(wrong)


@pytest.mark.parametrize("name", pictures.PICTURES)
@pytest.mark.soak
def test_pictures(name: str) -> None:
    drawn = pictures.svg(name)
    assert drawn.startswith(b"<?xml")
    assert name != "nDTW" or drawn == pictures.svg(name)  # the same bytes every time


@pytest.mark.parametrize(
    ("page", "message"),
    [
        ("```python\nprint(1 + 1)  # 3\n```", r"prints \['2'\], but its page says \['3'\]"),
        ("```python\n>>> 1 + 1\n3\n\n```", "Got:\n    2"),
        ("```python\n1 / 0\n```", "ZeroDivisionError"),
        ("```sh\nwayscore score nothing.json -r nowhere.json\n```", "fails: wayscore: nowhere.json"),
        ("```sh\nrm results.json\n```", "only the command wayscore is run here"),
    ],
)
def test_an_example_that_lies_is_found(page: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ExampleError, match=message):
        Runner("page.md", tmp_path).run(f"Text.\n\n{page}\n")


def test_what_a_console_shows(tmp_path: Path) -> None:
    page = "```console\n$ wayscore conventions --diff paper \\\n    r4r-hops\n```\n"
    runner = Runner("page.md", tmp_path)
    shown = runner.run(page)
    assert shown.startswith(
        "```console\n$ wayscore conventions --diff paper \\\n    r4r-hops\ndistance: paper given, r4r-hops hops\n"
    )
    assert runner.counts.commands == 1
    assert (
        Runner("page.md", tmp_path).run("<!-- not run: a joke -->\n```sh\nrm -rf /\n```\n").endswith("rm -rf /\n```\n")
    )


def test_directives_that_do_not_exist(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="there is no directive 'fact'"):
        expand("<!-- fact nDTW -->", tmp_path)
