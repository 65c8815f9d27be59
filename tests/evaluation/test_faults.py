"""What is wrong with a run: one sentence, the same for every input apart from the place, in the caller's words."""

from __future__ import annotations

import gzip
import json
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


def _all_points(_: Town, rows: list[Any]) -> None:
    for row in rows:
        row["path"] = [[0.5, 1.0, 2.0]]


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
        _all_points,
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


def test_none_in_common(town: Town, tmp_path: Path) -> None:
    rows = [{"episode": f"other{n}", "path": ["x00y00"]} for n in range(9)]
    for write, _, _ in INPUTS.values():
        with pytest.raises(ws.FormatError) as raised:
            evaluated(write(tmp_path, pa.Table.from_pylist(rows)), town, name="agent", unknown="skip")
        assert str(raised.value) == (
            "agent: no episode of this run is in references.json: wrong split? Its first is 'other0'; give the "
            "references that it answers with references=..."
        )
        assert raised.value.as_command().endswith("with --references FILE")


def test_a_withheld_split(tmp_path: Path) -> None:
    starts = [{"path_id": 1, "scan": "s", "path": ["a"], "instructions": ["go"]}]
    (tmp_path / "R2R_test.json").write_text(json.dumps(starts))
    with pytest.raises(ws.FormatError, match=r"R2R_test\.json: this split holds starts only .*`wayscore validate`"):
        ws.evaluate({"1_0": ["a"]}, tmp_path / "R2R_test.json", ws.Graph.from_edges(["ab"]))


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


def flipped(path: Path, group: int, column: int) -> Path:
    """Change one bit near the end of a column of a row group."""
    chunk = pq.read_metadata(path).row_group(group).column(column)
    end = (chunk.dictionary_page_offset or chunk.data_page_offset) + chunk.total_compressed_size
    content = bytearray(path.read_bytes())
    content[end - 3] ^= 4
    path.write_bytes(content)
    return path


def cut(path: Path, size: int) -> Path:
    path.write_bytes(path.read_bytes()[:size])
    return path


def with_line(path: Path, line: int, text: str) -> Path:
    """Write another text in the place of a line, counted from 1."""
    lines = path.read_text().split("\n")
    lines[line - 1] = text
    path.write_text("\n".join(lines))
    return path


def _flipped_in_folder(town: Town, folder: Path) -> Path:
    whole = write_files(folder / "walks", town.walks, 3)
    flipped(whole / "rows-001.parquet", 3, 2)
    return whole


def _written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


Case = tuple[Callable[[Town, Path], Path], str]
DAMAGED: dict[str, Case] = {
    "a bit of a path": (
        lambda town, folder: flipped(write_parquet(folder / "w.parquet", town.walks), 2, 2),
        r"w\.parquet, row group 2: is damaged \(.*\); copy or write it again",
    ),
    "a bit of an episode": (
        lambda town, folder: flipped(write_parquet(folder / "w.parquet", town.walks), 3, 0),
        r"w\.parquet, row group 3: is damaged \(.*\); copy or write it again",
    ),
    "a bit in a folder": (_flipped_in_folder, r"rows-001\.parquet, row group 3: is damaged \(.*\); copy or write"),
    "truncated Parquet": (
        lambda town, folder: cut(write_parquet(folder / "w.parquet", town.walks), 1000),
        r"w\.parquet: is damaged Parquet \(.*\); copy or write it again",
    ),
    "no rows": (
        lambda town, folder: write_parquet(folder / "w.parquet", town.walks.slice(0, 0)),
        r"w\.parquet: holds no rows; expected episodes and paths",
    ),
    "paths of numbers": (
        lambda town, folder: write_parquet(folder / "w.parquet", put(town.walks, path=pa.array([[0.5]] * 600))),
        r"w\.parquet: the column 'path' must hold labels, or points of one dimension, got Arrow type list<",
    ),
    "paths of text": (
        lambda town, folder: write_parquet(folder / "w.parquet", put(town.walks, path=town.walks["episode"])),
        r"w\.parquet: the column 'path' must hold lists, got Arrow type string",
    ),
    "numbers for names": (
        lambda town, folder: write_parquet(folder / "w.parquet", put(town.walks, path=pa.array([[0]] * 600))),
        r"w\.parquet, row 0: paths hold numbers, and no node of the scene world\d is one; write the names of nodes",
    ),
    "other columns": (
        lambda town, folder: write_parquet(folder / "w.parquet", pa.table({"episode": ["1"], "name": ["x"]})),
        r"w\.parquet: is Parquet whose first fields are 'episode', 'name', which no known format of runs begins with",
    ),
    "scores": (
        lambda town, folder: write_parquet(folder / "w.parquet", pa.table({"episode": ["1"], "nDTW": [1.0]})),
        r"w\.parquet: looks like a table of scores, which holds no paths, not a run",
    ),
    "a line that breaks off": (
        lambda town, folder: with_line(write_lines(folder / "w.jsonl", town.walks), 234, '{"episode": "1_0", '),
        r"w\.jsonl, line 234: ends in the middle of a record",
    ),
    "a line of another kind": (
        lambda town, folder: with_line(write_lines(folder / "w.jsonl", town.walks), 234, "gibberish"),
        r"w\.jsonl, line 234, byte 0: is not JSON near 'gibberish'",
    ),
    "a line with too little": (
        lambda town, folder: with_line(write_lines(folder / "w.jsonl", town.walks), 234, '{"episode": "1_0"}'),
        r"w\.jsonl, line 234 \(episode '1_0'\): the field 'path' is missing",
    ),
    "points in one line": (
        lambda town, folder: with_line(
            write_lines(folder / "w.jsonl", town.walks), 234, '{"episode": "1_0", "path": [[0, 0]]}'
        ),
        r"w\.jsonl, line 234 \(episode '1_0'\): its path holds points, but scenes know nodes by their labels; "
        "give references whose paths are points, or write the agent's nodes",
    ),
    "truncated gzip": (
        lambda town, folder: cut(write_lines(folder / "w.jsonl.gz", town.walks), 3000),
        r"w\.jsonl\.gz: is damaged gzip .*again",
    ),
    "nothing": (lambda _, folder: _written(folder / "w.jsonl", b""), r"w\.jsonl: is empty; expected a run"),
    "gzip of nothing": (
        lambda _, folder: _written(folder / "w.jsonl.gz", gzip.compress(b"")),
        r"w\.jsonl\.gz: is empty; expected a run",
    ),
    "no such file": (lambda _, folder: folder / "walks.parquet", r"walks\.parquet: no such file"),
    "no such pattern": (lambda _, folder: folder / "*.parquet", r"\*\.parquet: matches no file"),
    "an empty folder": (lambda _, folder: folder, r": this folder holds none of \.parquet, \.jsonl"),
}


