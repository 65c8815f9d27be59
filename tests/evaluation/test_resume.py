"""Evaluations that are killed and resumed: what was finished is kept if it is what is wanted now, else made again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import wayscore as ws
from tests.evaluation.gates import PATIENCE, Gate, part, wait_for
from tests.house import command
from tests.town import SAMPLES, Town, evaluated, read_scores, write_files, write_parquet
from wayscore.formats import plan

PIECES = 6
posix = pytest.mark.skipif(not Path("/proc/self").exists(), reason="kills processes, and looks at them in /proc")


@pytest.fixture
def unfinished(town: Town, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run all of whose parts are finished, but not put together: the last episodes are not answered."""
    monkeypatch.setattr(plan, "ROWS", 30)
    run = write_parquet(tmp_path / "agent.parquet", town.answers.slice(0, 110), rows=30)
    with pytest.raises(ws.FormatError, match=r'10 of the 120 .*; use missing="skip" or missing="zero"'):
        resumed(town, run, missing=None)
    assert len(list(part(tmp_path, 0).parent.glob("*.parquet"))) == 4
    return run


def resumed(town: Town, run: Path, out: str = "scores.parquet", **options: Any) -> tuple[int, ws.Result]:
    """Resume, and say how many pieces were scored."""
    told: list[str] = []
    given = {"duplicate": None, "missing": "skip", **options}
    target = run.parent / out
    found = evaluated(run, town, episodes=target, resume=True, progress=lambda what, *_: told.append(what), **given)
    return told.count("scoring"), found


def swapped(town: Town, paths: bool = True) -> ws.References:
    """The references with the goals, and the last two nodes of the paths, swapped."""
    episodes = {}
    for name, one in town.references.episodes.items():
        path = [*one.path[:-2], one.path[-1], one.path[-2]] if paths else one.path
        episodes[name] = replace(one, path=path, goals=one.goals[::-1])
    return replace(town.references, episodes=episodes)


CHANGES: dict[str, tuple[int, Callable[[Town], dict[str, Any]]]] = {
    "nothing": (0, lambda town: {}),
    "missing": (0, lambda town: {"missing": "zero"}),
    "chunk": (0, lambda town: {"chunk": 7}),
    "seed": (0, lambda town: {"seed": 5, "resamples": 20}),
    "duplicate": (4, lambda town: {"duplicate": "all"}),
    "start": (4, lambda town: {"start": "keep"}),
    "threshold": (4, lambda town: {"threshold": 2.0}),
    "convention": (4, lambda town: {"convention": "duet"}),
    "repeats": (4, lambda town: {"repeats": "drop"}),
    "metrics": (4, lambda town: {"metrics": "SR,nDTW"}),
    "cluster": (4, lambda town: {"cluster": "none"}),
    "references": (4, lambda town: {"references": swapped(town)}),
    "goals": (4, lambda town: {"references": swapped(town, paths=False)}),
    "graphs": (4, lambda town: {"graphs": {scene: graph.hops for scene, graph in town.graphs.items()}}),
}


@pytest.mark.parametrize("change", CHANGES)
def test_only_what_is_the_same_is_kept(town: Town, unfinished: Path, change: str) -> None:
    count, options = CHANGES[change]
    scored, found = resumed(town, unfinished, **options(town))
    assert scored == count
    kept = read_scores(unfinished.parent / "scores.parquet")
    again, fresh = resumed(town, unfinished, **options(town))
    assert again == 4  # nothing was left of it
    assert found.intervals() == fresh.intervals()
    assert str(found.signature) == str(fresh.signature)
    assert found.problems == fresh.problems
    assert kept.equals(read_scores(unfinished.parent / "scores.parquet"))


def test_a_changed_run_is_scored_again(town: Town, unfinished: Path) -> None:
    write_parquet(unfinished, town.answers.slice(10, 110), rows=30)
    scored, found = resumed(town, unfinished)
    assert (scored, len(found)) == (4, 110)
    assert list(found.episodes) == town.answers["episode"].to_pylist()[10:]


def test_torn_parts_are_made_again(town: Town, unfinished: Path) -> None:
    cut, empty, bare = (part(unfinished.parent, number) for number in range(3))
    cut.write_bytes(cut.read_bytes()[:-40])
    empty.write_bytes(b"")
    pq.write_table(pq.read_table(bare).replace_schema_metadata(None), bare)  # says nothing of itself
    assert resumed(town, unfinished)[0] == 3


def test_parts_that_say_too_little_are_made_again(town: Town, unfinished: Path) -> None:
    for number, damage in ((0, {b"wayscore.partial": b"not base64!"}), (1, {b"wayscore.partial": b""})):
        path = part(unfinished.parent, number)
        table = pq.read_table(path)
        pq.write_table(table.replace_schema_metadata({**table.schema.metadata, **damage}), path)
    assert resumed(town, unfinished)[0] == 2


def test_duplicates_across_parts_are_not_forgotten(town: Town, tmp_path: Path) -> None:
    run = write_parquet(tmp_path / "walks.parquet", town.walks)
    for _ in range(2):
        with pytest.raises(ws.FormatError, match=r"are answered more than once: .*; use duplicate="):
            resumed(town, run)
    assert not (tmp_path / "scores.parquet").exists()
    assert len(resumed(town, run, duplicate="all")[1]) == len(town.walks)


