"""What people do wrong in their first hour: every mistake gets one sentence that helps, and the right exit status."""

from __future__ import annotations

import gzip
import json
import pickle
import re
from pathlib import Path
from typing import Any

import pytest

from tests.house import command, write_house, write_references, write_run

LONGEST = 700
"""Characters of a message: it is read in a terminal."""
NEVER = ("Traceback", "<<", "shape (0,)", "load_run", "load_references", "Error:", "None")
"""What no message says: words of Python, or of wayscore's own code."""
FILES = "-r references.json -g connectivity"
R2R = "-r DATA/r2r/R2R_val_seen.json.gz -g DATA/connectivity.tar.gz"
"""What FILES and SEEN stand for in the command lines; DATA is the folder of real data."""
WRONG_SPLIT = (
    r"^other: no episode of this run is in references.json: wrong split\? Its first is '91_0'; give the references "
    "that it answers with --references"
)
GRAPHS = "give the folder or tar of the dataset's connectivity files with --graphs FOLDER"
MISTAKES = [
    # A command line, in a folder of small files (see `desk`); its exit status; what standard error says, "" for nothing
    # Files that do not belong together
    ("score other.json FILES", 1, WRONG_SPLIT),
    ("score other.json FILES --missing skip --unknown skip", 1, WRONG_SPLIT),
    ("score far.json -r val.json --missing skip --unknown skip", 1, "wrong split"),
    ("compare other.json run.json FILES", 1, WRONG_SPLIT),
    ("align other.json 1_0 FILES", 1, WRONG_SPLIT),
    (
        "score mostly.json FILES --missing skip",
        1,
        r"^(?!.*(have no answer|90_0, 91_0)).*20 of its 21 answers are to episodes that references.json does not have: "
        r"wrong split or release\? The first is '90_0'; give the references that it answers with --references FILE, or "
        "use --unknown skip$",
    ),
    (
        "score moved.json -r val.json",
        1,
        r"2 of its 2 queries do not begin where their references in val.json do: wrong split, .* The first is '1' "
        r"\(begins at \[9.12, 0.0, 0.0\], its reference at \[0.0, 0.0, 0.0\]\); give",
    ),
    (
        "score references.json -r run.json -g connectivity",
        1,
        "^run.json: looks like a run in the R2R format, not references; give it as the run, and the ground-truth paths "
        "with --references FILE$",
    ),
    (
        "score references.json FILES",
        1,
        "^references.json: looks like R2R references, not a run; give it with --references FILE, and your agent's",
    ),
    ("score run.json FILES -r two.json", 2, "--references .*twice"),
    ("score nodes.json -r val.json", 1, "holds labels, .* references whose paths are labels"),
    ("score run.json -g connectivity", 2, "give the references with --references FILE$"),
    ("validate run.json", 2, "Missing option '-r' / '--references'"),
    # Graphs
    ("score run.json -r references.json", 2, "distances need the graphs; .* with --graphs FOLDER$"),
    ("score run.json -r references.json -g nowhere", 1, f"^nowhere: no such file .*{GRAPHS}$"),
    ("score run.json -r references.json -g empty", 1, f"^empty: holds no file .*{GRAPHS}$"),
    ("score run.json -r references.json -g run.json", 1, f"^run.json: not .*{GRAPHS}$"),
    ("score connectivity FILES", 1, "looks like a connectivity graph, not a run; give"),
    # Names
    ("score run.json FILES --metrics TL,ndtw", 0, ""),
    ("score run.json FILES --metrics SR --metrics SPL", 0, ""),
    ("score run.json FILES --convention DUET", 0, ""),
    ("score run.json FILES --metrics nDTV", 2, "no metric 'nDTV'; did you mean 'nDTW'"),
    ("score run.json FILES --convention dute", 2, "'dute'; did you mean 'duet'"),
    ("align run.json 3 FILES", 2, r"^references.json has no episode '3'; did you mean '3_0', '3_1' or '3_2'\?$"),
    ("align run.json 1_7 FILES", 2, r"did you mean '1_0' or '1_1'\?$"),
    ("align run.json kitchen FILES", 2, "no episode 'kitchen'; the first is '1_0'$"),
    ("score run.json FILES --run-format r3r", 2, "no format 'r3r'; .* Known: r2r, r4r, rxr"),
    ("score run.json FILES --reader language=en", 2, "no option 'language'; .*leave it out"),
    ("score run.json FILES --refrences x.json", 2, "No such option .*--references"),
    ("score run.json FILES --missing ignore", 2, "--missing must be error, skip or zero"),
    ("score rnu.json FILES", 1, r"^rnu.json: no such file; did you mean 'run.json'\?$"),
    # Files that are no data
    ("score blank.json FILES", 1, "^blank.json: is empty; expected a run, so write or copy it"),
    ("score cut.json FILES", 1, "^cut.json: ends in the middle of a record; copy or write"),
    ("score cut.json.gz FILES", 1, "^cut.json.gz: is damaged gzip .* download it again$"),
    ("score page.json FILES", 1, "^page.json: is a web page .*, not a run; download the file itself"),
    ("score run.json -r page.json -g connectivity", 1, "is a web page .*, not ref"),
    ("score pointer.json FILES", 1, "is a pointer of Git LFS, not a run; .*git lfs pull"),
    ("score model.pt FILES", 1, "is a zip archive or a checkpoint of PyTorch, not a run; give"),
    ("score model.bin FILES", 1, r"is binary data \(a checkpoint\?\), not a run; give a"),
    ("score run.pkl FILES", 1, "is a pickle of Python, not a run; write its records as JSON, CSV"),
    ("score wide.json FILES", 1, "is text in UTF-16, not a run; save it as UTF-8"),
    ("score empty FILES", 1, "^empty: this folder holds none of .parquet, .*; name the"),
    ("score parts FILES", 0, ""),
    ("align scores.json 1_0 FILES", 1, "scores .*, which hold no paths, not a run; give the"),
    ("validate scores.json FILES", 1, "scores .*, which hold no paths, not a run; give"),
    (
        "score run.json -r scores.json -g connectivity",
        1,
        "^(?!.*trajectories).*scores .*, which hold no paths, not references; give the dataset's file of ground-truth "
        "paths, such as R2R_",
    ),
    (
        "score mine.json FILES",
        1,
        "'name', 'steps', which no known format of runs begins with; expected records such as .*--run-format NAME$",
    ),
    # Values
    ("score run.json FILES --threshold 0", 2, "threshold must be a positive distance"),
    ("score run.json FILES --threshold -1", 2, "threshold must be a positive distance"),
    ("score run.json FILES --threshold 3m", 2, "--threshold must be a number, not '3m'"),
    (
        "score nan.json -r val.json",
        1,
        "^nan.json, episode '1', item 1, item 0: NaN is not a finite number; expected its real value, or the episode",
    ),
    (
        "score lost.json FILES",
        1,
        r"1 query visits a node that its scene does not have: 1_0 \(step 1, 'q'\); use --node skip or --node zero$",
    ),
    # Output
    ("score run.json FILES --html report.pdf", 2, r"--html .*\.html"),
    ("score run.json FILES --episodes run.json/a.csv", 1, "cannot be written: .*; cho"),
    ("score run.json FILES --episodes a.txt", 2, "the ending must be .parquet, .csv or .js"),
    ("score run.json FILES --save run.json", 1, "^run.json: "),
    ("score run.json FILES --html nowhere/a.html", 1, "nowhere/a.html: .*choose another"),
]
WITH_DATA = [
    (
        "score DATA/predictions/r2r/val_unseen_prevalent_add.json.gz SEEN --missing skip --unknown skip",
        1,
        "^(?!.*left to score).*no episode of this run is in R2R_val_seen.json.gz: wrong split",
    ),
    (
        "score DATA/predictions/submissions/roomtour3d_reverie_test.json.gz "
        "-r DATA/reverie/REVERIE_test.json.gz -g DATA/connectivity.tar.gz",
        1,
        "this split holds starts only .*`wayscore validate` checks a run against it",
    ),
    (
        "score DATA/predictions/internnav/result.json -r DATA/vlnce/R2R_VLNCE_v1-3/val_seen/val_seen.json.gz",
        1,
        "a JSON object whose first fields are 'length', 'nes_all', .*, which no known format of runs begins with",
    ),
    ("score DATA/predictions/r2r/seq2seq_log.csv SEEN", 1, "is a table without a column of paths .*, which no known"),
]


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with references, graphs, a run, and files that are something else."""
    monkeypatch.chdir(tmp_path)
    write_house(tmp_path, [("S", "abcd", 2), ("T", "xyz", 1), ("S", "efg", 3)])
    write_references(tmp_path / "two.json", [("S", "abcd", 2)])
    walks = {"1_0": "abcd", "1_1": "abc", "2_0": "xy", "3_0": "efg", "3_1": "ef", "3_2": "efgh"}
    write_run(tmp_path / "run.json", walks)
    write_run(tmp_path / "other.json", {"91_0": "abcd", "92_1": "abc"})
    write_run(tmp_path / "mostly.json", {"1_0": "abcd", **{f"9{number}_0": "abc" for number in range(20)}})
    write_run(tmp_path / "lost.json", {**walks, "1_0": "aq"})
    content = (tmp_path / "run.json").read_bytes()
    packed = gzip.compress(content)
    there = {"scene_id": "mp3d/S/S.glb", "start_position": [0, 0, 0], "reference_path": [[0, 0, 0], [2, 0, 0]]}
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"
    binary = bytes(range(1, 256)) * 3
    found: dict[str, Any] = {
        "val.json": {"episodes": [{"episode_id": number, **there} for number in (1, 2)]},
        "far.json": {"8": [[0, 0, 0]], "9": [[0, 0, 0]]},
        "moved.json": {"1": [[9.1234, 0, 0]], "2": [[9, 0, 0]]},
        "nodes.json": {"1": ["a", "b"], "2": ["a"]},
        "nan.json": '{"1": [[0, 0, 0], [NaN, 0, 0]], "2": [[0, 0, 0]]}',
        "scores.json": {"1_0": {"success": 1.0, "spl": 0.5}, "1_1": {"success": 0.0, "spl": 0.0}},
        "mine.json": [{"name": "1_0", "steps": ["a", "b"]}],
        "blank.json": "",
        "cut.json": content[: len(content) // 2],
        "cut.json.gz": packed[: len(packed) // 2],
        "page.json": "<!DOCTYPE html>\n<html><head><title>Sign in</title></head></html>\n",
        "pointer.json": pointer,
        "model.pt": b"PK\x03\x04\0\0\x08\x08" + binary,
        "model.bin": binary,
        "run.pkl": pickle.dumps([{"instr_id": "1_0"}]),
        "wide.json": content.decode().encode("utf-16"),
        "parts/0.json.gz": gzip.compress(json.dumps(json.loads(content)[:3]).encode()),
        "parts/1.json.gz": gzip.compress(json.dumps(json.loads(content)[3:]).encode()),
    }
    for name, data in found.items():
        data = data if isinstance(data, str | bytes) else json.dumps(data)
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(data.encode() if isinstance(data, str) else data)
    (tmp_path / "empty").mkdir()
    return tmp_path


@pytest.mark.parametrize(("words", "status", "sentence"), MISTAKES)
def test_mistakes(desk: Path, words: str, status: int, sentence: str) -> None:
    result = command(*words.replace("FILES", FILES).split(), *(["--resamples", "9"] if status == 0 else []))
    said = result.stderr
    assert result.exit_code == status, said or result.stdout
    if not sentence:
        assert said == ""
        return
    assert result.stdout == ""
    assert said.startswith("wayscore: ")
    assert re.search(sentence, said.removeprefix("wayscore: ").rstrip()), said
    assert said.count("\n") <= 2
    assert len(said) < LONGEST, said
    assert not [words for words in NEVER if words in said], said


@pytest.mark.parametrize(("words", "status", "sentence"), WITH_DATA)
def test_mistakes_with_real_data(desk: Path, data: Path, words: str, status: int, sentence: str) -> None:
    test_mistakes(desk, words.replace("SEEN", R2R).replace("DATA", str(data)), status, sentence)


def test_python_reads_its_own_words(desk: Path) -> None:
    """The same mistakes in Python name keywords, not options."""
    import wayscore as ws

    with pytest.raises(ws.FormatError, match=r"wrong split\? .* with references=\.\.\.$"):
        ws.evaluate("other.json", "references.json", "connectivity")
    with pytest.raises(ws.OptionError, match=r"give the references with references=\.\.\.$"):
        ws.evaluate("run.json", None, "connectivity")
    with pytest.raises(ws.FormatError, match=r"not references; give it as the run, and .* with references=\.\.\.$"):
        ws.load_references("run.json")
    with pytest.raises(ws.FormatError, match=r"connectivity files with graphs=\.\.\.$"):
        ws.evaluate("run.json", "references.json", "empty")
