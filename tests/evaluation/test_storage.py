"""Where runs come from (also addresses that fsspec reaches) and where scores go."""

from __future__ import annotations

from pathlib import Path

import pytest

import wayscore as ws
from tests.town import Town, evaluated, write_files, write_lines, write_parquet

PIECES = 12


@pytest.fixture
def run(town: Town, tmp_path: Path) -> Path:
    """A folder of many files."""
    return write_files(tmp_path / "walks", town.walks, PIECES)


@pytest.mark.parametrize("name", ["scores.parquet", "scores.csv", "scores.jsonl"])
def test_places_that_cannot_be_written(town: Town, tmp_path: Path, whole: ws.Result, name: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ws.OutputError, match=rf"file/{name}: cannot be written: not a directory"):
        whole.write_episodes(tmp_path / "file" / name)
    with pytest.raises(ws.OutputError, match=rf"file/{name}.*: cannot be written: not a directory"):
        evaluated(write_parquet(tmp_path / "w.parquet", town.walks), town, episodes=tmp_path / "file" / name)


def test_memory(town: Town, whole: ws.Result, tmp_path: Path) -> None:
    fsspec = pytest.importorskip("fsspec")
    system = fsspec.filesystem("memory")
    home = f"/{tmp_path.name}"
    write_parquet(tmp_path / "a.parquet", town.walks.slice(0, 200))
    write_lines(tmp_path / "b.jsonl.gz", town.walks.slice(200))
    for name in ("a.parquet", "b.jsonl.gz"):
        system.pipe(f"{home}/run/{name}", (tmp_path / name).read_bytes())
    for run in (f"memory:/{home}/run", f"memory:/{home}/run/*"):
        found = evaluated(run, town, chunk=70)
        assert found.intervals() == whole.intervals()
        assert str(found.signature) == str(whole.signature)
        assert len(found["nDTW"]) == 600
    for address, message in (
        (f"memory:/{home}/run/c.parquet", r"memory://.*/c\.parquet: no such file"),
        (f"memory:/{home}/run/*.jsonl", r"memory://.*/\*\.jsonl: matches no file"),
        ("memory://nowhere/run", r"memory://nowhere/run: no such file"),
        ("nothing://run.parquet", r"nothing://run\.parquet: .*nothing"),
    ):
        with pytest.raises(ws.FormatError, match=message) as raised:
            evaluated(address, town)
        assert "\n" not in str(raised.value)


def test_files_by_address(town: Town, run: Path, whole: ws.Result) -> None:
    pytest.importorskip("fsspec")
    assert evaluated(f"file://{run}", town).intervals() == whole.intervals()


@pytest.mark.parametrize("name", ["scores.parquet", "scores.csv"])
def test_nothing_is_written_elsewhere(town: Town, whole: ws.Result, tmp_path: Path, name: str) -> None:
    run = write_parquet(tmp_path / "w.parquet", town.walks)
    target = f"memory://out/{name}"
    for write in (lambda: evaluated(run, town, episodes=target), lambda: whole.write_episodes(target)):
        with pytest.raises(
            ws.OutputError, match=rf"^{target}.*: files are written on this machine only; write it here"
        ):
            write()