def test_what_others_left_is_not_taken_over(town: Town, unfinished: Path, tmp_path: Path) -> None:
    (tmp_path / "scores.parquet.parts").rename(tmp_path / "scores.parts")
    write_parquet(unfinished, town.answers.slice(0, 25), rows=30)
    scored, found = resumed(town, unfinished, "scores")
    assert sorted(path.name for path in (tmp_path / "scores").iterdir()) == ["part-000000.parquet"]
    assert (scored, len(found)) == (1, 25)


@pytest.mark.parametrize("kept", [True, False])
def test_targets_that_must_not_be_overwritten(
    town: Town, unfinished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: bool
) -> None:
    if not kept:
        monkeypatch.setattr("wayscore.evaluation.evaluator.KEPT_ROWS", 0)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").touch()
    folder = write_files(tmp_path / "walks", town.walks, 2)
    for run, target, message in (
        (unfinished, tmp_path / "mine", "is a folder that holds other things"),
        (unfinished, unfinished, "is the run itself"),
        (folder, folder, "is the run itself"),
        (folder, folder / "rows-001.parquet", "is the run itself"),
    ):
        before = target.stat().st_mtime_ns
        with pytest.raises(ws.OutputError, match=message):
            evaluated(run, town, episodes=target)
        assert target.stat().st_mtime_ns == before
    assert (tmp_path / "mine" / "thesis.tex").exists()


def test_scores_beside_the_run(town: Town, tmp_path: Path, whole: ws.Result) -> None:
    folder = write_files(tmp_path / "walks", town.walks, 3)
    for _ in range(2):
        with pytest.raises(ws.FormatError, match="more than once"):
            evaluated(folder, town, episodes=folder / "s.parquet", resume=True, duplicate=None)
        assert (folder / "s.parquet.parts").exists()  # which is no part of the run
    found = evaluated(folder, town, episodes=folder / "s.parquet", resume=True)
    assert found.intervals() == whole.intervals()


# The process itself

SCRIPT = """
import sys
import wayscore as ws
from tests.evaluation.gates import Gate

if __name__ == "__main__":
    run, folder, out, gates, episode, workers = sys.argv[1:]
    given = {"duplicate": "all", "missing": "skip", "metrics": Gate(gates, episode).metrics}
    ws.evaluate(run, f"{folder}/references.json", f"{folder}/connectivity", **given, episodes=out, resume=True,
                workers=int(workers), resamples=50)
"""


@contextmanager
def process_at(town: Town, run: Path, number: int, workers: int = 1) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """Evaluate in a process of its own, until it works on a piece; give it, and the process that waits there."""
    home = run.parent
    first = number * len(town.walks) // PIECES
    names = town.walks["episode"].to_pylist()
    new = [name for name in names[first : first + len(town.walks) // PIECES] if name not in names[:first]]
    gate = Gate(str(home), new[0])
    gate.shut()
    (home / "script.py").write_text(SCRIPT)
    words = [home / "script.py", run, town.folder, home / "scores.parquet", home, new[0], workers]
    root = str(Path(__file__).parents[2])
    with subprocess.Popen([sys.executable, *map(str, words)], env={**os.environ, "PYTHONPATH": root}) as process:
        (waiting,) = wait_for(gate.waiting, lambda: process.poll() is None)
        yield process, waiting
        os.kill(process.pid, signal.SIGKILL)
        assert process.wait(PATIENCE) == -signal.SIGKILL
    assert not (home / "scores.parquet").exists()
    gate.file.unlink()


@posix
@pytest.mark.soak
def test_killed_and_resumed(town: Town, tmp_path: Path) -> None:
    run = write_files(tmp_path / "walks", town.walks, PIECES)

    def parts() -> dict[str, tuple[int, int]]:
        found = part(tmp_path, 0).parent.glob("*.parquet")
        return {path.name: (path.stat().st_ino, path.stat().st_mtime_ns) for path in found}

    with process_at(town, run, 3):
        first = parts()
    assert sorted(first) == [part(tmp_path, number).name for number in range(3)]
    part(tmp_path, 4).with_suffix(".parquet.unfinished").write_text("what another one left")
    with process_at(town, run, 5):
        second = parts()
    assert len(second) == 5
    assert {name: second[name] for name in first} == first  # not made again
    known = ws.load_references(town.folder / "references.json")
    metrics = Gate(str(tmp_path), "").metrics
    scored, found = resumed(town, run, references=known, duplicate="all", metrics=metrics)
    assert scored == PIECES - 5
    fresh = evaluated(town.walks, town, references=known, metrics=metrics)
    assert found.intervals() == fresh.intervals()
    assert str(found.signature) == str(fresh.signature)
    assert found.to_arrow().equals(fresh.to_arrow())
    assert not part(tmp_path, 0).parent.exists()


@posix
@pytest.mark.soak
def test_workers_end_with_their_parent(town: Town, tmp_path: Path) -> None:
    run = write_files(tmp_path / "walks", town.walks, PIECES)
    with process_at(town, run, 3, workers=2) as (process, worker):
        assert worker != process.pid
        assert alive(worker)
    wait_for(lambda: not alive(worker))


def alive(process: int) -> bool:
    """Say whether a process runs."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{process}/status").read_text()
    except FileNotFoundError:
        return False


def test_the_command_resumes(town: Town, unfinished: Path, tmp_path: Path) -> None:
    words = ["score", unfinished, *town.files, "--resamples", SAMPLES, "--episodes", tmp_path / "scores.parquet"]
    wrong = command(*words, "--resume")
    assert (wrong.exit_code, wrong.stdout) == (1, "")
    assert "have no answer" in wrong.stderr
    assert command(*words, "--resume", "--missing", "zero").exit_code == 0
    assert len(read_scores(tmp_path / "scores.parquet")) == 120
