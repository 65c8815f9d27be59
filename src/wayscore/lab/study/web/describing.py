"""Descriptions of paths in words, for screen readers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby, pairwise

from wayscore.lab.study.model import SceneMap

WINDS = ("east", "north-east", "north", "north-west", "west", "south-west", "south", "south-east")


def describe_pair(scene: SceneMap, *, reference: Sequence[str], query: Sequence[str]) -> str:
    """Describe a picture: the directions of both paths, and how far apart they start and end.

    >>> places = {"a": (0.0, 0.0), "b": (1.0, 0.0), "c": (1.0, 1.0), "d": (2.0, 0.0)}
    >>> scene = SceneMap(places, [(0, 1), (1, 2), (1, 3)], [1.0, 1.0, 1.0])
    >>> describe_pair(scene, reference=["a", "b", "d"], query=["a", "b", "c"])
    'Blue goes 2 steps east. Orange starts where blue starts and goes 1 step east, 1 step north. It ends 1.4 metres
    north-west of where blue ends.'
    """
    starts = _apart(scene, query[0], reference[0])
    ends = _apart(scene, query[-1], reference[-1])
    return (
        f"Blue {_walk(scene, reference)}. "
        f"Orange starts {starts}where blue starts and {_walk(scene, query)}. "
        f"It ends {ends}where blue ends."
    )


def _walk(scene: SceneMap, path: Sequence[str]) -> str:
    places = [scene.positions[node] for node in path]
    winds = [_wind(a, b) for a, b in pairwise(places) if a != b]
    if not winds:
        return "stays where it is"
    counts = [(wind, len(list(steps))) for wind, steps in groupby(winds)]
    return "goes " + ", ".join(f"{count} step{'s' if count > 1 else ''} {wind}" for wind, count in counts)


def _apart(scene: SceneMap, node: str, other: str) -> str:
    if node == other:
        return ""
    here, there = scene.positions[node], scene.positions[other]
    return f"{math.dist(here, there):.1f} metres {_wind(there, here)} of "


def _wind(a: tuple[float, float], b: tuple[float, float]) -> str:
    return WINDS[round(math.atan2(b[1] - a[1], b[0] - a[0]) / (math.pi / 4)) % 8]
