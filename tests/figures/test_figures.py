"""Figures: what is drawn is what was measured, axes are those given, files are the same byte for byte."""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pytest
from click.testing import Result
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection, QuadMesh
from matplotlib.figure import Figure
from matplotlib.quiver import Quiver

import wayscore as ws
from tests.conftest import CONVENTIONS
from tests.house import command, connectivity
from wayscore.evaluation.evaluator import evaluate
from wayscore.figures import (
    COLUMN,
    PAGE,
    draw_cost_matrix,
    draw_graph,
    draw_learning_curves,
    draw_metric_scatter,
    draw_pair,
    draw_scale,
    figure_alignment,
    figure_comparison_set,
    figure_gallery,
    figure_matrix,
    figure_walkers,
    figure_warping,
    new_figure,
    save,
    simulated,
    style,
    warp_episode,
)
from wayscore.figures.episode import drawable, unit_in
from wayscore.figures.paths import coordinates, flatten, window_of
from wayscore.figures.style import QUERY, REFERENCE
from wayscore.formats.episodes import Query, Reference, References, Run

SIMULATED = {
    "warping": figure_warping,
    "comparison": figure_comparison_set,
    "gallery": figure_gallery,
    "matrix": figure_matrix,
    "metrics": figure_walkers,
}
BEGINNINGS = {"pdf": b"%PDF-1.4", "svg": b"<?xml ", "png": b"\x89PNG\r\n\x1a\n"}


@pytest.fixture
def ax() -> Axes:
    with style():
        return new_figure(COLUMN, COLUMN).subplots()


@pytest.fixture(scope="module")
def world() -> ws.World:
    return ws.World.paper(seed=5)


@pytest.fixture(scope="module")
def pair(world: ws.World) -> tuple[Any, Any]:
    rng = np.random.default_rng(5)
    reference = world.sample_path(rng)
    return reference, ws.worlds.WALKERS["random_walk"](world, reference, rng)


def lines(ax: Axes, label: str) -> Any:
    return next(line for line in ax.lines if line.get_label() == label)


def collections(ax: Axes, kind: type) -> list[Any]:
    return [some for some in ax.collections if type(some) is kind]


def test_a_pair_and_its_links(ax: Axes, world: ws.World, pair: tuple[Any, Any]) -> None:
    reference, query = pair
    alignment = ws.align(reference=reference, query=query, distance=world.graph)
    assert draw_pair(ax, world.graph, reference=reference, query=query, alignment=alignment) is ax
    where = dict(zip(world.graph.nodes, world.positions.tolist(), strict=True))
    for label, path, color in (("reference", reference, REFERENCE), ("query", query, QUERY)):
        line = lines(ax, label)
        assert line.get_xydata().tolist() == [where[node] for node in path]
        assert line.get_color() == color
    links = next(some for some in collections(ax, LineCollection) if some.get_label() == "warping")
    ends = [[where[reference[i]], where[query[j]]] for i, j in alignment.pairs]
    assert [segment.tolist() for segment in links.get_segments()] == ends
    other = ws.align(reference=reference[1:], query=query, distance=world.graph)
    with pytest.raises(ws.OptionError, match=rf"of {len(reference) - 1} and {len(query)} nodes, but"):
        draw_pair(ax, world, reference=reference, query=query, alignment=other)


def test_ends_are_marked_and_arrows_point_along_the_path(ax: Axes) -> None:
    draw_pair(ax, reference=[[0, 0], [1, 0], [1, 0], [1, 1]], query=[[2, 0]])
    marks = {(line.get_marker(), *line.get_xydata()[0].tolist()) for line in ax.lines if len(line.get_xydata()) == 1}
    assert marks >= {("o", 0, 0), ("*", 1, 1), ("o", 2, 0), ("*", 2, 0)}
    (arrows,) = collections(ax, Quiver)
    assert arrows.XY.tolist() == [[0.5, 0], [1, 0.5]]  # none where the agent stood still
    assert np.degrees(np.arctan2(arrows.V, arrows.U)).tolist() == [0, 90]


