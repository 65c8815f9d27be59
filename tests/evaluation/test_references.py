"""References and runs as values: fingerprints of content, names, groups, and batches of answers."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st
from msgspec import structs

import wayscore as ws
from tests.house import ASKED, GRAPHS, references, run, write_references
from wayscore.evaluation.groups import choose_cluster, few_clusters, group_by, path_labels
from wayscore.evaluation.scorer import Scorer
from wayscore.formats.convert import convert
from wayscore.formats.episodes import CodedPaths, EpisodeBatch

# Fingerprints


def test_the_same_content_has_the_same_fingerprint(tmp_path: Path) -> None:
    file = tmp_path / "r2r.json"
    write_references(file, [("S", "abcd", 2), ("T", "xy", 1)])
    packed = tmp_path / "packed.json.gz"
    packed.write_bytes(gzip.compress(file.read_bytes()))
    spaced = tmp_path / "spaced.json"
    spaced.write_text(json.dumps(json.loads(file.read_text()), indent=3))
    made = convert(file, tmp_path / "made.parquet").file
    found = [ws.load_references(one).fingerprint for one in (file, packed, spaced, made)]
    assert len(set(found)) == 1
    assert len(found[0]) == 8
    result = ws.evaluate({"1_0": ["a"]}, file, GRAPHS, missing="skip", resamples=9)
    assert result.signature.fields["references"] == f"r2r.json#{found[0]}"


POINTS = np.array([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]])
CHANGES: dict[str, Any] = {
    "path": {"path": ["a", "b", "d"]},
    "shorter": {"path": ["a", "b"]},
    "points": {"path": POINTS},
    "goals": {"goals": ("c", "b")},
    "start distance": {"start_distance": 3.0},
    "dense": {"dense": POINTS},
    "scene": {"scene": "T"},
}


@pytest.mark.parametrize("change", CHANGES)
def test_any_change_has_another_fingerprint(change: str) -> None:
    changed = replace(ASKED.episodes["e1"], **CHANGES[change])
    assert replace(ASKED, episodes={**ASKED.episodes, "e1": changed}).fingerprint != ASKED.fingerprint


def test_words_and_names_do_not_count() -> None:
    reworded = replace(ASKED.episodes["e1"], instruction="Go on.", path_id="x", heading=1.0)
    same = ws.References("other.json.gz", "table", {**ASKED.episodes, "e1": reworded})
    assert same.fingerprint == ASKED.fingerprint
    renamed = {"e0" if name == "e1" else name: one for name, one in ASKED.episodes.items()}
    assert replace(ASKED, episodes=renamed).fingerprint != ASKED.fingerprint
    nudged = replace(ASKED.episodes["e1"], path=POINTS + 1e-12)
    exact = replace(ASKED.episodes["e1"], path=POINTS)
    prints = {replace(ASKED, episodes={"e1": one}).fingerprint for one in (nudged, exact)}
    assert len(prints) == 2


def test_the_first_instructions_of_every_path() -> None:
    asked = references(e1_0="abc", e1_1="abc", e1_2="abc", e2_0="xy")
    assert list(asked.first_instructions(2).episodes) == ["e1_0", "e1_1", "e2_0"]
    assert asked.first_instructions(0) is asked
    assert repr(asked) == "<References refs.json (r2r): 4 episodes in 2 scenes>"


# Runs


def test_runs() -> None:
    twice = run(("e1", "e1"), e1="a", e2="x")
    assert (len(twice), len(twice.answers), twice.duplicates) == (2, 4, ("e1",))
    assert repr(twice) == "<Run agent (r2r): 4 answers to 2 episodes>"
    assert run(e1="a").duplicates == ()
    assert ws.Run.from_paths({7: ["a"]}).queries["7"].path == ["a"]
    for path in ("abc", 7, None):
        with pytest.raises(ws.OptionError, match="episode 'e': its path must be a list of labels or points, got"):
            ws.Run.from_paths({"e": path})


# Groups


def test_clusters() -> None:
    asked = references(e1_0="abc", e1_1="abc", e2_0="xy")
    assert choose_cluster("auto", asked) == "path"
    assert choose_cluster("auto", references(e1_1="abc", e2_0="xy")) == "none"
    assert choose_cluster("auto", None) == "none"
    for by, numbers in (("path", [0, 0, 1]), ("scan", [0, 0, 1]), ("none", [0, 1, 2])):
        scorer = Scorer(asked, GRAPHS, ws.conventions()["paper"], by)
        assert scorer.references is not None
        assert scorer.references.clusters.tolist() == numbers
    assert few_clusters("scan", 3) == ["intervals resample only 3 scans; with fewer than 30 they are too narrow"]
    assert few_clusters("none", 3) == few_clusters("path", 30) == []


def test_paths_of_one_number_in_several_scenes() -> None:
    assert path_labels(["S", "T", "S"], ["1", "1", "2"]) == ["S/1", "T/1", "2"]


@given(st.lists(st.integers(1, 400), min_size=1, max_size=30))
def test_lengths_in_few_bins(lengths: list[int]) -> None:
    labels, names = group_by("length", [], [], lengths)
    assert len(names) <= 8
    for label, length in zip(labels, lengths, strict=True):
        first, _, last = label.partition("-")
        assert int(first) <= length <= int(last or first)


# Batches


def test_coded_paths() -> None:
    paths = CodedPaths(np.array([0, 1, 1], dtype=np.int32), np.array([0, 2, 3]), ["a", "b"])
    assert (len(paths), paths.path(0), paths.path(1)) == (2, ["a", "b"], ["b"])
    batch = EpisodeBatch(paths, ["e1", "e2"], scenes=pa.array(["S", "T"]))
    assert [query.path for query in batch.to_queries()] == [["a", "b"], ["b"]]
    assert batch.named(1) == "row 1 (episode 'e2')"
    wrong = EpisodeBatch(structs.replace(paths, codes=np.array([0, 7, -1], dtype=np.int32)), None)
    for row in (0, 1):
        with pytest.raises(ws.FormatError, match=f"row {row}: a code of its path stands for no label"):
            wrong.path(row)
