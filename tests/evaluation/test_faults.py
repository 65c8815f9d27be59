"""What is wrong with a run: one sentence, the same for every input apart from the place, in the caller's words."""

from __future__ import annotations

import gzip
import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import wayscore as ws
from tests.house import command
from tests.town import (
    Town,
    carried,
    changed,
    evaluated,
    in_points,
    put,
    write_array,
    write_files,
    write_lines,
    write_parquet,
)
from wayscore.formats import chunks, decoding

ROW = 7
"""The row that is changed."""
INPUTS: dict[str, tuple[Callable[[Path, pa.Table], Path], str, str]] = {
    "array": (lambda folder, table: write_array(folder / "run.json", table), "run.json", f"record {ROW}"),
    "lines": (lambda folder, table: write_lines(folder / "run.jsonl", table), "run.jsonl", f"line {ROW + 1}"),
    "Parquet": (lambda folder, table: write_parquet(folder / "run.parquet", table, 5), "run.parquet", f"row {ROW}"),
    "folder": (lambda folder, table: write_files(folder / "run", table, 2), "run/rows-000.parquet", f"row {ROW}"),
}
"""How to write a table; the file that errors name, and what they call the row."""


def _put_path(change: Callable[[list[str], ws.Graph], Any]) -> Callable[[Town, list[Any]], None]:
    def spoil(town: Town, rows: list[Any]) -> None:
        graph = town.graphs[town.references.episodes[rows[ROW]["episode"]].scene]
        rows[ROW]["path"] = change(rows[ROW]["path"], graph)

    return spoil


EXPECTED = '; expected a table of paths: {"episode": ..., "path": [label, ...] or [[x, y, z], ...]} per row'
FAULTS: dict[str, tuple[Callable[[Town, list[Any]], Any], str]] = {
    "missing": (
        lambda _, rows: rows.pop(ROW),
        'agent: 1 of the 120 episodes of references.json has no answer: {name}; use missing="skip" or missing="zero"',
    ),
    "unknown": (
        lambda _, rows: rows.append({"episode": "9_9", "path": ["x00y00"]}),
        "agent: 1 answer is to episodes that references.json does not have: 9_9 (did you mean '9_1'?); use "
        'unknown="skip"',
    ),
    "duplicate": (
        lambda _, rows: rows.append(rows[ROW]),
        'agent: 1 episode is answered more than once: {name}; use duplicate="keep" or duplicate="all"',
    ),
    "start": (
        _put_path(lambda path, graph: [next(iter(graph.neighbors(path[0]))), *path]),
        "agent: 1 query does not begin where its reference does: {name} (begins at '{new}', its reference at '{old}')"
        '; use start="keep" or start="skip" or start="zero"',
    ),
    "move": (
        _put_path(lambda path, graph: [*path[:1], path[0], _far(path[0], graph)]),
        "agent: 1 query takes a step that is not an edge: {name} (step 2, from '{old}' to '{last}'); use "
        'move="keep" or move="skip" or move="zero"',
    ),
    "node": (
        _put_path(lambda path, _: [path[0], "x99y00"]),
        "agent: 1 query visits a node that its scene does not have: {name} (step 1, 'x99y00'; did you mean 'x09y00'?)"
        '; use node="skip" or node="zero"',
    ),
    "empty path": (
        _put_path(lambda *_: []),
        "{file}, {place} (episode '{name}'): its path is empty; an agent that never moves has its start",
    ),
    "no path": (
        _put_path(lambda *_: None),
        "{file}, {place} (episode '{name}'): the field 'path' is missing" + EXPECTED,
    ),
    "points": (
        lambda _, rows: [row.update(path=[[0.5, 1.0, 2.0]]) for row in rows],
        "{file}, {first} (episode '{other}'): its path holds points, but scenes know nodes by their labels; "
        "give references whose paths are points, or write the agent's nodes",
    ),
    "no episode": (
        lambda _, rows: rows[ROW].update(episode=None),
        "{file}, {place}: the field 'episode' is missing" + EXPECTED,
    ),
    "a null step": (
        _put_path(lambda path, _: [path[0], None]),
        "{file}, {place} (episode '{name}'), field 'path', item 1: must be an integer or text or a list, got null"
        + EXPECTED,
    ),
}
"""How to spoil rows, and the sentence; its places are filled in."""