def test_only_the_storey_of_the_paths_is_drawn(ax: Axes) -> None:
    where = {"a": (0, 0, 0), "b": (1, 0, 0.2), "c": (1, 1, 3), "d": (0, 1, 3.1)}
    graph = ws.Graph.from_edges([("a", "b"), ("b", "c"), ("c", "d")], positions=where)
    draw_pair(ax, graph, reference=["a", "b"], query=["a"])
    (edges,) = collections(ax, LineCollection)
    assert [segment.tolist() for segment in edges.get_segments()] == [[[0, 0], [1, 0]]]


@pytest.mark.parametrize("half", [2.0, 10.0])
def test_what_lies_outside_is_not_drawn(ax: Axes, world: ws.World, half: float) -> None:
    assert draw_graph(ax, world, window=(7.0, 7.0, half)) is ax
    (edges,) = collections(ax, LineCollection)
    inside = np.abs(world.positions - 7).max(axis=1) <= half
    assert len(ax.lines[0].get_xydata()) == inside.sum()
    assert len(edges.get_segments()) == sum(bool(inside[a] or inside[b]) for a, b in world.graph.edges)


def test_what_is_seen_from_above() -> None:
    assert window_of([np.array([[3.0, 4.0]])]) == pytest.approx((3, 4, 1 / 0.84))  # an agent that never moved
    assert flatten(np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), "y").tolist() == [[1, -3], [4, -6]]
    with pytest.raises(ws.OptionError, match="up must be 'z'"):
        flatten(np.zeros((1, 3)), "x")  # type: ignore[arg-type]


@pytest.mark.parametrize("path", [["a", "b"], [[1.0], [2.0]], [[1.0, 2.0, 3.0, 4.0]], np.empty((0, 2))])
def test_paths_that_cannot_be_drawn(path: Any) -> None:
    with pytest.raises(ws.OptionError, match=r"must be an \(n, 2\) or \(n, 3\) array"):
        coordinates(path, None)


def test_graphs_that_cannot_be_drawn(ax: Axes) -> None:
    graph = ws.Graph.from_edges([("a", "b")])
    with pytest.raises(ws.OptionError, match="has no positions"):
        draw_graph(ax, graph)
    with pytest.raises(ws.UnknownNodeError, match="'c'"):
        coordinates(["c"], ws.Graph.from_edges([("a", "b")], positions={"a": (0, 0), "b": (1, 0)}))


@pytest.mark.parametrize(("half", "text"), [(5.0, "2 m"), (0.3, "0.1 m"), (50.0, "20 m"), (12.0, "5 m")])
def test_scale_bars_are_round_and_true(ax: Axes, half: float, text: str) -> None:
    ax.set(xlim=(-half, half), ylim=(-half, half))
    assert draw_scale(ax) is ax
    assert ax.texts[0].get_text() == text
    begin, end = ax.lines[0].get_xdata()
    assert (end - begin) * 2 * half == pytest.approx(float(text.split()[0]))


def test_a_scale_bar_hides_no_path(ax: Axes) -> None:
    ax.set(xlim=(0, 10), ylim=(0, 10))
    draw_scale(ax, [np.array([[0.0, 0.5], [10.0, 0.5]]), np.array([[9.0, 0.0], [9.0, 10.0]])])
    assert ax.lines[0].get_xdata()[0] < 0.5  # upper left
    assert ax.lines[0].get_ydata()[0] > 0.5


@pytest.mark.parametrize("costs", ["cumulative", "local"])
def test_a_matrix_and_the_warping_through_it(ax: Axes, world: ws.World, pair: tuple[Any, Any], costs: Any) -> None:
    alignment = ws.align(reference=pair[0], query=pair[1], distance=world.graph)
    assert draw_cost_matrix(ax, alignment, costs=costs) is ax
    (mesh,) = collections(ax, QuadMesh)
    values = alignment.matrix() if costs == "cumulative" else alignment.distances()
    assert np.array_equal(mesh.get_array(), values)
    assert lines(ax, "warping").get_xydata().tolist() == (alignment.pairs[:, ::-1] + 1).tolist()
    written = [text.get_text() for text in ax.texts]
    assert written == [f"{value:.1f}" for value in values.ravel()]
    assert sum(text.get_weight() == "bold" for text in ax.texts) == len(alignment)


