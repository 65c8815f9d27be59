"""Files that would fill the memory or take minutes are refused in one sentence, by one reader, in little memory."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import wayscore as ws
from tests.fortress.attacks import house, resource, tar_of, wayscore
from tests.house import connectivity
from wayscore import kernels, reading
from wayscore.formats.base import read
from wayscore.kernels import plain

SCAN = json.dumps(connectivity("ab", "ab")).encode()
GIGABYTE = 2**30
limited = pytest.mark.skipif(resource is None, reason="limits of memory are POSIX's")


def tar(path: Path, *members: tuple[str, bytes]) -> Path:
    path.write_bytes(tar_of(members))
    return path


@limited
def test_a_bomb_in_a_tar_of_graphs(tmp_path: Path) -> None:
    words = house(tmp_path)
    bomb = gzip.compress(b" " * 2**26, 1) * 32  # 2 GiB: streams one after another are one file
    words[-1] = str(tar(tmp_path / "b.tar", ("S_connectivity.json.gz", bomb)))
    found = wayscore("score", *words, memory=GIGABYTE)
    assert found.returncode == 1, found.stderr
    assert "S: has more than 67,108,864 bytes when decompressed; split it" in found.stderr
    assert "set WAYSCORE_SIZE_LIMIT to the bytes that a file may have" in found.stderr


@limited
@pytest.mark.parametrize("packer", [gzip, bz2, lzma])
@pytest.mark.parametrize("place", ["run", "references", "graphs"])
@pytest.mark.soak
def test_bombs_in_other_places(tmp_path: Path, packer: Any, place: str) -> None:
    words = house(tmp_path)
    words[{"run": 0, "references": 2, "graphs": 4}[place]] = str(tmp_path / "bomb")
    (tmp_path / "bomb").write_bytes(packer.compress(b" " * 2**24))
    found = wayscore("score", *words, memory=2 * GIGABYTE, env={reading.SIZE_VARIABLE: "1000000"})
    assert found.returncode == 1, found.stderr
    assert "bomb: has more than 1,000,000 bytes when decompressed" in found.stderr


@pytest.mark.soak
def test_a_dictionary_of_xz_that_fills_the_memory() -> None:
    filters = [{"id": lzma.FILTER_LZMA2, "dict_size": 2**29}]
    with pytest.raises(ws.FormatError, match=r"is damaged xz .*[Mm]emory"):
        reading.BoundedFile(io.BytesIO(lzma.compress(b"[]", filters=filters)), "x", None).read()


def test_limits_can_be_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x"
    path.write_bytes(bytes(2000))
    monkeypatch.setenv(reading.SIZE_VARIABLE, "1000")
    with pytest.raises(ws.FormatError, match="has more than 1,000 bytes; split"):
        reading.read_bytes(path)
    monkeypatch.setenv(reading.SIZE_VARIABLE, "2000")
    assert len(reading.read_bytes(path, 10)) == 2000
    for wrong in ("many", "-1", "0", "9" * 30):
        monkeypatch.setenv(reading.SIZE_VARIABLE, wrong)
        with pytest.raises(ws.OptionError, match="WAYSCORE_SIZE_LIMIT must be a whole number, 1 or more"):
            reading.read_bytes(path)


def test_a_tar_of_very_many_members(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    many = tar(tmp_path / "many.tar", *((f"{number}", b"") for number in range(1001)))
    monkeypatch.setenv(reading.MEMBER_VARIABLE, "1000")
    for load in (ws.load_graphs, ws.load_run, lambda path: read(path, member="nowhere")):
        with pytest.raises(ws.FormatError, match=r"is a tar of more than 1,000 members; .* WAYSCORE_MEMBER_LIMIT"):
            load(many)
    monkeypatch.setenv(reading.MEMBER_VARIABLE, "1001")
    with pytest.raises(ws.FormatError, match="has no file named 'nowhere'"):
        read(many, member="nowhere")


def test_names_are_not_compared_for_minutes() -> None:
    """Looking for the nearest of 200,000 names, or of two long ones, took half a minute."""
    assert ws.errors.did_you_mean("x" * 10**6, ["y" * 10**6]) == ""
    assert ws.errors.did_you_mean("b", iter(["a"] * ws.errors.MOST_GUESSES + ["b"])) == ""


def test_one_scan_twice_in_a_tar(tmp_path: Path) -> None:
    twice = tar(tmp_path / "t.tar", ("a/S_connectivity.json", SCAN), ("b/S_connectivity.json", SCAN))
    with pytest.raises(ws.FormatError, match="has two files of scan 'S'; keep one of them"):
        ws.load_graphs(twice)
    run = json.dumps([{"instr_id": "7_0", "trajectory": [["a"]]}]).encode()
    with pytest.raises(ws.FormatError, match=r"has two files named 'r\.json' inside; keep one of them"):
        ws.load_run(tar(tmp_path / "r.tar", ("r.json", run), ("r.json", run)), member="r.json")


def test_a_sparse_member_is_no_file(tmp_path: Path) -> None:
    """A file with holes may claim any size, and has no bytes in the tar."""
    entry = tarfile.TarInfo("S_connectivity.json")
    entry.size = 512
    holes = {
        "size": str(2**50),
        "numblocks": "1",
        "map": f"{2**49},512",
        "name": entry.name,
        "major": "0",
        "minor": "1",
    }
    entry.pax_headers = {f"GNU.sparse.{name}": value for name, value in holes.items()}
    with tarfile.open(tmp_path / "s.tar", "w", format=tarfile.PAX_FORMAT) as archive:
        archive.addfile(entry, io.BytesIO(bytes(512)))
    with pytest.raises(ws.FormatError, match="holds no file named"):
        ws.load_graphs(tmp_path / "s.tar")
    with pytest.raises(ws.FormatError, match="is a tar of 0 files"):
        ws.load_run(tmp_path / "s.tar")


@pytest.mark.soak
def test_parquet_whose_repeated_values_fill_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.parquet"
    texts = pa.array(["x" * 2**20] * 500)
    pq.write_table(pa.table({"episode": [str(n) for n in range(500)], "scene": texts, "path": [["a"]] * 500}), path)
    assert path.stat().st_size < 2**21
    monkeypatch.setenv(reading.SIZE_VARIABLE, str(2**27))
    with pytest.raises(ws.FormatError, match="has more than 134,217,728 bytes when decompressed"):
        ws.load_references(path)


@limited
def test_a_convention_that_never_ends(tmp_path: Path) -> None:
    endless = tmp_path / "mine.toml"
    endless.symlink_to("/dev/zero")
    found = wayscore("score", *house(tmp_path), "--convention", str(endless), memory=2 * GIGABYTE)
    assert found.returncode == 1
    assert "mine.toml: is a device, expected a file" in found.stderr


@pytest.mark.parametrize(
    ("sources", "targets", "weights", "message"),
    [
        ([0], [2**31 - 1], [1.0], "leads to node 2147483647, but its 2 nodes are 0 to 1"),
        ([-1], [0], [1.0], "leads to node -1"),
        ([0], [1, 0], [1.0], "three lists of one length"),
        ([0.5], [1.0], [1.0], "numbers of nodes"),
        ([0], [1], [-1.0], "lengths must be numbers, not negative"),
        ([0], [1], [float("nan")], "lengths must be numbers, not negative"),
        ([0], [1], ["far"], "weights of the graph must be numbers"),
    ],
)
def test_edges_that_are_none(sources: Any, targets: Any, weights: Any, message: str) -> None:
    for directed in (False, True):
        with pytest.raises(ws.DistanceError, match=message):
            ws.Graph(["a", "b"], sources, targets, weights, directed=directed)


@pytest.mark.parametrize("module", [kernels, plain], ids=["chosen", "plain"])
@pytest.mark.parametrize(
    "graph",
    [
        ([0, 10**9, 10**9], [1], [1.0]),
        ([-(10**9), 1, 1], [1], [1.0]),
        ([0, 1, 1], [2**31 - 1], [1.0]),
        ([0, 1, 1], [-1], [1.0]),
        ([0, 1, 2], [1, 0], [-1.0, -1.0]),
        ([0, 1, 1], [1], [float("nan")]),
    ],
)
def test_dijkstra_trusts_nobody(module: Any, graph: Any) -> None:
    starts, nodes, weights = graph
    with pytest.raises(ValueError, match="outside the graph, or a weight is negative"):
        module.dijkstra(np.array(starts), np.array(nodes, dtype=np.int32), np.array(weights), 0, -1, np.empty(2))
