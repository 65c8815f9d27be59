"""What verbs are built from: options and arguments, what they hand to the functions behind them, and progress."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.cli.test_cli import invoke
from wayscore.cli import options, output
from wayscore.evaluation.policies import POLICIES

UNNEEDED = "rich pyarrow scipy pandas networkx numpy.ma wayscore.evaluation.comparison wayscore.cli.demo".split()
GRAPH = [
    {"image_id": a, "included": True, "unobstructed": [a != b and abs(i - j) == 1 for j, b in enumerate("abcd")]}
    | {"pose": [1, 0, 0, float(i), 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]}
    for i, a in enumerate("abcd")
]


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A graph of four nodes in a row, two references and a run, in the current folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "S_connectivity.json").write_text(json.dumps(GRAPH))
    reference = {"path_id": 1, "scan": "S", "path": [*"abcd"], "heading": 0, "instructions": ["go", "walk"]}
    (tmp_path / "references.json").write_text(json.dumps([reference]))
    run = [
        {"instr_id": f"1_{n}", "trajectory": [[node, 0, 0] for node in path]} for n, path in enumerate(("abc", "ab"))
    ]
    (tmp_path / "run.json").write_text(json.dumps(run))
    return tmp_path


def test_a_score_loads_nothing_that_it_does_not_need(data: Path) -> None:
    words = ["wayscore", "score", "run.json", "-r", "references.json", "-g", "."]
    script = (
        f"import sys; sys.argv = {words!r}\n"
        "from wayscore.cli.app import main\n"
        "try:\n    main()\n"
        f"finally:\n    print('loaded', [name for name in {UNNEEDED!r} if name in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", script], cwd=data, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert "nDTW" in result.stdout
    assert result.stdout.endswith("loaded []\n")


def test_collections_are_rare_only_in_the_command() -> None:
    script = "import gc, wayscore.cli.app; print(gc.get_threshold()[0] < 10_000)"
    result = subprocess.run([sys.executable, "-c", script], env=os.environ, capture_output=True, text=True, check=True)
    assert result.stdout == "True\n"


def test_policies_are_those_of_episodes() -> None:
    assert {name: choices for name, (choices, _) in options.POLICIES.items()} == POLICIES


class Calls(list[tuple[tuple[Any, ...], dict[str, Any]]]):
    """What a function was called with."""

    def __init__(self, make: Any) -> None:
        self.make = make

    def __call__(self, *arguments: Any, **settings: Any) -> Any:
        self.append((arguments, settings))
        return self.make(*arguments, **settings)


class FakeResult:
    """A result that remembers where it was saved."""

    def __init__(self, name: str, *runs: str) -> None:
        self.name, self.runs, self.warnings = name, runs, [f"{name}: use <<repeats=drop>>"]

    def save(self, path: Path) -> None:
        path.write_text(self.name)


@pytest.fixture
def evaluation(data: Path, monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """The functions behind score and compare, replaced by some that note what they get."""
    comparison = SimpleNamespace(results=[], warnings=["careful"])
    found = SimpleNamespace(
        evaluate=Calls(lambda run, *_, name, **__: FakeResult(name or options.stem(run), run)),
        pool=Calls(lambda results, name: FakeResult(name, *(run for one in results for run in one.runs))),
        compare=Calls(lambda *_, **__: comparison),
        render=Calls(lambda results, form, **_: f"{form}: {' '.join(one.name for one in results)}\n"),
        render_comparison=Calls(lambda _, form, **__: f"compared as {form}\n"),
        write_page=Calls(lambda *_, **__: None),
    )
    for home, name in (("evaluator", "evaluate"), ("agents", "pool"), ("comparison", "compare")):
        monkeypatch.setattr(f"wayscore.evaluation.{home}.{name}", getattr(found, name))
    for name in ("render", "render_comparison", "write_page"):
        monkeypatch.setattr(f"wayscore.report.{name}", getattr(found, name), raising=False)
    return found


FILES = ("-r", "references.json", "-g", ".")


def test_score_hands_on_what_was_given(evaluation: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    result = invoke(
        "score", "run.json", *FILES, "--metrics", "nDTW,SDTW", "--metrics", "SR,nDTW", "--path-step", "0.25", status=0
    )
    assert result.stdout == "text: run\n"
    assert result.stderr == ""  # text has its warnings itself
    (((run, prepared, _), settings),) = evaluation.evaluate
    assert (run, prepared.references.name, [*prepared.graphs]) == ("run.json", "references.json", ["S"])
    progress = settings.pop("progress")
    progress("scoring", 1, 2)
    assert settings == {
        "convention": None,
        "threshold": None,
        "metrics": ["nDTW", "SDTW", "SR"],
        "name": None,
        **dict.fromkeys(POLICIES),
        "repeats": None,
        "navmesh": None,
        "walkable": False,
        "path_step": 0.25,
        "cluster": "auto",
        "resamples": 10_000,
        "seed": 0,
        "workers": None,
        "engine": "local",
        "scheduler": None,
        "chunk": 65_536,
        "episodes": None,
        "run_format": None,
    }
    assert evaluation.render[0][1] == {"width": 140, "color": False, "split_by": None, "sort": None}


def test_runs_of_one_name_are_runs_of_one_agent(evaluation: SimpleNamespace) -> None:
    words = ("B=b/1.json", "run.json", "B=b/2.json", "C=*.json", "--save", "saved", "--episodes", "out.csv")
    result = invoke(
        "score", *words, *FILES, "--format", "LATEX", "--split-by", "scan", "--sort", "SR", "--html", "p.html", status=0
    )
    assert result.stdout == "latex: B run C\n"
    assert [(run, settings["name"], settings["episodes"]) for (run, *_), settings in evaluation.evaluate] == [
        ("b/1.json", "B", "out-B-1.csv"),
        ("b/2.json", "B", "out-B-2.csv"),
        ("run.json", None, "out-run.csv"),
        ("*.json", "C", "out-C.csv"),
    ]
    assert len({id(references) for (_, references, _), _ in evaluation.evaluate}) == 1
    assert [name for (_, name), _ in evaluation.pool] == ["B"]
    assert sorted(path.name for path in Path("saved").iterdir()) == ["B.parquet", "C.parquet", "run.parquet"]
    assert evaluation.write_page[0][0][0] == Path("p.html")
    assert (evaluation.render[0][1]["split_by"], evaluation.render[0][1]["sort"]) == ("scan", "SR")


def test_compare_hands_on_what_was_given(evaluation: SimpleNamespace) -> None:
    result = invoke(
        "compare", "A=a.json", "A=b.json", "run.json", "--baseline", "A", "--top", "3", "-f", "json", status=0
    )
    assert (result.stdout, result.stderr) == ("compared as json\n", "wayscore: careful\n")
    (((runs, references, graphs), settings),) = evaluation.compare
    assert (runs, references, graphs) == (["a.json", "b.json", "run.json"], None, None)
    assert settings["names"] == ("A", "A", None)
    assert (settings["baseline"], settings["top"], settings["reader"]) == ("A", 3, {})
    invoke("compare", "a.json", "b.json", "--html", "page.html", status=0)
    assert evaluation.compare[1][1]["names"] == (None, None)
    assert evaluation.write_page[0][0][0] == Path("page.html")


@pytest.mark.parametrize("count", [0, 2])
def test_validate_hands_on_what_was_given(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    class Found(list[str]):
        def lines(self) -> list[str]:
            return self

        def to_dict(self) -> dict[str, int]:
            return {"count": len(self)}

    calls = Calls(lambda *_, **__: Found(["wrong"] * count))
    monkeypatch.setattr("wayscore.evaluation.validation.validate", calls)
    result = invoke("validate", "run.json", "-r", "references.json", "--run-format", "r2r", "--reader", "language=en")
    assert (result.exit_code, result.stdout) == (int(count > 0), "wrong\n" * count)
    expected = {"most": 20, "run_format": "r2r", "reader": {"language": "en"}}
    assert calls == [(("run.json", "references.json", None), expected)]
    result = invoke("validate", "run.json", "-r", "references.json", "-g", "graphs", "--all", "--format", "json")
    assert json.loads(result.stdout) == {"count": count}
    assert calls[1][1]["most"] is None


def test_reader_settings_have_a_value() -> None:
    result = invoke("validate", "run.json", "-r", "references.json", "--reader", "language", status=2)
    assert result.stderr.startswith("wayscore: --reader takes NAME=VALUE, such as path_type=player, not 'language'")


def test_names_of_runs(data: Path) -> None:
    Path("lr=1.json").touch()
    assert options.split_name("lr=1.json") == (None, "lr=1.json")
    assert options.split_name("lr=*.json") == (None, "lr=*.json")
    assert options.split_name("lr=2.json") == ("lr", "2.json")
    assert options.split_name("my agent=s3://bucket/*.parquet") == ("my agent", "s3://bucket/*.parquet")
    assert options.split_name("=x.json") == (None, "=x.json")


def test_a_bar_is_shown_when_work_takes_long(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(output, "PATIENCE", 0)
    with output.progress(2) as tell:
        tell("no terminal")
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with output.progress(2) as tell:
        tell("first")
        tell("halfway", 50, 100)
    assert "50/100" in capsys.readouterr().err
    monkeypatch.setattr(output, "PATIENCE", 60)
    with output.progress(2) as tell:
        tell("first")
    assert capsys.readouterr() == ("", "")