def test_a_large_matrix_has_a_bar_and_no_numbers(ax: Axes) -> None:
    walk = np.cumsum(np.random.default_rng(0).normal(size=(70, 2)), axis=0)
    draw_cost_matrix(ax, ws.align(reference=walk[:60], query=walk))
    assert not ax.texts
    figure = ax.get_figure()
    assert isinstance(figure, Figure)
    assert [other.get_ylabel() for other in figure.axes] == ["reference node $i$", "accumulated cost (m)"]
    assert all(tick == round(tick) for tick in ax.get_xticks())
    with pytest.raises(ws.OptionError, match="costs must be"):
        draw_cost_matrix(ax, ws.align(reference=walk, query=walk), costs="all")  # type: ignore[arg-type]


def test_what_cannot_be_reached(ax: Axes) -> None:
    where = {"a": (0, 0), "b": (1, 0), "c": (5, 5)}
    graph = ws.Graph.from_edges([("a", "b")], nodes="abc", positions=where)
    alignment = ws.align(reference=["a", "b"], query=["a", "c"], distance=graph)
    draw_cost_matrix(ax, alignment)
    assert [text.get_text() for text in ax.texts] == ["0.0", "∞", "1.0", "∞"]
    draw_pair(ax, graph, reference=["a", "b"], query=["a", "c"], alignment=alignment)


def table(**columns: list[float]) -> ws.ScoreTable:
    return ws.ScoreTable({name: np.array(values) for name, values in columns.items()}, {"threshold": 3.0})


def test_a_scatter(ax: Axes) -> None:
    scores = table(NE=[0.0, 4.0, np.inf], nDTW=[1.0, 0.25, 0.0])
    assert draw_metric_scatter(ax, scores, x="NE", y="nDTW") is ax
    assert ax.collections[0].get_offsets().tolist() == [[0, 1], [4, 0.25]]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("NE (m)", "nDTW")
    assert ax.lines[0].get_xdata() == [3.0, 3.0]
    assert [text.get_text() for text in ax.texts] == ["1 episode undefined"]
    with pytest.raises(ws.OptionError, match="no metric 'nDWT'; did you mean 'nDTW'"):
        draw_metric_scatter(ax, scores, y="nDWT")


def test_yes_or_no_is_spread_and_boxed(ax: Axes) -> None:
    scores = table(SR=[0.0, 1.0, 1.0, 1.0], nDTW=[0.1, 0.9, 0.7, 0.8])
    draw_metric_scatter(ax, scores, x="SR")
    offsets = ax.collections[0].get_offsets()
    assert offsets[:, 0].round().tolist() == [0, 1, 1, 1]
    assert len(set(offsets[:, 0].tolist())) == 4
    assert offsets[:, 1].tolist() == [0.1, 0.9, 0.7, 0.8]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["0 (n = 1)", "1 (n = 3)"]
    medians = [line.get_ydata().tolist() for line in ax.lines if line.get_linewidth() == 1.5]
    assert medians == [[0.1, 0.1], [0.8, 0.8]]


def test_several_tables_have_colours_of_their_own(ax: Axes) -> None:
    draw_metric_scatter(ax, {"one_walker": table(NE=[1.0], nDTW=[0.5]), "two": table(NE=[2.0], nDTW=[0.4])})
    handles, names = ax.get_legend_handles_labels()
    assert names == ["one walker", "two"]
    assert handles[0].get_facecolor().tolist() != handles[1].get_facecolor().tolist()


def test_learning_curves(ax: Axes) -> None:
    values = np.array([[0.1, 0.4], [0.3, 0.8]])
    assert draw_learning_curves(ax, {"fidelity": ([0, 10], values), "goal": ([0, 5], [0.2, 0.3])}) is ax
    assert lines(ax, "fidelity").get_ydata() == pytest.approx([0.2, 0.6])
    assert lines(ax, "goal").get_xdata().tolist() == [0, 5]
    (band,) = [some for some in ax.collections if isinstance(some, PolyCollection)]
    corners = {tuple(point) for point in band.get_paths()[0].vertices.tolist()}
    assert corners >= {(0, 0.1), (0, 0.3), (10, 0.4), (10, 0.8)}
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["fidelity", "goal"]


