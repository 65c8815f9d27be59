"""The pictures of the documentation, drawn by wayscore itself when the site is built: name -> drawing.

Most show the pair of paths that every metric's page uses, and what that metric looks at.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

import wayscore as ws
from docs.building.agents import curves_picture
from docs.building.audits import responses_picture, systems_picture
from docs.building.speed import ratios
from wayscore.convention.applied import apply_path_step
from wayscore.figures import COLUMN, PAGE, draw_cost_matrix, draw_pair, legend_handles, new_figure, style
from wayscore.figures.style import FAINT, INK, QUERY, REFERENCE

GUIDE = np.array([[0, 0], [2, 0], [4, 0], [6, 0], [6, 2], [6, 4]], dtype=float)
WALK = np.array([[0, 0], [2, 0], [2, 2], [4, 2], [6, 2], [6, 3], [8, 3]], dtype=float)
"""The pages' example, in metres."""
THRESHOLD = 3.0
MARK = "#9B2D7F"
"""What a metric looks at."""
ROOM = 1.1
"""Metres around the paths, for labels."""

Drawing = Callable[[], Any]


def svg(name: str) -> bytes:
    """Draw one picture."""
    with style():
        figure = PICTURES[name]()
        buffer = io.BytesIO()
        figure.savefig(buffer, format="svg", metadata={"Creator": "wayscore", "Date": None})
    return buffer.getvalue()


def _map(ax: Any, reference: Any = GUIDE, query: Any = WALK, **options: Any) -> Any:
    draw_pair(ax, reference=reference, query=query, **options)
    everything = np.concatenate((reference, query))
    (left, low), (right, high) = everything.min(axis=0) - ROOM, everything.max(axis=0) + ROOM
    ax.set(xlim=(left, right), ylim=(low, high))
    return ax


def _canvas(query: Any = WALK, *, top: float = 0.0, **options: Any) -> tuple[Any, Any]:
    """Return a figure with the example's map, and its axes; `top` is further room above, metres."""
    figure = new_figure(COLUMN, 2.35)
    ax = _map(figure.subplots(), query=query, **options)
    ax.set_ylim(top=ax.get_ylim()[1] + top)
    links = options.get("alignment") is not None
    figure.legend(handles=legend_handles(links=links), loc="outside lower center", ncols=5)
    return figure, ax


def _span(ax: Any, a: Any, b: Any, text: str, *, aside: Sequence[float] = (0, 5), dashed: bool = True) -> None:
    """Draw a line from a to b and write beside its middle."""
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    line = (0, (2.5, 1.5)) if dashed else "solid"
    ax.plot(*np.stack((a, b)).T, color=MARK, linewidth=1.3, linestyle=line, zorder=8)
    _say(ax, (a + b) / 2, text, aside)


def _say(ax: Any, at: Any, text: str, aside: Sequence[float] = (0, 5), color: str = MARK, **options: Any) -> None:
    ax.annotate(
        text,
        tuple(at),
        xytext=tuple(aside),
        textcoords="offset points",
        color=color,
        ha="center",
        va="center",
        zorder=12,
        bbox={"boxstyle": "round,pad=0.12", "facecolor": "white", "edgecolor": "none", "alpha": 0.8},
        **options,
    )


def _ring(ax: Any, radius: float = THRESHOLD, at: Any = GUIDE[-1]) -> None:
    from matplotlib.patches import Circle

    ax.add_patch(Circle(tuple(at), radius, facecolor=MARK, alpha=0.07, zorder=0.5))
    ax.add_patch(
        Circle(tuple(at), radius, fill=False, edgecolor=MARK, linestyle=(0, (1.5, 1.5)), linewidth=0.9, zorder=7)
    )


def _lengths(path: Any) -> list[float]:
    return [math.dist(a, b) for a, b in pairwise(path)]


def _nearest(point: Any, path: Any) -> tuple[Any, float]:
    distances = np.linalg.norm(path - point, axis=1)
    return path[int(distances.argmin())], float(distances.min())


def path_length() -> Any:
    """Every move of the query with its length."""
    figure, ax = _canvas()
    for a, b, length in zip(WALK[:-1], WALK[1:], _lengths(WALK), strict=True):
        upright = a[0] == b[0]
        _say(ax, (a + b) / 2, f"{length:g} m", (13 if upright else 0, 0 if upright else 8))
    return figure


def navigation_error() -> Any:
    """From the query's end to the reference's."""
    figure, ax = _canvas()
    _span(ax, WALK[-1], GUIDE[-1], f"{math.dist(WALK[-1], GUIDE[-1]):.2f} m", aside=(12, 8))
    return figure


def oracle_error() -> Any:
    """From the query's nearest point to the reference's end."""
    figure, ax = _canvas()
    point, distance = _nearest(GUIDE[-1], WALK)
    _span(ax, point, GUIDE[-1], f"{distance:g} m", aside=(-15, 0))
    return figure


