"""Streams that are resumed: what was finished is kept if it is what is wanted now, and made again otherwise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import wayscore as ws
from tests.bulk_data import ALL, Town, part, streamed, write_files, write_parquet
from wayscore.episodes import References
from wayscore.formats import plan as pieces
from wayscore.report import Summary


@pytest.fixture
def unfinished(town: Town, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run all of whose parts are finished, but not put together: the last episodes are not answered."""
    monkeypatch.setattr(pieces, "ROWS", 100)
    run = write_parquet(tmp_path / "agent.parquet", town.answers.slice(0, 390), rows=50)
    with pytest.raises(ws.FormatError, match=r"10 of the 400 .*missing=skip or zero; with --resume .* are kept"):
        resumed(town, run, policies={})
    assert len(list(part(tmp_path, 0).parent.glob("*.parquet"))) == 4
    return run


def resumed(town: Town, run: Path, **options: Any) -> tuple[int, Summary, pa.Table]:
    """Resume, and say how many pieces were scored."""
    told: list[str] = []
    given = {"references": town.references, "graphs": town.graphs, "policies": {"missing": "skip"}, **options}
    out = run.parent / "scores.parquet"
    summary, scores = streamed(run, out=out, resume=True, progress=lambda what, *_: told.append(what), **given)
    return told.count("scoring"), summary, scores


CHANGES: dict[str, tuple[int, Callable[[Town], dict[str, Any]]]] = {
    "nothing": (0, lambda town: {}),
    "missing": (0, lambda town: {"policies": {"missing": "zero"}}),
    "duplicate": (4, lambda town: {"policies": {"missing": "skip", "duplicate": "all"}}),
    "rows": (0, lambda town: {"rows": 7}),
    "seed": (0, lambda town: {"seed": 5, "resamples": 50}),
    "start": (4, lambda town: {"policies": {"missing": "skip", "start": "keep"}}),
    "threshold": (4, lambda town: {"threshold": 2.0}),
    "convention": (4, lambda town: {"convention": "duet"}),
    "metrics": (4, lambda town: {"metrics": "SR,nDTW"}),
    "cluster": (4, lambda town: {"cluster": "path"}),
    "references": (4, lambda town: {"references": reversed_references(town)}),
    "goals": (4, lambda town: {"references": reversed_references(town, paths=False)}),
    "graphs": (4, lambda town: {"graphs": {scene: graph.hops for scene, graph in town.graphs.items()}}),
}


def reversed_references(town: Town, paths: bool = True) -> References:
    """The references with the goals, and the last two places of the paths, swapped."""
    episodes = {}
    for name, one in town.references.episodes.items():
        path = [*one.path[:-2], one.path[-1], one.path[-2]] if paths else one.path
        episodes[name] = replace(one, path=path, goals=one.goals[::-1])
    return replace(town.references, episodes=episodes)


@pytest.mark.parametrize("change", CHANGES)
def test_only_what_is_the_same_is_kept(town: Town, unfinished: Path, change: str) -> None:
    count, options = CHANGES[change]
    scored, *found = resumed(town, unfinished, **options(town))
    assert scored == count
    again, *fresh = resumed(town, unfinished, **options(town))
    assert again == 4  # nothing was left of it
    assert found[0].metrics == fresh[0].metrics
    assert found[0].signature == fresh[0].signature
    assert found[1].equals(fresh[1])


def test_a_changed_input_is_scored_anew(town: Town, unfinished: Path) -> None:
    write_parquet(unfinished, town.answers.slice(10, 390), rows=50)
    scored, summary, scores = resumed(town, unfinished)
    assert (scored, summary.episodes) == (4, 390)
    assert scores["episode"].to_pylist() == town.answers["episode"].to_pylist()[10:]


@pytest.mark.parametrize("name", ["part-000001.parquet", "part-000002.note"])
def test_a_torn_part_is_made_again(town: Town, unfinished: Path, name: str) -> None:
    torn = part(unfinished.parent, 0).with_name(name)
    torn.write_bytes(torn.read_bytes()[:-40])
    assert resumed(town, unfinished)[0] == 1


def test_duplicates_are_not_forgotten(town: Town, tmp_path: Path) -> None:
    run = write_parquet(tmp_path / "walks.parquet", town.walks)
    for _ in range(2):
        with pytest.raises(ws.FormatError, match="is answered more than once; see duplicate=all"):
            resumed(town, run, policies={"missing": "skip"})
    assert not (tmp_path / "scores.parquet").exists()
    assert resumed(town, run, policies=ALL)[1].episodes == len(town.walks)


def test_what_others_left_is_not_taken_over(town: Town, unfinished: Path, tmp_path: Path) -> None:
    out = tmp_path / "scores"
    (tmp_path / "scores.parquet.parts").rename(tmp_path / "scores.parts")
    write_parquet(unfinished, town.answers.slice(0, 90), rows=50)
    summary, scores = streamed(unfinished, town.references, town.graphs, out, resume=True)
    assert sorted(path.name for path in out.iterdir()) == ["part-000000.parquet"]
    assert summary.episodes == len(scores) == 90
    (out / "thesis.tex").touch()
    with pytest.raises(ws.OutputError, match="is a folder that holds other things"):
        streamed(unfinished, town.references, town.graphs, out)
    with pytest.raises(ws.OutputError, match="is the run itself"):
        streamed(unfinished, town.references, town.graphs, unfinished)
    assert (out / "thesis.tex").exists()


def test_scores_beside_the_run(town: Town, tmp_path: Path, whole: Any) -> None:
    folder = write_files(tmp_path / "walks", town.walks, 3)
    with pytest.raises(ws.FormatError, match="more than once"):
        streamed(folder, town.references, town.graphs, folder / "scores.parquet", policies={"missing": "skip"})
    assert (folder / "scores.parquet.parts").exists()  # which is no part of the run
    _, scores = streamed(folder, town.references, town.graphs, folder / "scores.parquet", resume=True)
    assert scores.equals(whole[1])
