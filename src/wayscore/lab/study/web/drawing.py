"""The pictures of a comparison set as SVG, described in words, and the example of the instructions.

A ring marks where a path starts and a star where it ends. The orange line is drawn a little to the right, so a path
that goes and comes back is two lines. Colours are those of the style sheet; the paths also differ in shape and width.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby, pairwise
from typing import TypeAlias

from markupsafe import Markup

from wayscore.lab.study.model import SceneMap

Point: TypeAlias = tuple[float, float]
WIDTH = 240.0
"""Width of a picture, in its own units; a browser draws it at any size."""
LOWEST, HIGHEST = 200.0, 330.0
"""Least and largest height of a picture; in between it is as high as its paths, so that these fill it."""
MARGIN = 17.0
LONGEST_UNIT = 40.0
"""Units per metre at most, so that short paths are not enlarged too much."""
BEND = 0.16
BAND, LINE = 9.0, 2.7
"""Widths of the two paths if steps are long; if they are short, lines are thinner, so that turns stay visible."""
LONG_STEP = 24.0
BETWEEN_ARROWS = 20.0
STAR = "".join(
    f"{'ML'[n > 0]}{r * math.sin(math.pi * n / 5):.2f} {-r * math.cos(math.pi * n / 5):.2f}"
    for n, r in enumerate((8.6, 4.1) * 5)
)
"""If both paths end at one node, the star of the query fits inside the star of the reference."""


@dataclass(frozen=True)
class Window:
    """The part of a scene that the pictures of a set show, all at one scale."""

    x: float  # of its middle, metres
    y: float
    scale: float  # units per metre
    height: float = WIDTH  # of the pictures, in their own units

    @classmethod
    def around(cls, points: Iterable[Point]) -> Window:
        """Return the window that contains all these points."""
        xs, ys = zip(*points, strict=True)
        wide, high = max(xs) - min(xs), max(ys) - min(ys)
        room = ((WIDTH, wide), (HIGHEST, high))
        scale = min([LONGEST_UNIT, *((side - 2 * MARGIN) / metres for side, metres in room if metres)])
        height = max(LOWEST, high * scale + 2 * MARGIN)
        return cls((min(xs) + max(xs)) / 2, (min(ys) + max(ys)) / 2, scale, height)

    def to(self, point: Point) -> Point:
        """Return where a point is on the picture; y points up in a scene and down on a screen."""
        return WIDTH / 2 + (point[0] - self.x) * self.scale, self.height / 2 - (point[1] - self.y) * self.scale


def upright(scene: SceneMap, paths: Iterable[Sequence[str]]) -> SceneMap:
    """Return a scene in which these paths are higher than wide: turned by 90 degrees if need be.

    A page has five pictures beside each other, and so more room for their height.

    >>> places = {"a": (0.0, 0.0), "b": (4.0, 1.0)}
    >>> upright(SceneMap(places, [(0, 1)], [4.2]), [["a", "b"]]).positions["b"]
    (-1.0, 4.0)
    >>> upright(SceneMap(places, [(0, 1)], [4.2]), [["a"]]).positions["b"]
    (4.0, 1.0)
    """
    xs, ys = zip(*(scene.positions[node] for path in paths for node in path), strict=True)
    if max(xs) - min(xs) <= max(ys) - min(ys):
        return scene
    return SceneMap({node: (-y, x) for node, (x, y) in scene.positions.items()}, scene.edges, scene.lengths)


def draw_ground(scene: SceneMap, window: Window) -> Markup:
    """Return the graph under all pictures of a set, which they refer to by its name."""

    def is_inside(at: Point) -> bool:
        return -20 < at[0] < WIDTH + 20 and -20 < at[1] < window.height + 20

    points = [window.to(point) for point in scene.positions.values()]
    lines = [(points[a], points[b]) for a, b in scene.edges]
    edges = "".join(f"M{_at(a)}L{_at(b)}" for a, b in lines if is_inside(a) or is_inside(b))
    nodes = "".join(f"M{_at(point)}h0" for point in points if is_inside(point))
    return Markup(
        '<svg class="defs" width="0" height="0" aria-hidden="true" focusable="false"><defs>'
        '<g id="ground"><path class="edges" d="{edges}"/><path class="nodes" d="{nodes}"/></g></defs></svg>'
    ).format(edges=edges, nodes=nodes)


def draw_pair(scene: SceneMap, window: Window, *, reference: Sequence[str], query: Sequence[str]) -> Markup:
    """Return the picture of one query on its reference, over the graph that `draw_ground` drew, described in words."""
    R = [window.to(scene.positions[node]) for node in reference]
    Q = [window.to(scene.positions[node]) for node in query]
    steps = [math.dist(a, b) for a, b in _steps(R)]
    size = min(max(sum(steps) / len(steps) / LONG_STEP, 0.65), 1.0) if steps else 1.0
    band = f"M{_at(R[0])}" + ("".join(f"L{_at(point)}" for point in R[1:]) or "h0")
    walk = f"M{_at(Q[0])}" + ("".join(f"Q{_at(_bent(a, b))} {_at(b)}" for a, b in _steps(Q)) or "h0")
    parts = (
        '<use href="#ground"/>',
        f'<path class="band" d="{band}" stroke-width="{BAND * size:.1f}"/>{_chevrons(R, size)}',
        f'<path class="under" d="{walk}" stroke-width="{LINE * size + 1.8:.1f}"/>',
        f'<path class="walk" d="{walk}" stroke-width="{LINE * size:.1f}"/>{_arrows(Q, size)}',
        _ends(R, "of-reference", 1.3 * size, 1.6 * size),
        _ends(Q, "of-query", 0.8 * size, 0.85 * size),
    )
    label = describe_pair(scene, reference=reference, query=query)
    shape = '<svg class="picture" viewBox="0 0 {width} {height}" role="img" aria-label="{label}">{parts}</svg>'
    return Markup(shape).format(
        width=f"{WIDTH:g}", height=f"{window.height:g}", label=label, parts=Markup("".join(parts))
    )


def _at(point: Point) -> str:
    return f"{point[0]:.1f} {point[1]:.1f}"


def _steps(path: Sequence[Point]) -> list[tuple[Point, Point]]:
    """Return the steps, without those that stay at one point."""
    return [(a, b) for a, b in pairwise(path) if math.dist(a, b) > 0.05]


def _bent(a: Point, b: Point) -> Point:
    """Return a point next to the middle of a step, on its right side."""
    by = min(BEND * math.dist(a, b), 7.0) / math.dist(a, b)
    return (a[0] + b[0]) / 2 - (b[1] - a[1]) * by, (a[1] + b[1]) / 2 + (b[0] - a[0]) * by


def _marked(path: Sequence[Point]) -> list[tuple[Point, Point]]:
    """Return the steps that get an arrow: not every one if steps are short."""
    chosen = []
    since = BETWEEN_ARROWS / 2
    for a, b in _steps(path):
        since += math.dist(a, b)
        if since >= BETWEEN_ARROWS:
            chosen.append((a, b))
            since = 0.0
    return chosen


def _turned(kind: str, shape: str, at: Point, a: Point, b: Point, size: float) -> str:
    turn = math.degrees(math.atan2(b[1] - a[1], b[0] - a[0]))
    how = f"translate({_at(at)}) rotate({turn:.0f}) scale({size:.2f})"
    return f'<path class="{kind}" d="{shape}" transform="{how}"/>'


def _chevrons(path: Sequence[Point], size: float) -> str:
    """Return arrows on the band, early in each step, so that those of a way back are separate."""
    return "".join(
        _turned("chevron", "M-1.6 -2.6L1.2 0L-1.6 2.6", ((2 * a[0] + b[0]) / 3, (2 * a[1] + b[1]) / 3), a, b, size)
        for a, b in _marked(path)
    )


def _arrows(path: Sequence[Point], size: float) -> str:
    drawn = []
    for a, b in _marked(path):
        x, y = _bent(a, b)
        amid = ((a[0] + b[0]) / 2 + x) / 2, ((a[1] + b[1]) / 2 + y) / 2
        drawn.append(_turned("arrow", "M-3.8 -4.2L4.8 0L-3.8 4.2Z", amid, a, b, 0.3 + 0.75 * size))
    return "".join(drawn)


def _ends(path: Sequence[Point], kind: str, ring: float, star: float) -> str:
    begin, end = path[0], path[-1]
    return (
        f'<circle class="start {kind}" cx="{begin[0]:.1f}" cy="{begin[1]:.1f}" r="{5.2 * ring:.1f}"/>'
        f'<path class="end {kind}" d="{STAR}Z" transform="translate({_at(end)}) scale({star:.2f})"/>'
    )


WINDS = ("east", "north-east", "north", "north-west", "west", "south-west", "south", "south-east")


def describe_pair(scene: SceneMap, *, reference: Sequence[str], query: Sequence[str]) -> str:
    """Describe a picture: the directions of both paths, and how far apart they start and end.

    >>> places = {"a": (0.0, 0.0), "b": (1.0, 0.0), "c": (1.0, 1.0), "d": (2.0, 0.0)}
    >>> scene = SceneMap(places, [(0, 1), (1, 2), (1, 3)], [1.0, 1.0, 1.0])
    >>> describe_pair(scene, reference=["a", "b", "d"], query=["a", "b", "c"])
    'Blue goes 2 steps east. Orange starts where blue starts and goes 1 step east, 1 step north. It ends 1.4 metres
    north-west of where blue ends.'
    """
    R = [scene.positions[node] for node in reference]
    Q = [scene.positions[node] for node in query]

    def goes(path: Sequence[Point]) -> str:
        winds = groupby(_wind(a, b) for a, b in pairwise(path) if a != b)
        counts = [(wind, len(list(steps))) for wind, steps in winds]
        steps = ", ".join(f"{count} step{'s' if count > 1 else ''} {wind}" for wind, count in counts)
        return f"goes {steps}" if steps else "stays where it is"

    def beside(here: Point, there: Point) -> str:
        return f"{math.dist(here, there):.1f} metres {_wind(there, here)} of " if here != there else ""

    return (
        f"Blue {goes(R)}. Orange starts {beside(Q[0], R[0])}where blue starts and {goes(Q)}. "
        f"It ends {beside(Q[-1], R[-1])}where blue ends."
    )


def _wind(a: Point, b: Point) -> str:
    return WINDS[round(math.atan2(b[1] - a[1], b[0] - a[0]) / (math.pi / 4)) % 8]


SIZE = 5
REFERENCE = ("0-1", "1-1", "2-1", "2-2", "2-3", "3-3", "4-3")
ELSEWHERE = ("0-1", "0-2", "0-3", "0-4", "1-4")
"""Leaves at once, and ends far away."""
BACK = ("0-1", "1-1", "2-1", "2-0", "2-1", "2-2", "2-3", "3-3", "3-4")
"""Takes one wrong step, comes back, and ends next to the goal; shown as an example, not ranked."""


@cache
def draw_example() -> dict[str, Markup]:
    """Return the pictures of the instructions, and the ground under them.

    They show a grid, shifted a little at each node so that it looks like those of the study.
    """
    shifts = ((0.1, -0.15), (-0.12, 0.08), (0.05, 0.14), (-0.08, -0.1), (0.13, 0.03), (-0.02, 0.11), (0.09, -0.06))
    places = {}
    for x in range(SIZE):
        for y in range(SIZE):
            dx, dy = shifts[(3 * x + 5 * y) % len(shifts)]
            places[f"{x}-{y}"] = (x + dx, y + dy)
    edges = [(SIZE * x + y, SIZE * x + y + 1) for x in range(SIZE) for y in range(SIZE - 1)]
    edges += [(SIZE * x + y, SIZE * (x + 1) + y) for x in range(SIZE - 1) for y in range(SIZE)]
    scene = SceneMap(places, edges, [1.0] * len(edges))
    window = Window.around(places.values())
    shown = {"read": BACK, "alike": REFERENCE, "elsewhere": ELSEWHERE}
    pictures = {name: draw_pair(scene, window, reference=REFERENCE, query=query) for name, query in shown.items()}
    return {"ground": draw_ground(scene, window), **pictures}