def test_a_band_of_a_deviation_and_curves_that_do_not_fit(ax: Axes) -> None:
    draw_learning_curves(ax, {"one": ([0, 1], [[0.0, 1.0], [2.0, 1.0]])}, band="deviation")
    (band,) = [some for some in ax.collections if isinstance(some, PolyCollection)]
    assert band.get_paths()[0].vertices[:, 1].max() == pytest.approx(1 + math.sqrt(2))
    with pytest.raises(ws.OptionError, match=r"curve 'one' has steps of shape \(2,\) and values of shape \(2, 3\)"):
        draw_learning_curves(ax, {"one": ([0, 1], np.zeros((2, 3)))})
    with pytest.raises(ws.OptionError, match="band must be"):
        draw_learning_curves(ax, {}, band="all")  # type: ignore[arg-type]


@pytest.mark.parametrize(("name", "panels"), [("warping", 2), ("comparison", 5), ("gallery", 24), ("matrix", 2)])
def test_figures_of_the_paper(name: str, panels: int) -> None:
    figure = SIMULATED[name](1)
    assert isinstance(figure, Figure)
    assert (len(figure.axes), figure.get_figwidth()) == (panels, PAGE)
    assert len(figure.get_label()) > 80


def test_the_warping_drawn_is_optimal() -> None:
    figure = figure_warping(2)
    world = ws.World.paper(2)
    named = {tuple(position): node for node, position in zip(world.graph.nodes, world.positions.tolist(), strict=True)}
    told = [float(value) for value in re.findall(r"\d\.\d\d", figure.get_label())]
    for ax, value in zip(figure.axes, told, strict=True):
        paths = [[named[tuple(p)] for p in lines(ax, label).get_xydata().tolist()] for label in ("reference", "query")]
        best = ws.align(reference=paths[0], query=paths[1], distance=world.graph)
        links = next(some for some in collections(ax, LineCollection) if some.get_label() == "warping")
        drawn = [[named[tuple(end)] for end in segment.tolist()] for segment in links.get_segments()]
        assert sum(world.graph.distance(a, b) for a, b in drawn) == pytest.approx(best.cost)
        assert math.exp(-best.cost / (len(paths[0]) * world.threshold)) == pytest.approx(value, abs=0.005)


