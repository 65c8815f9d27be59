"""The questionnaire as people use it: by mouse, finger and keyboard, without a program, in pauses, on a phone."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.lab.study.web.conftest import Served
from tests.lab.study.web.servers import ADMIN_SECRET, rows
from wayscore.lab.study.rankings import read_rankings
from wayscore.lab.study.web.forms import LETTERS

pytestmark = pytest.mark.soak
AXE = Path(__file__).parents[3] / "report" / "browser" / "vendor" / "axe.min.js"
PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}
Open = Callable[..., Any]


def begin(window: Open, served: Served, page: Any = None, **options: Any) -> tuple[int, Any]:
    """Follow the link of a new rater, agree, read the instructions, and come to the first set."""
    rater, page = served.fresh(), page or window(served, **options)
    page.goto(served.server.links[rater])
    page.get_by_label("I have read this").check()
    with page.expect_navigation():
        page.get_by_role("button", name="Continue").click()
    page.get_by_role("link", name="Begin").click()
    page.wait_for_url("**/sets/1")
    return rater, page


def letters(page: Any) -> str:
    """The pictures in the order of the page."""
    return "".join(page.eval_on_selector_all(".card", "cards => cards.map(card => card.dataset.letter)"))


def groups(served: Served, rater: int, number: int, *order: str) -> list[list[int]]:
    """The query numbers behind pictures, given in groups of letters."""
    shown = served.items(rater)[number - 1].order
    return [sorted(shown[LETTERS.index(letter)] for letter in group) for group in order]


def drag(page: Any, letter: str, onto: str) -> None:
    """Drag one picture to where another is, as a hand does: in many small moves."""
    source, target = (page.locator(f"[data-letter={one}] .picture").bounding_box() for one in (letter, onto))
    start = source["x"] + source["width"] / 2, source["y"] + source["height"] / 2
    end = target["x"] + target["width"] / 2, target["y"] + target["height"] / 2
    page.mouse.move(*start)
    page.mouse.down()
    for step in range(1, 13):
        page.mouse.move(*(a + (b - a) * step / 12 for a, b in zip(start, end, strict=True)))
        page.wait_for_timeout(20)
    page.wait_for_timeout(250)  # neighbours make room
    page.mouse.up()


def save(page: Any) -> None:
    with page.expect_navigation():
        page.get_by_role("button", name="Save and continue").click()


def test_by_mouse(window: Open, strict: Served) -> None:
    rater, page = begin(window, strict)
    assert letters(page) == "ABCDE"
    drag(page, "E", onto="A")
    assert letters(page) == "EABCD"
    drag(page, "A", onto="D")
    assert letters(page) == "EBCDA"
    assert page.locator("[data-letter=A] .rank").text_content() == "5"
    save(page)
    assert page.url.endswith("/sets/2?saved=1")
    assert "Set 1 is saved." in page.get_by_role("status").first.text_content()
    assert rows(strict.server, rater) == [(strict.items(rater)[0].set, groups(strict, rater, 1, *"EBCDA"))]


def test_by_keyboard_alone(window: Open, strict: Served) -> None:
    rater, page = strict.fresh(), window(strict)
    press = page.keyboard.press

    def reach(role: str, name: str) -> None:
        for _ in range(40):
            press("Tab")
            if page.get_by_role(role, name=name).evaluate("node => node === document.activeElement"):
                return
        raise AssertionError(f"Tab does not lead to the {role} {name!r}")

    page.goto(strict.server.links[rater])
    reach("checkbox", "I have read this")
    press("Space")
    reach("button", "Continue")
    press("Enter")
    page.wait_for_url("**/instructions")
    reach("link", "Begin")
    press("Enter")
    page.wait_for_url("**/sets/1")
    said = page.locator(".said")
    reach("button", "Picture C, rank 3 of 5")
    press("ArrowLeft")
    assert letters(page) == "ACBDE"
    assert said.text_content() == "Picture C now has rank 2 of 5. Your order: A, C, B, D, E."
    assert page.evaluate("document.activeElement.closest('.card').dataset.letter") == "C"
    press("ArrowUp")
    press("ArrowUp")  # is first already
    assert letters(page) == "CABDE"
    assert said.text_content() == "Picture C is already first."
    reach("button", "Picture E, rank 5 of 5")
    press("2")
    press("ArrowRight")
    press("ArrowDown")
    assert letters(page) == "CABED"
    press("Home")
    press("End")
    assert letters(page) == "CABDE"
    assert page.locator(".said").get_attribute("aria-live") == "polite"
    reach("button", "Save and continue")
    press("Enter")
    page.wait_for_url("**/sets/2?saved=1")
    assert rows(strict.server, rater) == [(strict.items(rater)[0].set, groups(strict, rater, 1, *"CABDE"))]


def test_by_buttons(window: Open, strict: Served) -> None:
    _, page = begin(window, strict)
    page.get_by_role("button", name="Move picture B forward").click()
    page.get_by_role("button", name="Move picture C back").click()
    page.get_by_role("button", name="Move picture B forward").click(force=True)  # has nowhere to go
    assert letters(page) == "BADCE"
    page.get_by_role("button", name="Enlarge picture C").click()
    dialog = page.get_by_role("dialog")
    assert dialog.locator(".picture").bounding_box()["width"] > 500
    page.keyboard.press("Escape")
    assert not dialog.is_visible()


def test_by_finger(window: Open, strict: Served) -> None:
    """A finger that moves at once scrolls; one that rests first lifts the picture."""
    rater, page = begin(window, strict, **PHONE)
    touch = page.context.new_cdp_session(page)

    def stroke(letter: str, down: float, rest: int) -> None:
        box = page.locator(f"[data-letter={letter}] .picture").bounding_box()
        x, y = box["x"] + 80, box["y"] + 80
        touch.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
        page.wait_for_timeout(rest)
        for step in range(1, 13):
            point = {"x": x, "y": y + down * step / 12}
            touch.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [point]})
            page.wait_for_timeout(20)
        page.wait_for_timeout(250)
        touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})

    stroke("B", -120, rest=0)
    assert letters(page) == "ABCDE"
    assert page.evaluate("scrollY") > 50
    page.evaluate("scrollTo(0, 0)")
    page.wait_for_timeout(200)
    stroke("A", 360, rest=400)
    assert letters(page) == "BACDE"
    save(page)
    assert rows(strict.server, rater)[0][1] == groups(strict, rater, 1, *"BACDE")


def test_without_a_program(window: Open, strict: Served) -> None:
    rater, page = begin(window, strict, java_script_enabled=False)
    assert not page.locator(".grip").first.is_visible()

    def choose(**ranks: str) -> None:
        for letter, rank in ranks.items():
            page.get_by_label(f"Rank of picture {letter}").select_option(rank)
        save(page)

    choose(A="2", B="1")
    assert page.get_by_role("alert").text_content() == "Choose a rank for pictures C, D and E as well."
    assert page.get_by_label("Rank of picture A").input_value() == "2"
    choose(C="3", D="5", E="5")
    assert page.get_by_role("alert").text_content() == (
        "Pictures D and E both have rank 5. Give each picture its own rank."
    )
    assert rows(strict.server, rater) == []
    choose(D="4")
    assert page.url.endswith("/sets/2?saved=1")
    assert rows(strict.server, rater)[0][1] == groups(strict, rater, 1, *"BACDE")
    with page.expect_navigation():
        page.get_by_role("link", name="Back").click()
    assert letters(page) == "BACDE"  # what was saved, in its order


def test_ties(window: Open, ties: Served) -> None:
    rater, page = begin(window, ties)
    page.locator("[data-letter=B] .grip").focus()
    page.keyboard.press("=")
    assert page.locator(".said").text_content().endswith("Your order: A equals B, C, D, E.")
    page.get_by_role("button", name="Give picture E the same rank as the one before it").click()
    ranks = page.locator(".rank").all_text_contents()
    assert ranks == ["1=", "1=", "3", "4=", "4="]
    page.locator("[data-letter=C] .grip").focus()
    page.keyboard.press("2")  # lands amid A and B, and so with them
    assert page.locator(".rank").all_text_contents() == ["1=", "1=", "1=", "4=", "4="]
    page.keyboard.press("End")  # leaves them, and is last alone
    assert page.locator(".rank").all_text_contents() == ["1=", "1=", "3=", "3=", "5"]
    save(page)
    assert rows(ties.server, rater)[0][1] == groups(ties, rater, 1, "AB", "DE", "C")
    page.goto(f"{ties.server.links[rater]}/sets/1")
    assert page.locator(".rank").all_text_contents() == ["1=", "1=", "3=", "3=", "5"]
    page.locator("[data-letter=E] [data-tie]").click()
    save(page)
    assert rows(ties.server, rater)[1][1] == groups(ties, rater, 1, "AB", "D", "E", "C")


def test_an_order_that_nobody_touched_is_asked_about(window: Open, strict: Served) -> None:
    rater, page = begin(window, strict)
    button = page.get_by_role("button", name="Save and continue")
    button.click()
    assert "You have not moved any picture." in page.locator(".said").text_content()
    assert rows(strict.server, rater) == []
    save(page)
    assert rows(strict.server, rater)[0][1] == groups(strict, rater, 1, *"ABCDE")


def test_reload_and_resume(window: Open, strict: Served) -> None:
    rater, page = begin(window, strict)
    page.get_by_role("button", name="Move picture B forward").click()
    save(page)
    page.reload()
    assert page.get_by_role("heading", level=1).text_content().startswith("Set 2 of ")
    with page.expect_navigation():
        page.get_by_role("link", name="Pause").click()
    assert "1 of " in page.locator("main").text_content()
    other = window(strict, **PHONE)  # the same link, elsewhere
    other.goto(strict.server.links[rater])
    assert other.url.endswith("/sets/2")
    with other.expect_navigation():
        other.get_by_role("link", name="Back").click()
    assert letters(other) == "BACDE"
    other.get_by_role("button", name="Move picture E forward").click()
    save(other)
    assert other.url.endswith("/sets/2?saved=1")
    found = rows(strict.server, rater)
    assert [answer for _, answer in found] == [groups(strict, rater, 1, *"BACDE"), groups(strict, rater, 1, *"BACED")]
    page.goto(strict.server.links[rater] + "/sets/4")  # not yet
    assert page.url.endswith("/sets/2")


def test_to_the_end_under_the_administrators_eyes(window: Open, strict: Served, tmp_path: Path) -> None:
    admin = window(strict)
    sign_in(admin, strict, "not this one, surely")
    assert "Wrong secret" in admin.get_by_role("alert").text_content()
    sign_in(admin, strict)
    assert "not started" in admin.locator("tbody").text_content()
    rater, page = begin(window, strict)
    row = admin.locator("tbody tr", has=admin.get_by_role("rowheader", name=str(rater), exact=True))
    items = strict.items(rater)
    for _ in items:
        page.locator("[data-letter=D] .grip").focus()
        page.keyboard.press("1")
        save(page)
    assert page.get_by_role("heading", level=1).text_content() == "Thank you"
    code = page.locator(".code").text_content().strip()
    with admin.expect_navigation():
        admin.get_by_role("link", name="Refresh").click()
    assert f"{len(items)} of {len(items)}" in row.text_content()
    assert code in row.text_content()
    with admin.expect_download() as download:
        admin.get_by_role("link", name="Export the answers").click()
    assert download.value.suggested_filename == "Strict-study-answers.jsonl"
    download.value.save_as(tmp_path / "answers.jsonl")
    found = [one for one in read_rankings(tmp_path / "answers.jsonl", strict.study) if one.rater == str(rater)]
    assert [(one.set, one.groups) for one in found] == [
        (item.set, groups(strict, rater, number, *"DABCE")) for number, item in enumerate(items, 1)
    ]
    assert all(0 < one.seconds < 600 and not one.simulated for one in found)
    with admin.expect_navigation():
        admin.get_by_role("button", name="Sign out").click()
    admin.goto(strict.server.address + "/admin/answers.jsonl")
    assert admin.url.endswith("/admin/login")


def sign_in(page: Any, served: Served, secret: str = ADMIN_SECRET) -> None:
    page.goto(served.server.address + "/admin/login")
    page.get_by_label("The secret that the server printed").fill(secret)
    with page.expect_navigation():
        page.get_by_role("button", name="Sign in").click()


def serious(page: Any) -> list[str]:
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run({resultTypes: ['violations']})")
    return [
        f"{page.url}: {violation['id']}: {node['target']}: {node['failureSummary']}"
        for violation in found["violations"]
        if violation["impact"] in ("serious", "critical")
        for node in violation["nodes"]
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("view", ["desktop", "phone"])
def test_nothing_serious_stands_in_the_way(window: Open, ties: Served, scheme: str, view: str) -> None:
    rater = ties.fresh()
    page = window(ties, color_scheme=scheme, bypass_csp=True, **(PHONE if view == "phone" else {}))
    found = []
    link = ties.server.links[rater]
    pages = [link, "/instructions", "/sets/1", "/pause", "/nowhere", "/finished"]
    for path in pages:
        if path == "/finished":
            for _ in ties.items(rater):
                page.locator("[data-letter=D] .grip").focus()
                page.keyboard.press("1")
                page.keyboard.press("ArrowRight")
                page.keyboard.press("=")
                found += serious(page)
                save(page)
        else:
            page.goto(path if path == link else link + path)
        found += serious(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"], page.url
        if path == link:
            page.get_by_label("I have read this").check()
            with page.expect_navigation():
                page.get_by_role("button", name="Continue").click()
        elif path == "/nowhere":
            page.goto(f"{link}/sets/1")
    for path in ("/", "/admin/login"):
        page.goto(ties.server.address + path)
        found += serious(page)
    sign_in(page, ties)
    found += serious(page)
    assert not found, "\n".join(found)


def test_without_a_program_nothing_serious_stands_in_the_way(window: Open, strict: Served) -> None:
    """Axe is a program itself: the page's own is kept from loading instead."""
    page = window(strict, bypass_csp=True)
    page.route("**/*.js*", lambda route: route.fulfill(body=""))
    begin(window, strict, page)
    save(page)
    assert page.get_by_role("alert").is_visible()
    assert serious(page) == []


def test_the_look_of_a_set_says_nothing_about_where_it_comes_from(window: Open, strict: Served) -> None:
    """Checks and repeats look like any other set, and no page tells the numbers of queries."""
    rater, page = begin(window, strict)
    for item in strict.items(rater):
        source = page.content()
        assert item.set not in source
        assert json.dumps(item.order) not in source
        page.locator("[data-letter=D] .grip").focus()
        page.keyboard.press("1")
        save(page)