def _far(node: str, graph: ws.Graph) -> str:
    return next(other for other in graph.nodes if other != node and not graph.has_edge(node, other))


def first_of(place: str) -> str:
    """What the same input calls its first row."""
    return re.sub(r"\d+", "1" if "line" in place else "0", place)


@pytest.mark.parametrize("fault", FAULTS)
def test_one_sentence_for_every_input(town: Town, tmp_path: Path, fault: str) -> None:
    spoil, sentence = FAULTS[fault]
    whole = town.answers.select(["episode", "path"]).to_pylist()
    rows = [dict(row) for row in whole]
    spoil(town, rows)
    path = rows[ROW]["path"] or [""]
    known = {
        "name": whole[ROW]["episode"],
        "other": whole[0]["episode"],
        "old": whole[ROW]["path"][0],
        "new": path[0],
        "last": path[-1],
    }
    for write, file, place in INPUTS.values():
        run = write(tmp_path, pa.Table.from_pylist(rows))
        wanted = sentence
        for name, text in {**known, "file": tmp_path / file, "place": place, "first": first_of(place)}.items():
            wanted = wanted.replace(f"{{{name}}}", str(text))
        with pytest.raises(ws.FormatError) as raised:
            evaluated(
                run, town, missing=None, duplicate=None, name="agent", **({"move": "error"} if fault == "move" else {})
            )
        assert str(raised.value) == wanted
        assert len(wanted) - len(str(tmp_path)) < 400
        for kind in re.findall(r'(\w+)="(\w+)"', wanted):
            assert "--{} {}".format(*kind) in raised.value.as_command()
        assert '="' not in raised.value.as_command()


def test_all_left_out(town: Town) -> None:
    with pytest.raises(ws.OptionError, match="no episode is left to score; all were left out as the policies say"):
        evaluated({town.answers["episode"][0].as_py(): ["nowhere"]}, town, node="skip", start="skip")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"engine": "spark"}, "engine must be local or dask, not 'spark'"),
        ({"workers": 0}, "workers must be a whole number, 1 to 1,024, not 0"),
        ({"scheduler": "tcp://127.0.0.1:9"}, 'it needs engine="dask"'),
        ({"chunk": 0}, "chunk must be a whole number"),
        ({"cluster": "house"}, "cluster must be auto, none, path or scan, not 'house'"),
        ({"missing": "keep"}, "missing must be error, skip or zero, not 'keep'"),
        ({"repeats": "all"}, "repeats must be keep or drop, not 'all'"),
        ({"episodes": "scores.xls"}, r"episodes scores.xls: the ending must be .parquet, .csv or .jsonl"),
        ({"seed": -1}, "seed must be a whole number, 0 or more"),
        ({"resamples": True}, "resamples must be a whole number, 1 to 1,000,000"),
        ({"threshold": 0}, "threshold"),
        ({"metrics": "nDTV"}, "there is no metric 'nDTV'"),
        ({"convention": "papr"}, "did you mean 'paper'"),
        ({"run": 7}, "expected a file, a Run, paths by episode, or an Arrow table or data frame, got int"),
        ({"run": [["a"]]}, "expected a file, a Run, .* got list"),
        ({"run": {"1": "abc"}}, "episode '1': its path must be a list of labels or points, got 'abc'"),
        ({"references": [1]}, "references must be a file or what ws.load_references returned, not a list"),
        ({"references": None, "cluster": "path"}, "rows that carry their references have no paths to resample by"),
    ],
)
def test_options_that_make_no_sense(town: Town, options: dict[str, Any], message: str) -> None:
    given = dict(options)
    with pytest.raises(ws.OptionError, match=message):
        evaluated(given.pop("run", town.walks), town, **given)


# Damaged files


