"""One episode and its warping, as a convention computes it; `wayscore align` prints it, and figures draw it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from wayscore.convention import Convention
from wayscore.convention.applied import align_by, apply_path_step, distance_by, flatten
from wayscore.convention.presets import find_convention, signed
from wayscore.distances.graph import Graph
from wayscore.errors import FormatError, OptionError, PathError, UnknownSceneError, check_threshold, did_you_mean
from wayscore.evaluation.policies import alike
from wayscore.evaluation.score import score
from wayscore.figures.paths import Up
from wayscore.formats.episodes import Query, Reference, References, Run
from wayscore.paths import without_repeats
from wayscore.warping.alignment import Alignment

EARTH = 6_371_000.0  # radius, metres
OFFERED = 4  # episodes that an error names


@dataclass(frozen=True, slots=True)
class WarpedEpisode:
    """An episode with its warping, as a convention computes it."""

    episode: str
    scene: str
    instruction: str
    reference: Any  # the path that was warped: labels, or coordinates
    query: Any
    alignment: Alignment
    graph: Graph | None  # None for coordinates
    ndtw: float
    threshold: float
    convention: str  # as signatures name it
    unit: str

    def steps(self) -> list[tuple[int, int, float, float]]:
        """Return one row per pair of the warping: nodes i and j (counted from 1), their distance, the cost so far."""
        i, j = self.alignment.pairs.T
        R, Q = self.alignment.reference[i], self.alignment.query[j]
        distances = self.alignment.distance.pairs(R, Q)
        columns = (*(self.alignment.pairs + 1).T.tolist(), distances.tolist(), np.cumsum(distances).tolist())
        return list(zip(*columns, strict=True))


def warp_episode(
    reference: Reference,
    query: Query,
    graphs: Mapping[str, Graph] | None = None,
    *,
    convention: str | Path | Convention | None = None,
    threshold: float | None = None,
    unit: str = "m",
    up_axis: int | None = None,
) -> WarpedEpisode:
    """Warp one episode as a convention ("paper" by default) does; nDTW is what `wayscore score` gives the episode.

    Without `graphs`, paths are coordinates. `unit` is that of the graphs' lengths; a convention may count hops instead.
    """
    rules = find_convention(convention)
    d_th = rules.threshold if threshold is None else threshold
    check_threshold(d_th)
    if graphs is not None and reference.scene not in graphs:
        raise UnknownSceneError(
            f"episode {reference.episode}: there is no graph of scene {reference.scene!r}"
            f"{did_you_mean(reference.scene, graphs)}"
        )
    graph = None if graphs is None else graphs[reference.scene]
    distance = distance_by(graph, rules)
    R, Q = reference.path, query.path
    if rules.reference == "dense":
        if reference.dense is None:
            raise FormatError(
                f"episode {reference.episode} has no dense path, which the convention {rules.name} uses as reference; "
                "put the dataset's _gt file into the folder of the references"
            )
        R = reference.dense
    try:
        paths: Any = [R, *without_repeats([Q])] if rules.repeats == "drop" else [R, Q]
        if rules.plane == "all":
            paths = flatten(paths, up_axis)
        if rules.path_step:
            paths = apply_path_step(paths, rules.path_step)
        R, Q = paths
        alignment = align_by(rules)(reference=R, query=Q, distance=distance)
        scored = score(
            references=[reference.path],
            queries=[query.path],
            dense=None if reference.dense is None else [reference.dense],
            distance=graph,
            convention=rules,
            threshold=d_th,
            metrics="nDTW",
            up_axis=up_axis,
            goals=[reference.goals or [reference.path[-1]]],
            recorded={name: [value] for name, value in {**reference.facts, **query.recorded}.items()},
        )
    except PathError as error:
        raise type(error)(f"episode {reference.episode}: {error}") from None
    return WarpedEpisode(
        episode=reference.episode,
        scene=reference.scene,
        instruction=reference.instruction,
        reference=R,
        query=Q,
        alignment=alignment,
        graph=graph,
        ndtw=float(scored["nDTW"][0]),
        threshold=float(d_th),
        convention=signed(rules),
        unit=unit if rules.distance == "given" else "hops",
    )


def find_episode(name: str, run: Run, references: References) -> tuple[Reference, Query]:
    """Return the reference and the query of an episode, or raise an error that helps with its name."""
    if name not in references.episodes:
        known = [episode for episode in references.episodes if episode in run.queries] or list(references.episodes)
        raise OptionError(f"{references.name} has no episode {name!r}; {_offered(name, known)}")
    if name not in run.queries:
        answered = [episode for episode in run.queries if episode in references.episodes]
        if not answered:
            raise FormatError(
                f"{run.name}: no episode of this run is in {references.name}: wrong split? Its first is "
                f"{next(iter(run.queries), None)!r}; give the references that it answers with <<references=FILE>>"
            )
        raise OptionError(
            f"{run.name} does not answer episode {name!r} of {references.name}; {_offered(name, answered)}"
        )
    return references.episodes[name], run.queries[name]


def _offered(name: str, known: Sequence[str]) -> str:
    """Offer the episodes that a name may stand for, or the first there is."""
    near = alike(name, known)
    if not near:
        return f"the first is {known[0]!r}"
    more = f" and {len(near) - OFFERED} more" if len(near) > OFFERED else ""
    *others, last = [repr(one) for one in near[:OFFERED]]
    listed = f"{', '.join(others)}{'' if not others else ', ' if more else ' or '}{last}"
    return f"did you mean {listed}{more}?"


def unit_in(references: References) -> str:
    """Return the unit of lengths along graphs of this format: links of streets have no length, so hops are counted."""
    return "hops" if references.format == "street" else "m"


def drawable(graphs: Mapping[str, Graph] | None, references: References) -> Mapping[str, Graph] | None:
    """Return scene -> graph with positions in metres, also if files give longitude and latitude (streets)."""
    if graphs is None or references.format != "street":
        return graphs
    found = {}
    for scene, graph in graphs.items():
        found[scene] = copy(graph)
        if graph.positions is not None:
            longitude, latitude = np.radians(graph.positions - graph.positions.mean(axis=0)).T
            middle = math.radians(float(graph.positions[:, 1].mean()))
            found[scene].positions = EARTH * np.column_stack((longitude * math.cos(middle), latitude))
    return found


def up_in(references: References) -> Up:
    """Return which coordinate axis points up."""
    return "y" if references.up_axis == 1 else "z"
