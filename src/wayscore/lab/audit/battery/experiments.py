"""The experiments: what is changed in an episode, and by how much."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from wayscore.errors import OptionError, did_you_mean
from wayscore.lab.audit.battery import changes
from wayscore.lab.audit.battery.changes import Change


@dataclass(frozen=True, slots=True)
class Experiment:
    """One change of episodes, in several sizes.

    Attributes:
        name: what tables and `--experiments` call it.
        about: what is changed, in words.
        sizes: from none (what the others are compared with) to the largest.
        unit: what the sizes are.
        change: the function that changes an episode.
        base: the walk that is changed: a "perfect" one, or a "faulty" one, where a perfect one would hide the change.
        on: "nodes" of a graph, "points" in space, or "any".
        graded: sizes begin small enough to see whether a metric jumps; doubling the density does not.
    """

    name: str
    about: str
    sizes: tuple[float, ...]
    unit: str
    change: Change
    base: Literal["perfect", "faulty"] = "perfect"
    on: Literal["nodes", "points", "any"] = "any"
    graded: bool = True


_POINTS: dict[str, Any] = {"base": "faulty", "on": "points", "graded": False}
_AWAY: dict[str, Any] = {"sizes": (0, 1, 2, 3, 4), "unit": "edges away", "on": "nodes"}
_SWITCH: dict[str, Any] = {"sizes": (0, 1), "unit": "", "graded": False}
_FACTORS: dict[str, Any] = {"sizes": (1, 2, 5, 10), "unit": "times", **_POINTS}
_PARTS: dict[str, Any] = {"sizes": (1, 2, 4, 8), "unit": "parts", **_POINTS}
EXPERIMENTS: dict[str, Experiment] = {
    one.name: one
    for one in (
        Experiment("scale", "both paths and d_th are multiplied", change=changes.scale, **_FACTORS),
        Experiment("scale-only", "both paths are multiplied; d_th stays", change=changes.magnify, **_FACTORS),
        Experiment(
            "translation", "both paths are moved together", (0, 1, 10, 100), "d_th", changes.translate, **_POINTS
        ),
        Experiment("query-density", "steps of the query are divided", change=changes.densify_query, **_PARTS),
        Experiment(
            "reference-density", "steps of the reference are divided", change=changes.densify_reference, **_PARTS
        ),
        Experiment("both-densities", "steps of both paths are divided", change=changes.densify_both, **_PARTS),
        Experiment(
            "repeats",
            "every node of the query is logged several times",
            (1, 2, 3, 5),
            "times",
            changes.repeat,
            "faulty",
            graded=False,
        ),
        Experiment("swap", "reference and query are exchanged", change=changes.swap, base="faulty", **_SWITCH),
        Experiment("reversed", "the reference is walked from its end", change=changes.reverse, **_SWITCH),
        Experiment(
            "shuffled",
            "inner nodes of the query are exchanged at random",
            (0, 0.25, 0.5, 1),
            "of the nodes",
            changes.shuffle,
        ),
        Experiment(
            "reversed-loop", "a loop is walked the other way around", change=changes.reverse_loop, on="nodes", **_SWITCH
        ),
        Experiment("retrace", "the query walks some edges back and forth", (0, 1, 2), "edges", changes.retrace),
        Experiment(
            "near-miss",
            "the whole query is moved aside",
            (0, 0.001, 0.01, 0.1, 0.5, 0.9, 1.1, 2),
            "d_th",
            changes.shift,
            on="points",
        ),
        Experiment(
            "misplaced-point",
            f"one point is {changes.MISPLACED} d_th off, at the middle or nearer to the end",
            (0.5, 0.75, 1),
            "of the query",
            changes.misplace,
            on="points",
        ),
        Experiment("detour", "the query leaves the reference and comes back", change=changes.detour, **_AWAY),
        Experiment(
            "stop-early",
            "the last edges are not walked",
            (0, 0.2, 0.4, 0.6, 0.8, 1),
            "of the edges",
            changes.stop_early,
        ),
        Experiment("stop-late", "the query goes on beyond the goal", change=changes.stop_late, **_AWAY),
        Experiment("overshoot", "the query passes the goal and comes back to it", change=changes.overshoot, **_AWAY),
        Experiment("start-elsewhere", "the query walks to the start first", change=changes.start_elsewhere, **_AWAY),
    )
}
"""Name -> experiment."""


def find_experiments(names: Iterable[str] | None = None) -> tuple[Experiment, ...]:
    """Return experiments by name; all of them by default.

    >>> [one.unit for one in find_experiments(["detour"])]
    ['edges away']
    """
    if names is None:
        return tuple(EXPERIMENTS.values())
    found = []
    for name in [names] if isinstance(names, str) else names:
        if name not in EXPERIMENTS:
            raise OptionError(
                f"there is no experiment {name!r}{did_you_mean(name, EXPERIMENTS) or '.'} "
                f"Known: {', '.join(EXPERIMENTS)}"
            )
        found.append(EXPERIMENTS[name])
    return tuple(dict.fromkeys(found))