def parquet(walks: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(walks, sink, row_group_size=50, write_page_checksum=True)
    return bytes(sink.getvalue())


def flipped(walks: pa.Table, group: int, column: int) -> bytes:
    """Parquet with one other bit near the end of a column of a row group."""
    content = bytearray(parquet(walks))
    chunk = pq.read_metadata(pa.BufferReader(content)).row_group(group).column(column)
    end = (chunk.dictionary_page_offset or chunk.data_page_offset) + chunk.total_compressed_size
    content[end - 3] ^= 4
    return bytes(content)


def lines(walks: pa.Table, other: str | None = None) -> bytes:
    """JSON lines, if wished with another text in line 234."""
    found = [json.dumps(row) for row in walks.to_pylist()]
    return "\n".join([*found[:233], other or found[233], *found[234:]]).encode()


TABLES: list[tuple[Callable[[pa.Table], pa.Table], str]] = [
    (lambda walks: walks[:0], ": holds no rows; expected episodes and paths"),
    (lambda walks: put(walks, path=walks["episode"]), ": the column 'path' must hold lists, got Arrow type string"),
    (
        lambda walks: put(walks, path=pa.array([[0.5]] * 600)),
        ": the column 'path' must hold labels, or points of one dimension, got Arrow type list<",
    ),
    (
        lambda walks: put(walks, path=pa.array([[0]] * 600)),
        r", row 0: paths hold numbers, and no node of the scene world\d is one; write the names of nodes",
    ),
    (
        lambda _: pa.table({"episode": ["1"], "name": ["x"]}),
        ": is Parquet whose first fields are 'episode', 'name', which no known format of runs begins with",
    ),
    (
        lambda _: pa.table({"episode": ["1"], "nDTW": [1.0]}),
        ": looks like a table of scores, which holds no paths, not a run",
    ),
]
LINES = {
    '{"episode": "1_0", ': ", line 234: ends in the middle of a record",
    "gibberish": ", line 234, byte 0: is not JSON near 'gibberish'",
    '{"episode": "1_0"}': r", line 234 \(episode '1_0'\): the field 'path' is missing",
    '{"episode": "1_0", "path": [[0, 0]]}': r", line 234 \(episode '1_0'\): its path holds points, but scenes know",
}
DAMAGED: list[tuple[str, Callable[[pa.Table], bytes], str]] = [
    # a file, what it holds of some walks, and what is wrong with it
    ("w.parquet", lambda walks: flipped(walks, 2, 2), r", row group 2: is damaged \(.*\); copy or write it again"),
    ("w.parquet", lambda walks: flipped(walks, 3, 0), r", row group 3: is damaged \(.*\); copy or write it again"),
    ("in/w.parquet", lambda walks: flipped(walks, 3, 2), r"w\.parquet, row group 3: is damaged \(.*\); copy or write"),
    ("w.parquet", lambda walks: parquet(walks)[:1000], r": is damaged Parquet \(.*\); copy or write it again"),
    ("w.jsonl.gz", lambda walks: gzip.compress(lines(walks), mtime=0)[:3000], ": is damaged gzip .*again"),
    ("w.jsonl", lambda _: b"", ": is empty; expected a run"),
    ("w.jsonl.gz", lambda _: gzip.compress(b""), ": is empty; expected a run"),
    *(("w.parquet", lambda walks, change=change: parquet(change(walks)), message) for change, message in TABLES),
    *(("w.jsonl", lambda walks, text=text: lines(walks, text), message) for text, message in LINES.items()),
]
NO_FILES = {"walks.parquet": "no such file", "*.parquet": "matches no file", "": r"holds none of \.parquet, \.jsonl"}


def refused(town: Town, run: Path) -> str:
    """Score a run at the command line, which must refuse it in one line; return that."""
    out = run.parent / "scores.parquet"
    words = ["score", run, *town.files, "--missing", "skip", "--duplicate", "all", "--resamples", 9, "--episodes", out]
    found = command(*words, status=1)
    assert found.stdout == ""
    assert found.stderr.startswith(f"wayscore: {run}")
    assert found.stderr.count("\n") == 1
    assert not out.exists()
    return found.stderr.removeprefix(f"wayscore: {run}")


@pytest.mark.parametrize(("name", "content", "message"), DAMAGED)
@pytest.mark.parametrize("block", [None, 6000])
def test_damaged_files(
    town: Town,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    content: Any,
    message: str,
    block: int | None,
) -> None:
    if block is not None:  # the same in many pieces
        monkeypatch.setattr(chunks, "CHUNK_BYTES", block)
        monkeypatch.setattr(chunks, "CHUNK_ROWS", 50)
    (tmp_path / name).parent.mkdir(exist_ok=True)
    write_parquet(tmp_path / "in" / "good.parquet", town.walks)
    (tmp_path / name).write_bytes(content(town.walks))
    said = refused(town, tmp_path / name.split("/")[0])
    assert re.search(message, said), said


@pytest.mark.parametrize("name", NO_FILES)
def test_files_that_are_not_there(town: Town, tmp_path: Path, name: str) -> None:
    (tmp_path / "in").mkdir()
    assert re.search(NO_FILES[name], refused(town, tmp_path / "in" / name))


def test_a_line_that_is_too_long(town: Town, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = write_lines(tmp_path / "w.jsonl", town.walks)
    for module in (chunks, decoding):
        monkeypatch.setattr(module, "LINE_LIMIT", 50)
    with pytest.raises(ws.FormatError, match=r"line 1 has more than 50 bytes; write one record"):
        evaluated(run, town)
    monkeypatch.setattr(chunks, "CHUNK_BYTES", 60)
    with pytest.raises(ws.FormatError, match="a line has more than 50 bytes; write one record per line"):
        evaluated(run, town)


# Rows that carry their references, and points

NO_REFERENCE = r", \w+ [01]: has no reference of its own; give the references with references="
NO_SCENE = "has no scene, which rows need that carry their reference"
OWN: list[tuple[Callable[[pa.Table], pa.Table], str]] = [
    (lambda rows: rows.drop_columns("reference"), NO_REFERENCE),
    (lambda rows: rows.drop_columns("scene"), rf", \w+ [01]: {NO_SCENE}"),
    (lambda rows: changed(rows, ROW, scene=None), rf", PLACE \(episode '.*'\): {NO_SCENE}"),
    (
        lambda rows: changed(rows, ROW, scene="worlds1"),
        r", PLACE \(episode '.*'\): there is no scene 'worlds1' among the 3 of the graphs; did you mean 'world1'\?",
    ),
    (
        lambda rows: changed(rows, ROW, reference=["cellar"]),
        r", PLACE \(episode '.*'\): its reference visits a node that its scene does not have",
    ),
    (lambda rows: changed(rows, ROW, reference=None), r", PLACE \(episode '.*'\): the field 'reference' is missing"),
    (lambda rows: changed(rows, ROW, episode=None), ", PLACE: the field 'episode' is missing"),
]


@pytest.mark.parametrize(("change", "message"), OWN)
@pytest.mark.parametrize("form", INPUTS)
def test_rows_that_carry_their_references(town: Town, tmp_path: Path, form: str, change: Any, message: str) -> None:
    write, _, place = INPUTS[form]
    run = write(tmp_path, change(carried(town)))
    with pytest.raises(ws.FormatError, match=message.replace("PLACE", place)):
        evaluated(run, town, references=None, missing=None, duplicate=None, chunk=100)


MIXED, PLANE = [[0.0, 1.0, 2.0], [0.0, 1.0]], [[0.0, 1.0]]
POINTS: list[tuple[Callable[[pa.Table, Town], pa.Table], str]] = [
    (
        lambda _, town: town.answers,
        r", FIRST \(episode '.*'\): its path holds labels, so distances need the graphs; give",
    ),
    (lambda rows, _: changed(rows, ROW, path=MIXED), "mixes points of several dimensions"),
    (lambda rows, _: put(rows, path=pa.array([PLANE] * len(rows))), r"2 (coordinates|dimensions).*3"),
    (
        lambda rows, _: changed(rows, ROW, path=[[0.0, 1.0, math.nan]]),
        r", PLACE \(episode '.*'\), field 'path', item 0, item 2: NaN is not a finite number; expected its real",
    ),
]


@pytest.mark.parametrize(("change", "message"), POINTS)
@pytest.mark.parametrize("form", INPUTS)
def test_points(town: Town, tmp_path: Path, form: str, change: Any, message: str) -> None:
    answers, references = in_points(town)
    write, _, place = INPUTS[form]
    run = write(tmp_path, change(answers, town))
    wanted = message.replace("FIRST", first_of(place)).replace("PLACE", place)
    with pytest.raises(ws.WayscoreError, match=wanted) as raised:
        evaluated(run, town, references=references, graphs=None, start="keep")
    assert "\n" not in str(raised.value)
