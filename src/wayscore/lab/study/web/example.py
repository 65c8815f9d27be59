"""The example of the instructions: a small invented scene, whose paths do not suggest which metric is right."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from markupsafe import Markup

from wayscore.lab.study.model import SceneMap
from wayscore.lab.study.web.describing import describe_pair
from wayscore.lab.study.web.drawing import Window, draw_ground, draw_pair

SIZE = 5
REFERENCE = ("0-1", "1-1", "2-1", "2-2", "2-3", "3-3", "4-3")
ALIKE = REFERENCE
"""Takes exactly the same path."""
ELSEWHERE = ("0-1", "0-2", "0-3", "0-4", "1-4")
"""Leaves at once, and ends far away."""
BACK = ("0-1", "1-1", "2-1", "2-0", "2-1", "2-2", "2-3", "3-3", "3-4")
"""Takes one wrong step, comes back, and ends next to the goal; shown as an example, not ranked."""


@dataclass(frozen=True)
class Example:
    """Three pictures and the graph under them."""

    ground: Markup
    read: Markup
    alike: Markup
    elsewhere: Markup


@cache
def draw_example() -> Example:
    """Return the pictures of the instructions."""
    scene = _scene()
    window = Window.around(scene.positions.values())
    pictures = (
        draw_pair(
            scene,
            window,
            reference=REFERENCE,
            query=query,
            label=describe_pair(scene, reference=REFERENCE, query=query),
        )
        for query in (BACK, ALIKE, ELSEWHERE)
    )
    return Example(draw_ground(scene, window), *pictures)


def _scene() -> SceneMap:
    """Return a grid, shifted a little at each node so that it looks like those of the study."""
    shifts = ((0.1, -0.15), (-0.12, 0.08), (0.05, 0.14), (-0.08, -0.1), (0.13, 0.03), (-0.02, 0.11), (0.09, -0.06))
    places = {}
    for x in range(SIZE):
        for y in range(SIZE):
            dx, dy = shifts[(3 * x + 5 * y) % len(shifts)]
            places[f"{x}-{y}"] = (x + dx, y + dy)
    edges = [(SIZE * x + y, SIZE * x + y + 1) for x in range(SIZE) for y in range(SIZE - 1)]
    edges += [(SIZE * x + y, SIZE * (x + 1) + y) for x in range(SIZE - 1) for y in range(SIZE)]
    return SceneMap(places, edges, [1.0] * len(edges))
