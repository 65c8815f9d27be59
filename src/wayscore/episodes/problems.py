"""What can be wrong between a run and its references: found, and told in words."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from wayscore import kernels
from wayscore.errors import FormatError, did_you_mean

if TYPE_CHECKING:
    from wayscore.distances.graph import Graph
    from wayscore.episodes import Reference, References, Run

START_TOLERANCE = 0.1
"""How far apart two starts given as coordinates may be, metres: simulators round."""


def find_problems(
    run: Run, references: References, graphs: Mapping[str, Graph] | None = None
) -> dict[str, tuple[str, ...]]:
    """Return the episodes that each kind of problem concerns."""
    known = references.episodes
    answered = [name for name in run.queries if name in known]
    leaping, astray = ({}, {}) if graphs is None else _off_the_graph(run, references, graphs, answered)
    return {
        "missing": tuple(name for name in known if name not in run.queries),
        "unknown": tuple(name for name in run.queries if name not in known),
        "duplicate": run.duplicates,
        "start": tuple(name for name in answered if not _same_place(known[name].path[0], run.queries[name].path[0])),
        "move": tuple(name for name in answered if name in leaping),
        "node": tuple(name for name in answered if name in astray),
    }


def describe(
    kind: str,
    names: Sequence[str],
    references: References,
    show: int = 3,
    *,
    run: Run | None = None,
    graphs: Mapping[str, Graph] | None = None,
) -> str:
    """Say in words how many episodes a kind of problem concerns, and name the first of them.

    With the run (and the graphs), the first is told in detail too.
    """
    count = len(names)
    what = summary(kind, count, references)
    more = detail(kind, names[0], run, references, graphs) if run is not None and count else ""
    named = [f"{names[0]} ({more})" if more else names[0], *names[1:show]] if count else []
    return f"{what}: {', '.join(named)}" + (f" and {count - show} more" if count > show else "")


def summary(kind: str, count: int, references: References) -> str:
    """Say in words how many episodes a kind of problem concerns."""
    one = count == 1
    is_, its = ("is", "its") if one else ("are", "their")
    query = "query" if one else "queries"
    return (
        f"{count} "
        + {
            "missing": f"of the {len(references.episodes)} episodes of {references.name} {is_} not answered",
            "unknown": f"answer{'' if one else 's'} {is_} to episodes that {references.name} does not have",
            "duplicate": f"episode{'' if one else 's'} {is_} answered more than once",
            "start": f"{query} do{'es' if one else ''} not begin where {its} reference does",
            "move": f"{query} take{'s' if one else ''} a step that is not an edge",
            "node": f"{query} visit{'s' if one else ''} a place that {its} scene does not have",
        }[kind]
    )


def detail(kind: str, name: str, run: Run, references: References, graphs: Mapping[str, Graph] | None = None) -> str:
    """Say where in an episode a problem lies; "" where its name says all. Steps count from 0."""
    if kind == "unknown":
        return did_you_mean(name, references.episodes).removeprefix("; ") if len(references.episodes) < 10_000 else ""
    if kind not in ("start", "move", "node"):
        return ""
    reference, path = references.episodes[name], run.queries[name].path
    if kind == "start":
        return f"begins at {_shown(path[0])}, its reference at {_shown(reference.path[0])}"
    assert graphs is not None  # the problem was found with them
    graph = _graph_of(reference, graphs)
    if kind == "move":
        step = _leaps(path, graph)[0]
        return f"step {step}, from {_shown(path[step - 1])} to {_shown(path[step])}"
    step = _unknown(path, graph)[0]
    return f"step {step}, {_shown(path[step])}{did_you_mean(path[step], graph.index)}"


def _off_the_graph(
    run: Run, references: References, graphs: Mapping[str, Graph], names: Sequence[str]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the episodes that take a step which is no edge, and those that visit unknown places."""
    leaping: dict[str, Any] = {}
    astray: dict[str, Any] = {}
    scenes: dict[str, list[str]] = {}
    for name in names:
        scenes.setdefault(references.episodes[name].scene, []).append(name)
    for some in scenes.values():
        graph = _graph_of(references.episodes[some[0]], graphs)
        paths = [run.queries[name].path for name in some]
        ends = np.cumsum([len(path) for path in paths])
        codes = np.empty(int(ends[-1]), dtype=np.int32)
        if _encoded(graph, paths, codes):
            wrong = (codes[:-1] != codes[1:]) & ~graph.has_edges(codes[:-1], codes[1:])
            wrong[ends[:-1] - 1] = False  # from one path to the next
            numbers = np.searchsorted(ends, np.flatnonzero(wrong), side="right")
            leaping |= dict.fromkeys(some[number] for number in numbers.tolist())
        else:
            leaping |= dict.fromkeys(name for name, path in zip(some, paths, strict=True) if _leaps(path, graph))
            astray |= dict.fromkeys(name for name, path in zip(some, paths, strict=True) if _unknown(path, graph))
    return leaping, astray


def _encoded(graph: Graph, paths: list[Any], codes: Any) -> bool:
    try:
        return kernels.encode(graph.index, paths, codes) < 0
    except TypeError:  # what cannot be looked up, such as coordinates
        return False


def _leaps(path: Any, graph: Graph) -> list[int]:
    """Return the steps that no edge leads to."""
    codes = np.array(_codes(path, graph), dtype=np.int32)
    return (1 + np.flatnonzero((codes[:-1] != codes[1:]) & ~graph.has_edges(codes[:-1], codes[1:]))).tolist()


def _unknown(path: Any, graph: Graph) -> list[int]:
    """Return the steps at places that the graph does not have."""
    return [step for step, code in enumerate(_codes(path, graph)) if code < 0]


def _codes(path: Any, graph: Graph) -> list[int]:
    """Number the places as the graph does, and those that it does not have from -1 downwards."""
    strange: dict[Any, int] = {}
    labels = (place if isinstance(place, Hashable) else str(place) for place in path)  # such as coordinates
    return [graph.index.get(label, strange.setdefault(label, -1 - len(strange))) for label in labels]


def _same_place(a: Any, b: Any) -> bool:
    if isinstance(a, str) or isinstance(b, str):
        return isinstance(a, str) and isinstance(b, str) and a == b
    a, b = np.asarray(a), np.asarray(b)
    return bool(a.shape == b.shape and np.linalg.norm(a - b) <= START_TOLERANCE)


def _graph_of(reference: Reference, graphs: Mapping[str, Graph]) -> Graph:
    if reference.scene not in graphs:
        raise FormatError(
            f"episode {reference.episode}: there is no graph of scene {reference.scene!r}"
            f"{did_you_mean(reference.scene, graphs)}"
        )
    return graphs[reference.scene]


def _shown(place: Any) -> str:
    return repr(place) if isinstance(place, str | int) else str(np.asarray(place).tolist())