@pytest.mark.parametrize("case", DAMAGED)
@pytest.mark.parametrize("block", [None, 6000])
def test_damaged_files(
    town: Town, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str, block: int | None
) -> None:
    if block is not None:  # the same in many pieces
        monkeypatch.setattr(chunks, "CHUNK_BYTES", block)
        monkeypatch.setattr(chunks, "CHUNK_ROWS", 50)
    make, message = DAMAGED[case]
    (tmp_path / "in").mkdir()
    run = make(town, tmp_path / "in")
    words = ["score", run, *town.files, "--missing", "skip", "--duplicate", "all", "--episodes", tmp_path / "s.parquet"]
    found = command(*words, "--resamples", 9)
    assert (found.exit_code, found.stdout) == (1, "")
    assert found.stderr.startswith("wayscore: ")
    assert re.search(message, found.stderr), found.stderr
    assert found.stderr.count("\n") == 1
    assert not (tmp_path / "s.parquet").exists()


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

OWN: dict[str, tuple[Callable[[pa.Table], pa.Table], str]] = {
    "no references": (
        lambda rows: rows.drop_columns("reference"),
        r", \w+ [01]: has no reference of its own; give the references with references=",
    ),
    "an unknown scene": (
        lambda rows: changed(rows, ROW, scene="worlds1"),
        r", {place} \(episode '.*'\): there is no scene 'worlds1' among the 3 of the graphs; did you mean 'world1'\?",
    ),
    "a null scene": (
        lambda rows: changed(rows, ROW, scene=None),
        r", {place} \(episode '.*'\): has no scene, which rows need that carry their reference",
    ),
    "no scenes": (
        lambda rows: rows.drop_columns("scene"),
        r", \w+ [01]: has no scene, which rows need that carry their reference",
    ),
    "an unknown node": (
        lambda rows: changed(rows, ROW, reference=["cellar"]),
        r", {place} \(episode '.*'\): its reference visits a node that its scene does not have",
    ),
    "a null reference": (
        lambda rows: changed(rows, ROW, reference=None),
        r", {place} \(episode '.*'\): the field 'reference' is missing",
    ),
    "a row without a name": (
        lambda rows: changed(rows, ROW, episode=None),
        r", {place}: the field 'episode' is missing",
    ),
}


@pytest.mark.parametrize("case", OWN)
def test_rows_that_carry_their_references(town: Town, tmp_path: Path, case: str) -> None:
    change, message = OWN[case]
    for write, _, place in INPUTS.values():
        run = write(tmp_path, change(carried(town)))
        with pytest.raises(ws.FormatError, match=message.replace("{place}", place)):
            evaluated(run, town, references=None, missing=None, duplicate=None, chunk=100)


POINTS: dict[str, tuple[Callable[[pa.Table, Town], pa.Table], str]] = {
    "labels": (
        lambda _, town: town.answers,
        r", {first} \(episode '.*'\): its path holds labels, so distances need the graphs; give them with graphs=",
    ),
    "several dimensions": (
        lambda rows, _: changed(rows, ROW, path=[[0.0, 1.0, 2.0], [0.0, 1.0]]),
        "mixes points of several dimensions",
    ),
    "another dimension": (
        lambda rows, _: put(rows, path=pa.array([[[0.0, 1.0]]] * len(rows))),
        r"2 (coordinates|dimensions).*3",
    ),
}


@pytest.mark.parametrize("case", POINTS)
def test_points(town: Town, tmp_path: Path, case: str) -> None:
    answers, references = in_points(town)
    change, message = POINTS[case]
    for write, _, place in INPUTS.values():
        run = write(tmp_path, change(answers, town))
        with pytest.raises(ws.WayscoreError, match=message.replace("{first}", first_of(place))) as raised:
            evaluated(run, town, references=references, graphs=None, start="keep")
        assert "\n" not in str(raised.value)


def test_not_finite(town: Town, tmp_path: Path) -> None:
    answers, references = in_points(town)
    run = write_parquet(tmp_path / "w.parquet", changed(answers, 117, path=[[0.0, 1.0, float("nan")]]))
    wanted = r"row 117 \(episode '.*'\), field 'path', item 0, item 2: NaN is not a finite number; expected its real"
    with pytest.raises(ws.FormatError, match=wanted):
        evaluated(run, town, references=references, graphs=None)