def success() -> Any:
    """The threshold around the goal, and the query's end within it."""
    figure, ax = _canvas(top=THRESHOLD - ROOM + 0.2)
    _ring(ax)
    _span(ax, WALK[-1], GUIDE[-1], f"{math.dist(WALK[-1], GUIDE[-1]):.2f} m", aside=(12, 8))
    _say(ax, GUIDE[-1] + (-THRESHOLD, 0), "$d_{th}$", (8, 6))
    return figure


def oracle_success() -> Any:
    """The threshold around the goal, and the query's points within it."""
    figure, ax = _canvas(top=THRESHOLD - ROOM + 0.2)
    _ring(ax)
    for point in WALK:
        if math.dist(point, GUIDE[-1]) <= THRESHOLD:
            ax.plot(*point, "o", color="none", markeredgecolor=MARK, markeredgewidth=1.2, markersize=10, zorder=9)
    _say(ax, GUIDE[-1] + (-THRESHOLD, 0), "$d_{th}$", (8, 6))
    return figure


def deviations() -> Any:
    """From every point of the query to the nearest of the reference."""
    figure, ax = _canvas()
    for point in WALK:
        near, distance = _nearest(point, GUIDE)
        if distance:
            aside = (-14, 0) if point[0] == near[0] else (12, -8)
            _span(ax, point, near, f"{distance:.3g} m", aside=aside)
    return figure


def largest_deviation() -> Any:
    """The longest of them."""
    figure, ax = _canvas()
    point = max(WALK, key=lambda point: _nearest(point, GUIDE)[1])
    near, distance = _nearest(point, GUIDE)
    _span(ax, point, near, f"{distance:.2f} m", aside=(0, -9))
    return figure


def detour() -> Any:
    """The shortest path from start to goal, beside the agent's walk."""
    figure, ax = _canvas()
    _span(ax, WALK[0], GUIDE[-1], f"shortest: {math.dist(WALK[0], GUIDE[-1]):.2f} m", aside=(-38, 16))
    _say(ax, WALK[-1], f"walked: {sum(_lengths(WALK)):g} m", (-6, -11), color=QUERY)
    return figure


def edits() -> Any:
    """The edges that both paths have, and those that only one has."""
    figure, ax = _canvas()
    reference, query = ({(tuple(a), tuple(b)) for a, b in pairwise(p)} for p in (GUIDE, WALK))
    for edges, color, aside in ((reference - query, REFERENCE, (0, -8)), (query - reference, QUERY, (0, 9))):
        for a, b in sorted(edges):
            upright = a[0] == b[0]
            _say(ax, (np.array(a) + b) / 2, "✗", (9 if upright else 0, 0 if upright else aside[1]), color)
    for a, b in reference & query:
        _say(ax, (np.array(a) + b) / 2, "✓", (0, 9))
    return figure


def coverage() -> Any:
    """From every point of the reference to the nearest of the query, and how much of it counts as covered."""
    figure, ax = _canvas()
    for point in GUIDE:
        near, distance = _nearest(point, WALK)
        if distance:
            ax.plot(*np.stack((point, near)).T, color=MARK, linewidth=1.3, linestyle=(0, (2.5, 1.5)), zorder=8)
        aside = (0, -10) if point[1] == 0 else (0, 11) if point[1] == 4 else (13, -5)
        _say(ax, point, f"{math.exp(-distance / THRESHOLD):.2f}", aside)
    return figure


def warping() -> Any:
    """The warping on the map, and the matrix in which it was found."""
    figure = new_figure(5.8, 2.4)
    left, right = figure.subplots(1, 2, width_ratios=(1.15, 1))
    found = ws.align(reference=GUIDE, query=WALK)
    _map(left, alignment=found)
    draw_cost_matrix(right, found)
    figure.legend(handles=legend_handles(), loc="outside lower center", ncols=5)
    return figure


def decay() -> Any:
    """How nDTW falls as the mean distance of the warping grows."""
    figure = new_figure(COLUMN, 2.1)
    ax = figure.subplots()
    x = np.linspace(0, 4, 200)
    ax.plot(x, np.exp(-x), color=INK, linewidth=1.3)
    mean = ws.dtw(reference=GUIDE, query=WALK) / (len(GUIDE) * THRESHOLD)
    ax.plot(mean, math.exp(-mean), "o", color=MARK, markersize=5)
    _say(ax, (mean, math.exp(-mean)), f"the example: {math.exp(-mean):.2f}", (38, 6))
    for at in (1, 2, 3):
        ax.plot([at, at, 0], [0, math.exp(-at), math.exp(-at)], color=FAINT, linewidth=0.5, linestyle=(0, (1, 2)))
    ax.set(xlabel="DTW / |R|, in thresholds", ylabel="nDTW", xlim=(0, 4), ylim=(0, 1.02))
    return figure


