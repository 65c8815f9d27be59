"""Where runs come from (also addresses that fsspec reaches) and scores go to (full disks)."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import wayscore as ws
from tests.evaluation.gates import part
from tests.town import SAMPLES, Town, evaluated, read_scores, write_files, write_lines, write_parquet
from wayscore.evaluation import evaluator
from wayscore.formats import storage

LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), int(sys.argv[1])))
del sys.argv[1]
from wayscore.cli.app import main
main()
"""
PIECES = 12


@pytest.fixture
def run(town: Town, tmp_path: Path) -> Path:
    """A folder of many files."""
    return write_files(tmp_path / "walks", town.walks, PIECES)


def refused(town: Town, run: Path, out: Path, program: list[str], *words: str) -> str:
    """Evaluate in a process of its own, which must fail; return what it says."""
    options = ["--duplicate", "all", "--missing", "skip", "--resamples", str(SAMPLES), "--episodes", str(out), *words]
    command = [sys.executable, *program, "score", str(run), *town.files, *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 1, done.stderr
    assert not out.exists()
    assert not list(out.parent.rglob("*.unfinished"))
    return done.stderr


def left(town: Town, run: Path, out: Path, whole: ws.Result) -> int:
    """Resume, now that there is room; return how many pieces were left to score."""
    told: list[str] = []
    known = ws.load_references(town.folder / "references.json")
    options = {"references": known, "resume": True, "progress": lambda what, *_: told.append(what)}
    found = evaluated(run, town, episodes=out, **options)
    assert found.intervals() == whole.intervals()
    return told.count("scoring")


@pytest.mark.parametrize(("limit", "pieces"), [(60_000, 0), (8_000, PIECES)])
def test_files_that_must_not_grow(
    town: Town, run: Path, whole: ws.Result, tmp_path: Path, limit: int, pieces: int
) -> None:
    # Parts fit below the greater limit, and the whole does not; below the lesser not even a part does.
    pytest.importorskip("resource", reason="limits of processes are POSIX's")
    out = tmp_path / "scores.parquet"
    said = refused(town, run, out, ["-c", LIMITED, str(limit)], "--resume")
    assert "cannot be written: file too large" in said
    assert str(part(tmp_path, 0) if pieces else out) in said
    assert left(town, run, out, whole) == pieces


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 160 KiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=160k", "wayscore-test", str(folder)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("mounting a small disk is for the superuser of Linux")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk(town: Town, run: Path, whole: ws.Result, small_disk: Path) -> None:
    out = small_disk / "scores.parquet"
    said = refused(town, run, out, ["-m", "wayscore"], "--workers", "2", "--resume")
    assert "cannot be written: no space left on device" in said
    kept = len(list(part(small_disk, 0).parent.glob("*.parquet")))
    assert 0 < kept < PIECES
    subprocess.run(["mount", "-o", "remount,size=8m", str(small_disk)], check=True)
    assert left(town, run, out, whole) == PIECES - kept


@pytest.mark.parametrize("name", ["scores.parquet", "scores.csv", "scores.jsonl"])
def test_places_that_cannot_be_written(town: Town, tmp_path: Path, whole: ws.Result, name: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ws.OutputError, match=rf"file/{name}: cannot be written: not a directory"):
        whole.write_episodes(tmp_path / "file" / name)
    with pytest.raises(ws.OutputError, match=rf"file/{name}.*: cannot be written: not a directory"):
        evaluated(write_parquet(tmp_path / "w.parquet", town.walks), town, episodes=tmp_path / "file" / name)


def test_memory(town: Town, whole: ws.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fsspec = pytest.importorskip("fsspec")
    system = fsspec.filesystem("memory")
    home = f"/{tmp_path.name}"
    write_parquet(tmp_path / "a.parquet", town.walks.slice(0, 200))
    write_lines(tmp_path / "b.jsonl.gz", town.walks.slice(200))
    for name in ("a.parquet", "b.jsonl.gz"):
        system.pipe(f"{home}/run/{name}", (tmp_path / name).read_bytes())
    for run, rows in ((f"memory:/{home}/run", 0), (f"memory:/{home}/run/*", 0), (f"memory:/{home}/run", 9999)):
        monkeypatch.setattr(evaluator, "KEPT_ROWS", rows)
        found = evaluated(run, town, episodes=tmp_path / "out" / "scores.parquet", chunk=70)
        assert found.intervals() == whole.intervals()
        assert str(found.signature) == str(whole.signature)
        assert len(found["nDTW"]) == 600
        assert [path.name for path in (tmp_path / "out").iterdir()] == ["scores.parquet"]
    for address, message in (
        (f"memory:/{home}/run/c.parquet", r"memory://.*/c\.parquet: no such file"),
        (f"memory:/{home}/run/*.jsonl", r"memory://.*/\*\.jsonl: matches no file"),
        ("memory://nowhere/run", r"memory://nowhere/run: no such file"),
        ("nothing://run.parquet", r"nothing://run\.parquet: .*nothing"),
    ):
        with pytest.raises(ws.FormatError, match=message) as raised:
            evaluated(address, town)
        assert "\n" not in str(raised.value)


def test_files_by_address(
    town: Town, run: Path, whole: ws.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("fsspec")
    monkeypatch.setattr(evaluator, "KEPT_ROWS", 0)
    for target in ("scores.parquet", "folder"):
        found = evaluated(f"file://{run}", town, episodes=tmp_path / "out" / target)
        assert found.intervals() == whole.intervals()
        assert read_scores(tmp_path / "out" / target)["episode"].to_pylist() == town.walks["episode"].to_pylist()
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["folder", "scores.parquet"]


@pytest.mark.parametrize("name", ["scores.parquet", "scores.csv", "folder"])
def test_nothing_is_written_elsewhere(town: Town, whole: ws.Result, tmp_path: Path, name: str) -> None:
    run = write_parquet(tmp_path / "w.parquet", town.walks)
    target = f"memory://out/{name}"
    for write in (lambda: evaluated(run, town, episodes=target), lambda: whole.write_episodes(target)):
        with pytest.raises(
            ws.OutputError, match=rf"^{target}.*: files are written on this machine only; write it here"
        ):
            write()


def test_what_fails_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "file"
    with storage.replacing(str(path)) as stream:
        stream.write(b"old")
    with pytest.raises(KeyError), storage.replacing(str(path)) as stream:  # noqa: PT012
        stream.write(b"new")
        raise KeyError
    assert [(entry.name, entry.read_bytes()) for entry in path.parent.iterdir()] == [("file", b"old")]
