"""The report page as Python writes it: what it holds, how it is packed, and that nothing in it can get out."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wayscore as ws
from tests.report.browser.houses import HOSTILE, ISLAND, compared, graphs_of, references_in, run_of, scored
from wayscore.convention import PAPER
from wayscore.convention.signature import SHORT
from wayscore.escaping import escape
from wayscore.evaluation.comparison import compare
from wayscore.evaluation.evaluator import evaluate
from wayscore.evaluation.repeated_runs import pool
from wayscore.evaluation.result import Result
from wayscore.evaluation.saved import load_result
from wayscore.formats.episodes import Reference, References
from wayscore.report.layout import p_value
from wayscore.report.page import episodes, page_of, write_page
from wayscore.report.page.episodes import episodes_of
from wayscore.report.page.results import KEYS
from wayscore.report.page.scenes import floors
from wayscore.report.results import warnings_of


def results_in(page: str) -> Any:
    return json.loads(_block(page, "results-data"))


def episodes_in(page: str) -> Any:
    return json.loads(gzip.decompress(base64.b64decode(_block(page, "episodes-data"))))


def warnings_in(page: str) -> list[str]:
    found = re.search(r'<aside id="warnings".*?</aside>', page, re.DOTALL)
    return [] if found is None else [unescape(item) for item in re.findall("<li>(.*?)</li>", found[0])]


def table_in(page: str, which: int = 0) -> list[list[str]]:
    """The cells of a table, without the markup in them."""
    body = re.findall(r"<table>.*?</table>", page, re.DOTALL)[which]
    rows = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in body.split("</tr>")[:-1]]
    return [[re.sub("<[^b/][^>]*>|</[^b][^>]*>", "", cell) for cell in row] for row in rows]


def _block(page: str, name: str) -> str:
    (found,) = re.findall(rf'<script type="[^"]*" id="{name}">([^<]*)</script>', page)
    return str(found)


def pairs_of(packed: list[Any]) -> list[list[int]]:
    """The cells of a packed warping."""
    cells = [[0, 0]]
    for move in packed[0]:
        i, j = cells[-1]
        cells.append([i + (move != "2"), j + (move != "1")])
    return cells


def alone(reference: Reference, query: Any, distance: Any = None, up_axis: int | None = None, **options: Any) -> Result:
    """The result of one episode."""
    references = References("one.json", "r2r", {reference.episode: reference}, up_axis=up_axis)
    return evaluate({reference.episode: query}, references, distance, name="agent", resamples=9, **options)


def test_the_page_needs_no_network() -> None:
    page = page_of(scored("noisy"))
    assert page == page_of(scored("noisy"))
    policy = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)[0]
    for tag, source in (('script type="module"', "script-src"), ("style", "style-src")):
        (text,) = re.findall(f"<{tag}>(.*?)</{tag.split()[0]}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{source} 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    assert set(re.findall(r"https?://[^\"'`\s]+", page)) == {"http://www.w3.org/2000/svg"}
    assert not re.search(r"<(link|img|iframe|script [^>]*src)", page)
    assert "innerHTML" not in page
    assert len(page) < 300_000


def test_words_from_files_stay_words() -> None:
    page = page_of([replace(scored("noisy")[0], name=HOSTILE, warnings=(HOSTILE,))])
    assert results_in(page)["runs"][0]["name"] == escape(HOSTILE)
    assert warnings_in(page) == [escape(HOSTILE)]
    assert escape(HOSTILE) in episodes_in(page)["instruction"]
    assert page.count("</script>") == 3
    assert "<img" not in page
    assert "&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;" in page  # the title and the table without a program


def test_episodes_that_are_resampled_together_are_known() -> None:
    results = scored("noisy")
    found = episodes_of(results)
    pairs = {*zip(found["cluster"], results[0].cluster_labels(), strict=True)}
    assert len(pairs) == len({*found["cluster"]}) == len({*results[0].cluster_labels()})
    assert found["clustered_by"] == "path"
    assert episodes_of(scored("noisy", cluster="none"))["cluster"] is None


def test_warnings_speak_of_options_as_the_command_does() -> None:
    marked = replace(scored("noisy")[0], warnings=("use <<repeats=drop>> or <<path_step=0.25>>",))
    words = "use <code>--repeats drop</code> or <code>--path-step 0.25</code>"
    assert warnings_in(page_of([marked])) == [words]
    other = page_of([*scored("noisy"), *scored("shortest", threshold=1.0)])
    assert warnings_in(other)[0] == "noisy and shortest differ in threshold (3, 1)"


def test_results_are_printed_as_everywhere() -> None:
    results = scored("noisy", "shortest")
    found = results_in(page_of(results, split_by="length"))
    page = page_of(results)
    table = {row[0].split()[0]: row[1:] for row in table_in(page)}
    for place, (run, result) in enumerate(zip(found["runs"], results, strict=True)):
        means = result.means()
        assert f'data-copy="{result.signature}"' in page
        assert run["undefined"] == result.undefined
        assert re.sub("<.*?>", "", table["nDTW"][place]).startswith(f"{100 * (means['nDTW'] or 0):.1f}[")
        assert run["means"]["NE"]["mean"] == means["NE"]
        assert " (1 unreachable)" in table["NE"][place]
    rates = [result.means()["SR"] or 0 for result in results]
    assert [cell.startswith("<b>") for cell in table["SR"]] == [rate == max(rates) for rate in rates]
    headline = ["SR", "SPL", "nDTW", "SDTW"]
    others = [symbol for symbol in ws.METRICS if symbol not in headline]
    assert [metric["symbol"] for metric in found["metrics"]] == [*headline, *others]
    assert found["runs"][0]["why"] == dict.fromkeys(["PL", "NE", "AD", "MD", "DTW"], "unreachable")
    assert warnings_in(page) == ["intervals resample only 22 paths; with fewer than 30 they are too narrow"]
    assert found["comparison"] is None
    assert found["split_by"] == "length"
    assert "<title>noisy and shortest on houses</title>" in page


def test_every_key_of_a_signature_is_explained() -> None:
    assert {*SHORT} <= {*KEYS}
    (result,) = scored("noisy")
    shown_keys = re.findall(r"<dt>(.*?)</dt><dd[^>]*>(.*?)</dd><dd>(.+?)</dd>", page_of([result]))
    assert [(key, value, KEYS[key]) for key, value in result.signature.fields.items()] == shown_keys


def test_comparisons_have_their_tests() -> None:
    comparison = compared("noisy", "shortest", "early_stop")
    page = page_of(comparison.results, comparison)
    found = results_in(page)["comparison"]
    assert found["baseline"] == "noisy"
    assert [*found["others"]] == ["shortest", "early_stop"]
    for place, (run, tests) in enumerate(found["others"].items()):
        table, better, worse = (table_in(page, 1 + 3 * place + n)[1:] for n in range(3))
        for test, row in zip(tests, table, strict=True):
            contrast = comparison.of(run)[test["metric"]]
            assert test["mean"] == contrast.difference.mean
            assert row[0].startswith(f"{test['metric']} ")
            assert row[3].split()[0] == p_value(contrast.p_holm)
            assert row[4] == ("\u2013" if contrast.outcomes is None else "/".join(map(str, contrast.outcomes)))
            assert row[-1] == str(contrast.episodes)
        for rows, examples in ((better, comparison.better[run]), (worse, comparison.worse[run])):
            assert [row[0] for row in rows] == [one.episode for one in examples]
    assert warnings_in(page) == warnings_of(comparison.results, comparison.warnings)


def test_scores_come_back_as_they_were() -> None:
    results = scored("noisy", "overshoot")
    found = episodes_of(results)
    assert found["id"] == list(references_in().episodes)
    assert (found["total"], found["undrawn"]) == (61, "")
    for result, packed in zip(results, found["runs"], strict=True):
        assert packed["has"] == [1] * 61
        for symbol in result.symbols:
            steps = found["steps"][symbol]
            back = np.array([np.inf if value is None else value / steps for value in packed["scores"][symbol]])
            np.testing.assert_allclose(back, result[symbol], atol=0.5 / steps)
    island = found["id"].index(ISLAND)
    assert found["runs"][0]["scores"]["NE"][island] is None
    assert found["runs"][0]["query"][island] >= 0
    assert found["runs"][0]["warping"][island] == -1


@pytest.mark.parametrize("convention", ["paper", "r4r-hops"])
def test_warpings_are_those_of_align(convention: str) -> None:
    (result,) = scored("noisy", episodes=4, convention=convention, metrics="DTW,nDTW")
    references = references_in(4)
    run = run_of("noisy", references)
    found = episodes_of([result])
    columns = found["runs"][0]
    for row, (name, reference) in enumerate(references.episodes.items()):
        if columns["warping"][row] < 0:
            assert name == ISLAND
            continue
        path = run.queries[name].path
        graph = graphs_of()[reference.scene]
        graph = graph if convention == "paper" else graph.hops
        warping = ws.align(reference=reference.path, query=path, distance=graph)
        packed = found["warpings"][columns["warping"][row]]
        assert pairs_of(packed) == warping.pairs.tolist()
        gaps = np.array(packed[1]) / 100
        np.testing.assert_allclose(gaps, warping.distances()[tuple(warping.pairs.T)], atol=0.005)
        assert gaps.sum() == pytest.approx(result["DTW"][row], abs=0.005 * len(gaps))
        scene = found["scenes"][found["scene"][row]]
        names = [scene["nodes"][code] for code in found["paths"][columns["query"][row]]]
        assert names == [", ".join(map(str, node)) if isinstance(node, tuple) else node for node in path]


@pytest.mark.parametrize(("policy", "has", "ndtw"), [("skip", [1, 0], None), ("zero", [1, 1], 0)])
def test_runs_that_answer_some_episodes(policy: str, has: list[int], ndtw: int | None) -> None:
    references = references_in(3)
    some = run_of("noisy", references, list(references.episodes)[::2])
    half = evaluate(some, references, graphs_of(), missing=policy, name="some", resamples=9)
    results = [*scored("noisy", episodes=3), half]
    found = episodes_of(results)["runs"][1]
    assert (found["has"], found["scores"]["nDTW"][1]) == (has * 5, ndtw)
    assert [query < 0 for query in found["query"]] == [False, True] * 5
    assert re.search(r"Problems found in some</summary><ul><li>[^<]*no answer", page_of(results))


@pytest.mark.parametrize(("kind", "query"), [("node", ["a", "zebra"]), ("start", ["b"]), ("move", ["a", "c"])])
def test_answers_that_a_policy_gives_the_worst_values_are_not_drawn(kind: str, query: list[str]) -> None:
    graph = {"S": ws.Graph.from_edges([("a", "b"), ("b", "c")], [1.0, 1.0])}
    references = References("r", "r2r", {n: Reference(n, "S", ["a", "b"], n) for n in "12"})
    policy: Any = {kind: "zero"}
    result = evaluate({"1": query, "2": ["a", "b"]}, references, graph, resamples=9, **policy)
    assert [number >= 0 for number in episodes_of([result])["runs"][0]["query"]] == [False, True]


def test_several_runs_of_one_agent_are_means_of_each_episode() -> None:
    one, two = scored("noisy"), scored("noisy", seed=6)
    agent = pool([*one, *two], "agent")
    found = episodes_of([agent])
    packed = found["runs"][0]
    assert packed["averaged"]
    expected = (one[0]["nDTW"] + two[0]["nDTW"]) / 2
    np.testing.assert_allclose(np.array(packed["scores"]["nDTW"]) / found["steps"]["nDTW"], expected, atol=1e-5)
    assert packed["query"] == episodes_of(one)["runs"][0]["query"]  # the walks of the first run
    page = page_of([agent])
    assert "One agent on 122 episodes in 2 runs" in page
    assert " ± " in dict(row[:2] for row in table_in(page))["nDTW % ↑"]


def test_loaded_results_have_scores_and_no_paths(tmp_path: Path) -> None:
    live, other = scored("noisy", "shortest")
    other.save(tmp_path / "shortest.parquet")
    loaded = load_result(tmp_path / "shortest.parquet")
    found = episodes_of([loaded])
    assert "hold scores but no paths" in found["undrawn"]
    assert {*found["reference"], *found["runs"][0]["query"]} == {-1}
    assert found["length"] == [len(reference.path) for reference in references_in().episodes.values()]
    assert [scene["name"] for scene in found["scenes"]] == ["attic", "barn", "cabin"]
    both = episodes_of([loaded, live])
    assert both["undrawn"] == ""
    assert {*both["runs"][0]["query"]} == {-1}
    assert -1 not in both["runs"][1]["query"]
    comparison = compare([loaded, live])
    assert results_in(page_of(comparison.results, comparison))["threshold"] == 3.0


def test_scores_of_other_evaluators_have_a_page(tmp_path: Path) -> None:
    file = tmp_path / "theirs.csv"
    file.write_text("episode,success,ndtw\n1,1,0.5\n2,0,nan\n")
    page = page_of([load_result(file)])
    assert results_in(page)["threshold"] is None
    assert "<title>theirs</title>" in page
    assert warnings_in(page)
    assert episodes_in(page)["length"] is None
    assert [scene["name"] for scene in episodes_in(page)["scenes"]] == [""]


def test_rows_that_carry_their_references_have_no_maps() -> None:
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"scene": ["s"], "reference": [["a", "b"]], "query": [["a"]]})
    result = evaluate(table, None, {"s": ws.Graph.from_edges([("a", "b")], [4.0])}, resamples=9)
    assert "carry their own references" in episodes_of([result])["undrawn"]
    assert page_of([result])


def test_a_metric_of_ones_own_has_its_place() -> None:
    own = ws.Metric("far", "Farthest", "down", (0, float("inf")), "m", "max d", measure=lambda e: e.matrix().max())
    results = scored("noisy", "shortest", metrics=["nDTW", own])
    comparison = compare(results, metrics=[own])
    page = page_of(comparison.results, comparison)
    assert results_in(page)["metrics"][-1]["name"] == "Farthest"
    assert [test["metric"] for test in results_in(page)["comparison"]["others"]["shortest"]] == ["far"]
    assert episodes_in(page)["steps"] == {"far": 1_000}


def test_of_many_episodes_the_first_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(episodes, "LISTED", 10)
    found = episodes_of(scored("noisy"))
    assert (len(found["id"]), found["total"]) == (10, 61)
    assert len(found["runs"][0]["scores"]["SR"]) == len(found["runs"][0]["has"]) == 10
    assert [scene["name"] for scene in found["scenes"]] == ["attic"]


def drawn(query: Any, graph: ws.Graph, reference: Any = "ab", goals: Any = (), **options: Any) -> dict[str, Any]:
    """The episodes of a page of one episode."""
    one = Reference("e", "S", list(reference), "1", goals=goals)
    return episodes_of([alone(one, list(query), {"S": graph}, **options)])


def test_nodes_that_count_as_reaching_the_goal() -> None:
    graph = ws.Graph.from_edges([("a", "b"), ("b", "c"), ("c", "d")], [1.0, 2.0, 2.0])
    assert drawn("ad", graph, "ad")["scenes"][0]["near"] == {3: [2, 3]}  # b is 4 away
    strict = drawn("ad", graph, "ad", threshold=2.0, convention="envdrop")
    assert strict["scenes"][0]["near"] == {3: [3]}  # 2 is not less than 2
    several = drawn("a", graph, goals=("b", "c"), convention="reverie")
    assert several["goals"] == [(1, 2)]
    assert several["scenes"][0]["near"] == {}


def test_scenes_without_positions_in_metres() -> None:
    scene = drawn("a", ws.Graph.from_edges([("a", "b")], [5.0]))["scenes"][0]
    assert "at" not in scene
    assert (scene["metric"], scene["nodes"]) == (False, ["a", "b"])
    degrees = {"a": (0.0, 0.0), "b": (0.001, 0.0)}
    scene = drawn("a", ws.Graph.from_edges([("a", "b")], [90.0], positions=degrees))["scenes"][0]
    assert scene["metric"] is False
    assert scene["at"][3] / scene["scale"] == pytest.approx(0.001)


def test_of_large_graphs_only_the_neighbourhood_is_drawn() -> None:
    positions = {n: (float(n), 0.0) for n in range(5_000)}
    graph = ws.Graph.from_edges([(n, n + 1) for n in range(4_999)], np.ones(4_999), positions=positions)
    scene = drawn([7, 8, 9], graph, [7, 8])["scenes"][0]
    assert sorted(map(int, scene["nodes"])) == [6, 7, 8, 9, 10]
    assert len(scene["edges"]) == 2 * 4
    assert scene["near"] == {}


def test_directed_hops_warp_from_the_query() -> None:
    street = ws.Graph.from_edges([("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")], directed=True)
    mine = replace(PAPER, name="mine", distance="directed hops")
    warpings = drawn("b", street, convention=mine, start="keep", metrics="DTW")["warpings"]
    assert warpings == [["1", [300, 0]]]  # from b to a it is three links on


def test_points_are_drawn_from_above() -> None:
    path = np.array([[0.0, 1.0, 0.0], [0.0, 1.0, -2.0], [3.0, 4.0, -2.0]])  # Habitat: y is up, -z is ahead
    reference = Reference("e", "S", path, "1", dense=path[[0, 0, 1, 1, 2]])
    query = [[0.0, 1.0, 0.0], [0.0, 1.0, 0.0], [0.0, 1.0, -2.0]]
    result = alone(reference, query, up_axis=1, convention="vlnce-exact", metrics="DTW")
    found = episodes_of([result])
    scene = found["scenes"][0]
    assert "nodes" not in scene
    dense, walk = (
        (np.cumsum(np.array(found["paths"][number]).reshape(-1, 3), axis=0) / scene["scale"]).tolist()
        for number in (found["reference"][0], found["runs"][0]["query"][0])
    )
    assert dense == [[0, 0, 1], [0, 0, 1], [0, 2, 1], [0, 2, 1], [3, 2, 4]]
    assert walk == [[0, 0, 1], [0, 2, 1]]  # repeats are dropped
    packed = found["warpings"][0]
    assert pairs_of(packed) == [[0, 0], [1, 0], [2, 1], [3, 1], [4, 1]]
    assert np.sum(packed[1]) / 100 == pytest.approx(result["DTW"][0], abs=0.01)


def test_paths_are_drawn_as_they_are_resampled() -> None:
    path = np.array([[0.0, 0.0], [2.0, 0.0]])
    result = alone(Reference("e", "S", path, "1"), path[:, ::-1], path_step=0.5, start="keep")
    found = episodes_of([result])
    assert len(found["paths"][found["reference"][0]]) == 3 * 5
    assert np.sum(found["warpings"][0][1]) / 100 == pytest.approx(result["DTW"][0], abs=0.05)


def test_shared_paths_and_warpings_are_kept_once() -> None:
    same = {f"1_{n}": Reference(f"1_{n}", "attic", [(0, 0), (0, 1)], "1", str(n)) for n in range(3)}
    references = References("r.json", "r2r", same)
    found = episodes_of([evaluate(run_of("perfect", references), references, graphs_of(), resamples=9)])
    assert (len(found["paths"]), found["runs"][0]["warping"]) == (1, [0, 0, 0])


def test_floors() -> None:
    rng = np.random.default_rng(0)
    ground, upper = rng.normal(1.5, 0.1, 40), rng.normal(4.5, 0.1, 30)
    stairs = np.linspace(1.6, 4.4, 5)
    assert floors(np.concatenate((upper, stairs, ground))) == pytest.approx([1.5, 4.5], abs=0.1)
    assert len(floors(rng.normal(1.5, 0.3, 50))) == 1
    assert floors(np.array([2.0])) == [2.0]
    assert floors(np.array([])) == []


def test_mistakes_get_their_sentence(tmp_path: Path) -> None:
    (result,) = scored("noisy")
    with pytest.raises(ws.OptionError, match="one or more results with different names"):
        page_of([result, result])
    with pytest.raises(ws.OptionError, match="the comparison must be of the runs"):
        page_of([result], compared("noisy", "shortest"))
    with pytest.raises(ws.WayscoreError, match="cannot be written: no such file or directory; choose another place"):
        write_page(tmp_path / "nowhere" / "page.html", [result])
