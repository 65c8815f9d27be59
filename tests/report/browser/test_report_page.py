"""The report page as its readers use it: in a browser, by keyboard, on a phone, in the dark."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wayscore as ws
from tests.report.browser.houses import HOSTILE, ISLAND, compared, graphs_of, references_in, run_of, scored, write
from wayscore.evaluation.comparison import compare
from wayscore.evaluation.evaluator import evaluate
from wayscore.evaluation.repeated_runs import pool
from wayscore.evaluation.saved import load_result
from wayscore.report.results import render

pytestmark = pytest.mark.soak
AXE = Path(__file__).parent / "vendor" / "axe.min.js"
Open = Callable[..., Any]


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("page") / "one.html", scored("noisy"))


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("page") / "two.html", compared("noisy", "overshoot"))


@pytest.fixture
def shown(opened: Open, tmp_path: Path) -> Open:
    """Write the page of some results and open it, or a place in it."""
    return lambda found, where="", **options: opened(write(tmp_path / "page.html", found), **options).go(where)


def listed(page: Any) -> list[str]:
    """The names of the episodes in the list, from top to bottom."""
    found: list[str] = page.eval_on_selector_all(
        ".list .row", "rows => rows.map(row => row.querySelector('.id').textContent)"
    )
    return found


def count(page: Any) -> str:
    text: str = page.locator(".count b").text_content()
    return text


def choose(page: Any, label: str, value: str) -> None:
    page.locator("#episodes").get_by_label(label, exact=True).select_option(value)


def title(page: Any) -> str:
    text: str = page.locator("#episode-title").text_content()
    return text


def warping(page: Any, which: int = 0) -> list[list[str]]:
    """The rows of a table of matched pairs, as they are read."""
    rows: list[list[str]] = (
        page.locator(".pairs")
        .nth(which)
        .locator("tbody tr")
        .evaluate_all("rows => rows.map(row => [...row.children].map(cell => cell.textContent.trim()))")
    )
    return rows


def test_the_means_are_those_that_the_terminal_prints(opened: Open, one: Path) -> None:
    page = opened(one).go()
    (result,) = scored("noisy")
    for symbol, mean in result.means().items():
        row = page.locator(".means tbody tr", has=page.get_by_text(symbol, exact=True))
        shown = f"{100 * (mean or 0):.1f}" if ws.METRICS[symbol].bounds == (0, 1) else f"{mean:.2f}"
        assert row.locator("td").first.evaluate("cell => cell.firstChild.textContent") == shown
        assert row.locator("small").count() == (symbol in result.undefined)
    assert page.locator(".means small").first.text_content() == " (1 unreachable)"
    rows = page.locator(".means tbody tr .symbol").all_text_contents()
    assert rows[:5] == ["SR", "SPL", "nDTW", "SDTW", "PL"]
    assert "Unreachable episodes are left out of the mean" in page.locator("#means .note").first.text_content()


def test_warnings_stand_above_the_numbers(shown: Open) -> None:
    warning = "79 % of the steps repeat the node before; use <<repeats=drop>> to leave them out"
    (result,) = scored("noisy")
    page = shown([replace(result, warnings=(warning, "no `stopped`"))])
    box = page.locator("#warnings")
    assert box.locator("h2").text_content().startswith("2 warnings")
    assert [" ".join(line.split()) for line in box.locator("li").all_text_contents()] == [
        "79 % of the steps repeat the node before; use --repeats drop to leave them out",
        "no stopped",
    ]
    assert box.locator("code").all_text_contents() == ["--repeats drop", "stopped"]
    assert box.bounding_box()["y"] < page.locator(".means").bounding_box()["y"]
    assert shown([replace(result, warnings=())]).locator("#warnings").count() == 0


def test_signatures_are_read_key_by_key_and_copied_whole(opened: Open, one: Path) -> None:
    page = opened(one, permissions=["clipboard-read", "clipboard-write"]).go()
    (result,) = scored("noisy")
    keys = page.locator(".signature dt").all_text_contents()
    values = page.locator(".signature .value").all_text_contents()
    assert dict(zip(keys, values, strict=True)) == dict(result.signature.fields)
    assert all(page.locator(".signature dd:not(.value)").all_text_contents())  # what each key means
    page.get_by_role("button", name="Copy the signature").click()
    assert page.evaluate("navigator.clipboard.readText()") == str(result.signature)


def test_scatter_plots_are_folded(opened: Open, two: Path) -> None:
    page = opened(two).go()
    plots = page.locator(".folded")
    assert plots.count() == 2
    assert page.locator("canvas:visible").count() == 0
    plots.first.locator("summary").click()
    page.locator("canvas:visible").first.wait_for()
    assert page.locator("canvas:visible").count() == 2


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("walkers", [1, 2, 5])
def test_nothing_is_clipped(shown: Open, walkers: int, width: int) -> None:
    names = ("noisy", "overshoot", "perfect", "shortest", "early_stop")[:walkers]
    page = shown(scored(*names) if walkers == 1 else compared(*names), viewport={"width": width, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    clipped = "boxes => boxes.filter(box => box.scrollWidth > box.clientWidth).map(box => box.ariaLabel)"
    found = page.locator("main .scrolling:visible").evaluate_all(clipped)
    assert width < 1280 or found == []


def test_repeats_are_seen_on_the_map(shown: Open) -> None:
    positions = {node: (float(n), 0.0) for n, node in enumerate("abc")}
    graph = ws.Graph.from_edges([("a", "b"), ("b", "c")], [1.0, 1.0], positions=positions)
    references = ws.References("r", "r2r", {n: ws.Reference(n, "s", ["a", "b", "c"], n) for n in "12"})
    run = {"1": [*"aaabbccb"], "2": [*"abc"]}
    results = [evaluate(run, references, {"s": graph}, resamples=9)]
    page = shown(results, "#episode=1")
    assert page.locator(".map .stays text").all_text_contents() == ["×3", "×2", "×2"]
    assert page.locator(".map .stays circle").count() == 3
    assert "logged steps" in page.locator(".key").text_content()
    assert page.locator(".map .query circle title").all_text_contents()[0] == "query 1 to 3 of 8: a"
    page = shown(results, "#episode=2")
    assert page.locator(".map .stays").count() == 0
    assert "logged steps" not in page.locator(".key").text_content()


def test_undefined_values_are_never_numbers(opened: Open, one: Path) -> None:
    page = opened(one).go(f"#episode={ISLAND}")
    tile = page.locator(".tiles > div", has_text=re.compile("^NE")).locator("dd")
    assert tile.text_content() == "–unreachable"
    assert "– (unreachable)" in page.locator(".walk-head").text_content()
    assert "there is no warping" in page.locator(".warping").text_content()
    figure = page.locator("#distributions figure", has=page.get_by_text("NE", exact=True))
    assert "Not shown: 1 unreachable." in figure.text_content()
    barn = page.locator(".groups tr", has_text="barn")
    assert barn.locator(".left-out").first.text_content() == "(1 unreachable)"
    choose(page, "metric", "NE")
    choose(page, "sorted by", "value")
    for _ in "both ways":
        page.locator(".list").focus()
        page.keyboard.press("End")
        last = page.locator("[aria-selected=true]")
        assert last.locator(".id").text_content() == ISLAND
        assert "–" in last.locator(".values").text_content()
        page.locator(".order").first.click()
    assert "(1 unreachable)" in page.locator(".count").text_content()
    assert "Limits hide these episodes" in page.locator(".group .note").text_content()
    page.get_by_label("NE at least").fill("0")
    assert count(page) == "60 of 61 episodes"


def test_sorting(opened: Open, one: Path) -> None:
    page = opened(one).go()
    (table,), references = scored("noisy"), references_in()
    assert listed(page)[:3] == list(references.episodes)[:3]
    for symbol in ("nDTW", "PL"):
        choose(page, "metric", symbol)
        choose(page, "sorted by", "value")
        values = dict(zip(table.episodes, table[symbol].round(3), strict=True))
        shown = [values[name] for name in listed(page)]
        assert shown == sorted(shown)
        page.get_by_role("button", name="Ascending order").click()
        shown = [values[name] for name in listed(page)]
        assert shown == sorted(shown, key=lambda value: (value == float("inf"), -value))  # undefined ones stay last
        page.get_by_role("button", name="Descending order").click()
    choose(page, "sorted by", "length")
    shown = [len(references.episodes[name].path) for name in listed(page)]
    assert shown == sorted(shown)


def test_filters(opened: Open, one: Path) -> None:
    page = opened(one).go()
    (table,) = scored("noisy")
    assert count(page) == "61 episodes"
    choose(page, "the scan is", "cabin")
    assert count(page) == "20 of 61 episodes"
    assert all(name.startswith("cabin") for name in listed(page))
    page.get_by_role("button", name="Clear filters").click()
    choose(page, "the outcome is", "0")
    assert count(page) == f"{(table['SR'] == 0).sum()} of 61 episodes"
    page.get_by_role("button", name="Clear filters").click()
    page.get_by_label("nDTW at least").fill("50")
    page.get_by_label("nDTW at most").fill("90")
    assert count(page) == f"{((table['nDTW'] >= 0.5) & (table['nDTW'] <= 0.9)).sum()} of 61 episodes"
    page.get_by_role("button", name="Clear filters").click()
    page.get_by_role("searchbox").fill("THROUGH THE BARN")
    assert count(page) == "20 of 61 episodes"
    page.get_by_role("searchbox").fill("no such words")
    assert count(page) == "0 of 61 episodes"


def test_an_episode_by_keyboard(opened: Open, one: Path) -> None:
    page = opened(one).go()
    references = references_in()
    page.keyboard.press("/")
    page.keyboard.type("cabin_1")  # cabin_1 and cabin_10 to cabin_19
    assert count(page) == "11 of 61 episodes"
    page.keyboard.press("Enter")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert title(page) == "cabin_11"
    assert page.evaluate("document.activeElement.id") == "episode-title"
    reference = references.episodes["cabin_11"]
    query = run_of("noisy", references).queries["cabin_11"]
    found = ws.align(reference=reference.path, query=query.path, distance=graphs_of()["cabin"])
    gaps = found.distances()[tuple(found.pairs.T)]
    assert [[row[0], row[1].split()[0], row[2].split()[0], row[3]] for row in warping(page)] == [
        [str(n + 1), str(i + 1), str(j + 1), f"{gap:.2f}"]
        for n, ((i, j), gap) in enumerate(zip(found.pairs.tolist(), gaps.tolist(), strict=True))
    ]
    page.keyboard.press("ArrowRight")
    assert page.locator(".pair-words").text_content().startswith(f"Pair 2 of {len(found)}: ")
    assert page.locator(".map .chosen").count() == 1
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.getAttribute('role')") == "listbox"
    page.keyboard.press("?")
    assert page.get_by_role("dialog").is_visible()
    page.keyboard.press("Escape")
    assert not page.get_by_role("dialog").is_visible()


def test_an_address_leads_to_an_episode(opened: Open, one: Path) -> None:
    page = opened(one).go("#episode=barn_7")
    assert title(page) == "barn_7"
    assert page.locator("[aria-selected=true] .id").text_content() == "barn_7"
    page.keyboard.press("j")
    page.wait_for_url("**#episode=barn_8")
    page.evaluate("location.hash = '#episode=attic_1'")
    page.locator("#episode-title", has_text="attic_1").wait_for()
    assert page.locator("blockquote").text_content() == HOSTILE.replace("\u2028", r"\u2028")  # words are only words
    assert page.locator("img").count() == 0


def test_floors_dim_each_other(opened: Open, one: Path) -> None:
    page = opened(one).go("#episode=attic_0")
    floors = page.get_by_label("Floors")
    assert re.sub(r"[^\d]", "", "".join(floors.locator("option").all_text_contents())) == "12"

    def nodes(kind: str) -> int:
        d: str = page.locator(f".map .graph.{kind} .nodes").get_attribute("d")
        return d.count("M")

    page.get_by_role("button", name="Fit scene").click()
    floors.select_option("all")
    everything = nodes("lit")
    assert nodes("dim") == 0
    floors.select_option("0")
    lower = nodes("lit")
    floors.select_option("1")
    assert lower + nodes("lit") == everything
    assert nodes("dim") == lower


def test_a_click_on_a_bar_lists_its_episodes(opened: Open, one: Path) -> None:
    page = opened(one).go()
    (table,) = scored("noisy")
    page.locator("#distributions figure", has_text="CLS").locator(".bin").last.click()
    assert count(page) == f"{(table['CLS'] >= 0.95).sum()} of 61 episodes"


def test_whiskers_of_groups_keep_paths_together(opened: Open, one: Path) -> None:
    page = opened(one).go()
    (result,) = scored("noisy")
    labels = np.array([name.partition("_")[0] for name in result.episodes])
    for scan in ("attic", "barn", "cabin"):
        rows = labels == scan
        values = result["nDTW"][rows]
        paths = np.unique(np.array(result.cluster_labels())[rows], return_inverse=True)[1]
        sums = np.bincount(paths, values - values.mean())
        error = np.sqrt(len(sums) / (len(sums) - 1) * (sums**2).sum()) / len(values)
        shown = page.locator("#breakdown .whisker title", has_text=f"noisy, {scan}: ").text_content()
        mean, _, spread = shown.partition(": ")[2].partition(" % ± ")
        assert (float(mean), float(spread)) == pytest.approx((100 * values.mean(), 196 * error), abs=0.051)
    assert "clustered by path" in page.locator("#breakdown figcaption").text_content()


def test_two_runs(opened: Open, two: Path) -> None:
    page = opened(two).go()
    first, second = scored("noisy", "overshoot")
    gain = dict(zip(first.episodes, (second["nDTW"] - first["nDTW"]).round(4), strict=True))
    shown = [gain[name] for name in listed(page)]
    assert shown == sorted(shown, reverse=True)
    assert shown[0] > 0
    choose(page, "the outcome is", "10")
    assert count(page) == f"{((first['SR'] == 1) & (second['SR'] == 0)).sum()} of 61 episodes"
    choose(page, "value to sort and filter by", "b")
    shown = [dict(zip(second.episodes, second["nDTW"].round(4), strict=True))[name] for name in listed(page)]
    assert shown == sorted(shown, reverse=True)
    link = page.locator("#comparison .differ a").first
    name = link.text_content()
    link.click()
    page.locator("#episode-title", has_text=name).wait_for()
    assert page.locator(".detail .map svg").count() == 2
    tests = page.locator(".tests tbody tr", has=page.get_by_text("nDTW", exact=True))
    wins = int((second["nDTW"] > first["nDTW"]).sum())
    assert tests.locator("td").nth(4).text_content().startswith(f"{wins}/")


def test_many_runs_have_a_chooser(shown: Open) -> None:
    page = shown(compared("perfect", "noisy", "overshoot", "early_stop"))
    assert page.locator(".contrast:visible").count() == 1
    page.get_by_label("Run, against perfect").select_option("2")
    assert page.locator(".contrast:visible caption >> nth=0").text_content().startswith("early_stop")
    assert page.locator("#episodes").get_by_label("compared with").input_value() == "3"  # the list follows
    assert page.locator(".means tbody tr").count() == 2 * 4


def test_runs_that_answer_different_episodes(shown: Open) -> None:
    references = references_in()
    half = list(references.episodes)[::2]
    some = evaluate(run_of("shortest", references, half), references, graphs_of(), missing="skip", resamples=50)
    page = shown([*scored("noisy"), some])
    assert page.locator("#warnings li").count() > 0
    assert len(page.locator(".signature").all()) == 2
    choose(page, "run", "1")
    choose(page, "compared with", "")
    assert count(page) == f"{len(half)} of {len(references.episodes)} episodes"


def test_loaded_results_have_no_maps(shown: Open, tmp_path: Path) -> None:
    live, other = scored("noisy", "overshoot")
    other.save(tmp_path / "overshoot.parquet")
    loaded = load_result(tmp_path / "overshoot.parquet")
    page = shown(compare([loaded, loaded.renamed("again")]), "#episode=barn_7")
    assert "hold scores but no paths" in page.locator("#episodes .note").first.text_content()
    assert page.locator(".map").count() == 0
    assert page.locator(".tiles").count() == 1
    page = shown([live, loaded], "#episode=barn_7")
    assert page.locator(".detail .map svg").count() == 2  # the reference is known, and one of the walks
    assert "loaded from a file" in page.locator(".warping").nth(1).text_content()


def test_scores_of_other_evaluators(shown: Open, tmp_path: Path) -> None:
    (tmp_path / "theirs.csv").write_text("episode,success,ndtw,ne\n1,1,0.5,1\n2,0,0.3,inf\n3,0,0.2,inf\n")
    page = shown([load_result(tmp_path / "theirs.csv")])
    assert "Scored by another evaluator." in page.locator("#lead").text_content()
    assert not page.locator("#breakdown").is_visible()
    assert count(page) == "3 episodes"


def test_several_runs_of_one_agent(shown: Open) -> None:
    agent = pool([*scored("noisy"), *scored("noisy", seed=6)], "agent")
    page = shown(compare([agent, *scored("overshoot")]), "#episode=barn_7")
    assert "± " in page.locator(".means small").first.text_content()
    assert "bootstrap of runs and " in page.locator("#comparison p").last.text_content()
    assert page.locator(".detail .map svg").count() == 2


def test_nothing_defined(shown: Open) -> None:
    """Two agents that never get anywhere: means, differences and p-values that do not exist."""
    references = ws.References("r", "r2r", {n: ws.Reference(n, "s", ["a", "b"], n) for n in "123"})
    graphs = {"s": ws.Graph.from_edges([("a", "b"), ("x", "y")], [1.0, 1.0])}
    runs = [{n: list(path) for n in "123"} for path in ("xy", "yx")]
    results = [evaluate(run, references, graphs, start="keep", resamples=9) for run in runs]
    page = shown(compare(results, names=["one", "two"]))
    row = page.locator(".means tbody tr", has=page.get_by_text("NE", exact=True))
    assert [cell[0] for cell in row.locator("td").all_text_contents()[:2]] == ["–", "–"]
    row = page.locator(".tests tbody tr", has=page.get_by_text("NE", exact=True))
    assert (row.locator("td").first.text_content(), row.locator("td").last.text_content()) == ("–", "0")


@pytest.mark.parametrize("background", ["#ffffff", "#111111"])
def test_the_table_of_a_notebook_is_readable(opened: Open, tmp_path: Path, background: str) -> None:
    """The fragment brings no colours of its own: contrast is the notebook's, on white and on black."""
    ink = "#111111" if background == "#ffffff" else "#eeeeee"
    body = render(scored("noisy", "overshoot"), "html", split_by="scan")
    style = f"background:{background};color:{ink}"
    file = tmp_path / "notebook.html"
    file.write_text(f'<!doctype html><html lang="en"><title>n</title><body style="{style}"><main>{body}', "utf-8")
    window = opened(file)
    window.page.goto(window.address)
    window.page.add_script_tag(content=AXE.read_text(encoding="utf-8"))
    found = window.page.evaluate("axe.run({runOnly: ['color-contrast']})")
    assert found["violations"] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("kind", ["one", "two"])
