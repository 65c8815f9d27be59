"""Generated houses to report on: worlds of two floors, walkers in them, and an island that cannot be reached."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import wayscore as ws
from wayscore.evaluation.comparison import Comparison, compare
from wayscore.evaluation.evaluator import evaluate
from wayscore.evaluation.result import Result
from wayscore.formats.episodes import Query, Reference, References, Run
from wayscore.report.page import write_page
from wayscore.worlds import WALKERS, World

HOUSES = ("attic", "barn", "cabin")
HOSTILE = "</script><img src=x onerror=alert(1)><!-- & \u2028 \"quoted\" 'words' {{$title}}"
ISLAND = "barn_island"
Houses = dict[str, tuple[World, ws.Graph]]


@cache
def build_houses(size: int = 7) -> Houses:
    """Each house is a jittered grid whose right half is three metres higher, and an island of two nodes."""
    houses = {}
    for seed, name in enumerate(HOUSES):
        world = World(size=size, seed=seed)
        nodes: list[Any] = list(world.graph.nodes)
        heights = {node: 3.0 if node[0] > size // 2 else 0.0 for node in nodes}
        positions = {
            node: (*place, heights[node]) for node, place in zip(world.graph.nodes, world.positions, strict=True)
        }
        positions |= {"rock": (-2.0, 0.0, 0.0), "palm": (-2.0, 1.0, 0.0)}
        edges = [(world.graph.nodes[a], world.graph.nodes[b]) for a, b in world.graph.edges] + [("rock", "palm")]
        lengths = [float(np.linalg.norm(np.subtract(positions[a], positions[b]))) for a, b in edges]
        houses[name] = (world, ws.Graph.from_edges(edges, lengths, positions=positions, name=f"house {name}"))
    return houses


@cache
def references_in(episodes: int = 20) -> References:
    """Return references: as many in each house, one with words that a careless page would obey, one on an island."""
    found = {}
    for name, (world, _) in build_houses().items():
        rng = np.random.default_rng(world.seed)
        for number in range(episodes):
            path = world.sample_path(rng, stages=2)
            episode = f"{name}_{number}"
            words = HOSTILE if (name, number) == ("attic", 1) else f"Walk number {number} through the {name}."
            found[episode] = Reference(episode, name, path, f"{name}_{number // 3}", words)
    found[ISLAND] = Reference(ISLAND, "barn", ["rock", "palm"], "island", "Swim.")
    return References("houses.json", "r2r", found)


def graphs_of() -> dict[str, ws.Graph]:
    """Return the graphs by house."""
    return {name: graph for name, (_, graph) in build_houses().items()}


def run_of(walker: str, references: References, names: Sequence[str] | None = None, seed: int = 5) -> Run:
    """Return a run of one of the scripted walkers; on the island everybody tries to swim ashore."""
    rng = np.random.default_rng(seed)
    queries: dict[str, Query] = {}
    for episode, reference in references.episodes.items():
        world, _ = build_houses()[reference.scene]
        path: Any = ["rock", (0, 0)] if episode == ISLAND else WALKERS[walker](world, reference.path, rng)
        queries[episode] = Query(episode, path)
    return Run(walker, "r2r", {name: queries[name] for name in names or queries})


def scored(*walkers: str, episodes: int = 20, seed: int = 5, **options: Any) -> list[Result]:
    """Return the results of some walkers."""
    references = references_in(episodes)
    settings = {"resamples": 50, **options}
    return [evaluate(run_of(walker, references, seed=seed), references, graphs_of(), **settings) for walker in walkers]


def compared(*walkers: str, episodes: int = 20, **options: Any) -> Comparison:
    """Return the comparison of some walkers with the first."""
    return compare(scored(*walkers, episodes=episodes, **options))


def write(path: Path, found: Comparison | list[Result]) -> Path:
    """Write the page of some results."""
    results, comparison = (found, None) if isinstance(found, list) else (list(found.results), found)
    write_page(path, results, comparison)
    return path
