"""Conversion of every real file of the data folder."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.test_convert import assert_same_references, assert_same_run
from wayscore.formats import load_references, load_run
from wayscore.formats.convert import check, convert

REAL_REFERENCES = [
    *(f"r2r/R2R_{split}.json.gz" for split in ("train", "val_seen", "val_unseen", "test")),
    "r4r/R4R_val_seen.json.gz",
    *(f"reverie/REVERIE_{split}.json.gz" for split in ("val_seen", "val_unseen", "test")),
    *(f"ndh/NDH_{split}.json.gz" for split in ("val_seen", "val_unseen")),
    *(f"street/map2seq_{split}.json.gz" for split in ("seen_dev", "unseen_dev", "seen_test", "unseen_test")),
    "street/touchdown_unseen_dev.json.gz",
    *(f"vlnce/R2R_VLNCE_v1-3/{split}/{split}.json.gz" for split in ("val_seen", "val_unseen")),
]
REAL_RUNS = {
    "r2r/val_unseen_seq2seq_iter19000": "r2r/R2R_val_unseen.json.gz",
    "r2r/val_seen_navillm_run1": "r2r/R2R_val_seen.json.gz",
    "r2r/val_unseen_qwen25vl_lowlevel_full": "r2r/R2R_val_unseen.json.gz",
    "ndh/val_seen_seq2seq_iter00100": "ndh/NDH_val_seen.json.gz",
}


@pytest.mark.parametrize("name", REAL_REFERENCES)
def test_real_references(name: str, data: Path, tmp_path: Path) -> None:
    made = convert(data / name, tmp_path / "made.parquet", rows=500)
    assert_same_references(load_references(made.file), load_references(data / name))
    assert check(made.file).checksum == made.checksum == convert(data / name, tmp_path / "other.parquet").checksum


@pytest.mark.parametrize("name", REAL_RUNS)
def test_real_runs(name: str, data: Path, tmp_path: Path) -> None:
    file = data / "predictions" / f"{name}.json.gz"
    done = load_run(file)
    plain = convert(file, tmp_path / f"{done.name}.parquet", rows=500)
    assert_same_run(load_run(plain.file), done)
    asked = convert(data / REAL_RUNS[name], tmp_path / "asked.parquet")
    scened = convert(file, tmp_path / f"{done.name}.parquet", rows=500, references=asked.file)
    assert_same_run(load_run(scened.file), done)
    scenes = {name: reference.scene for name, reference in load_references(asked.file).episodes.items()}
    table = pq.read_table(scened.file, columns=["episode", "scene"]).to_pylist()
    assert all(scenes[row["episode"]] == row["scene"] for row in table)


def test_real_walks_of_points(data: Path, tmp_path: Path) -> None:
    name = "gridmap_agent_val_unseen_3scenes_locations"
    file = data / "vlnce/results" / f"{name}.json.gz"
    made = convert(file, tmp_path / f"{name}.parquet", rows=50)
    assert_same_run(load_run(made.file), load_run(file))


def test_settings_of_real_references(data: Path, tmp_path: Path) -> None:
    boxes = data / "semantics/reverie_bbox.json.gz"
    file = data / "reverie/REVERIE_val_seen.json.gz"
    made = convert(file, tmp_path / "made.parquet", objects=str(boxes))
    asked = load_references(file, objects=boxes)
    assert any(reference.goals for reference in asked.episodes.values())
    assert_same_references(load_references(made.file), asked)
