"""Where runs come from and scores go to: full disks, and addresses that fsspec reaches."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from wayscore.evaluation.streaming import score_stream

import wayscore as ws
from tests.bulk_data import ALL, SAMPLES, Town, part, read_scores, streamed, write_files, write_lines, write_parquet
from wayscore.formats import storage

LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), int(sys.argv[1])))
del sys.argv[1]
from wayscore.cli.app import main
main()
"""
PIECES = 15


@pytest.fixture
def run(town: Town, tmp_path: Path) -> Path:
    """A folder of many files."""
    return write_files(tmp_path / "walks", town.walks, PIECES)


def refused(town: Town, run: Path, out: Path, program: list[str], *words: str) -> str:
    """Stream in a process of its own, which must fail; return what it says."""
    options = ["--duplicate", "all", "--missing", "skip", "--resamples", str(SAMPLES), "--episodes", str(out), *words]
    command = [sys.executable, *program, "score", str(run), *town.files, *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 1, done.stderr
    assert not out.exists()
    assert not list(out.parent.rglob("*.unfinished"))
    return done.stderr


def finished(town: Town, run: Path, out: Path, whole: Any) -> int:
    """Resume, now that there is room; return how many pieces were left to score."""
    told: list[str] = []
    asked = ws.load_references(town.folder / "references.json")
    summary, scores = streamed(run, asked, town.graphs, out, resume=True, progress=lambda what, *_: told.append(what))
    assert scores.equals(whole[1])
    assert summary.metrics == whole[0].metrics
    return told.count("scoring")


# Full disks


@pytest.mark.parametrize(("limit", "left"), [(100_000, 0), (8_000, PIECES)])
def test_files_that_must_not_grow(town: Town, run: Path, whole: Any, tmp_path: Path, limit: int, left: int) -> None:
    # Parts fit below the greater limit, and the whole does not; below the lesser not even a part does.
    pytest.importorskip("resource", reason="limits of processes are POSIX's")
    out = tmp_path / "scores.parquet"
    said = refused(town, run, out, ["-c", LIMITED, str(limit)], "--workers", "1")
    assert "cannot be written: file too large" in said
    assert str(part(tmp_path, 0) if left else out) in said
    assert finished(town, run, out, whole) == left


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


def test_a_full_disk(town: Town, run: Path, whole: Any, small_disk: Path) -> None:
    out = small_disk / "scores.parquet"
    said = refused(town, run, out, ["-m", "wayscore"], "--workers", "2")
    assert "cannot be written: no space left on device" in said
    kept = len(list(part(small_disk, 0).parent.glob("*.parquet")))
    assert 0 < kept < PIECES
    subprocess.run(["mount", "-o", "remount,size=8m", str(small_disk)], check=True)
    assert finished(town, run, out, whole) == PIECES - kept


def test_a_folder_that_cannot_be(town: Town, run: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ws.OutputError, match=r"file/scores.*: cannot be written: not a directory"):
        streamed(run, town.references, town.graphs, tmp_path / "file" / "scores.parquet")


# Addresses


def test_memory(town: Town, whole: Any, tmp_path: Path) -> None:
    fsspec = pytest.importorskip("fsspec")
    system = fsspec.filesystem("memory")
    home = f"/{tmp_path.name}"
    write_parquet(tmp_path / "a.parquet", town.walks.slice(0, 1000))
    write_lines(tmp_path / "b.jsonl.gz", town.walks.slice(1000))
    for name in ("a.parquet", "b.jsonl.gz"):
        system.pipe(f"{home}/run/{name}", (tmp_path / name).read_bytes())
    for run in (f"memory:/{home}/run", f"memory:/{home}/run/*"):
        out = f"memory:/{home}/out/scores.parquet"
        summary = score_stream(
            run, town.references, graphs=town.graphs, policies=ALL, resamples=SAMPLES, episodes=out, rows=300
        )
        assert (summary.metrics, summary.signature) == (whole[0].metrics, whole[0].signature)
        assert system.ls(f"{home}/out", detail=False) == [f"{home}/out/scores.parquet"]
        system.get(f"{home}/out/scores.parquet", str(tmp_path / "scores.parquet"))
        assert read_scores(tmp_path / "scores.parquet").equals(whole[1])
    with pytest.raises(ws.FormatError, match=r"memory://.*/c\.parquet: no such file"):
        score_stream(f"memory:/{home}/run/c.parquet", town.references, graphs=town.graphs)
    with pytest.raises(ws.FormatError, match=r"memory://.*/\*\.jsonl: matches no file"):
        score_stream(f"memory:/{home}/run/*.jsonl", town.references, graphs=town.graphs)


def test_files_by_address(town: Town, run: Path, whole: Any, tmp_path: Path) -> None:
    pytest.importorskip("fsspec")
    for target in ("scores.parquet", "folder"):
        summary = score_stream(
            f"file://{run}",
            town.references,
            graphs=town.graphs,
            policies=ALL,
            resamples=SAMPLES,
            episodes=f"file://{tmp_path}/out/{target}",
            workers=2,
        )
        assert (summary.metrics, summary.signature) == (whole[0].metrics, whole[0].signature)
        assert read_scores(tmp_path / "out" / target).equals(whole[1])
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["folder", "scores.parquet"]


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("nothing://run.parquet", r"nothing://run\.parquet: .*nothing"),
        ("memory://nowhere/run", r"memory://nowhere/run: no such file"),
    ],
)
def test_addresses_that_lead_nowhere(town: Town, address: str, message: str) -> None:
    pytest.importorskip("fsspec")
    with pytest.raises(ws.FormatError, match=message) as raised:
        score_stream(address, town.references, graphs=town.graphs)
    assert "\n" not in str(raised.value)


def test_what_fails_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "file"
    with storage.replacing(str(path)) as stream:
        stream.write(b"old")
    with pytest.raises(KeyError), storage.replacing(str(path)) as stream:  # noqa: PT012
        stream.write(b"new")
        raise KeyError
    assert [(entry.name, entry.read_bytes()) for entry in path.parent.iterdir()] == [("file", b"old")]
