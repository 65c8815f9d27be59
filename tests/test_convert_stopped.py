"""Conversion that is stopped, goes on, cannot write, or is checked; and the command."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.test_convert import PlugPulledError, assert_same_references, assert_same_run, call, many, run_of, stop_after
from tests.test_formats import REFERENCES, RUNS, write
from wayscore.errors import FormatError, OptionError, OutputError
from wayscore.formats import load_references, load_run
from wayscore.formats.convert import check, convert
from wayscore.formats.layout import labels_of


def test_work_goes_on_from_its_parts(tmp_path: Path) -> None:
    file = many(tmp_path)
    alone, _ = run_of(file, rows=10)
    content = Path(alone.file).read_bytes()
    Path(alone.file).unlink()
    folder = stop_after(file, 3, rows=10)
    parts = sorted(folder.iterdir())
    assert len(parts) == 3
    before = [part.stat().st_mtime_ns for part in parts]
    parts[1].write_bytes(parts[1].read_bytes()[:-20])  # torn
    assert stop_after(file, 4, rows=10, resume=True) == folder
    after = [part.stat().st_mtime_ns for part in parts]
    assert (after[0], after[2]) == (before[0], before[2])
    made, run = run_of(file, rows=10, resume=True)
    assert (made.kept, made.checksum) == (4, alone.checksum)
    assert Path(made.file).read_bytes() == content
    assert not folder.exists()
    assert_same_run(run, load_run(file))


def test_parts_of_something_else_are_made_again(tmp_path: Path) -> None:
    file = many(tmp_path)
    stop_after(file, 3, rows=10)
    assert run_of(file, rows=5, resume=True)[0].kept == 0
    stop_after(file, 3, rows=10)
    assert run_of(file, rows=10)[0].kept == 0
    stop_after(file, 3, rows=10)
    file.write_text(file.read_text().replace("e49", "e50"))
    made, run = run_of(file, rows=10, resume=True)
    assert made.kept == 0
    assert "e50" in run.queries


def test_references_go_on_too(tmp_path: Path) -> None:
    rows = [{"episode": f"e{n}", "scene": f"s{n % 2}", "path": [[n, 1.5]]} for n in range(9)]
    file = write(tmp_path, rows, lines=True)

    def stop(share: float, rows: int) -> None:
        raise PlugPulledError

    with pytest.raises(PlugPulledError):
        convert(file, tmp_path / "made.parquet", rows=4, progress=stop)
    made = convert(file, tmp_path / "made.parquet", rows=4, resume=True)
    assert (made.kept, made.rows) == (1, 9)
    assert_same_references(load_references(made.file), load_references(file))
    twice = write(tmp_path, [*rows, rows[0]], lines=True)
    for resume in (False, True):
        with pytest.raises(FormatError, match="episode 'e0' comes twice"):
            convert(twice, tmp_path / "made.parquet", rows=4, resume=resume)


def test_a_damaged_part_is_found(tmp_path: Path) -> None:
    file = many(tmp_path)
    folder = stop_after(file, 3, rows=10)
    part = sorted(folder.iterdir())[1]
    content = bytearray(part.read_bytes())
    content[60] ^= 1
    part.write_bytes(content)
    with pytest.raises(FormatError, match="without --resume"):
        run_of(file, rows=10, resume=True)
    assert run_of(file, rows=10)[0].rows == 50


KILLED = """
import sys, time
from wayscore.formats.convert import convert

def progress(share, rows):
    print(rows, flush=True)
    time.sleep(60 if rows >= 30 else 0)

convert(sys.argv[1], sys.argv[2], rows=10, progress=progress)
"""


def test_killed(tmp_path: Path) -> None:
    file = many(tmp_path)
    words = [sys.executable, "-c", KILLED, str(file), str(tmp_path / "walks.parquet")]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert [process.stdout.readline().strip() for _ in range(3)] == ["10", "20", "30"]
        process.send_signal(signal.SIGKILL)
    assert not (tmp_path / "walks.parquet").exists()
    made, run = run_of(file, rows=10, resume=True)
    assert made.kept == 3
    assert_same_run(run, load_run(file))


# ------------------------------------------------------------------------------------------------- the output


@pytest.mark.parametrize(
    ("target", "kind", "told"),
    [
        ("run.json", OptionError, "must end in .parquet"),
        ("none/run.parquet", OutputError, "none/run.parquet: cannot be written: there is no folder"),
        ("dir.parquet", OutputError, "is a folder"),
    ],
)
def test_targets_that_cannot_be(tmp_path: Path, target: str, kind: type[Exception], told: str) -> None:
    (tmp_path / "dir.parquet").mkdir()
    with pytest.raises(kind, match=told):
        convert(many(tmp_path), tmp_path / target)
    assert {path.name for path in tmp_path.iterdir()} == {"walks.jsonl", "dir.parquet"}


def test_settings_that_cannot_be(tmp_path: Path) -> None:
    file, target = many(tmp_path), tmp_path / "made.parquet"
    for settings, told in (
        ({"rows": 0}, "at least one row, got 0"),
        ({"kind": "walks"}, "a run or references, got 'walks'"),
        ({"path_type": "player"}, "have no option 'path_type'"),
    ):
        with pytest.raises(OptionError, match=told):
            convert(file, target, **settings)
    convert(file, target)
    with pytest.raises(OptionError, match="would take the place of the file that is converted"):
        convert(target, target)
    assert load_run(target).queries


FULL = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
from wayscore.cli.app import main
main()
"""