def success_and_warping() -> Any:
    """The same pair twice: once it ends within the threshold, once it stops before."""
    figure = new_figure(4.8, 2.3)
    for ax, query in zip(figure.subplots(1, 2), (WALK, WALK[:3]), strict=True):
        _map(ax, query=query)
        ax.set(xlim=(-ROOM, 9 + ROOM), ylim=(-ROOM, 4 + THRESHOLD + 0.2))
        _ring(ax)
        scores = (f(reference=GUIDE, query=query, threshold=THRESHOLD) for f in (ws.ndtw, ws.sdtw))
        ax.set_title("nDTW {:.2f}, SDTW {:.2f}".format(*scores))
    figure.legend(handles=legend_handles(links=False), loc="outside lower center", ncols=4)
    return figure


def proximity() -> Any:
    """The reference walked backwards: every point lies on it."""
    figure, ax = _canvas(query=GUIDE[::-1])
    table = ws.score(references=[GUIDE], queries=[GUIDE[::-1]], metrics="proximity,CLS,nDTW").means()
    ax.set_title("walked backwards: " + ", ".join(f"{symbol} {value:.2f}" for symbol, value in table.items()))
    return figure


def density() -> Any:
    """One walk beside one reference, sampled three times as densely from panel to panel."""
    reference = np.array([[0, 0], [3, 0], [6, 0], [9, 0]], dtype=float)
    figure = new_figure(PAGE, 1.15)
    for ax, step in zip(figure.subplots(1, 3), (3.0, 1.0, 1 / 3), strict=True):
        query = apply_path_step([reference + np.array([0, 0.75])], step)[0]
        draw_pair(ax, reference=reference, query=query, alignment=ws.align(reference=reference, query=query), size=0.7)
        ax.set(xlim=(-0.8, 9.8), ylim=(-1.1, 1.9))
        score = ws.ndtw(reference=reference, query=query)
        ax.set_title(f"|R| = {len(reference)}, |Q| = {len(query)}: nDTW {score:.2f}")
    figure.legend(handles=legend_handles(), loc="outside lower center", ncols=5)
    return figure


def density_curve() -> Any:
    """The example's nDTW by how densely its query, or both paths, are sampled."""
    figure = new_figure(COLUMN, 2.2)
    ax = figure.subplots()
    steps = np.geomspace(0.1, 2.0, 40)
    walks = {step: [apply_path_step([path], step)[0] for path in (GUIDE, WALK)] for step in steps.tolist()}
    only = [ws.ndtw(reference=GUIDE, query=query) for _, query in walks.values()]
    both = [ws.ndtw(reference=reference, query=query) for reference, query in walks.values()]
    ax.plot(steps, both, color=REFERENCE, linewidth=1.4, label="both resampled")
    ax.plot(steps, only, color=QUERY, linewidth=1.4, label="only the query")
    ax.set(xlabel="distance between points, m", ylabel="nDTW", xscale="log", ylim=(0, 1))
    ax.set_xticks([0.1, 0.25, 0.5, 1, 2], ["0.1", "0.25", "0.5", "1", "2"])
    ax.minorticks_off()
    ax.invert_xaxis()
    ax.legend()
    return figure


def running() -> Any:
    """The score after every step of the example, and what each step gains."""
    figure = new_figure(COLUMN, 2.2)
    ax = figure.subplots()
    scorer = ws.RunningDTW(reference=GUIDE)
    scores = []
    for point in WALK:
        scorer.step(point)
        scores.append(scorer.ndtw(THRESHOLD))
    steps = np.arange(1, len(scores) + 1)
    ax.bar(steps, np.diff([0.0, *scores]), color=QUERY, width=0.5, label="gain: the reward of a step")
    ax.plot(steps, scores, "o-", color=INK, linewidth=1.2, markersize=3, label="nDTW so far")
    ax.axhline(0, color=INK, linewidth=0.6)
    ax.set(xlabel="step", ylabel="nDTW")
    ax.legend(loc="upper left")
    ax.set_ylim(top=max(scores) * 1.5)
    return figure


PICTURES: dict[str, Drawing] = {
    "PL": path_length,
    "NE": navigation_error,
    "ONE": oracle_error,
    "SR": success,
    "OSR": oracle_success,
    "AD": deviations,
    "MD": largest_deviation,
    "SPL": detour,
    "SED": edits,
    "CLS": coverage,
    "DTW": warping,
    "nDTW": decay,
    "SDTW": success_and_warping,
    "proximity": proximity,
    "density": density,
    "density-curve": density_curve,
    "running": running,
    "speed": ratios,
    "responses": responses_picture,
    "systems": systems_picture,
    "curves-r2r": partial(curves_picture, "r2r"),
    "curves-r4r": partial(curves_picture, "r4r"),
}
"""Name -> what draws it; pages show them as pictures/<name>.svg."""
