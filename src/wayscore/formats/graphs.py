"""The street graph of Manhattan, along which the routes of Touchdown and map2seq lead."""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np

from wayscore.distances.graph import HOPS, Graph
from wayscore.errors import FormatError, did_you_mean
from wayscore.formats.base import Source, read


def load_street_graph(nodes: str | os.PathLike[str], links: str | os.PathLike[str], *, directed: bool = False) -> Graph:
    """Read the street graph; distances are hops, positions are (longitude, latitude), for drawing.

    `nodes` has lines `panorama,yaw,latitude,longitude`, `links` lines `from,heading,to`. Some evaluators walk links
    both ways (the default here), some only forwards (`directed`).
    """
    names: dict[str, int] = {}
    positions: list[float] = []
    source = read(nodes)
    for number, (name, _, latitude, longitude) in _rows(source, 4, "panorama,yaw,latitude,longitude"):
        if names.setdefault(name, len(names)) != len(positions) // 2:
            raise FormatError(f"{source}, line {number}: panorama {name!r} comes twice; keep one of its lines")
        for degrees in (longitude, latitude):
            try:
                positions.append(float(degrees))
            except ValueError:
                positions.append(np.nan)
            if not np.isfinite(positions[-1]):
                raise FormatError(f"{source}, line {number}: expected degrees as a finite number, got {degrees[:40]!r}")
    source = read(links)
    ends: list[tuple[int, int]] = []
    for number, (start, _, end) in _rows(source, 3, "from,heading,to"):
        for name in (start, end):
            if name not in names:
                raise FormatError(
                    f"{source}, line {number}: panorama {name!r} is not among the {len(names)} of {nodes}"
                    f"{did_you_mean(name, names) if len(names) < 1000 else ''}; the two files must belong together"
                )
        ends.append((names[start], names[end]))
    codes = np.array(ends, dtype=np.int32).reshape(-1, 2)
    codes = np.unique(codes if directed else np.sort(codes, axis=1), axis=0)
    return Graph(
        tuple(names),
        codes[:, 0],
        codes[:, 1],
        np.ones(len(codes)),
        directed=directed,
        positions=np.array(positions, dtype=np.float64).reshape(-1, 2),
        name="street graph",
        unit=HOPS,
    )


def _rows(source: Source, count: int, expected: str) -> Iterator[tuple[int, list[str]]]:
    """Go through the lines that are not empty, each with its number and its fields."""
    try:
        lines = source.content.decode().split("\n")
    except UnicodeDecodeError:
        raise FormatError(f"{source}: is not text; expected lines {expected}") from None
    rows = [(number, line.strip().split(",")) for number, line in enumerate(lines, start=1) if line.strip()]
    if not rows:
        raise FormatError(f"{source}: is empty; expected lines {expected}")
    for number, parts in rows:
        if len(parts) != count:
            raise FormatError(f"{source}, line {number}: has {len(parts)} fields, expected {count}: {expected}")
        yield number, parts
