"""Touchdown and map2seq: routes along Manhattan's street graph, and the graph itself.

An episode is named by its `route_id` (Touchdown) or `id` (map2seq). All lie in one scene.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from pathlib import Path

import msgspec
import numpy as np

from wayscore.distances.graph import HOPS, Graph
from wayscore.episodes.batch import EpisodeBatch
from wayscore.episodes.references import Reference, References
from wayscore.errors import FormatError, did_you_mean
from wayscore.formats.base import REFERENCES, RUN, Kind, make_references
from wayscore.formats.decoding import decode_records, place
from wayscore.formats.files import Source, read
from wayscore.formats.sniff import Beginning
from wayscore.formats.trajectories import Name, read_trajectories

SCENE = "manhattan"
EXPECTED = 'street routes: {"route_id" or "id": ..., "route_panoids": [panorama, ...], "navigation_text": ...} a line'
WALKS = ("path", "trajectory", "agent_pano_path")


class Route(msgspec.Struct, gc=False):
    """One route."""

    route_panoids: list[str]
    route_id: Name | None = None
    id: Name | None = None
    navigation_text: str = ""


class Street:
    """Touchdown and map2seq routes, and runs with `route_id` or `id` and the panoramas passed."""

    name = "street"
    title = "Touchdown/map2seq"

    def sniff(self, beginning: Beginning) -> Collection[Kind]:
        """Recognise routes by `route_panoids`."""
        if not beginning.json:
            return ()
        if beginning.has("route_panoids"):
            return REFERENCES
        named = beginning.has_any("route_id", "id") and not beginning.has("scan")
        return RUN if named and beginning.has_any(*WALKS) else ()

    def references(self, source: Source) -> References:
        """Read routes."""
        records = decode_records(source, Route, names=("route_id", "id"), expected=EXPECTED)
        return make_references(source, self, _references(source, records))

    def run(self, source: Source) -> EpisodeBatch:
        """Read a run: `route_id` or `id`, and `path`, `trajectory` or `agent_pano_path`."""
        return read_trajectories(source, self.title, ids=("route_id", "id"), walks=WALKS)


def load_street_graph(nodes: str | os.PathLike[str], links: str | os.PathLike[str], *, directed: bool = False) -> Graph:
    """Read the street graph; distances are hops.

    Args:
        nodes: a file of lines `panorama,yaw,latitude,longitude`, gzipped or not.
        links: a file of lines `from,heading,to`.
        directed: keep the direction of links. Evaluators differ: some walk links both ways (the default here),
            some only forwards.

    Returns:
        A graph whose positions are (longitude, latitude), for drawing.
    """
    names: dict[str, int] = {}
    positions: list[tuple[float, float]] = []
    source = read(nodes)
    for number, (name, _, latitude, longitude) in _rows(source, 4, "panorama,yaw,latitude,longitude"):
        if names.setdefault(name, len(names)) != len(positions):
            raise FormatError(f"{source}, line {number}: panorama {name!r} comes twice; keep one of its lines")
        positions.append((_degrees(source, number, longitude), _degrees(source, number, latitude)))
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
        positions=np.array(positions, dtype=np.float64),
        name="street graph",
        unit=HOPS,
    )


def find_street_graph(folder: str | os.PathLike[str], *, directed: bool = False) -> Graph:
    """Read the street graph of a folder that holds nodes.txt and links.txt, gzipped or not."""
    found = []
    for name in ("nodes.txt", "links.txt"):
        files = [path for path in (Path(folder) / name, Path(folder) / f"{name}.gz") if path.is_file()]
        if not files:
            raise FormatError(f"{folder}: has no {name} or {name}.gz; street routes need both files of their graph")
        found.append(files[0])
    return load_street_graph(*found, directed=directed)


def _references(source: Source, records: list[Route]) -> Iterator[Reference]:
    for number, record in enumerate(records):
        name = record.id if record.route_id is None else record.route_id
        if name is None:
            raise FormatError(
                f"{source}, {place(number, source)}: the fields 'route_id' and 'id' are missing; expected {EXPECTED}"
            )
        yield Reference(str(name), SCENE, record.route_panoids, str(name), record.navigation_text)


def _rows(source: Source, count: int, expected: str) -> Iterator[tuple[int, list[str]]]:
    try:
        text = source.content.decode()
    except UnicodeDecodeError:
        raise FormatError(f"{source}: is not text; expected lines {expected}") from None
    empty = True
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        parts = line.strip().split(",")
        if len(parts) != count:
            raise FormatError(f"{source}, line {number}: has {len(parts)} fields, expected {count}: {expected}")
        empty = False
        yield number, parts
    if empty:
        raise FormatError(f"{source}: is empty; expected lines {expected}")


def _degrees(source: Source, number: int, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = np.nan
    if not np.isfinite(value):
        raise FormatError(f"{source}, line {number}: expected degrees as a finite number, got {text[:40]!r}")
    return value


STREET_FORMAT = Street()
