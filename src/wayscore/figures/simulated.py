"""The paper's figures, made in wayscore's own worlds; each has its caption as its label.

Queries are drawn as the paper draws paths, a few stages joined by shortest ways, but with stages near the reference:
within no edge of it, and the query hardly leaves it; within many, and the two have little to do with each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wayscore.errors import OptionError
from wayscore.figures.gallery import Panel, figure_panels
from wayscore.figures.paths import along, coordinates, draw_pair, draw_scale, legend_handles, window_of
from wayscore.figures.runs import draw_beside
from wayscore.figures.scatter import figure_metrics
from wayscore.figures.style import PAGE, QUERY, REFERENCE, new_figure, style
from wayscore.scoring import score
from wayscore.warping.alignment import align, ndtw
from wayscore.worlds import WALKERS, World

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats: TypeAlias = NDArray[np.float64]
Node: TypeAlias = tuple[int, int]
Path: TypeAlias = list[Node]
Rng: TypeAlias = np.random.Generator

STRIDE = 3
"""Every third node of a reference is a stage that a query passes near; the paper's lie two or three edges apart."""
CANDIDATES = 1000
REACH = 3.6
"""Half the side of a gallery's maps, metres: wider pairs are left out, for all are drawn to one scale."""


def figure_warping(seed: int = 0) -> Figure:
    """Draw two pairs of paths and the optimal warping between them (the paper's first figure)."""
    world, rng = World.paper(seed), np.random.default_rng(seed)
    pairs = [_clearest(world, rng, hops, wanted) for hops, wanted in ((1, 0.5), (3, 0.2))]
    scores = [_ndtw(world, *pair) for pair in pairs]
    with style():
        figure = new_figure(PAGE, 3.5)
        figure.set_label(
            "Two pairs of a reference (blue) and a query (orange) in a simulated world, and the optimal warping "
            "between them (dashed): the sum of the links' lengths along the graph is DTW. On the left the query keeps "
            f"beside the reference (nDTW {scores[0]:.2f}), on the right it takes its own path ({scores[1]:.2f}), so "
            "that single nodes correspond to many."
        )
        for ax, (reference, query) in zip(figure.subplots(1, 2), pairs, strict=True):
            warping = align(reference=reference, query=query, distance=world.graph)
            draw_pair(ax, world, reference=reference, query=query, alignment=warping)
            draw_scale(ax, [coordinates(path, world) for path in (reference, query)])
            _name_ends(ax, world, reference, query, warping.pairs)
        figure.legend(handles=legend_handles(), loc="outside lower center", ncols=5)
    return figure


def figure_comparison_set(seed: int = 0) -> Figure:
    """Draw one reference and five queries that a rater would rank (the paper's second figure)."""
    world, rng = World.paper(seed), np.random.default_rng(seed)
    reference = _plain_path(world, rng)
    found = [near(world, reference, rng, hops) for hops in (1, 2, 3, 4, 5) for _ in range(40)]
    scores = np.array([_ndtw(world, reference, query) for query in found])
    chosen = _spread(scores, 5, low=0.05, high=0.85)
    rng.shuffle(chosen)
    panels = [Panel(letter, reference, found[n], world) for letter, n in zip("ABCDE", chosen, strict=True)]
    values = ", ".join(f"{panel.title} {scores[n]:.2f}" for panel, n in zip(panels, chosen, strict=True))
    caption = (
        "A comparison set: one reference (blue) and five queries (orange), which a rater puts in order of how well "
        f"they follow it. Of {len(found)} drawn, the five differ evenly in nDTW, which raters do not see: {values}."
    )
    return figure_panels(panels, columns=5, scale="same", caption=caption)


def figure_gallery(seed: int = 0, count: int = 24) -> Figure:
    """Draw random pairs of paths, from the highest nDTW to the lowest (the paper's third figure)."""
    if not 1 <= count <= 200:
        raise OptionError(f"a gallery has between 1 and 200 pairs, got {count}")
    world, rng = World.paper(seed), np.random.default_rng(seed)
    pairs: list[tuple[Path, Path]] = []
    hops = cycle(range(6))
    while len(pairs) < max(100, 12 * count):
        reference = world.sample_path(rng)
        query = near(world, reference, rng, next(hops))
        if window_of([coordinates(reference, world), coordinates(query, world)])[2] <= REACH:
            pairs.append((reference, query))
    scores = np.array([_ndtw(world, *pair) for pair in pairs])
    chosen = _spread(scores, count, low=float(scores.min()))
    panels = [Panel(f"{scores[n]:.2f}", *pairs[n], world) for n in chosen]
    caption = (
        f"{count} random pairs of a reference (blue) and a query (orange), with the nDTW of each above it, from the "
        f"highest to the lowest; of {len(pairs)} drawn, those whose nDTW is spread most evenly. All have one scale."
    )
    return figure_panels(panels, scale="one", caption=caption)


def figure_matrix(seed: int = 0) -> Figure:
    """Draw the matrix that Algorithm 1 fills, with the warping through it, beside the paths."""
    world, rng = World.paper(seed), np.random.default_rng(seed)
    reference, query = _clearest(world, rng, 2, 0.4)
    warping = align(reference=reference, query=query, distance=world.graph)
    caption = (
        "How DTW is found. Left: the accumulated costs C of a reference (rows) and a query (columns); each cell is the "
        "distance of its two nodes plus the least of its neighbours above, before and both, and the last cell is DTW "
        f"({warping.cost:.1f}). The line is the optimal warping. Right: the same warping on the map "
        f"(nDTW {_ndtw(world, reference, query):.2f})."
    )
    return draw_beside(warping, reference, query, world, caption=caption)