def test_panels_tell_the_ndtw_of_what_they_show(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[Any] = []
    real = simulated.figure_panels
    monkeypatch.setattr(simulated, "figure_panels", lambda panels, **k: found.append((panels, k)) or real(panels, **k))
    world = ws.World.paper(3)

    def ndtw(panel: Any) -> str:
        value = ws.ndtw(reference=panel.reference, query=panel.query, distance=world.graph, threshold=world.threshold)
        return f"{value:.2f}"

    figure = figure_gallery(3, count=9)
    panels = found[0][0]
    assert [ax.get_title() for ax in figure.axes] == [ndtw(panel) for panel in panels]
    assert [panel.title for panel in panels] == sorted((panel.title for panel in panels), reverse=True)
    assert float(panels[0].title) > 0.9
    assert float(panels[-1].title) < 0.2
    assert len({round(ax.get_xlim()[1] - ax.get_xlim()[0], 9) for ax in figure.axes}) == 1  # one scale
    with pytest.raises(ws.OptionError, match="between 1 and 200"):
        figure_gallery(0, count=0)

    figure = figure_comparison_set(3)
    assert len({(*ax.get_xlim(), *ax.get_ylim()) for ax in figure.axes}) == 1  # one part of the map
    panels, options = found[1]
    assert [panel.title for panel in panels] == list("ABCDE")
    assert all(panel.reference == panels[0].reference for panel in panels)
    for panel in panels:
        assert f"{panel.title} {ndtw(panel)}" in options["caption"]
    assert len({ndtw(panel) for panel in panels}) == 5


def test_letters_stay_letters(tmp_path: Path) -> None:
    figure = figure_gallery(0, count=2)
    svg = save(figure, tmp_path / "gallery.svg").read_text()
    assert re.search(r"<text [^>]*>reference</text>", svg)
    assert figure.get_label()[:40] in svg
    assert "<dc:date>" not in svg
    pdf = save(figure, tmp_path / "gallery.pdf").read_bytes()
    assert b"/FontFile2" in pdf or b"/CIDFontType2" in pdf
    assert b"/Type3" not in pdf
    assert b"/CreationDate" not in pdf


def test_settings_are_left_alone() -> None:
    matplotlib.rcParams["font.size"] = 31.0
    try:
        before = dict(matplotlib.rcParams)
        figure = figure_walkers(0, episodes=5)
        assert dict(matplotlib.rcParams) == before
        assert figure.axes[0].xaxis.label.get_size() == 7.0  # nor do they leak in
    finally:
        matplotlib.rcdefaults()


def test_files_that_cannot_be_written(tmp_path: Path) -> None:
    with style():
        figure = new_figure()
    with pytest.raises(ws.OptionError, match="can be written as pdf, svg or png, not as 'bmp'"):
        save(figure, tmp_path / "figure.bmp")
    (tmp_path / "taken").write_text("")
    with pytest.raises(ws.OutputError, match=r"cannot be written: .*; choose another place"):
        save(figure, tmp_path / "taken" / "figure.pdf")


def episode_of(path: Any, walked: Any, **facts: Any) -> tuple[Reference, Query]:
    return Reference("e1", "here", path, "p1", start_distance=5.0, **facts), Query("e1", walked, stopped=True)


@pytest.mark.parametrize("convention", CONVENTIONS)
@pytest.mark.parametrize("kind", ["labels", "points"])
def test_episodes_are_warped_as_they_are_scored(convention: str, kind: str, world: ws.World) -> None:
    rng = np.random.default_rng(8)
    graphs = None
    if kind == "labels":
        path: Any = world.sample_path(rng)
        walked: Any = ws.worlds.WALKERS["noisy"](world, path, rng)
        walked = [*walked[:3], walked[2], *walked[3:]]  # turning in place
        reference, query = episode_of(path, walked, goals=(path[-1],), dense=path)
        graphs = {"here": world.graph}
    else:
        path = np.cumsum(rng.normal(size=(9, 3)), axis=0)
        walked = path[[0, 1, 1, 2, 4, 5, 7]] + 0.5
        reference, query = episode_of(path, walked, dense=np.repeat(path, 2, axis=0) + 0.01)
    try:
        run, references = Run("run", "table", {"e1": query}), References("refs", "table", {"e1": reference})
        options: dict[str, Any] = {"convention": convention, "metrics": "DTW,nDTW", "start": "keep"}
        scores = evaluate(run, references, graphs, **options)
    except ws.OptionError:
        if ws.conventions()[convention].goal != "set":  # which asks for goals, not for another warping
            with pytest.raises(ws.OptionError):
                warp_episode(reference, query, graphs, convention=convention)
        return
    one = warp_episode(reference, query, graphs, convention=convention)
    if scores.metrics[0] is ws.METRICS["DTW"]:  # some evaluators print another
        assert one.alignment.cost == pytest.approx(scores["DTW"][0], rel=1e-12)
    assert one.ndtw == pytest.approx(scores["nDTW"][0], rel=1e-12)
    steps = one.steps()
    assert steps[-1][3] == pytest.approx(one.alignment.cost, rel=1e-12)
    assert [step[:2] for step in steps] == [tuple(pair + 1) for pair in one.alignment.pairs]
    figure = figure_alignment(one)
    assert f"{one.ndtw:.3f}" in figure.get_suptitle()


def test_a_convention_without_what_it_needs() -> None:
    reference, query = episode_of([[0.0, 0.0]], [[0.0, 0.0]])
    with pytest.raises(ws.FormatError, match="episode e1 has no dense path"):
        warp_episode(reference, query, convention="vlnce")
    with pytest.raises(ws.UnknownSceneError, match="no graph of scene 'here'; did you mean 'her'"):
        warp_episode(reference, query, {"her": ws.Graph.from_edges([("a", "b")])})
    with pytest.raises(ws.PathError, match="episode e1: the query"):
        warp_episode(reference, Query("e1", []))


def test_streets_are_drawn_in_metres() -> None:
    where = {"a": (-74.0, 40.0), "b": (-74.0, 40.001), "c": (-73.999, 40.0)}
    graph = ws.Graph.from_edges([("a", "b"), ("a", "c")], positions=where)
    streets = drawable({"s": graph}, References("r", "street", {}))
    assert streets is not None
    a, b, c = streets["s"].positions  # type: ignore[misc]
    assert np.hypot(*(b - a)) == pytest.approx(111.2, abs=0.1)
    assert np.hypot(*(c - a)) == pytest.approx(111.2 * math.cos(math.radians(40)), abs=0.1)
    assert graph.positions is not None
    assert graph.positions[0].tolist() == [-74, 40]
    assert drawable({"s": graph}, References("r", "r2r", {})) == {"s": graph}
    assert [unit_in(References("r", kind, {})) for kind in ("street", "r2r")] == ["hops", "m"]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A scan on a line, three instructions, an agent that overshoots one goal and stands still in another."""
    graphs = tmp_path / "connectivity"
    graphs.mkdir()
    (graphs / "S_connectivity.json").write_text(json.dumps(connectivity("abcdefgh", "ab bc cd de ef fg gh")))
    reference = {"scan": "S", "path_id": 1, "path": list("abcd"), "distance": 3.0, "heading": 0.0}
    asked = [{**reference, "instructions": ["Go [there].", "Go on.", "Walk."]}]
    (tmp_path / "references.json").write_text(json.dumps(asked))
    walks = {"1_0": "abcd", "1_1": "abcdefgh", "1_2": "aab"}
    run = [{"instr_id": name, "trajectory": [[node, 0.0, 0.0] for node in walk]} for name, walk in walks.items()]
    (tmp_path / "agent.json").write_text(json.dumps(run))
    return tmp_path


def call(files: Path, verb: str, *words: str, graphs: bool = True) -> Result:
    where = ["--references", str(files / "references.json")]
    where += ["--graphs", str(files / "connectivity")] if graphs else []
    return command(verb, str(files / "agent.json"), *words, *where)


def mistake(result: Result, status: int = 2) -> str:
    assert result.exit_code == status
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    return result.stderr


def test_align_prints_what_the_library_gives(files: Path) -> None:
    result = call(files, "align", "1_2", "--threshold", "2")
    assert result.exit_code == 0, result.stderr
    graph = ws.load_graphs(files / "connectivity")["S"]
    paths = {"reference": list("abcd"), "query": list("aab")}
    alignment = ws.align(**paths, distance=graph)
    rows = [line.split() for line in result.stdout.splitlines() if re.match(r" *\d", line)]
    i, j = alignment.pairs.T
    distances = [graph.distance(paths["reference"][a], paths["query"][b]) for a, b in alignment.pairs]
    assert rows == [
        [str(n), str(a + 1), "abcd"[a], str(b + 1), "aab"[b], f"{d:.2f}", f"{total:.2f}"]
        for n, (a, b, d, total) in enumerate(zip(i, j, distances, np.cumsum(distances), strict=True), start=1)
    ]
    value = ws.ndtw(**paths, distance=graph, threshold=2.0)
    assert f"DTW {alignment.cost:.4f} m, nDTW {value:.4f} (|R| = 4, |Q| = 3, threshold 2 m" in result.stdout
    assert "“Walk.”" in result.stdout


def test_align_by_a_convention(files: Path) -> None:
    assert "“Go [there].”" in call(files, "align", "1_0").stdout  # with its brackets
    (files / "mine.toml").write_text('repeats = "drop"\n')
    assert "|Q| = 2" in call(files, "align", "1_2", "--convention", str(files / "mine.toml")).stdout
    assert "hops" in call(files, "align", "1_2", "--convention", "r4r-hops").stdout


@pytest.mark.parametrize("form", BEGINNINGS)
def test_align_draws(files: Path, form: str) -> None:
    out = files / "deep" / f"align.{form}"
    result = call(files, "align", "1_1", "--out", str(out), "--dpi", "60")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.endswith(f"\n{out}\n")
    assert out.read_bytes().startswith(BEGINNINGS[form])


def answer(files: Path, episode: str, walk: str) -> None:
    """The agent answers this episode only."""
    run = [{"instr_id": episode, "trajectory": [[node, 0.0, 0.0] for node in walk]}]
    (files / "agent.json").write_text(json.dumps(run))


def test_mistakes_of_align(files: Path) -> None:
    assert "can be written as pdf, svg or png, not as 'bmp'" in mistake(call(files, "align", "1_0", "--out", "a.bmp"))
    assert "paths are node names, so distances need the graphs" in mistake(call(files, "align", "1_0", graphs=False))
    answer(files, "1_0", "a")
    missing = "agent does not answer episode '1_2' of references.json; did you mean '1_0'?"
    assert missing in mistake(call(files, "align", "1_2"))
    answer(files, "1_0", "ax")
    assert "episode 1_0: the query" in mistake(call(files, "align", "1_0"), status=1)


def python(program: str, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command in another process, after a program."""
    whole = f"import atexit, sys; {program}; from wayscore.cli.app import main; main()"
    command = [sys.executable, "-c", whole, *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **environment})


