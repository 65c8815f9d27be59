"""Maps: a graph, the two paths of an episode on it, and the warping between them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wayscore.distances.graph import Graph
from wayscore.errors import OptionError
from wayscore.figures.style import EDGE, FAINT, FRAME, INK, LINK, NODE, QUERY, REFERENCE

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from wayscore.warping.alignment import Alignment
    from wayscore.worlds import World

Floats: TypeAlias = NDArray[np.float64]
Up: TypeAlias = Literal["z", "y"]  # which of three axes points up: z in Matterport3D, y in Habitat
Window: TypeAlias = tuple[float, float, float]  # a square part of a map: x and y of its centre, and half of its side
STOREY = 1.5  # metres above and below the paths in which a graph is drawn: other storeys would hide this one
DOTS = 25  # paths with more points than this are drawn without dots
HEADS = 14  # the most arrowheads on a path
INCHES = {"units": "inches", "scale_units": "inches", "scale": 1, "angles": "xy", "pivot": "mid"}
# Only heads: shafts would hide which line they belong to.
ARROWS: dict[str, Any] = {**INCHES, "headwidth": 3.4, "headlength": 4, "headaxislength": 4, "minlength": 0}


def draw_graph(
    ax: Axes, graph: Graph | World, *, up: Up = "z", near: Floats | None = None, window: Window | None = None
) -> Axes:
    """Draw the edges and nodes of a graph in light colours, as the background of paths.

    Args:
        ax: where to draw.
        graph: a graph whose nodes have positions, or a world.
        up: the axis that points up, for three-dimensional positions; the map shows them from above.
        near: points (n, 3); only the storey of these points is drawn.
        window: the part of the map that will be visible; by default all of it. A smaller part keeps files small.
    """
    from matplotlib.collections import LineCollection

    positions = _positions(graph)
    shown = np.ones(len(positions), dtype=bool)
    if near is not None and positions.shape[1] == 3:
        height, heights = (points[:, 2 if up == "z" else 1] for points in (positions, near))
        shown = (height >= heights.min() - STOREY) & (height <= heights.max() + STOREY)
    flat = flatten(positions, up)
    ends = np.array(_graph(graph).edges, dtype=np.int64).reshape(-1, 2)
    ends = ends[shown[ends].all(axis=1)]
    if window is not None:
        x, y, half = window
        inside = np.abs(flat - (x, y)).max(axis=1) <= half
        shown &= inside
        ends = ends[inside[ends].any(axis=1)]
    ax.add_collection(LineCollection(list(flat[ends]), colors=EDGE, linewidths=0.5, zorder=1, label="graph"))
    ax.plot(*flat[shown].T, ".", color=NODE, markersize=1.5, markeredgewidth=0, zorder=1.1)
    ax.set_aspect("equal")
    return ax


def draw_pair(
    ax: Axes,
    graph: Graph | World | None = None,
    *,
    reference: Any,
    query: Any,
    alignment: Alignment | None = None,
    up: Up = "z",
    size: float = 1.0,
    window: Window | None = None,
) -> Axes:
    """Draw a reference (blue) and a query (orange) with their directions, and the warping between them (dashed).

    A ring marks where each path starts and a star where it ends. The query is drawn over the reference and is thinner,
    so that both are visible where they are the same.

    Args:
        ax: where to draw.
        graph: the background: a graph with positions, or a world; None if paths are coordinates.
        reference: the ground-truth path: labels of the graph, or an (n, 2) or (n, 3) array of coordinates.
        query: the agent's trajectory, in the same form.
        alignment: the warping of these two paths; without it no links are drawn.
        up: the axis that points up, for three-dimensional positions; the map shows them from above.
        size: the size of lines and marks; 1 is for a panel about 2.5 inches wide.
        window: the part to show; by default a square around both paths.
    """
    from matplotlib.collections import LineCollection

    R, Q = coordinates(reference, graph), coordinates(query, graph)
    if alignment is not None and tuple(alignment.pairs[-1] + 1) != (len(R), len(Q)):
        i, j = alignment.pairs[-1] + 1
        raise OptionError(
            f"the alignment is of {i} and {j} nodes, but the paths have {len(R)} and {len(Q)}; align the same paths"
        )
    near = np.concatenate((R, Q))
    R, Q = flatten(R, up), flatten(Q, up)
    x, y, half = window or window_of([R, Q])
    if graph is not None:
        draw_graph(ax, graph, up=up, near=near, window=(x, y, half))
    if alignment is not None:
        i, j = alignment.pairs.T
        many = len(alignment) > 2 * DOTS
        links = LineCollection(
            list(np.stack((R[i], Q[j]), axis=1)),
            colors=LINK,
            linewidths=(0.4 if many else 0.7) * size,
            alpha=0.6 if many else 1.0,
            linestyles=(0, (2.2, 1.6)),
            zorder=1.5,
            label="warping",
        )
        ax.add_collection(links)
    _draw_path(ax, R, REFERENCE, width=2.6 * size, mark=7.5 * size, order=2, label="reference")
    _draw_path(ax, Q, QUERY, width=1.4 * size, mark=4.6 * size, order=4, label="query")
    ax.set(xlim=(x - half, x + half), ylim=(y - half, y + half), xticks=[], yticks=[], aspect="equal")
    for spine in ax.spines.values():
        spine.set(visible=True, color=FRAME, linewidth=0.5)
    return ax


def draw_scale(ax: Axes, avoid: Sequence[Floats] = (), unit: str = "m") -> Axes:
    """Draw a scale bar of a round length into the corner of a map where it hides least of the flat paths in `avoid`.

    The map's limits must be set before.
    """
    from matplotlib.patheffects import withStroke

    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    wanted = (right - left) / 4
    power = 10.0 ** np.floor(np.log10(wanted))
    length = max(step * power for step in (1, 2, 5) if step * power <= wanted)
    share = length / (right - left)
    hidden = {}
    points = np.concatenate([along(path) for path in avoid]) if avoid else np.empty((0, 2))
    x, y = (points[:, 0] - left) / (right - left), (points[:, 1] - bottom) / (top - bottom)
    for corner in ((0.04, 0.05), (0.96 - share, 0.05), (0.04, 0.88), (0.96 - share, 0.88)):
        inside = (np.abs(x - corner[0] - share / 2) < share / 2 + 0.06) & (np.abs(y - corner[1] - 0.04) < 0.12)
        hidden[corner] = int(inside.sum())
    begin, low = min(hidden, key=lambda corner: hidden[corner])
    halo = [withStroke(linewidth=2.0, foreground="white")]
    where: dict[str, Any] = {"transform": ax.transAxes, "zorder": 9, "path_effects": halo}
    ax.plot([begin, begin + share], [low, low], color=INK, linewidth=1.0, solid_capstyle="butt", **where)
    ax.text(begin + share / 2, low + 0.02, f"{length:g} {unit}", size=5, ha="center", va="bottom", **where)
    return ax


def legend_handles(*, links: bool = True) -> list[Artist]:
    """Return the handles of a legend for `draw_pair`, so that many panels can share one legend."""
    from matplotlib.lines import Line2D

    handles: list[Artist] = [
        Line2D([], [], color=REFERENCE, linewidth=2.4, marker="o", markersize=3.5, label="reference"),
        Line2D([], [], color=QUERY, linewidth=1.3, marker="o", markersize=2.5, label="query"),
    ]
    if links:
        handles.append(Line2D([], [], color=LINK, linewidth=0.8, linestyle=(0, (2.2, 1.6)), label="warping"))
    mark: dict[str, Any] = {"linestyle": "none", "markeredgecolor": FAINT}
    start = Line2D([], [], marker="o", markersize=4.5, markerfacecolor="white", label="start", **mark)
    end = Line2D([], [], marker="*", markersize=7.0, markerfacecolor=FAINT, label="end", **mark)
    return [*handles, start, end]


def window_of(paths: Sequence[Floats], margin: float = 0.08) -> Window:
    """Return the square around flat paths, with a margin as a share of its side.

    >>> window_of([np.array([[0.0, 0.0], [4.0, 2.0]])], margin=0.25)
    (2.0, 1.0, 4.0)
    """
    points = np.concatenate(paths)
    low, high = points.min(axis=0), points.max(axis=0)
    x, y = ((low + high) / 2).tolist()
    side = float((high - low).max()) or 2.0  # an agent that never moved also gets a map
    return x, y, side / 2 / (1 - 2 * margin)


def coordinates(path: Any, graph: Graph | World | None) -> Floats:
    """Return the coordinates of a path, (n, 2) or (n, 3)."""
    if graph is not None:
        positions: Floats = _positions(graph)[_graph(graph).encode([path], role=lambda _: "the path").places]
        return positions
    points = np.asarray(path)
    if points.dtype.kind not in "fiu" or points.ndim != 2 or points.shape[1] not in (2, 3) or not len(points):
        raise OptionError(
            "a path without a graph must be an (n, 2) or (n, 3) array of coordinates; give the graph for node labels"
        )
    return points.astype(np.float64)


def flatten(points: Floats, up: Up = "z") -> Floats:
    """Return points as seen from above, (n, 2).

    >>> flatten(np.array([[1.0, 2.0, 3.0]])), flatten(np.array([[1.0, 2.0, 3.0]]), up="y")
    (array([[1., 2.]]), array([[ 1., -3.]]))
    """
    if up not in ("z", "y"):
        raise OptionError(f"up must be 'z' (Matterport3D) or 'y' (Habitat), got {up!r}")
    if points.shape[1] == 2:
        return points
    # Seen from above along y, x points right and z points down on the page.
    return points[:, :2] if up == "z" else np.column_stack((points[:, 0], -points[:, 2]))


def _draw_path(ax: Axes, path: Floats, color: str, *, width: float, mark: float, order: float, label: str) -> None:
    ax.plot(*path.T, color=color, linewidth=width, solid_joinstyle="round", zorder=order, label=label)
    if len(path) <= DOTS:
        ax.plot(*path.T, "o", color=color, markersize=0.62 * mark, markeredgewidth=0, zorder=order + 0.1)
    steps = np.diff(path, axis=0)
    lengths = np.hypot(*steps.T)
    moves = np.flatnonzero(lengths > 0)
    if len(moves):
        chosen = moves[np.linspace(0, len(moves) - 1, min(HEADS, len(moves))).round().astype(int)]
        middles = path[chosen] + steps[chosen] / 2
        head = 0.9 * mark / 72
        direction = steps[chosen] / lengths[chosen, None] * head
        ax.quiver(*middles.T, *direction.T, width=head / 4, color=color, zorder=order + 0.2, **ARROWS)
    ends: dict[str, Any] = {"color": color, "linestyle": "none", "markeredgewidth": 0.16 * mark}
    ax.plot(*path[:1].T, marker="o", markersize=mark, markerfacecolor="white", zorder=order + 3, **ends)
    ends["markeredgewidth"] = 0.08 * mark
    ax.plot(*path[-1:].T, marker="*", markersize=1.9 * mark, markeredgecolor="white", zorder=order + 3.1, **ends)


def along(path: Floats) -> Floats:
    """Return points all along a path's lines."""
    shares = np.linspace(0, 1, 8)[:, None, None]
    between = (1 - shares) * path[:-1] + shares * path[1:]
    return np.concatenate((path, between.reshape(-1, 2)))


def _graph(graph: Graph | World) -> Graph:
    return graph if isinstance(graph, Graph) else graph.graph


def _positions(graph: Graph | World) -> Floats:
    positions = _graph(graph).positions
    if positions is None or positions.shape[1] not in (2, 3):
        raise OptionError(
            f"the {_graph(graph).name} has no positions in two or three dimensions, so it cannot be drawn; build it "
            "with positions="
        )
    return positions
