"""The paper's figures, in generated worlds; the label of each figure is its caption.

Queries are drawn as the paper draws paths, as a few stages joined by shortest paths, but the stages are near the
reference: the farther from it they may be, the less the query has in common with the reference.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from wayscore.errors import OptionError
from wayscore.evaluation.score import score
from wayscore.figures.charts import figure_metrics
from wayscore.figures.paths import Floats, along, draw_scale, legend_handles, window_of
from wayscore.figures.runs import Panel, draw_beside, figure_panels
from wayscore.figures.style import PAGE, QUERY, REFERENCE, new_figure, style
from wayscore.warping.alignment import align, ndtw
from wayscore.worlds import WALKERS, Path, Rng, World

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STRIDE = 3  # every third node of a reference is a stage that a query passes near; the paper's are 2 or 3 edges apart
CANDIDATES = 1000
REACH = 3.6  # metres, half the side of a gallery's maps; wider pairs are left out, because all maps have the same scale


def figure_warping(seed: int = 0) -> Figure:
    """Draw two pairs of paths and the optimal warping between them (the paper's first figure)."""
    world, rng = World.paper(seed), np.random.default_rng(seed)
    pairs = [_clearest(world, rng, hops, wanted) for hops, wanted in ((1, 0.5), (3, 0.2))]
    scores = [_ndtw(world, *pair) for pair in pairs]
    with style():
        figure = new_figure(PAGE, 3.5)
        figure.set_label(
            "Two pairs of a reference (blue) and a query (an agent's trajectory, orange) in a generated world, and the "
            "optimal warping between them (dashed). DTW is the sum of the links' lengths, measured along the graph. On "
            f"the left the query stays near the reference (nDTW {scores[0]:.2f}); on the right it takes its own path "
            f"({scores[1]:.2f}), so that single nodes are paired with many."
        )
        for ax, (reference, query) in zip(figure.subplots(1, 2), pairs, strict=True):
            warping = align(reference=reference, query=query, distance=world.graph)
            panel = Panel("", reference, query, world, warping)
            panel.draw(ax)
            R, Q = panel.flat()
            draw_scale(ax, [R, Q])
            _name_ends(ax, R, Q, warping.pairs)
        figure.legend(handles=legend_handles(), loc="outside lower center", ncols=5)
    return figure


def figure_comparison_set(seed: int = 0) -> Figure:
    """Draw one reference and five queries that a rater would rank (the paper's second figure)."""
    world, rng = World.paper(seed), np.random.default_rng(seed)
    paths = [world.sample_path(rng) for _ in range(CANDIDATES)]
    # Of medium length, and no node twice.
    reference = min(paths, key=lambda path: (len(path) - len(set(path)), abs(len(path) - 11)))
    found = [near(world, reference, rng, hops) for hops in (1, 2, 3, 4, 5) for _ in range(40)]
    scores = np.array([_ndtw(world, reference, query) for query in found])
    chosen = _spread(scores, 5, low=0.05, high=0.85)
    rng.shuffle(chosen)
    panels = [Panel(letter, reference, found[n], world) for letter, n in zip("ABCDE", chosen, strict=True)]
    values = ", ".join(f"{panel.title} {scores[n]:.2f}" for panel, n in zip(panels, chosen, strict=True))
    caption = (
        "A comparison set: one reference (blue) and five queries (trajectories of agents, orange). A rater puts the "
        f"queries in order. The five were chosen from {len(found)} so that their nDTW is evenly spaced; raters do not "
        f"see it: {values}."
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
        if window_of(Panel("", reference, query, world).flat())[2] <= REACH:
            pairs.append((reference, query))
    scores = np.array([_ndtw(world, *pair) for pair in pairs])
    chosen = _spread(scores, count, low=float(scores.min()))
    panels = [Panel(f"{scores[n]:.2f}", *pairs[n], world) for n in chosen]
    caption = (
        f"{count} random pairs of a reference (blue) and a query (an agent's trajectory, orange), from the highest "
        f"nDTW (above each map) to the lowest. They were chosen from {len(pairs)} so that their nDTW is evenly spaced. "
        "All maps have the same scale."
    )
    return figure_panels(panels, scale="one", caption=caption)


def figure_matrix(seed: int = 0) -> Figure:
    """Draw the matrix that Algorithm 1 fills, with the warping, next to the paths."""
    world, rng = World.paper(seed), np.random.default_rng(seed)
    reference, query = _clearest(world, rng, 2, 0.4)
    warping = align(reference=reference, query=query, distance=world.graph)
    caption = (
        "How DTW is computed. Left: the accumulated costs C of a reference (rows) and a query (an agent's trajectory, "
        "columns). Each cell is the distance of its two nodes plus the smallest of its neighbours above, to the left "
        f"and diagonal; the last cell is DTW ({warping.cost:.1f}). The line is the optimal warping. Right: the same "
        "warping on the map "
        f"(nDTW {_ndtw(world, reference, query):.2f})."
    )
    return draw_beside(Panel("", reference, query, world, warping), caption=caption)


def figure_walkers(
    seed: int = 0, episodes: int = 60, *, x: Sequence[str] = ("SR", "NE", "CLS"), y: str = "nDTW"
) -> Figure:
    """Draw nDTW against other metrics for scripted walkers with known faults."""
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
        f"{y} against {', '.join(x)} for scripted walkers with known faults, {episodes} references each. Boxes show "
        "quartiles, whiskers 5 to 95 %; the dashed line is the success threshold."
    )
    if (tuple(x), y) == (("SR", "NE", "CLS"), "nDTW"):
        caption += (
            " Success and navigation error do not separate agents that follow the reference from agents that take the "
            "shortest path. CLS does not notice that a path is walked backwards."
        )
    return figure_metrics(tables, x=x, y=y, caption=caption)


def near(world: World, reference: Path, rng: Rng, hops: int, *, start: bool = True) -> Path:
    """Draw a query whose stages are within `hops` edges of the reference's; with `start`, both have the same start."""
    stages = [*reference[:-1:STRIDE], reference[-1]]
    around = [list(world.within(stage, hops)) for stage in stages]
    aims = [nodes[int(rng.integers(len(nodes)))] for nodes in around]
    path = [stages[0] if start else aims[0]]
    for aim in aims[1:]:
        path += world.shortest_path(path[-1], aim)[1:]
    return path


def _clearest(world: World, rng: Rng, hops: int, wanted: float) -> tuple[Path, Path]:
    """Return the clearest of many pairs: paths that rarely meet, and whose nDTW is about as wanted."""

    def clutter(pair: tuple[Path, Path]) -> float:
        reference, query = map(set, pair)
        again = sum(map(len, pair)) - len(reference) - len(query)
        ends = ({pair[0][0], pair[0][-1]} & query) | ({pair[1][0], pair[1][-1]} & reference)
        shared = 6 * len(reference & query) + 6 * len(ends)
        return 9 * again + shared + abs(len(pair[0]) - 10) + 10 * abs(_ndtw(world, *pair) - wanted)

    references = (world.sample_path(rng) for _ in range(CANDIDATES))
    return min(((one, near(world, one, rng, hops, start=False)) for one in references), key=clutter)


def _spread(scores: NDArray[np.float64], count: int, *, low: float = 0.0, high: float = 1.0) -> list[int]:
    """Choose numbers whose scores are spread evenly from high to low, each once."""
    left = list(range(len(scores)))
    chosen = []
    for wanted in np.linspace(high, low, count):
        nearest = min(left, key=lambda n: abs(scores[n] - wanted))
        left.remove(nearest)
        chosen.append(nearest)
    return sorted(chosen, key=lambda n: -scores[n])


def _name_ends(ax: Axes, R: Floats, Q: Floats, pairs: NDArray[np.int64]) -> None:
    """Write r_1, r_|R|, q_1 and q_|Q| next to the ends, each where there is most space."""
    from matplotlib.patheffects import withStroke

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
