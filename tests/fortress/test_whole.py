"""Every file is written whole or not at all: on a full disk, after Ctrl-C, beside another writer."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import wayscore as ws
from tests.fortress.attacks import house
from tests.house import command
from wayscore import writing

SOURCE = Path(ws.__file__).parent
OWN_WAY = {
    "evaluation/engines.py",  # in a folder that goes with the process
    "lab/study/store.py",  # the database's own
    "lab/study/server.py",  # links of raters, in a file that must be new
    "writing.py",
}
"""Files that may open a file for writing themselves."""


WRITES = r"\.write_(bytes|text)\(|open\([^)\n]*[\"'][wax]b?[\"']|savefig\((path|file)|O_WRONLY"
READS = r"gzip\.(open|GzipFile|decompress)|zlib\.decompress\(|tarfile\.open|bz2\.|lzma\.|\.extractfile\("
MEMBERS = {"reading.py", "formats/base.py", "lab/agents/data.py"}  # of tars that the reader opened


@pytest.mark.parametrize(("pattern", "allowed"), [(WRITES, {"cli/__init__.py", *OWN_WAY}), (READS, MEMBERS)])
def test_nobody_else_writes_or_decompresses(pattern: str, allowed: set[str]) -> None:
    """The one writer stays the only one, and so does the one reader of what is compressed."""
    found = set()
    for path in SOURCE.rglob("*.py"):
        lines = path.read_text(encoding="utf-8").splitlines()
        if any(re.search(pattern, line) for line in lines if not line.strip().startswith((">>>", "..."))):
            found.add(str(path.relative_to(SOURCE)))
    assert found - allowed == set()


def outputs(folder: Path) -> dict[str, Callable[[Path], Any]]:
    """All that a user can have written, each as a function of where."""
    from wayscore.evaluation.saved import write_episodes
    from wayscore.figures import save
    from wayscore.figures.runs import figure_run_gallery
    from wayscore.formats.convert import convert
    from wayscore.lab.study.rankings import write_rankings
    from wayscore.report.page import write_page

    run, _, references, _, graphs = house(folder)
    result = ws.evaluate(run, references, graphs, resamples=10)
    return {
        "page.html": lambda path: write_page(path, [result]),
        "saved.parquet": result.save,
        "episodes.csv": lambda path: write_episodes(result, path),
        "episodes.jsonl": lambda path: write_episodes(result, path),
        "figure.svg": lambda path: save(figure_run_gallery(result, count=1), path),
        "figure.png": lambda path: save(figure_run_gallery(result, count=1), path, dpi=50),
        "converted.parquet": lambda path: convert(run, str(path)),
        "rankings.jsonl": lambda path: write_rankings(path, []),
    }


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = outputs(tmp_path)
    kept = tmp_path / "kept"
    kept.mkdir()
    for name in made:
        (kept / name).write_text("old")
    synced: list[int] = []

    def full(handle: int) -> None:
        synced.append(handle)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    for name, write in made.items():
        with pytest.raises(ws.OutputError, match=f"{name}: cannot be written: no space left on device; choose another"):
            write(kept / name)
        assert (kept / name).read_text() == "old"
    assert len(synced) == len(made)  # every one of them was on its way to the disk
    monkeypatch.undo()
    assert sorted(os.listdir(kept)) == sorted(made)
    for name, write in made.items():
        write(kept / name)
        assert (kept / name).read_bytes() != b"old"
    assert sorted(os.listdir(kept)) == sorted(made)


@pytest.mark.parametrize("error", [KeyboardInterrupt, KeyError])
def test_interrupted(tmp_path: Path, error: type[BaseException]) -> None:
    path = tmp_path / "deep" / "x"
    with writing.replacing(path, folders=True) as stream:
        stream.write(b"old")

    def interrupted() -> None:
        with writing.replacing(path, folders=True) as stream:
            stream.write(b"half")
            assert path.read_text() == "old"
            raise error

    with pytest.raises(error):
        interrupted()
    assert [path] == list(path.parent.iterdir())
    assert path.read_text() == "old"


def test_what_killed_writers_left(tmp_path: Path) -> None:
    left = [tmp_path / f".x.{number:08x}{writing.UNFINISHED}" for number in range(2)]
    kept = [
        tmp_path / name
        for name in (".xy.00000000.unfinished", ".x.csv.00000000.unfinished", ".x.csv", "x.unfinished", "x")
    ]
    for path in (*left, *kept):
        path.write_text("half")
    writing.clear_unfinished(tmp_path / "x")
    assert sorted(tmp_path.iterdir()) == sorted(kept)
    writing.clear_unfinished(tmp_path / "nowhere" / "x")


def test_two_writers(tmp_path: Path) -> None:
    path = tmp_path / "x"
    with writing.replacing(path) as first, writing.replacing(path) as second:
        first.write(b"first" * 1000)
        second.write(b"second" * 1000)
    assert path.read_bytes() == b"first" * 1000  # which was finished last
    assert [path] == list(tmp_path.iterdir())


def test_links_permissions_and_devices(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_text("old")
    real.chmod(0o640)
    link.symlink_to(real)
    writing.write_whole(link, b"new")
    assert link.is_symlink()
    assert real.read_bytes() == b"new"
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    writing.write_whole("/dev/null", b"gone")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    for place in (tmp_path, tmp_path / "nowhere" / "x", real / "x", "a\0b"):
        with pytest.raises(ws.OutputError, match=r"cannot be written: .*; choose another place"):
            writing.write_whole(place, b"")
    writing.write_whole(tmp_path / "made" / "x", b"1", folders=True)
    assert (tmp_path / "made" / "x").read_bytes() == b"1"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="nothing is forbidden to root")
def test_missing_permissions(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text("old")
    path.chmod(0o400)
    with pytest.raises(ws.OutputError, match="permission denied"):
        writing.write_whole(path, b"new")
    path.chmod(0o000)
    words = house(tmp_path)
    assert "cannot be read: permission denied" in command("score", str(path), *words[1:]).stderr


def test_checkpoints(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    from wayscore.lab.agents.checkpoints import reading_checkpoint, write_checkpoint

    path = tmp_path / "checkpoint.pt"
    write_checkpoint(path, {"policy": {}})
    assert torch.load(path, weights_only=True) == {"policy": {}}
    with (
        pytest.raises(
            ws.FormatError, match=r"checkpoint\.pt: is not a checkpoint of this agent \('shape' is missing\)"
        ),
        reading_checkpoint(tmp_path),
    ):
        torch.load(path, weights_only=True)["shape"]
    found = command("rollout", tmp_path, *house(tmp_path)[1:], "-o", tmp_path / "out.json", status=1)
    assert "checkpoint.pt: is not a checkpoint" in found.stderr
    assert not (tmp_path / "out.json").exists()


def test_a_checkpoint_that_would_fill_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import zipfile

    from wayscore.lab.agents.checkpoints import reading_checkpoint

    with zipfile.ZipFile(tmp_path / "checkpoint.pt", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("archive/data/0", bytes(10**6))
    monkeypatch.setenv("WAYSCORE_SIZE_LIMIT", "1000")
    with (
        pytest.raises(ws.FormatError, match="has more than 1,000 bytes when decompressed"),
        reading_checkpoint(tmp_path),
    ):
        pass
