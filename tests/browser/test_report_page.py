"""The report page as its readers use it: in a browser, by keyboard, on a phone, in the dark."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import wayscore as ws
from tests.browser.houses import HOSTILE, ISLAND, scored, summaries_of, write_one, write_two
from wayscore.formats.graphs import distances_for
from wayscore.report import compare_runs, score_runs, write_page

AXE = Path(__file__).parent / "vendor" / "axe.min.js"
Open = Callable[..., Any]


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_one(tmp_path_factory.mktemp("page") / "one.html")


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_two(tmp_path_factory.mktemp("page") / "two.html", "noisy", "overshoot")


def listed(page: Any) -> list[str]:
    """The names of the episodes in sight, from top to bottom."""
    found: list[str] = page.eval_on_selector_all(
        ".list .row",
        """rows => rows.sort((a, b) => a.dataset.place - b.dataset.place)
                       .map(row => row.querySelector('.id').textContent)""",
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
    _, summaries, _, _ = scored("noisy")
    for symbol, interval in summaries[0].metrics.items():
        row = page.locator(".means tbody tr", has=page.get_by_text(symbol, exact=True))
        shown = f"{100 * interval.mean:.1f}" if ws.METRICS[symbol].bounds == (0, 1) else f"{interval.mean:.2f}"
        assert row.locator(".mean").text_content() == shown
    assert page.locator(".signature code").text_content() == str(summaries[0].signature)
    assert "no way exists" in page.locator("#means .note").first.text_content()


def test_sorting(opened: Open, one: Path) -> None:
    page = opened(one).go()
    runs, _, references, _ = scored("noisy")
    table = runs[0].table
    assert listed(page)[:3] == list(references.episodes)[:3]
    for symbol in ("nDTW", "PL"):
        choose(page, "Metric", symbol)
        choose(page, "Sort by", "value")
        values = dict(zip(table.episodes, table[symbol].round(3), strict=True))
        shown = [values[name] for name in listed(page)]
        assert shown == sorted(shown)
        page.get_by_role("button", name="Ascending order").click()
        shown = [values[name] for name in listed(page)]
        assert shown == sorted(shown, reverse=True)
        page.get_by_role("button", name="Descending order").click()
    choose(page, "Sort by", "length")
    shown = [len(references.episodes[name].path) for name in listed(page)]
    assert shown == sorted(shown)


def test_filters(opened: Open, one: Path) -> None:
    page = opened(one).go()
    runs, _, _, _ = scored("noisy")
    table = runs[0].table
    assert count(page) == "61 episodes"
    choose(page, "Scan", "cabin")
    assert count(page) == "20 of 61 episodes"
    assert all(name.startswith("cabin") for name in listed(page))
    page.get_by_role("button", name="Clear filters").click()
    choose(page, "Outcome", "0")
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
    runs, _, references, graphs = scored("noisy")
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
    query = next(query for found, query in runs[0].joined.pairs if found.episode == "cabin_11")
    found = ws.align(reference=reference.path, query=query.path, distance=graphs["cabin"])
    gaps = found.distances()[tuple(found.pairs.T)]
    assert [[row[0], row[1].split()[0], row[2].split()[0], row[3]] for row in warping(page)] == [
        [str(n + 1), str(i + 1), str(j + 1), f"{gap:.2f}"]
        for n, ((i, j), gap) in enumerate(zip(found.pairs.tolist(), gaps.tolist(), strict=True))
    ]
    page.keyboard.press("ArrowRight")
    assert page.locator(".said").text_content().startswith(f"Pair 2 of {len(found)}: ")
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
    page.evaluate("location.hash = '#episode=attic_3'")
    page.locator("#episode-title", has_text="attic_3").wait_for()


def test_words_from_files_are_only_words(opened: Open, one: Path) -> None:
    page = opened(one).go("#episode=attic_1")
    assert page.locator("blockquote").text_content() == HOSTILE
    assert page.locator("img").count() == 0


def test_where_no_way_leads_there_is_no_warping(opened: Open, one: Path) -> None:
    page = opened(one).go(f"#episode={ISLAND}")
    assert "no warping is finite" in page.locator(".warping").text_content()
    assert "∞" in page.locator(".tiles").text_content()


def test_floors_dim_each_other(opened: Open, one: Path) -> None:
    page = opened(one).go("#episode=attic_0")
    floors = page.get_by_role("group", name="Floors").get_by_role("button")
    assert re.sub(r"[^\d]", "", "".join(floors.all_text_contents())) == "12"

    def nodes(kind: str) -> int:
        d: str = page.locator(f".map .graph.{kind} .nodes").get_attribute("d")
        return d.count("M")

    page.get_by_role("button", name="Fit scene").click()
    floors.nth(1).click()
    everything = nodes("lit")
    assert nodes("dim") == 0
    floors.nth(2).click()
    lower = nodes("lit")
    floors.nth(3).click()
    assert lower + nodes("lit") == everything
    assert nodes("dim") == lower


def test_a_click_on_a_bar_lists_its_episodes(opened: Open, one: Path) -> None:
    page = opened(one).go()
    table = scored("noisy")[0][0].table
    page.locator("#distributions figure", has_text="CLS").locator(".bin").last.click()
    assert count(page) == f"{(table['CLS'] >= 0.95).sum()} of 61 episodes"


def test_two_runs(opened: Open, two: Path) -> None:
    page = opened(two).go()
    runs, _, _, _ = scored("noisy", "overshoot")
    first, second = (run.table for run in runs)
    gain = dict(zip(first.episodes, (second["nDTW"] - first["nDTW"]).round(4), strict=True))
    shown = [gain[name] for name in listed(page)]
    assert shown == sorted(shown, reverse=True)
    assert shown[0] > 0
    choose(page, "Outcome", "10")
    assert count(page) == f"{((first['SR'] == 1) & (second['SR'] == 0)).sum()} of 61 episodes"
    choose(page, "of", "b")
    shown = [dict(zip(second.episodes, second["nDTW"].round(4), strict=True))[name] for name in listed(page)]
    assert shown == sorted(shown, reverse=True)
    link = page.locator("#comparison .examples a").first
    name = link.text_content()
    link.click()
    page.locator("#episode-title", has_text=name).wait_for()
    assert page.locator(".detail .map svg").count() == 2
    row = list(first.episodes).index(name)
    for which, table in enumerate((first, second)):
        total = sum(float(pair[3]) for pair in warping(page, which))
        assert total == pytest.approx(table["DTW"][row], abs=0.005 * len(warping(page, which)) + 0.001)
    tests = page.locator(".tests tbody tr", has=page.get_by_text("nDTW", exact=True))
    wins = int((second["nDTW"] > first["nDTW"]).sum())
    assert tests.locator(".counts").text_content().startswith(f"{wins} · ")


def test_many_runs_have_a_chooser(opened: Open, tmp_path: Path) -> None:
    page = opened(write_two(tmp_path / "many.html", "perfect", "noisy", "overshoot", "early_stop")).go()
    assert page.locator(".contrast:visible").count() == 1
    page.get_by_label("Run, against perfect").select_option("2")
    assert page.locator(".contrast:visible h3").text_content().startswith("early_stop")
    assert page.locator("#episodes").get_by_label("beside").input_value() == "3"  # the list follows
    assert page.locator(".means tbody tr").count() == 4


def test_runs_that_differ_in_what_they_answer(opened: Open, tmp_path: Path) -> None:
    runs, _, references, graphs = scored("noisy", "shortest")
    half = list(references.episodes)[::2]
    answered = [
        runs[0],
        score_runs([_partly(runs[1], half)], references, graphs=graphs, policies={"missing": "skip"})[0],
    ]
    write_page(tmp_path / "page.html", answered, summaries_of(answered), references, graphs)
    page = opened(tmp_path / "page.html").go()
    assert page.locator(".warning").count() > 0
    assert len(page.locator(".signature").all()) == 2
    choose(page, "Run", "1")
    choose(page, "beside", "")
    assert count(page) == f"{len(half)} of {len(references.episodes)} episodes"


def _partly(run: Any, names: list[str]) -> Any:
    from wayscore.episodes import Run

    queries = {reference.episode: query for reference, query in run.joined.pairs if reference.episode in names}
    return Run(run.name, "r2r", queries)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("kind", ["one", "two"])
@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_serious_stands_in_the_way(
    opened: Open, request: pytest.FixtureRequest, kind: str, scheme: str, width: int
) -> None:
    view = {"width": width, "height": 900}
    window = opened(request.getfixturevalue(kind), color_scheme=scheme, bypass_csp=True, viewport=view)
    page = window.go("#episode=cabin_3")
    page.add_script_tag(content=AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run({resultTypes: ['violations']})")
    serious = [
        f"{violation['id']}: {node['target']}: {node['failureSummary']}"
        for violation in found["violations"]
        if violation["impact"] in ("serious", "critical")
        for node in violation["nodes"]
    ]
    assert not serious, "\n".join(serious)


def test_colours_can_be_chosen(opened: Open, one: Path) -> None:
    page = opened(one, color_scheme="light").go()
    background = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(background)
    page.get_by_role("button", name="Dark colours").click()
    assert page.evaluate(background) != light


def test_a_phone_shows_the_list_or_the_episode(opened: Open, one: Path) -> None:
    window = opened(one, viewport={"width": 390, "height": 844}, is_mobile=True, has_touch=True)
    page = window.go()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.locator(".list .row").nth(2).tap()
    assert page.locator(".detail").is_visible()
    assert not page.locator(".list").is_visible()
    page.get_by_role("button", name="← List").tap()
    assert page.locator(".list").is_visible()


def test_paper_gets_tables_and_figures_without_the_browser(opened: Open, two: Path) -> None:
    page = opened(two).go()
    page.emulate_media(media="print")
    assert page.locator(".means").is_visible()
    assert page.locator("#distributions svg").first.is_visible()
    assert not page.locator(".browser").is_visible()


def test_without_a_program_there_is_a_table(opened: Open, one: Path) -> None:
    window = opened(one, java_script_enabled=False)
    window.page.goto(window.address)
    text = window.page.locator("noscript").inner_text()
    assert "nDTW %" in text
    assert "wayscore|version" in text


def test_real_agents(opened: Open, data: Path, tmp_path: Path) -> None:
    """2,349 episodes in eleven scans of several floors: two agents, of which only a few rows exist at once."""
    references = ws.load_references(data / "r2r" / "R2R_val_unseen.json.gz")
    graphs = distances_for(references, data / "connectivity.tar.gz")
    files = [
        data / "predictions" / "r2r" / f"val_unseen_{agent}.json.gz" for agent in ("seq2seq_iter19000", "prevalent_add")
    ]
    comparison = compare_runs(files, references, graphs=graphs, resamples=100)
    runs = score_runs(files, references, graphs=graphs, shared=True)
    write_page(tmp_path / "real.html", runs, comparison.summaries, references, graphs, comparison=comparison)
    page = opened(tmp_path / "real.html").go()
    assert count(page) == "2,349 episodes"
    assert len(listed(page)) < 40
    page.locator(".list").focus()
    page.keyboard.press("End")
    assert page.locator("[aria-selected=true]").get_attribute("aria-posinset") == "2349"
    page.keyboard.press("Enter")
    row = references.episodes[title(page)]
    assert page.locator("blockquote").text_content() == row.instruction
    queries = [{found.episode: query for found, query in run.joined.pairs}[row.episode] for run in runs]
    for which, query in enumerate(queries):
        found = ws.align(reference=row.path, query=query.path, distance=graphs[row.scene])
        assert [pair[3] for pair in warping(page, which)] == [
            f"{gap:.2f}" for gap in found.distances()[tuple(found.pairs.T)]
        ]