def test_text_needs_no_matplotlib(files: Path) -> None:
    without = "sys.modules['matplotlib'] = None"
    words = ["align", str(files / "agent.json"), "1_0", "-r", str(files / "references.json")]
    words += ["-g", str(files / "connectivity")]
    text = python(without, *words)
    assert text.returncode == 0, text.stderr
    assert "nDTW 1.0000" in text.stdout
    missing = "wayscore: figures need matplotlib, which is not installed: pip install 'wayscore[plot]'\n"
    for more in ([*words, "--out", "a.pdf"], ["figures", "--out", str(files / "none")]):
        drawn = python(without, *more)
        assert (drawn.returncode, drawn.stderr, drawn.stdout) == (2, missing, "")


@pytest.mark.parametrize("verb", ["figures", "align"])
def test_help_needs_neither_numpy_nor_matplotlib(verb: str) -> None:
    loaded = "atexit.register(lambda: print([m for m in ('numpy', 'matplotlib') if m in sys.modules]))"
    result = python(loaded, verb, "--help")
    assert "Usage: wayscore" in result.stdout
    assert result.stdout.splitlines()[-1] == "[]"


def test_no_window_system_is_touched(tmp_path: Path) -> None:
    loaded = "atexit.register(lambda: print('pyplot', 'matplotlib.pyplot' in sys.modules))"
    words = ["figures", "--which", "warping", "--out", str(tmp_path), "-f", "png"]
    result = python(loaded, *words, MPLBACKEND="TkAgg", DISPLAY="")
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines()[-1] == "pyplot False"