@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_stands_in_the_way_of_assistive_technology(
    opened: Open, request: pytest.FixtureRequest, kind: str, scheme: str, width: int
) -> None:
    view = {"width": width, "height": 900}
    window = opened(request.getfixturevalue(kind), color_scheme=scheme, bypass_csp=True, viewport=view)
    page = window.go("#episode=cabin_3")
    page.add_script_tag(content=AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run({resultTypes: ['violations']})")
    violations = [
        f"{violation['id']}: {node['target']}: {node['failureSummary']}"
        for violation in found["violations"]
        for node in violation["nodes"]
    ]
    assert not violations, "\n".join(violations)


def test_a_phone_shows_the_list_or_the_episode(opened: Open, one: Path) -> None:
    window = opened(one, viewport={"width": 390, "height": 844}, is_mobile=True, has_touch=True)
    page = window.go()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.locator(".list .row").nth(2).tap()
    assert page.locator(".detail").is_visible()
    assert not page.locator(".list").is_visible()
    page.get_by_role("button", name="← List").tap()
    assert page.locator(".list").is_visible()


def test_dark_colours_and_paper(opened: Open, two: Path) -> None:
    page = opened(two, color_scheme="light").go()
    background = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(background)
    page.get_by_role("button", name="Dark colours").click()
    assert page.evaluate(background) != light
    page.emulate_media(media="print")
    assert page.locator(".means").is_visible()
    assert page.locator("#distributions svg").first.is_visible()
    assert not page.locator(".browser").is_visible()


def test_without_a_program_there_is_a_table(opened: Open, one: Path) -> None:
    window = opened(one, java_script_enabled=False)
    window.page.goto(window.address)
    assert "nDTW %" in window.page.locator(".means").inner_text()
    assert "allow JavaScript" in window.page.locator("noscript").inner_text()
    assert window.page.locator(".signature .value").first.is_visible()
    assert window.page.locator("section:visible").count() == 1


def test_real_agents(shown: Open, data: Path) -> None:
    """2,349 episodes in eleven scans of several floors, and two agents."""
    references = ws.load_references(data / "r2r" / "R2R_val_unseen.json.gz")
    files = [
        data / "predictions" / "r2r" / f"val_unseen_{agent}.json.gz" for agent in ("seq2seq_iter19000", "prevalent_add")
    ]
    page = shown(compare(files, references, data / "connectivity.tar.gz", resamples=100))
    assert count(page) == "2,349 episodes"
    assert len(listed(page)) < 100  # those further down are drawn when someone goes there
    page.locator(".list").focus()
    page.keyboard.press("End")
    assert page.locator("[aria-selected=true]").get_attribute("aria-posinset") == "2349"
    assert len(listed(page)) == 2_349
    page.keyboard.press("Enter")
    row = references.episodes[title(page)]
    assert page.locator("blockquote").text_content() == row.instruction
    graphs = ws.load_graphs(data / "connectivity.tar.gz")
    for which, file in enumerate(files):
        query = ws.load_run(file).queries[row.episode]
        found = ws.align(reference=row.path, query=query.path, distance=graphs[row.scene])
        assert [pair[3] for pair in warping(page, which)] == [
            f"{gap:.2f}" for gap in found.distances()[tuple(found.pairs.T)]
        ]
