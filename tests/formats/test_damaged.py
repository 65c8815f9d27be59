"""Readers against damaged files: every way, every format, one clear sentence, never a traceback of another kind."""

from __future__ import annotations

import copy
import gzip
import json
import os
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from tests.formats.test_readers import LINES, REFERENCES, RUNS, VLNCE, VLNCE_DENSE, encode, write
from tests.fortress.attacks import tar_of
from wayscore import reading
from wayscore.errors import FormatError, WayscoreError
from wayscore.formats import decoding, load_references, load_run

Load = Callable[..., Any]
CASES = [("references", form) for form in REFERENCES] + [("run", form) for form in RUNS]
LOADERS: dict[str, Load] = {"references": load_references, "run": load_run}
CONTENT: dict[str, dict[str, Any]] = {"references": REFERENCES, "run": RUNS}


@pytest.fixture(params=CASES, ids=lambda case: "-".join(case))
def case(request: pytest.FixtureRequest) -> tuple[Load, str, Any]:
    """A loader, its format's name, and good content."""
    kind, form = request.param
    return LOADERS[kind], form, copy.deepcopy(CONTENT[kind][form])


def refused(load: Load, path: Path, form: str | None = None) -> str:
    """Return the sentence that refuses a file; it names the file and is one line."""
    with pytest.raises(FormatError) as caught:
        load(path, form)
    message = str(caught.value)
    assert str(path) in message
    assert "\n" not in message
    assert "$" not in message
    return message


def records(content: Any) -> list[dict[str, Any]]:
    return content["episodes"] if isinstance(content, dict) and "episodes" in content else content


def both(load: Load, path: Path, form: str) -> Iterator[str]:
    """The refusals with the format found and the format given."""
    yield refused(load, path)
    yield refused(load, path, form)