@pytest.mark.soak
def test_figures_are_written_with_their_captions(tmp_path: Path) -> None:
    """And without a date or a random name: the same seed gives the same files."""
    words = ["--format", "pdf,svg", "-f", "png", "--dpi", "50", "--seed"]
    result = command("figures", "--out", str(tmp_path / "a"), *words, "6", status=0)
    assert figure_comparison_set(6).get_label() in result.stdout
    command("figures", "--out", str(tmp_path / "b"), *words, "6", status=0)
    command("figures", "--out", str(tmp_path / "other"), *words, "7", status=0)
    names = {f"{name}.{form}" for name in SIMULATED for form in BEGINNINGS}
    assert {path.name for path in (tmp_path / "a").iterdir()} == names
    for path in (tmp_path / "a").iterdir():
        first, again, other = ((tmp_path / folder / path.name).read_bytes() for folder in ("a", "b", "other"))
        assert str(path) in result.stdout
        assert first.startswith(BEGINNINGS[path.suffix[1:]])
        assert len(first) > 4000
        assert first == again != other


@pytest.mark.soak
def test_the_same_seed_gives_the_same_files_in_another_process(tmp_path: Path) -> None:
    found = []
    for salt in ("1", "2"):
        words = ["figures", "--which", "matrix", "--out", str(tmp_path / salt), "-f", "pdf,svg"]
        result = python("pass", *words, PYTHONHASHSEED=salt, SOURCE_DATE_EPOCH=f"{salt}00000000")
        assert result.returncode == 0, result.stderr
        found.append([(tmp_path / salt / f"matrix.{form}").read_bytes() for form in ("pdf", "svg")])
    assert found[0] == found[1]