def figure_walkers(
    seed: int = 0, episodes: int = 60, *, x: Sequence[str] = ("SR", "NE", "CLS"), y: str = "nDTW"
) -> Figure:
    """Draw nDTW against other metrics for scripted walkers, whose faults are known."""
    world = World.paper(seed)
    chance, *others = np.random.default_rng(seed).spawn(1 + len(WALKERS))
    references = [world.sample_path(chance) for _ in range(episodes)]
    tables = {
        name: score(
            references=references,
            queries=[walk(world, reference, rng) for reference in references],
            distance=world.graph,
            threshold=world.threshold,
            metrics=[*x, y],
        )
        for (name, walk), rng in zip(WALKERS.items(), others, strict=True)
    }
    caption = (
        f"{y} against {', '.join(x)} for scripted walkers whose faults are known, {episodes} references each. Boxes: "
        "quartiles, whiskers 5 to 95 %; dashed: the success threshold."
    )
    if (tuple(x), y) == (("SR", "NE", "CLS"), "nDTW"):
        caption += (
            " Success and the navigation error do not separate agents that follow the reference from those that take "
            "the shortest path; CLS does not "
            "see that a path is walked backwards."
        )
    return figure_metrics(tables, x=x, y=y, caption=caption)


def near(world: World, reference: Path, rng: Rng, hops: int, *, start: bool = True) -> Path:
    """Draw a query whose stages lie within `hops` edges of the reference's; it starts where that does, if `start`."""
    stages = [*reference[:-1:STRIDE], reference[-1]]
    aims = [_draw(list(world.within(stage, hops)), rng) for stage in stages]
    path = [stages[0] if start else aims[0]]
    for aim in aims[1:]:
        path += world.shortest_path(path[-1], aim)[1:]
    return path


def _clearest(world: World, rng: Rng, hops: int, wanted: float) -> tuple[Path, Path]:
    """Of many pairs, the one easiest to see: paths that seldom meet, and have about the nDTW wanted."""

    def clutter(pair: tuple[Path, Path]) -> float:
        reference, query = map(set, pair)
        again = sum(map(len, pair)) - len(reference) - len(query)
        ends = ({pair[0][0], pair[0][-1]} & query) | ({pair[1][0], pair[1][-1]} & reference)
        shared = 6 * len(reference & query) + 6 * len(ends)
        return 9 * again + shared + abs(len(pair[0]) - 10) + 10 * abs(_ndtw(world, *pair) - wanted)

    pairs = []
    for _ in range(CANDIDATES):
        reference = world.sample_path(rng)
        pairs.append((reference, near(world, reference, rng, hops, start=False)))
    return min(pairs, key=clutter)


def _plain_path(world: World, rng: Rng) -> Path:
    """Of many paths, one that never returns to a node, and of middling length."""
    paths = [world.sample_path(rng) for _ in range(CANDIDATES)]
    return min(paths, key=lambda path: (len(path) - len(set(path)), abs(len(path) - 11)))


def _spread(scores: Floats, count: int, *, low: float = 0.0, high: float = 1.0) -> list[int]:
    """Choose numbers whose scores are spread evenly from high to low, each once."""
    left = list(range(len(scores)))
    chosen = []
    for wanted in np.linspace(high, low, count):
        nearest = min(left, key=lambda n: abs(scores[n] - wanted))
        left.remove(nearest)
        chosen.append(nearest)
    return sorted(chosen, key=lambda n: -scores[n])


def _name_ends(ax: Axes, world: World, reference: Path, query: Path, pairs: NDArray[np.int64]) -> None:
    """Write r_1, r_|R|, q_1 and q_|Q| beside the ends, each where there is most room."""
    from matplotlib.patheffects import withStroke

    R, Q = coordinates(reference, world), coordinates(query, world)
    links = np.stack((R[pairs[:, 0]], Q[pairs[:, 1]]), axis=1)
    taken = np.concatenate([along(path) for path in (R, Q, *links)])
    away = 0.055 * (ax.get_xlim()[1] - ax.get_xlim()[0])
    angles = np.linspace(0, 2 * np.pi, 16, endpoint=False)
    around = away * np.column_stack((np.cos(angles), np.sin(angles)))
    halo = [withStroke(linewidth=2.0, foreground="white")]
    for path, letter, color in ((R, "r", REFERENCE), (Q, "q", QUERY)):
        for end, name in ((path[0], "1"), (path[-1], f"|{letter.upper()}|")):
            room = [np.hypot(*(taken - spot).T).min() for spot in end + around]
            x, y = (end + around)[int(np.argmax(room))]
            text = f"${letter}_{{{name}}}$"
            ax.text(x, y, text, color=color, size=8, ha="center", va="center", zorder=10, path_effects=halo)


def _ndtw(world: World, reference: Path, query: Path) -> float:
    return ndtw(reference=reference, query=query, distance=world.graph, threshold=world.threshold)


def _draw(nodes: list[Node], rng: Rng) -> Node:
    return nodes[int(rng.integers(len(nodes)))]
