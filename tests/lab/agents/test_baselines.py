"""The random agent: how it walks, and the paper's row; and what trained agents say without PyTorch."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import wayscore as ws
from tests.house import command, connectivity, write_references
from wayscore.formats.episodes import Reference, References
from wayscore.lab.agents.baselines import TABLE_2, random_walks, score_random
from wayscore.lab.agents.checkpoints import need_torch
from wayscore.lab.agents.r4r import build, read_annotations

STAR = ws.Graph.from_edges([("hub", "a"), ("hub", "b"), ("hub", "c")])


def test_moves_are_uniform_over_neighbours() -> None:
    starts = np.zeros(30_000, dtype=np.int32)
    walks = random_walks(STAR, starts, np.full(30_000, 3), np.random.default_rng(0))
    assert set(walks.lengths.tolist()) == {3}
    places = walks.places.reshape(-1, 3)
    assert (places[:, [0, 2]] == 0).all()  # out and back
    counts = Counter(places[:, 1].tolist())
    assert set(counts) == {1, 2, 3}
    assert all(abs(count - 10_000) < 4 * np.sqrt(30_000 * 2 / 9) for count in counts.values())


def test_lengths_are_drawn_from_all_references() -> None:
    references = {"1": Reference("1", "s", ["a", "hub"], "1"), "2": Reference("2", "s", ["hub", "b", "hub", "c"], "2")}
    table = score_random(References("two", "r2r", references), {"s": STAR}, walks=20_000, metrics="steps,PL,nDTW")
    assert len(table) == 20_000
    for rows in (slice(0, 10_000), slice(10_000, 20_000)):  # whatever their own reference's length
        share = (table["steps"][rows] == 1).mean()
        assert share == pytest.approx(0.5, abs=4 * 0.005)
    assert set(table["steps"].tolist()) == {1.0, 3.0}
    again = score_random(References("two", "r2r", references), {"s": STAR}, walks=20_000, metrics="nDTW", threads=1)
    assert again["nDTW"].tolist() == table["nDTW"].tolist()
    other = score_random(References("two", "r2r", references), {"s": STAR}, walks=20_000, metrics="nDTW", seed=1)
    assert other["nDTW"].tolist() != table["nDTW"].tolist()


def test_where_no_walk_begins() -> None:
    alone = ws.Graph.from_edges([("a", "b")], nodes=["a", "b", "z"])
    with pytest.raises(ws.PathError, match="no edge leaves 'z'"):
        random_walks(alone, np.array([2], dtype=np.int32), np.array([2]), np.random.default_rng(0))
    asked = References("one", "r2r", {"1": Reference("1", "s", ["a", "b"], "1")})
    with pytest.raises(ws.OptionError, match="must be 1 or more"):
        score_random(asked, {"s": alone}, walks=0)


@pytest.mark.parametrize("which", ["r2r", "r4r"])
@pytest.mark.soak
def test_the_papers_row(which: str, data: Path, tmp_path: Path) -> None:
    graphs = ws.load_graphs(data / "connectivity.tar.gz")
    file = data / "r2r/R2R_val_unseen.json.gz"
    if which == "r4r":
        file, annotations = tmp_path / "r4r.json", read_annotations(file)
        file.write_text(json.dumps(build(annotations, graphs).paths))
    table = score_random(ws.load_references(file), graphs, metrics=",".join(TABLE_2[which]))
    found = {symbol: 100 * mean for symbol, mean in table.means().items()}
    for symbol in {"SR", "CLS", "nDTW", "SDTW"} | ({"SPL"} if which == "r4r" else set()):
        assert found[symbol] == pytest.approx(TABLE_2[which][symbol], abs=0.15), symbol


def test_the_command(tmp_path: Path) -> None:
    (tmp_path / "S_connectivity.json").write_text(json.dumps(connectivity("abcd", "ab bc cd")))
    write_references(tmp_path / "asked.json", [("S", "abcd", 2), ("S", "bc", 1)])
    words = ["baseline", "random", "-r", str(tmp_path / "asked.json"), "-g", str(tmp_path), "--episodes", "300"]
    told = json.loads(command(*words, "-f", "json").stdout)
    assert told["episodes"] == 300
    assert told["metrics"]["PL"]["low"] < told["metrics"]["PL"]["mean"] < told["metrics"]["PL"]["high"]
    assert "|convention:paper|" in told["signature"]
    text = command(*words, "--run", str(tmp_path / "run.json"))
    assert "Beside the paper's Table 2" in text.stdout
    run = ws.load_run(tmp_path / "run.json")
    assert set(run.queries) == {"1_0", "1_1", "2_0"}
    assert run.queries["2_0"].path[0] == "b"
    wrong = command("baseline", "clever", *words[2:], status=2)
    assert "AGENT must be random, not 'clever'" in wrong.stderr


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("raise ModuleNotFoundError(\"No module named 'torch'\", name='torch')", "is not installed"),
        ("import no_such_part_of_torch", "cannot be imported (No module named 'no_such_part_of_torch')"),
        ("raise OSError('libc10.so: cannot open')", "cannot be imported (libc10.so: cannot open)"),
    ],
)
def test_training_without_pytorch(content: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "torch.py").write_text(content)
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ws.MissingPackageError, match=re.escape(f"PyTorch, which {why}: pip install 'wayscore[")):
        need_torch()