def test_figures_of_a_run(files: Path) -> None:
    result = call(files, "figures", "--out", str(files / "out"), "-f", "svg")
    assert result.exit_code == 0, result.stderr
    scored = evaluate(files / "agent.json", files / "references.json", files / "connectivity")
    svg = (files / "out" / "gallery.svg").read_text()
    titles = re.findall(r">(\d\.\d\d)</text>", svg)
    assert titles == [f"{value:.2f}" for value in sorted(scored["nDTW"], reverse=True)]
    assert re.findall(r">(1_\d)</text>", svg) == ["1_0", "1_2", "1_1"]
    assert "one dot for each of 3 episodes" in result.stdout
    assert ">SR</text>" in (files / "out" / "metrics.svg").read_text()


def test_what_a_run_misses_is_left_out_with_a_warning(files: Path) -> None:
    answer(files, "1_0", "a")
    result = call(files, "figures", "--out", str(files / "out"), "--which", "gallery", "-f", "png", "--dpi", "50")
    assert result.exit_code == 0, result.stderr
    assert result.stderr == "wayscore: 2 of the 3 episodes of references.json have no answer: 1_1, 1_2; left out\n"
    answer(files, "9_0", "a")
    failed = call(files, "figures", "--out", str(files / "out"), "--which", "gallery")
    assert "no episode of this run is in references.json: wrong split?" in mistake(failed, status=1)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--format", "gif"], "--format must be pdf, svg or png, not 'gif'"),
        (["--references", "a.json"], "--references and --graphs go with a run"),
        (["run.json"], "to draw a run, give its references with --references FILE"),
        (["run.json", "--which", "warping"], "--which of a run must be gallery or metrics, not 'warping'"),
        (["--which", "metrics", "--x", "SRR"], "there is no metric 'SRR'; did you mean 'SR'?"),
        (["--seed", "-1"], "--seed must be a whole number, 0 to"),
    ],
)
def test_mistakes_of_figures(tmp_path: Path, words: list[str], message: str) -> None:
    result = command("figures", "--out", str(tmp_path), *words)
    assert message in mistake(result)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("convention", ["paper", "duet", "r4r-hops"])
def test_real_episodes_on_graphs(data: Path, convention: str) -> None:
    references = ws.load_references(data / "r2r" / "R2R_val_unseen.json.gz")
    graphs = ws.load_graphs(data / "connectivity.tar.gz")
    run = data / "predictions" / "r2r" / "val_unseen_prevalent_add.json.gz"
    scored = evaluate(run, references, graphs, convention=convention, metrics="DTW,nDTW", resamples=1)
    queries = ws.load_run(run).queries
    for row, name in list(enumerate(scored.episodes))[::100]:
        one = warp_episode(references.episodes[name], queries[name], graphs, convention=convention)
        assert one.ndtw == pytest.approx(scored["nDTW"][row], rel=1e-12)
        assert one.alignment.cost == pytest.approx(scored["DTW"][row], rel=1e-12)


@pytest.mark.parametrize("convention", ["paper", "vlnce", "vlnce-exact"])
@pytest.mark.soak
def test_real_walks(data: Path, convention: str, tmp_path: Path) -> None:
    references = data / "vlnce" / "R2R_VLNCE_v1-3" / "val_unseen" / "val_unseen.json.gz"
    run = data / "vlnce" / "results" / "gridmap_agent_val_unseen_3scenes_locations.json.gz"
    options: dict[str, Any] = {"missing": "skip", "start": "keep", "resamples": 1}
    scored = evaluate(run, references, convention=convention, metrics="DTW,nDTW", **options)
    known, queries = ws.load_references(references).episodes, ws.load_run(run).queries
    for row, name in list(enumerate(scored.episodes))[::40]:
        one = warp_episode(known[name], queries[name], convention=convention)
        assert one.ndtw == pytest.approx(scored["nDTW"][row], rel=1e-12)
    words = ["align", str(run), one.episode, "-r", str(references), "--convention", convention]
    result = command(*words, "--out", str(tmp_path / "walk.pdf"), status=0)
    assert f"nDTW {one.ndtw:.4f}" in result.stdout
    assert (tmp_path / "walk.pdf").stat().st_size > 4000
