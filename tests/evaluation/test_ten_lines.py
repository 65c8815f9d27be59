"""A notebook's worth of work in ten lines: evaluate, compare, save, reload, draw."""

from __future__ import annotations

from pathlib import Path

import pytest

import wayscore as ws
from wayscore.worlds.files import Course, course_files, write_files


def test_ten_lines(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from wayscore.figures.episode import warp_episode
    from wayscore.figures.runs import figure_alignment, figure_run_gallery

    write_files(tmp_path, course_files(Course(episodes=40, scans=2), ["noisy", "shortest"]))

    references, graphs = ws.load_references(tmp_path / "references.json"), ws.load_graphs(tmp_path / "connectivity")
    noisy = ws.evaluate(tmp_path / "runs/noisy.json", references, graphs, threshold=1.4, resamples=200)
    shortest = ws.evaluate(tmp_path / "runs/shortest.json", references, graphs, threshold=1.4, resamples=200)
    noisy.save(tmp_path / "noisy.parquet")
    again = ws.load_result(tmp_path / "noisy.parquet")
    comparison = ws.compare([again, shortest])
    worst = again.episodes[int(again["nDTW"].argmin())]
    reference, query = references.episodes[worst], ws.load_run(tmp_path / "runs/noisy.json").queries[worst]
    alignment = ws.align(reference=reference.path, query=query.path, distance=graphs[reference.scene])
    figure_alignment(warp_episode(reference, query, graphs, threshold=1.4)).savefig(tmp_path / "worst.png")
    figure_run_gallery(noisy, count=4).savefig(tmp_path / "gallery.png")

    assert again.intervals() == noisy.intervals()
    assert comparison.of("shortest")["nDTW"].difference.mean < 0
    assert comparison.of("shortest")["SR"].difference.mean >= 0
    assert alignment.cost == pytest.approx(again["DTW"][list(again.episodes).index(worst)])
    for shown in (alignment._repr_html_(), noisy._repr_html_(), comparison._repr_html_()):
        assert "<" in shown
    assert all((tmp_path / name).stat().st_size > 10_000 for name in ("worst.png", "gallery.png"))
    assert len(repr(noisy)) < 400
    assert len(noisy.to_pandas()) == 40
    assert "nDTW" in noisy.to_markdown()
    assert r"\toprule" in noisy.to_latex()
