"""The pictures: what is drawn where, and that any scene gives a picture that browsers can read."""

from __future__ import annotations

import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from wayscore.lab.study.create import create
from wayscore.lab.study.model import SceneMap
from wayscore.lab.study.web.drawing import (
    HIGHEST,
    LOWEST,
    MARGIN,
    WIDTH,
    Window,
    describe_pair,
    draw_ground,
    draw_pair,
    upright,
)

#   c - d
#   |   |
#   a - b      e, off the way, 2 m to the right of b
PLACES = {"a": (0.0, 0.0), "b": (4.0, 0.0), "c": (0.0, 4.0), "d": (4.0, 4.0), "e": (6.0, 0.0)}
SCENE = SceneMap(PLACES, [(0, 1), (0, 2), (2, 3), (1, 3), (1, 4)], [4.0, 4.0, 4.0, 4.0, 2.0])
NAMESPACE = "{http://www.w3.org/2000/svg}"


def parsed(drawn: str) -> ElementTree.Element:
    return ElementTree.fromstring(str(drawn).replace("<svg ", f'<svg xmlns="{NAMESPACE[1:-1]}" ', 1))


def picture(reference: str, query: str, window: Window | None = None) -> ElementTree.Element:
    window = window or Window.around(PLACES[node] for node in reference + query)
    return parsed(draw_pair(SCENE, window, reference=reference, query=query))


def line(found: ElementTree.Element, kind: str) -> list[tuple[float, float]]:
    """The points of a path, without those it bends by."""
    (path,) = [one for one in found.iter(f"{NAMESPACE}path") if one.get("class") == kind]
    points = re.findall(r"[ML]?(?:Q[\d.-]+ [\d.-]+ )?([\d.-]+) ([\d.-]+)", path.get("d", ""))
    return [(float(x), float(y)) for x, y in points]


def test_paths_are_where_their_places_are() -> None:
    window = Window.around(PLACES.values())
    found = picture("abd", "acd", window)
    for drawn, node in zip(line(found, "band"), "abd", strict=True):
        assert drawn == pytest.approx(window.to(PLACES[node]), abs=0.06)
    for drawn, node in zip(line(found, "walk"), "acd", strict=True):
        assert drawn == pytest.approx(window.to(PLACES[node]), abs=0.06)
    assert window.to((0, 4))[1] < window.to((0, 0))[1]  # north is up
    for node in PLACES:
        x, y = window.to(PLACES[node])
        assert MARGIN <= x <= WIDTH - MARGIN
        assert MARGIN <= y <= window.height - MARGIN


def test_starts_are_rings_and_ends_are_stars() -> None:
    window = Window.around(PLACES.values())
    found = picture("abd", "bac", window)
    rings = {one.get("class"): one for one in found.iter(f"{NAMESPACE}circle")}
    x, y = window.to(PLACES["a"])
    assert float(rings["start of-reference"].get("cx", "")) == pytest.approx(x, abs=0.06)
    assert float(rings["start of-reference"].get("cy", "")) == pytest.approx(y, abs=0.06)
    stars = {one.get("class"): one.get("transform", "") for one in found.iter(f"{NAMESPACE}path")}
    x, y = window.to(PLACES["c"])
    assert stars["end of-query"].startswith(f"translate({x:.1f} {y:.1f})")


def test_there_and_back_are_two_lines() -> None:
    """The way keeps to the right of who walks it: below the edge when going east, above it when going west."""
    window = Window.around(PLACES.values())
    (path,) = [one for one in picture("ab", "aba", window).iter(f"{NAMESPACE}path") if one.get("class") == "walk"]
    bends = [float(y) for y in re.findall(r"Q[\d.]+ ([\d.]+) ", path.get("d", ""))]
    edge = window.to(PLACES["a"])[1]
    assert bends[0] > edge > bends[1]


@pytest.mark.parametrize(("reference", "query"), [("a", "a"), ("a", "b"), ("ab", "a"), ("aab", "abb"), ("aa", "bb")])
def test_paths_that_hardly_move(reference: str, query: str) -> None:
    found = picture(reference, query)
    assert "nan" not in ElementTree.tostring(found, "unicode")
    assert "inf" not in ElementTree.tostring(found, "unicode")
    assert describe_pair(SCENE, reference=reference, query=query).endswith(".")


def test_a_short_walk_is_not_blown_up() -> None:
    window = Window.around([(0.0, 0.0), (0.5, 0.0)])
    assert window.to((0.5, 0.0))[0] - window.to((0.0, 0.0))[0] == pytest.approx(20)


def test_pictures_are_filled() -> None:
    """A scene is turned so that the longer side of its paths is upright, and drawn as large as its margin allows."""
    turned = upright(SCENE, ["ae", "ac"])  # 6 m to the east, 4 m to the north
    window = Window.around(turned.positions[node] for node in "ace")
    corners = [window.to(turned.positions[node]) for node in "ace"]
    assert max(y for _, y in corners) - min(y for _, y in corners) == pytest.approx(6 * 40)  # as large as it may be
    assert window.height == pytest.approx(6 * 40 + 2 * MARGIN)
    large = Window.around([(0.0, 0.0), (60.0, 80.0)])
    assert (*large.to((60, 80)), large.to((0, 0))[0]) == pytest.approx((WIDTH - MARGIN, MARGIN, MARGIN))
    assert Window.around([(0.0, 0.0), (1.0, 900.0)]).height == pytest.approx(HIGHEST)
    assert Window.around([(0.0, 0.0), (9.0, 0.0)]).height == LOWEST
    assert (turned.edges, turned.lengths) == (SCENE.edges, SCENE.lengths)
    assert "3 steps north" not in describe_pair(SCENE, reference="abe", query="abe")
    assert "Blue goes 2 steps north" in describe_pair(turned, reference="abe", query="abe")  # the words turn with it
    assert upright(SCENE, ["ac"]) is SCENE


def test_the_ground_has_what_is_near() -> None:
    drawn = parsed(draw_ground(SCENE, Window.around(PLACES.values())))
    edges, nodes = (one.get("d", "") for one in drawn.iter(f"{NAMESPACE}path"))
    assert (edges.count("M"), nodes.count("M")) == (5, 5)
    far = parsed(draw_ground(SCENE, Window(1000.0, 1000.0, 10.0)))
    assert [one.get("d") for one in far.iter(f"{NAMESPACE}path")] == ["", ""]


def test_every_set_of_a_study_can_be_drawn() -> None:
    study = create("SC", sets=5, raters=1, checks=2, seed=9, worlds=2)
    for one in study.sets:
        scene = study.scenes[one.scene]
        window = Window.around(scene.positions[node] for path in (one.reference, *one.queries) for node in path)
        for query in one.queries:
            found = parsed(draw_pair(scene, window, reference=one.reference, query=query))
            words = describe_pair(scene, reference=one.reference, query=query)
            assert (found.get("role"), found.get("aria-label")) == ("img", words)
            moves = sum(a != b for a, b in pairwise(query))
            assert len(line(found, "walk")) == moves + 1
            assert all(0 <= x <= WIDTH and 0 <= y <= window.height for x, y in line(found, "walk"))
