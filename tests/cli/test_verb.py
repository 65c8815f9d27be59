"""What verbs are built from: options and arguments, what they hand to the functions behind them, and progress."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.house import command as invoke, write_house, write_run
from wayscore.cli import options, output
from wayscore.evaluation import evaluator
from wayscore.evaluation.policies import POLICIES

UNNEEDED = "rich pyarrow scipy pandas networkx numpy.ma wayscore.evaluation.comparison wayscore.cli.demo".split()
FILES = ("-r", "references.json", "-g", "connectivity")
FEW = ("--metrics", "nDTW,SR", "--resamples", "9")


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """References, graphs and four runs, in the current folder."""
    monkeypatch.chdir(tmp_path)
    write_house(tmp_path, [("S", "abcd", 2)])
    for name, walks in {"run": ("abc", "ab"), "good": ("abcd", "abcd"), "fair": ("abcd", "abc"), "bad": "aa"}.items():
        write_run(tmp_path / f"{name}.json", dict(zip(("1_0", "1_1"), walks, strict=True)))
    return tmp_path


def test_a_score_loads_nothing_that_it_does_not_need(data: Path) -> None:
    words = ["wayscore", "score", "run.json", *FILES]
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


def test_every_option_of_score_reaches_evaluate(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = []
    real = evaluator.evaluate

    def watched(*given: Any, **settings: Any) -> Any:
        calls.append((given, settings))
        return real(*given, **settings)

    monkeypatch.setattr(evaluator, "evaluate", watched)
    words = ("--metrics", "nDTW,SDTW", "--metrics", "SR,nDTW", "--repeats", "drop")
    assert invoke("score", "run.json", *FILES, *words, status=0).stderr == ""  # text has its warnings itself
    (((run, prepared, _), settings),) = calls
    assert (run, prepared.references.name, prepared.graphs) == ("run.json", "references.json", "connectivity")
    assert callable(settings.pop("progress"))
    not_given = "convention threshold name navmesh path_step workers scheduler episodes run_format".split()
    assert settings == {
        **dict.fromkeys((*not_given, *POLICIES)),
        "metrics": ["nDTW", "SDTW", "SR"],
        "repeats": "drop",
        "walkable": False,
        "cluster": "auto",
        "resamples": 10_000,
        "seed": 0,
        "engine": "local",
        "chunk": 65_536,
    }


def test_runs_of_one_name_are_runs_of_one_agent() -> None:
    runs = ("C=b*.json", "B=good.json", "run.json", "B=fair.json")
    written = ("--save", "saved", "--episodes", "out.csv", "--html", "page.html")
    printed = ("--format", "MARKDOWN", "--split-by", "scan", "--sort", "nDTW")
    result = invoke("score", *runs, *FILES, *FEW, *written, *printed, status=0)
    rows = [line.split(" | ") for line in result.stdout.splitlines()]
    assert [row[0] for row in rows[2:5]] == ["| B", "| run", "| C"]
    assert "±" in rows[2][1]
    assert "**Means of B by scan**" in result.stdout
    assert sorted(map(str, Path().glob("out*"))) == ["out-B-1.csv", "out-B-2.csv", "out-C.csv", "out-run.csv"]
    assert sorted(path.name for path in Path("saved").iterdir()) == ["B.parquet", "C.parquet", "run.parquet"]
    assert Path("page.html").read_text().startswith("<!")
    compared = invoke("compare", "saved/run.parquet", "saved/B.parquet", "-f", "json", status=0)
    assert [one["run"] for one in json.loads(compared.stdout)["runs"]] == ["run", "B"]


def test_compare() -> None:
    words = ("B=good.json", "B=fair.json", "run.json", *FILES, *FEW)
    result = invoke("compare", *words, "--baseline", "2", "--top", "1", "-f", "json", "--html", "page.html", status=0)
    found = json.loads(result.stdout)
    assert (found["baseline"], [one["run"] for one in found["tests"]]) == ("run", ["B", "B"])
    assert len(found["differ_most"]["better"]["B"]) == 1
    assert result.stderr == f"wayscore: {found['warnings'][0]}\n"
    assert Path("page.html").read_text().startswith("<!")
    assert invoke("compare", *words, status=0).stderr == ""


def test_validate() -> None:
    result = invoke("validate", "run.json", *FILES, "--run-format", "r2r", status=0)
    assert (result.stdout, result.stderr) == ("run: 2 answers to 2 episodes of references.json, no problem found\n", "")
    write_run(Path("run.json"), {"1_0": "abc", "1_1": "ab", **{f"9_{number}": "ab" for number in range(25)}})
    assert "9_19 and 5 more; --all lists them\n" in invoke("validate", "run.json", *FILES, status=1).stdout
    assert "9_23, 9_24\n" in invoke("validate", "run.json", *FILES, "--all", status=1).stdout


def test_reader_settings_have_a_value() -> None:
    result = invoke("validate", "run.json", "-r", "references.json", "--reader", "language", status=2)
    assert result.stderr.startswith("wayscore: --reader takes NAME=VALUE, such as path_type=player, not 'language'")


def test_names_of_runs() -> None:
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
