"""The report page as Python writes it: what it holds, how it is packed, and that nothing in it can get out."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wayscore as ws
from tests.browser.houses import HOSTILE, ISLAND, build_houses, compared, references_in, run_of, scored, summaries_of
from tests.test_cli_score import call, files, write_run
from wayscore.convention import CHOICES, PAPER
from wayscore.convention.presets import CONVENTIONS, read_signed, signed
from wayscore.episodes import Query, Reference, References, Run
from wayscore.report import ScoredRun, page_of, score_runs, write_page
from wayscore.report.page.episodes import episodes_of
from wayscore.report.page.scenes import floors

__all__ = ["files"]  # a fixture


def results_in(page: str) -> Any:
    return json.loads(_block(page, "results-data"))


def episodes_in(page: str) -> Any:
    return json.loads(gzip.decompress(base64.b64decode(_block(page, "episodes-data"))))


def _block(page: str, name: str) -> str:
    found = re.search(rf'<script type="[^"]*" id="{name}">([^<]*)</script>', page)
    assert found is not None
    return found[1]


def pairs_of(packed: list[Any]) -> list[list[int]]:
    """The cells of a packed warping."""
    cells = [[0, 0]]
    for move in packed[0]:
        i, j = cells[-1]
        cells.append([i + (move != "2"), j + (move != "1")])
    return cells


def alone(reference: Reference, query: Any, **options: Any) -> tuple[list[ScoredRun], References, Any]:
    """One episode, scored."""
    references = References("one.json", options.pop("format", "r2r"), {reference.episode: reference})
    run = Run("agent", "r2r", {reference.episode: Query(reference.episode, query)})
    distance = options.pop("distance", None)
    return score_runs([run], references, graphs=distance, **options), references, distance


def test_the_page_asks_nothing_of_anybody() -> None:
    page = page_of(*scored("noisy"))
    script = re.search(r'<script type="module">(.*)</script>', page, re.DOTALL)
    style = re.search(r"<style>(.*)</style>", page, re.DOTALL)
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert script
    assert style
    assert policy
    for text, source in ((script[1], "script-src"), (style[1], "style-src")):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{source} 'sha256-{digest}'" in policy[1]
    assert policy[1].startswith("default-src 'none'; ")
    assert "unsafe" not in policy[1]
    assert set(re.findall(r"https?://[^\"'`\s]+", page)) == {"http://www.w3.org/2000/svg"}
    assert not re.search(r"<(link|img|iframe|script [^>]*src)", page)
    assert "innerHTML" not in page


def test_words_from_files_stay_words() -> None:
    runs, summaries, references, graphs = scored("noisy")
    named = [ScoredRun(HOSTILE, runs[0].joined, runs[0].table)]
    titled = [replace(summaries[0], run=HOSTILE)]
    page = page_of(named, titled, references, graphs)
    assert results_in(page)["runs"][0]["name"] == HOSTILE
    assert HOSTILE in episodes_in(page)["instruction"]
    assert page.count("</script>") == 3
    assert "<img" not in page
    assert "&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;" in page  # the title and the table without a program


def test_names_that_are_not_unicode_do_no_harm(tmp_path: Path) -> None:
    runs, summaries, references, graphs = scored("noisy")
    write_page(tmp_path / "page.html", runs, summaries, references, graphs, title="agent \ud800")
    assert results_in((tmp_path / "page.html").read_text())["title"] == "agent \ud800"


def test_one_input_makes_one_page() -> None:
    assert page_of(*scored("noisy")) == page_of(*scored("noisy"))


def test_results_are_printed_as_everywhere() -> None:
    runs, summaries, references, graphs = scored("noisy", "shortest")
    found = results_in(page_of(runs, summaries, references, graphs))
    for run, summary in zip(found["runs"], summaries, strict=True):
        assert run["signature"] == str(summary.signature)
        assert run["undefined"] == summary.undefined
        assert run["means"]["nDTW"]["text"] == f"{100 * summary.metrics['nDTW'].mean:.1f}"
        assert run["means"]["NE"]["mean"] == summary.metrics["NE"].mean
    best = [run["means"]["SR"]["best"] for run in found["runs"]]
    rates = [summary.metrics["SR"].mean for summary in summaries]
    assert best == [rate == max(rates) for rate in rates]
    assert [metric["symbol"] for metric in found["metrics"]] == list(ws.METRICS)
    assert found["warnings"] == []
    assert found["comparison"] is None


def test_what_differs_between_runs_is_a_warning() -> None:
    runs, _, references, graphs = scored("noisy", "shortest")
    other = score_runs([run_of("shortest", references, build_houses())], references, graphs=graphs, threshold=1.0)
    mixed = [runs[0], other[0]]
    found = results_in(page_of(mixed, summaries_of(mixed), references, graphs))
    assert found["warnings"] == ["warning: noisy and shortest differ in threshold (3, 1)"]


def test_comparisons_tell_their_tests() -> None:
    runs, comparison, references, graphs = compared("noisy", "shortest", "early_stop")
    page = page_of(runs, comparison.summaries, references, graphs, comparison=comparison)
    found = results_in(page)["comparison"]
    assert found["baseline"] == "noisy"
    assert [other["run"] for other in found["others"]] == ["shortest", "early_stop"]
    for other in found["others"]:
        for test in other["tests"]:
            contrast = comparison.of(other["run"])[test["metric"]]
            assert test["p"] == contrast.p_holm
            assert test["mean"] == contrast.difference.mean
            assert test["outcomes"] == (None if contrast.outcomes is None else list(contrast.outcomes))
        assert [row["episode"] for row in other["worse"]] == [e.episode for e in comparison.worse[other["run"]]]
    assert "minus noisy" in page  # the table without a program


def test_scores_come_back_as_they_were() -> None:
    runs, _, references, graphs = scored("noisy", "overshoot")
    found = episodes_of(runs, references, graphs)
    assert found["id"] == list(references.episodes)
    for run, packed in zip(runs, found["runs"], strict=True):
        assert packed["rows"] is None
        for symbol, values in run.table.columns.items():
            steps = found["steps"][symbol]
            back = np.array([np.inf if value is None else value / steps for value in packed["scores"][symbol]])
            np.testing.assert_allclose(back, values, atol=0.5 / steps)
    island = found["id"].index(ISLAND)
    assert found["runs"][0]["scores"]["NE"][island] is None
    assert found["runs"][0]["warping"][island] == -1


@pytest.mark.parametrize("convention", ["paper", "r4r-hops"])
def test_warpings_are_those_of_align(convention: str) -> None:
    runs, _, references, graphs = scored("noisy", episodes=4, convention=convention, metrics="DTW,nDTW")
    found = episodes_of(runs, references, graphs)
    columns = found["runs"][0]
    for row, (reference, query) in enumerate(runs[0].joined.pairs):
        if columns["warping"][row] < 0:
            assert reference.episode == ISLAND
            continue
        graph = graphs[reference.scene] if convention == "paper" else graphs[reference.scene].hops
        warping = ws.align(reference=reference.path, query=query.path, distance=graph)
        packed = found["warpings"][columns["warping"][row]]
        assert pairs_of(packed) == warping.pairs.tolist()
        gaps = np.array(packed[1]) / 100
        np.testing.assert_allclose(gaps, warping.distances()[tuple(warping.pairs.T)], atol=0.005)
        assert gaps.sum() == pytest.approx(runs[0].table["DTW"][row], abs=0.005 * len(gaps))
        scene = found["scenes"][found["scene"][row]]
        names = [scene["nodes"][code] for code in found["paths"][columns["query"][row]]]
        assert names == [", ".join(map(str, node)) if isinstance(node, tuple) else node for node in query.path]


def test_directed_hops_warp_from_the_query() -> None:
    street = ws.Graph.from_edges([("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")], directed=True)
    mine = replace(PAPER, name="mine", distance="directed hops")
    runs, references, graphs = alone(
        Reference("e", "S", ["a", "b"], "1"), ["b"], distance={"S": street}, convention=mine, policies={"start": "keep"}
    )
    found = episodes_of(runs, references, graphs)
    assert found["warpings"] == [["1", [300, 0]]]  # from b to a it is three links on
    assert runs[0].table["DTW"].tolist() == [3.0]


def test_shared_paths_and_warpings_are_kept_once() -> None:
    references = References(
        "r.json", "r2r", {f"1_{n}": Reference(f"1_{n}", "attic", [(0, 0), (0, 1)], "1", str(n)) for n in range(3)}
    )
    houses = build_houses()
    graphs = {name: graph for name, (_, graph) in houses.items()}
    runs = score_runs([run_of("perfect", references, houses)], references, graphs=graphs)
    found = episodes_of(runs, references, graphs)
    assert len(found["paths"]) == 1
    assert len(found["warpings"]) == 1
    assert found["runs"][0]["warping"] == [0, 0, 0]


def test_runs_answer_what_they_answer() -> None:
    houses = build_houses()
    references = references_in(houses, 3)
    graphs = {name: graph for name, (_, graph) in houses.items()}
    whole = run_of("noisy", references, houses)
    some = Run("some", "r2r", {name: whole.queries[name] for name in list(whole.queries)[::2]})
    for policy in ("skip", "zero"):
        runs = score_runs([whole, some], references, graphs=graphs, policies={"missing": policy})
        found = episodes_of(runs, references, graphs)["runs"][1]
        if policy == "skip":
            assert found["rows"] == list(range(0, 10, 2))
            assert -1 not in found["query"]
        else:
            assert found["rows"] is None
            assert [query < 0 for query in found["query"]] == [False, True] * 5
            assert found["scores"]["nDTW"][1] == 0
        page = page_of(runs, summaries_of(runs), references, graphs)
        assert "are not answered" in results_in(page)["runs"][1]["problems"][0]


def test_nodes_that_reach_the_goal_are_told() -> None:
    graph = ws.Graph.from_edges([("a", "b"), ("b", "c"), ("c", "d")], [1.0, 2.0, 2.0])
    runs, references, graphs = alone(Reference("e", "S", ["a", "d"], "1"), ["a", "d"], distance={"S": graph})
    assert episodes_of(runs, references, graphs)["scenes"][0]["near"] == {3: [2, 3]}  # b is 4 away
    strict = score_runs([_again(runs)], references, graphs=graphs, threshold=2.0, convention="envdrop")
    assert episodes_of(strict, references, graphs)["scenes"][0]["near"] == {3: [3]}  # 2 is not less than 2


def _again(runs: list[ScoredRun]) -> Run:
    return Run("agent", "r2r", {reference.episode: query for reference, query in runs[0].joined.pairs})


def test_sets_of_goals_are_drawn() -> None:
    graph = ws.Graph.from_edges([("a", "b"), ("b", "c")], [1.0, 1.0])
    reference = Reference("e", "S", ["a", "b"], "1", goals=("b", "c"))
    runs, references, graphs = alone(reference, ["a"], distance={"S": graph}, convention="reverie")
    found = episodes_of(runs, references, graphs)
    assert found["goals"] == [(1, 2)]
    assert found["scenes"][0]["near"] == {}


def test_scenes_without_positions_have_no_map() -> None:
    graph = ws.Graph.from_edges([("a", "b")], [5.0])
    runs, references, graphs = alone(Reference("e", "S", ["a", "b"], "1"), ["a"], distance={"S": graph})
    scene = episodes_of(runs, references, graphs)["scenes"][0]
    assert "at" not in scene
    assert scene["metric"] is False
    assert scene["nodes"] == ["a", "b"]


def test_positions_in_other_units_have_no_circle() -> None:
    degrees = {"a": (0.0, 0.0), "b": (0.001, 0.0)}
    graph = ws.Graph.from_edges([("a", "b")], [90.0], positions=degrees)
    runs, references, graphs = alone(Reference("e", "S", ["a", "b"], "1"), ["a"], distance={"S": graph})
    scene = episodes_of(runs, references, graphs)["scenes"][0]
    assert scene["metric"] is False
    assert scene["at"][3] / scene["scale"] == pytest.approx(0.001)


def test_of_large_graphs_only_the_neighbourhood_is_drawn() -> None:
    long = 5_000
    positions = {n: (float(n), 0.0) for n in range(long)}
    graph = ws.Graph.from_edges([(n, n + 1) for n in range(long - 1)], np.ones(long - 1), positions=positions)
    runs, references, graphs = alone(Reference("e", "S", [7, 8], "1"), [7, 8, 9], distance={"S": graph})
    scene = episodes_of(runs, references, graphs)["scenes"][0]
    assert sorted(map(int, scene["nodes"])) == [6, 7, 8, 9, 10]
    assert len(scene["edges"]) == 2 * 4
    assert scene["near"] == {}


def test_points_are_drawn_from_above() -> None:
    path = np.array([[0.0, 1.0, 0.0], [0.0, 1.0, -2.0], [3.0, 4.0, -2.0]])  # Habitat: y is up, -z is ahead
    reference = Reference("e", "S", path, "1", dense=path[[0, 0, 1, 1, 2]])
    query = np.array([[0.0, 1.0, 0.0], [0.0, 1.0, 0.0], [0.0, 1.0, -2.0]])
    runs, references, _ = alone(reference, query, format="vlnce", convention="vlnce-exact", metrics="DTW")
    found = episodes_of(runs, references, None)
    scene = found["scenes"][0]
    assert "nodes" not in scene

    def places(number: int) -> list[list[float]]:
        steps = np.array(found["paths"][number]).reshape(-1, 3)
        return (np.cumsum(steps, axis=0) / scene["scale"]).tolist()

    assert places(found["reference"][0]) == [[0, 0, 1], [0, 0, 1], [0, 2, 1], [0, 2, 1], [3, 2, 4]]  # the dense walk
    assert places(found["runs"][0]["query"][0]) == [[0, 0, 1], [0, 2, 1]]  # repeats are dropped
    packed = found["warpings"][0]
    assert pairs_of(packed) == [[0, 0], [1, 0], [2, 1], [3, 1], [4, 1]]
    assert np.sum(packed[1]) / 100 == pytest.approx(runs[0].table["DTW"][0], abs=0.01)


def test_paths_are_drawn_as_they_are_sampled_anew() -> None:
    path = np.array([[0.0, 0.0], [2.0, 0.0]])
    rules = replace(PAPER, path_step=0.5)
    runs, references, _ = alone(
        Reference("e", "S", path, "1"), path[:, ::-1], convention=rules, policies={"start": "keep"}
    )
    found = episodes_of(runs, references, None)
    assert len(found["paths"][found["reference"][0]]) == 3 * 5
    assert np.sum(found["warpings"][0][1]) / 100 == pytest.approx(runs[0].table["DTW"][0], abs=0.05)


def test_floors() -> None:
    rng = np.random.default_rng(0)
    ground, upper = rng.normal(1.5, 0.1, 40), rng.normal(4.5, 0.1, 30)
    stairs = np.linspace(1.6, 4.4, 5)
    assert floors(np.concatenate((upper, stairs, ground))) == pytest.approx([1.5, 4.5], abs=0.1)
    assert len(floors(rng.normal(1.5, 0.3, 50))) == 1
    assert floors(np.array([2.0])) == [2.0]
    assert floors(np.array([])) == []


def test_conventions_are_read_back() -> None:
    for name, rules in CONVENTIONS.items():
        assert read_signed(signed(rules)) is CONVENTIONS[name]
    for choice, values in CHOICES.items():
        for value in values:
            mine = replace(PAPER, name="my own (2)", **{choice: value})
            assert getattr(read_signed(signed(mine)), choice) == value
    assert read_signed(signed(replace(PAPER, name="mine", path_step=0.25))).path_step == 0.25


def test_mistakes_get_their_sentence(tmp_path: Path) -> None:
    runs, summaries, references, graphs = scored("noisy")
    with pytest.raises(ws.OptionError, match="the summary of each"):
        page_of(runs, [], references, graphs)
    with pytest.raises(ws.OptionError, match="cannot write the page"):
        write_page(tmp_path / "nowhere" / "page.html", runs, summaries, references, graphs)


def test_score_writes_a_page(files: Path) -> None:
    printed = call(files).stdout
    found = call(files, "--html", str(files / "page.html"), "--threshold", "3")
    assert found.exit_code == 0, found.stderr
    assert found.stdout == printed  # the page comes beside the table
    page = (files / "page.html").read_text()
    assert results_in(page)["runs"][0]["name"] == "agent"
    assert episodes_in(page)["id"] == ["1_0", "1_1", "2_0"]
    assert call(files, "--html", str(files / "nowhere" / "page.html")).exit_code == 1


def test_compare_writes_a_page(files: Path) -> None:
    write_run(files / "other.json", {"1_0": "ab", "1_1": "abc", "2_0": "x"})
    options = [str(files / "other.json"), "--resamples", "20", "--baseline", "2", "--html", str(files / "page.html")]
    found = call(files, *options, verb="compare")
    assert found.exit_code == 0, found.stderr
    results = results_in((files / "page.html").read_text())
    assert [run["name"] for run in results["runs"]] == ["agent", "other"]
    assert results["comparison"]["baseline"] == "other"
