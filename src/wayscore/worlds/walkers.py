"""Scripted walkers with known faults; a parameter sets how large each fault is."""

# ruff: noqa: ARG001 -- walkers share one signature, whether or not they leave anything to chance

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from wayscore.distances.graph import Graph
from wayscore.errors import PathError
from wayscore.worlds.world import Node, Path, Rng, World, check_number, check_whole, draw

Walker: TypeAlias = Callable[[World, Sequence[Node], Rng], Path]
"""A function of a world, a reference and a random generator that returns a query (a trajectory)."""


def perfect(world: World, reference: Sequence[Node], rng: Rng) -> Path:
    """Walk the reference."""
    return _checked(reference)


def noisy(world: World | Graph, reference: Sequence[Any], rng: Rng, *, mistakes: float = 0.2) -> list[Any]:
    """Follow the reference, but take some steps to a random neighbour: a share `mistakes` of all steps."""
    check_number("mistakes", mistakes, most=1)
    path: list[Any] = _checked(reference)[:1]
    for node in reference[1:]:
        stray = rng.random() < mistakes
        path += _wander(world, path[-1], 1, rng) if stray else world.shortest_path(path[-1], node)[1:]
    return path


def detour(world: World, reference: Sequence[Node], rng: Rng, *, hops: int = 3) -> Path:
    """Leave the reference at a random node, visit a node `hops` edges away, return to the next node and continue."""
    check_whole("hops", hops, least=0)
    path = _checked(reference)
    left = int(rng.integers(len(path)))
    away = world.within(path[left], hops)
    furthest = max(away.values())  # less than `hops` near the border of a small world
    via = draw([node for node, edges in away.items() if edges == furthest], rng)
    back = path[min(left + 1, len(path) - 1)]
    return [*path[:left], *world.shortest_path(path[left], via), *world.shortest_path(via, back)[1:], *path[left + 2 :]]


def overshoot(world: World, reference: Sequence[Node], rng: Rng, *, steps: int = 4) -> Path:
    """Walk the reference, do not stop, and take `steps` more edges at random."""
    check_whole("steps", steps, least=0)
    return [*_checked(reference), *_wander(world, reference[-1], steps, rng)]


def early_stop(world: World, reference: Sequence[Node], rng: Rng, *, share: float = 0.5) -> Path:
    """Stop after `share` of the reference's edges."""
    check_number("share", share, most=1)
    return _checked(reference)[: 1 + round(share * (len(reference) - 1))]


def shortest(world: World, reference: Sequence[Node], rng: Rng) -> Path:
    """Take the shortest path to the goal instead of the reference."""
    path = _checked(reference)
    return world.shortest_path(path[0], path[-1])


def reversed_walk(world: World, reference: Sequence[Node], rng: Rng) -> Path:
    """Walk the reference from its goal back to its start."""
    return _checked(reference)[::-1]


def random_walk(world: World, reference: Sequence[Node], rng: Rng) -> Path:
    """Start where the reference starts and take as many edges as it has, each at random."""
    start, *others = _checked(reference)
    return [start, *_wander(world, start, len(others), rng)]


_FROM_MOST_TO_LEAST_FAITHFUL = (perfect, noisy, detour, overshoot, early_stop, shortest, reversed_walk, random_walk)
WALKERS: dict[str, Walker] = {walker.__name__: walker for walker in _FROM_MOST_TO_LEAST_FAITHFUL}  # name -> walker


def _wander(world: World | Graph, start: Any, steps: int, rng: Rng) -> list[Any]:
    """Return the nodes after `start` on a random walk."""
    path = [start]
    for _ in range(steps):
        near: list[Any] = [*world.neighbors(path[-1])]
        path.append(draw(near or path[-1:], rng))  # stay, if no edge leaves the node
    return path[1:]


def _checked(reference: Sequence[Node]) -> Path:
    if not len(reference):
        raise PathError("the reference is empty; a path has at least one node")
    return list(reference)