def test_truncated(tmp_path: Path, case: tuple[Load, str, Any]) -> None:
    load, form, content = case
    whole = encode(content, form in LINES)
    path = tmp_path / "cut.json"
    for cut in (1, 2, len(whole) // 3, len(whole) // 2, len(whole.rstrip()) - 1):
        path.write_bytes(whole[:cut])
        for message in both(load, path, form):
            assert "middle of" in message or "missing" in message or "without records" in message, message


def test_not_json(tmp_path: Path, case: tuple[Load, str, Any]) -> None:
    load, form, content = case
    path = tmp_path / "odd.json"
    path.write_text("Not Found")
    assert "neither JSON records nor a table" in refused(load, path)
    assert "not JSON" in (message := refused(load, path, form)) or "not a table" in message
    path.write_bytes(bytes(range(256)))
    for _ in both(load, path, form):
        pass
    whole = encode(content, form in LINES)
    path.write_bytes(whole.replace(b":", b";", 1))
    assert "not JSON" in refused(load, path, form)


def test_empty(tmp_path: Path, case: tuple[Load, str, Any]) -> None:
    load, form, content = case
    path = tmp_path / "empty.json"
    for nothing in (b"", b" \n\n"):
        path.write_bytes(nothing)
        assert all("is empty" in message for message in both(load, path, form))
    path.write_bytes(gzip.compress(b""))
    assert all("is empty" in message for message in both(load, path, form))
    path.write_text("{}" if isinstance(content, dict) else "[]")
    assert "no " in refused(load, path, form) or "missing" in refused(load, path, form)
    refused(load, path)


WRONG = [None, True, 3.5, {"x": 1}, [{"x": 1}], [[[1]]], "text"]


def test_wrong_types(tmp_path: Path, case: tuple[Load, str, Any]) -> None:
    load, form, content = case
    if content is RUNS["vlnce"] or (isinstance(content, dict) and "episodes" not in content):
        for wrong in (None, 3, "x", {"a": 1}, [3], [["a", 0, 0]], [[1, 2]], [{"position": [1, 2]}], [{"stop": True}]):
            message = refused(load, write(tmp_path, {"1": [[0, 1, 2]], "77": wrong}), form)
            assert "episode '77'" in message
        return
    fields = ("path", "trajectory", "route_panoids", "reference_path", "planner_path", "path_id")
    for field in fields:
        if field not in records(content)[-1]:
            continue
        for wrong in WRONG:
            if (wrong == "text" and field == "path_id") or (wrong is None and field in ("path_id", "reference_path")):
                continue
            damaged = copy.deepcopy(content)
            good = copy.deepcopy(records(content)[-1])
            records(damaged).append({**good, field: wrong})
            where = len(records(damaged)) - 1
            message = refused(load, write(tmp_path, damaged, lines=form in LINES), form)
            place = f"line {where + 1}" if form in LINES else f"record {where}"
            assert field in message, message
            assert place in message, message


def test_missing_fields(tmp_path: Path, case: tuple[Load, str, Any]) -> None:
    load, form, content = case
    if isinstance(content, dict) and "episodes" not in content:
        assert "the field 'position' is missing" in refused(load, write(tmp_path, {"1": [{"stop": True}]}), form)
        return
    optional = {"instruction", "language", "distance", "heading", "info", "goals", "trajectory_id", "navigation_text"}
    optional |= {"start_distance", "game_idx", "dialog_history", "first_path_id", "second_path_id", "shortest_path"}
    optional |= {"shortest_path_distance", "reference_path", "objId", "predObjId", "end_panos", "start_pano"}
    optional |= {"player_path"} | ({"path_id"} if form == "reverie" else set())
    for field in records(content)[0]:
        damaged = copy.deepcopy(content)
        del records(damaged)[0][field]
        path = write(tmp_path, damaged, lines=form in LINES)
        if field in optional:
            load(path, form)
        else:
            message = refused(load, path, form)
            assert f"{field!r}" in message
            assert "missing" in message
            assert "expected" in message


def test_not_finite(tmp_path: Path, case: tuple[Load, str, Any]) -> None:
    load, form, content = case
    places = {'["a"': "[", '[["a"': "[[", '["p"': "[", "[[0.0": "[[", "[0, 1, 2": "[0, 1, "}
    for word in ("NaN", "Infinity", "-Infinity", "1e999"):
        text = encode(content, form in LINES).decode()
        place = next(place for place in reversed(places) if place in text)
        path = tmp_path / "nan.json"
        path.write_text(text.replace(place, places[place] + word, 1))
        message = refused(load, path, form)
        assert "record 0" in message or "line 1" in message or "episode '1'" in message
        assert "field" in message or "item" in message, message
        if word == "1e999":
            assert "number out of range" in message or "must be" in message
        else:
            assert f": {word} is not a finite number; expected its real value" in message


def test_duplicates(tmp_path: Path, case: tuple[Load, str, Any]) -> None:
    load, form, content = case
    if load is load_references:
        records(content).append(records(content)[0])
        message = refused(load, write(tmp_path, content, lines=form in LINES), form)
        assert "comes twice" in message
        return
    if isinstance(content, dict):
        path = tmp_path / "twice.json"
        path.write_text(json.dumps(content)[:-1] + ", " + json.dumps(content)[1:])
    else:
        path = write(tmp_path, content * 3, lines=form in LINES)
    run = load(path, form)
    assert run.duplicates == tuple(run.queries)
    assert len(run.queries) == 1


def test_empty_paths(tmp_path: Path, case: tuple[Load, str, Any]) -> None:
    load, form, content = case
    walks = ("route_panoids", "planner_path", "reference_path", "trajectory", "path", "1")
    record = content if "1" in content else records(content)[0]
    record[next(field for field in walks if field in record)] = []
    message = refused(load, write(tmp_path, content, lines=form in LINES), form)
    assert "empty" in message or "no steps" in message


def test_damaged_gzip(tmp_path: Path, case: tuple[Load, str, Any]) -> None:
    load, form, content = case
    packed = gzip.compress(encode(content, form in LINES))
    path = tmp_path / "file.json.gz"
    for damage in (
        packed[:-12],
        packed[:12],
        packed[:-8] + b"\0" * 8,
        packed[:20] + b"\xff" * 9 + packed[29:],
        packed[:2],
    ):
        path.write_bytes(damage)
        assert all("is damaged gzip" in message for message in both(load, path, form))


def test_gzip_is_known_by_content_not_by_name(tmp_path: Path, case: tuple[Load, str, Any]) -> None:
    load, form, content = case
    plain = encode(content, form in LINES)
    (tmp_path / "plain.json.gz").write_bytes(plain)
    (tmp_path / "packed.json").write_bytes(gzip.compress(plain))
    (tmp_path / "marked.json").write_bytes(b"\xef\xbb\xbf" + plain)
    for name in ("plain.json.gz", "packed.json", "marked.json"):
        assert load(tmp_path / name).format == form


def test_no_file(tmp_path: Path, case: tuple[Load, str, Any]) -> None:
    load, form, content = case
    write(tmp_path, content, "results.json")
    assert "did you mean 'results.json'" in refused(load, tmp_path / "result.json", form)
    assert "no such file" in refused(load, tmp_path / "nowhere" / "x.json")
    if load is load_references:
        assert "is a directory" in refused(load, tmp_path, form)
    else:
        assert load(tmp_path, form).name == tmp_path.name  # a folder is one run
        assert "matches no file" in refused(load, tmp_path / "*.csv", form)
    if hasattr(os, "mkfifo"):
        assert "is a device" in refused(load, Path("/dev/null"))


def test_an_unreadable_name() -> None:
    with pytest.raises(FormatError, match="cannot be read"):
        load_run("a\0b")
    with pytest.raises(FormatError, match=r"cannot be read|no such file"):
        load_run("x" * 5000)


# ---------------------------------------------------------------------------------------------------- tars


def tar(path: Path, members: dict[str, bytes], mode: str = "w:gz") -> Path:
    link = tarfile.TarInfo("link.json")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    path.write_bytes(tar_of(members.items(), link, mode=mode))
    return path


def test_a_member_is_read_by_name_and_nothing_is_unpacked(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    good = encode(RUNS["r2r"], lines=False)
    members = {"../../escaped.json": good, "/abs.json": good, "a/b.json.gz": gzip.compress(good)}
    for mode in ("w", "w:gz"):
        path = tar(inside / "runs.tar", members, mode)
        for name in members:
            run = load_run(path, member=name)
            assert list(run.queries) == ["7_0"]
            assert load_run(f"{path}::{name}").name == run.name == Path(name).name.split(".")[0]
        assert "no file named 'link.json'" in refused(lambda p, f: load_run(p, f, member="link.json"), path)
        assert "did you mean 'a/b.json.gz'" in refused(lambda p, f: load_run(p, f, member="a/b.json"), path)
        assert "is a tar of 3 files (../../escaped.json, /abs.json, a/b.json.gz); name one" in refused(load_run, path)
    assert [found.name for found in tmp_path.rglob("*")] == ["inside", "runs.tar"]


def test_a_tar_of_one_file_needs_no_name(tmp_path: Path) -> None:
    assert load_run(tar(tmp_path / "r.tgz", {"only.json": encode(RUNS["r2r"], lines=False)})).name == "r"
    assert "is not a tar" in refused(lambda p, f: load_run(p, f, member="x"), write(tmp_path, RUNS["r2r"]))


def test_damaged_tars(tmp_path: Path) -> None:
    path = tar(tmp_path / "r.tar", {"a.json": b"[1, 2]" * 500, "b.json": b"[]"}, "w")
    whole = path.read_bytes()
    for damaged in (whole[:700], whole[:513], whole[:3000]):
        path.write_bytes(damaged)
        assert "a damaged one" in (m := refused(lambda p, f: load_run(p, f, member="a.json"), path)) or "no file" in m
    path.write_bytes(gzip.compress(whole)[:-20])
    assert "damaged gzip" in refused(lambda p, f: load_run(p, f, member="a.json"), path)


# --------------------------------------------------------------------------------------------------- sizes


def test_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "SIZE_LIMIT", 50_000)
    monkeypatch.setattr(reading, "CHUNK", 1000)
    big = b"[" + b" " * 100_000 + b"]"
    path = tmp_path / "big.json"
    path.write_bytes(big)
    assert "more than 50,000 bytes; split" in refused(load_run, path)
    path.write_bytes(gzip.compress(big))
    assert "more than 50,000 bytes when decompressed; split" in refused(load_run, path)
    path.write_bytes(gzip.compress(b" ") * 100_000)  # many small members
    assert "when decompressed" in refused(load_run, path)
    archive = tar(tmp_path / "big.tar.gz", {"big.json": big})
    assert "50,000" in refused(load_run, archive)
    nested = tar(tmp_path / "nested.tar", {"big.json.gz": gzip.compress(big)})
    assert "50,000" in refused(load_run, nested)


def test_a_bomb_is_stopped_early(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "RATIO_FLOOR", 100_000)
    monkeypatch.setattr(reading, "CHUNK", 10_000)
    given_out = []
    read = reading._contents
    monkeypatch.setattr(reading, "_contents", lambda *a: (given_out.append(chunk) or chunk for chunk in read(*a)))
    path = tmp_path / "bomb.json.gz"
    path.write_bytes(gzip.compress(b"[" + b" " * 30_000_000 + b"]"))
    assert "swells more than 200 times" in refused(load_run, path)
    assert sum(map(len, given_out)) < 10_000_000


def test_parquet_that_claims_too_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "t.parquet"
    names = [str(n) for n in range(9000)]
    pq.write_table(pa.table({"episode": names, "scene": ["s"] * 9000, "path": [["a"]] * 9000}), path)
    assert len(load_references(path)) == 9000
    monkeypatch.setattr(reading, "SIZE_LIMIT", path.stat().st_size)
    assert "when decompressed" in refused(load_references, path)


def test_a_long_line_is_fine_and_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long = {"episode": "long", "path": [f"n{i}" for i in range(100_000)]}
    short = {"episode": "short", "path": ["a"]}
    path = write(tmp_path, [short, long, short], "t.jsonl", lines=True)
    assert len(load_run(path).queries["long"].path) == 100_000
    csv = tmp_path / "t.csv"
    csv.write_text("episode,path\nshort,a\nlong," + " ".join(long["path"]) + "\n")
    assert len(load_run(csv).queries["long"].path) == 100_000
    monkeypatch.setattr(decoding, "LINE_LIMIT", 10_000)
    assert "line 2 has more than 10,000 bytes" in refused(load_run, path)


# ----------------------------------------------------------------------------------------- further sentences


def walks(*steps: Any) -> list[dict[str, Any]]:
    """A run of which the record 3 has these steps."""
    good = [["a", 0, 0]]
    return [{"instr_id": f"{n}_0", "trajectory": list(steps) if n == 3 else good} for n in range(5)]


NDH_WITHHELD = {"inst_idx": 9, "scan": "s", "start_pano": {"pano": "a"}}
MISSING = "record 1 (episode '9'): the field 'planner_path' is missing"
R2R_EXPECTED = 'expected R2R results: [{"instr_id": ..., "trajectory": [[viewpoint, heading, elevation], ...]}, ...]'
SENTENCES: list[tuple[Load, Any, str]] = [
    (load_references, {"episodes": []}, "holds no episodes"),
    (load_references, [{"path_id": 1, "scan": "s", "path": ["a"], "instructions": []}], "holds no episodes"),
    (load_run, walks(["a", 0, 0], ["b", "c", 5]), "record 3 (episode '3_0'): step 1 must be a viewpoint"),
    (load_run, walks(["a", 0, 0], 7), "record 3 (episode '3_0'), field 'trajectory', item 1: must be "),
    (load_run, walks(["a", 0, 0], 7), R2R_EXPECTED),
    (load_run, walks("a", [1, 2, 3]), "step 1 mixes viewpoints and coordinates"),
    (load_run, walks([1, 2], [1, 2, 3]), "step 1 has 3 coordinates but step 0 has 2"),
    (load_references, [REFERENCES["ndh"][0], NDH_WITHHELD], MISSING),
    # of two places that are wrong, the first is named
    (load_run, '[{"instr_id": "1", "trajectory": 5}, {"instr_id": ', "record 0 (episode '1'), field 'trajectory'"),
    (
        load_references,
        '{"episodes": [{"episode_id": 1, "scene_id": 5}, {"epi',
        "record 0, field 'scene_id': must be text, got an integer",
    ),
    (load_run, '[{"instr_id": "1", "trajectory": ["a"], "x": ' + "[" * 200_000, "nested too deeply"),
    (load_run, "[" * 200_000, ""),
    (lambda path, _: load_run(path, "r2r"), "[" * 200_000, ""),
    (load_run, '[{"instr_id": "é", "trajectory": ["a"]}]'.encode("latin-1"), "not UTF-8"),
]


@pytest.mark.parametrize(("load", "content", "words"), SENTENCES, ids=range(len(SENTENCES)))
def test_sentences_name_record_episode_and_field(tmp_path: Path, load: Load, content: Any, words: str) -> None:
    if isinstance(content, str | bytes):
        path = tmp_path / "file.json"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    else:
        path = write(tmp_path, content)
    assert words in refused(load, path)


def test_dense_walks_damaged(tmp_path: Path) -> None:
    path = write(tmp_path, VLNCE, "val.json")
    for content, words in (
        ({"1": {"locations": []}}, "episode '1', field 'locations': is empty"),
        ({"1": {"locations": [[0, 1]]}}, "episode '1', field 'locations', item 0: must be a list of 3"),
        ({"1": {"actions": [1]}}, "episode '1': the field 'locations' is missing"),
        ({}, "holds no episodes"),
    ):
        beside = write(tmp_path, content, "val_gt.json")
        with pytest.raises(FormatError, match=words) as caught:
            load_references(path)
        assert str(beside) in str(caught.value)
    with pytest.raises(FormatError, match="no such file"):
        load_references(path, dense=tmp_path / "gone.json")
    write(tmp_path, VLNCE_DENSE, "val_gt.json")
    load_references(path)


def test_damaged_csv(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    for text, words in (
        ("episode,path\n", "holds no rows"),
        ("name,path\na,b\n", "row 0: the field 'episode' is missing"),
        ("episode,path\na,b\nc\n", "is not a table (CSV parse error"),
        ("episode,path\na,b\n,c\n", "row 1: the field 'episode' is missing"),
        ("episode,path\na,b\nd,\n", "row 1 (episode 'd'): the field 'path' is missing"),
        ('episode,path\na,"[1, 2"\n', "row 0 (episode 'a'), column 'path': cannot be read from '[1, 2'"),
        ('episode,path\na,"[[NaN, 2]]"\n', "row 0 (episode 'a'), column 'path': cannot be read"),
        ('episode,path\na,"[[1, 2], [3]]"\n', "row 0 (episode 'a'), field 'path': mixes points"),
        ("episode,path,stopped\na,b,maybe\n", "column 'stopped': cannot be read from 'maybe'"),
        ("episode,path,recorded\na,b,{oops\n", "column 'recorded': cannot be read from '{oops'"),
    ):
        path.write_text(text)
        assert words in refused(load_run, path, "table")
    path.write_text("episode,scene,path,start_distance\na,s,b,inf\n")
    assert "column 'start_distance': cannot be read from 'inf'" in refused(load_references, path)
    path.write_text("episode,scene,path\na,s,b\na,s,c\n")
    assert "'a' comes twice" in refused(load_references, path)
    assert load_run(path).duplicates == ("a",)


def test_damaged_parquet(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "t.parquet"

    def table(**columns: Any) -> Path:
        pq.write_table(pa.table(columns), path)
        return path

    nan = pa.array([[[0.0, 1.0]], [[2.0, 3.0], [float("nan"), 1.0]]], pa.list_(pa.list_(pa.float64(), 2)))
    none = pa.array([], pa.list_(pa.string()))
    for columns, words in (
        ({"episode": ["a", "b"], "path": nan}, "row 1 (episode 'b'), field 'path', item 1, item 0: NaN is not"),
        ({"episode": ["a"], "path": ["b"]}, "must hold lists, got Arrow type string"),
        ({"episode": ["a", "b"], "path": [["x"], None]}, "row 1 (episode 'b'): the field 'path' is missing"),
        ({"episode": ["a", None], "path": [["x"], ["x"]]}, "row 1: the field 'episode' is missing"),
        ({"episode": ["a"], "path": [["x", None]]}, "row 0 (episode 'a'), field 'path', item 1: must be an integer or"),
        ({"episode": ["a"], "path": [[[1.0], [1.0, 2.0]]]}, "mixes points of several dimensions"),
        ({"episode": ["a"], "path": [[1.5, 2.5]]}, "must hold labels, or points of one dimension"),
        ({"episode": ["a"], "path": pa.array([[]], pa.list_(pa.string()))}, "row 0 (episode 'a'): its path is empty"),
        ({"episode": pa.array([], pa.string()), "path": none}, "holds no rows"),
    ):
        assert words in refused(load_run, table(**columns))
    rows = {"episode": ["a", "b"], "scene": ["s", "s"]}
    for paths, words in (
        (nan, "row 1, field 'path', item 1, item 0: NaN is not a finite number"),
        ([["x"], None], "row 1: the field 'path' is missing"),
        ([["x"], ["x", None]], "row 1, field 'path', item 1: must be an integer or text or a list, got null"),
        ([[[1.0]], [[1.0, 2.0]]], "mixes points of several dimensions"),
    ):
        assert words in refused(load_references, table(**rows, path=paths))
    assert "column 'episode': must be an integer or text" in refused(
        load_references, table(episode=[1.5], scene=["s"], path=[["x"]])
    )
    assert "column 'scene' is missing" in refused(load_references, table(episode=["a"], path=[["x"]]), "table")
    goals = {"scene": ["s"], "path": [["x"]], "goals": ["abc"]}
    assert "column 'goals': must be a list" in refused(load_references, table(episode=["a"], **goals))
    whole = table(episode=["a"], path=[["x"]]).read_bytes()
    for damaged in (whole[:-10], whole[:40], b"PAR1" + b"\0" * 100 + b"PAR1"):
        path.write_bytes(damaged)
        assert "is damaged Parquet" in refused(load_run, path, "table")
        refused(load_run, path)


@pytest.mark.parametrize("form", ["r2r", "vlnce", "table", "rxr"])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(edits=st.lists(st.tuples(st.integers(0, 10_000), st.binary(max_size=3)), min_size=1, max_size=4))
def test_any_damage_is_an_error_of_ours_or_a_run(tmp_path: Path, form: str, edits: list[tuple[int, bytes]]) -> None:
    for kind, load in LOADERS.items():
        content = bytearray(encode(CONTENT[kind][form], form in LINES))
        for place, new in edits:
            start = place % len(content)
            content[start : start + len(new)] = new
        path = tmp_path / "file"
        path.write_bytes(content)
        for name in (None, form):
            try:
                load(path, name)
            except WayscoreError as error:
                assert str(path) in str(error)  # noqa: PT017