def test_a_full_disk(tmp_path: Path) -> None:
    file = many(tmp_path, 5000)
    words = [sys.executable, "-c", FULL, "convert", str(file), "-o", str(tmp_path / "made.parquet")]
    result = subprocess.run(words, capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert "cannot be written: file too large" in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert not (tmp_path / "made.parquet").exists()


def test_a_flipped_byte_is_found_or_changes_nothing(tmp_path: Path) -> None:
    asked = [{"episode": f"e{n}", "scene": "s", "path": [f"a{n % 7}", "b"]} for n in range(400)]
    made = convert(write(tmp_path, asked, lines=True), tmp_path / "made.parquet")
    assert check(made.file).rows == 400
    content, rows = Path(made.file).read_bytes(), pq.read_table(made.file)
    copy = tmp_path / "copy.parquet"
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    missed = []
    for at in range(0, len(content), 11):
        copy.write_bytes(content[:at] + bytes([content[at] ^ 4]) + content[at + 1 :])
        try:
            check(copy)
        except FormatError:
            continue
        missed.append(at)
        assert pq.read_table(copy).equals(rows)
        assert labels_of(pq.read_schema(copy)) == labels_of(pq.read_schema(made.file))
    in_pages = [at for at in missed if at < footer]
    assert len(in_pages) < 0.03 * footer / 11  # some of what the headers of pages say, which no reader needs


def test_changed_rows_are_found(tmp_path: Path) -> None:
    made, _ = run_of(many(tmp_path))
    table = pq.read_table(made.file)
    pq.write_table(table, made.file)
    assert check(made.file).rows == 50
    pq.write_table(table.slice(1), made.file)
    with pytest.raises(FormatError, match=r"is not what was written: its checksum is .* and it should be"):
        check(made.file)
    pq.write_table(table.set_column(0, "episode", table.column("episode").cast(pa.large_string())), made.file)
    with pytest.raises(FormatError, match="the column 'episode' has Arrow type large_string"):
        check(made.file)
    pq.write_table(table.replace_schema_metadata(None), made.file)
    with pytest.raises(FormatError, match="carries no checksum"):
        check(made.file)
    with pytest.raises(FormatError, match="is not Parquet"):
        check(tmp_path / "walks.jsonl")


# ------------------------------------------------------------------------------------------------ the command


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    many(tmp_path, name="agent.v2.jsonl.gz")
    result = call("agent.v2.jsonl.gz", "--rows", 20)
    made = check("agent.v2.parquet")
    sizes = rf"{Path('agent.v2.jsonl.gz').stat().st_size} bytes in, {made.written / 1000:.1f} kB out"
    assert result.output == f"agent.v2.parquet: 50 rows of a run, {sizes}, sha256 {made.checksum}\n"
    checked = call("agent.v2.parquet", "--check")
    assert checked.output == (
        f"agent.v2.parquet: 50 rows of a run, {made.written / 1000:.1f} kB: pages and content are what was written, "
        f"sha256 {made.checksum}\n"
    )
    stop_after(Path("agent.v2.jsonl.gz"), 2, rows=20)
    both = call("agent.v2.jsonl.gz", "--rows", 20, "--resume", "-o", "agent.v2.parquet", "--check")
    assert "50 rows of a run (2 parts kept), " in both.output
    assert both.output.count(made.checksum) == 2
    write(tmp_path, REFERENCES["ndh"], "ndh.json")
    assert call("ndh.json", "--reader", "path_type=trusted").exit_code == 0
    assert load_references("ndh.parquet").name == "ndh.parquet(path_type=trusted)"
    write(tmp_path, RUNS["ndh"], "run.json")
    assert "1 rows of a run" in call("run.json", "-r", "ndh.parquet", "--as", "run").output
    assert load_run("run.parquet").queries["5"].path == ["a", "b"]


def test_mistakes_of_the_command(tmp_path: Path) -> None:
    file = many(tmp_path)
    for words, told in (
        (("none.json",), "none.json: no such file"),
        ((file, "--check"), "is not Parquet"),
        ((file, "--reader", "rows=3"), "no reader has a setting 'rows'"),
        ((file, "--as", "walks", "-o", tmp_path / "a.parquet"), "a run or references, got 'walks'"),
        ((file, "-o", tmp_path / "none" / "a.parquet"), "there is no folder"),
    ):
        result = call(*words)
        assert result.exit_code == 1
        assert told in result.output
        assert len(result.output.splitlines()) == 1


def test_the_command_shows_progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from contextlib import contextmanager

    import wayscore.cli.convert as verb

    told: list[str] = []

    @contextmanager
    def bar(steps: int) -> Any:
        assert steps == 100
        yield told.append

    monkeypatch.setattr(verb, "progress_bar", bar)
    assert call(many(tmp_path), "--rows", 10, "-o", tmp_path / "a.parquet").exit_code == 0
    assert len(told) == 100
    assert told[-1] == "50 rows"
