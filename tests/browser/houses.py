"""Generated houses to report on: worlds of two floors, walkers in them, and one place that no way leads to."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import wayscore as ws
from wayscore.episodes import Query, Reference, References, Run
from wayscore.evaluation.comparison import Comparison, compare_runs
from wayscore.report import ScoredRun, Summary, score_runs, summarize, write_page
from wayscore.worlds import WALKERS, World

HOUSES = ("attic", "barn", "cabin")
HOSTILE = "</script><img src=x onerror=alert(1)><!-- & \u2028 \"quoted\" 'words' {{$title}}"
ISLAND = "barn_island"
Houses = dict[str, tuple[World, ws.Graph]]


def build_houses(size: int = 7) -> Houses:
    """Each house is a jittered grid whose right half is three metres higher, and an island of two nodes."""
    houses = {}
    for seed, name in enumerate(HOUSES):
        world = World(size=size, seed=seed)
        heights = {node: 3.0 if node[0] > size // 2 else 0.0 for node in world.graph.nodes}
        positions = {
            node: (*place, heights[node]) for node, place in zip(world.graph.nodes, world.positions, strict=True)
        }
        positions |= {"rock": (-2.0, 0.0, 0.0), "palm": (-2.0, 1.0, 0.0)}
        edges = [(world.graph.nodes[a], world.graph.nodes[b]) for a, b in world.graph.edges] + [("rock", "palm")]
        lengths = [float(np.linalg.norm(np.subtract(positions[a], positions[b]))) for a, b in edges]
        houses[name] = (world, ws.Graph.from_edges(edges, lengths, positions=positions, name=f"house {name}"))
    return houses


def references_in(houses: Houses, episodes: int) -> References:
    """Return so many references a house, one with words that a careless page would obey, and one on an island."""
    found = {}
    for name, (world, _) in houses.items():
        rng = np.random.default_rng(world.seed)
        for number in range(episodes):
            path = world.sample_path(rng, stages=2)
            episode = f"{name}_{number}"
            words = HOSTILE if (name, number) == ("attic", 1) else f"Walk number {number} through the {name}."
            found[episode] = Reference(episode, name, path, f"{name}_{number // 3}", words)
    found[ISLAND] = Reference(ISLAND, "barn", ["rock", "palm"], "island", "Swim.")
    return References("houses.json", "r2r", found)


def run_of(walker: str, references: References, houses: Houses, name: str | None = None) -> Run:
    """Return a run of one of the scripted walkers; on the island everybody swims ashore."""
    rng = np.random.default_rng(5)
    queries: dict[str, Query] = {}
    for episode, reference in references.episodes.items():
        world, _ = houses[reference.scene]
        ashore = episode == ISLAND
        path: Any = ["rock", (0, 0)] if ashore else WALKERS[walker](world, reference.path, rng)
        queries[episode] = Query(episode, path)
    return Run(name or walker, "r2r", queries)


def graphs_of(houses: Houses) -> dict[str, ws.Graph]:
    """Return the graphs by house."""
    return {name: graph for name, (_, graph) in houses.items()}


def scored(
    *walkers: str, episodes: int = 20, **options: Any
) -> tuple[list[ScoredRun], list[Summary], References, Mapping[str, ws.Graph]]:
    """Return scored walkers with all that a page needs."""
    houses = build_houses()
    references = references_in(houses, episodes)
    graphs = graphs_of(houses)
    runs = score_runs([run_of(walker, references, houses) for walker in walkers], references, graphs=graphs, **options)
    return runs, summaries_of(runs), references, graphs


def summaries_of(runs: list[ScoredRun]) -> list[Summary]:
    """Summarize runs with few resamples."""
    rng = np.random.default_rng(0)
    return [summarize(run.table, run.joined, rng=rng, resamples=50, name=run.name) for run in runs]


def compared(
    *walkers: str, episodes: int = 20
) -> tuple[list[ScoredRun], Comparison, References, Mapping[str, ws.Graph]]:
    """Return scored walkers and their comparison."""
    houses = build_houses()
    references = references_in(houses, episodes)
    graphs = graphs_of(houses)
    runs = [run_of(walker, references, houses) for walker in walkers]
    comparison = compare_runs(runs, references, graphs=graphs, resamples=50)
    return score_runs(runs, references, graphs=graphs, shared=True), comparison, references, graphs


def write_one(path: Path, walker: str = "noisy", **options: Any) -> Path:
    """Write the page of one walker."""
    runs, summaries, references, graphs = scored(walker, **options)
    write_page(path, runs, summaries, references, graphs)
    return path


def write_two(path: Path, *walkers: str) -> Path:
    """Write the page of compared walkers."""
    runs, comparison, references, graphs = compared(*walkers)
    write_page(path, runs, comparison.summaries, references, graphs, comparison=comparison)
    return path
