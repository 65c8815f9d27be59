"""The graphs of many scans, by name: Matterport3D connectivity files, one JSON file per scan, in a folder or a tar.

A tar is decompressed once; of its files, only those that are used are read.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import partial
from pathlib import Path, PurePosixPath

import msgspec
import numpy as np

from wayscore import reading
from wayscore.distances.base import ByScene
from wayscore.distances.graph import Graph
from wayscore.errors import DistanceError, FormatError, did_you_mean, first_line, shortened

SUFFIXES = ("_connectivity.json", "_connectivity.json.gz")
SCAN_LIMIT = 64 * 2**20
"""Bytes that the file of one scan may have after decompression; the largest of Matterport3D has 0.9 million ..."""
TAR_LIMIT = 2**30
"""... and all 90 together 13 million."""


class Viewpoint(msgspec.Struct):
    """One panorama: its name, camera pose (4 x 4, row by row, metres), and which others can be reached from it."""

    image_id: str
    pose: list[float]
    included: bool
    unobstructed: list[bool]


def load_graphs(path: str | Path) -> ByScene[Graph]:
    """Find every `<scan>_connectivity.json` in a folder or a tar (compressed or not).

    Returns:
        A mapping from scan to `Graph`, each built when it is first used; lengths in metres.
    """
    source = Path(path)
    found: list[tuple[str, Path | slice]]
    content = b""
    if source.is_dir():
        found = [(file.name, file) for file in sorted(source.iterdir())]
    elif source.is_file():
        content = reading.read_bytes(source, TAR_LIMIT)
        found = [
            (PurePosixPath(member.name).name, slice(member.offset_data, member.offset_data + member.size))
            for member, _ in reading.members(io.BytesIO(content), str(source))
        ]
    else:
        raise FormatError(f"{source}: no such file or directory; expected a folder or a tar of connectivity files")
    loaders: dict[str, Callable[[], Graph]] = {}
    for name, file in found:
        if name.endswith(SUFFIXES):
            scan = name.removesuffix(".gz").removesuffix(SUFFIXES[0])
            if scan in loaders:
                raise FormatError(f"{source}: has two files of scan {shortened(scan)}; keep one of them")
            loaders[scan] = partial(_read, file, content, scan, f"{source}: {scan}")
    if not loaders:
        raise FormatError(f"{source}: holds no file named <scan>_connectivity.json")
    return ByScene(source, loaders, ("scan", "graphs"))


def load_graph(path: str | Path, scan: str | None = None) -> Graph:
    """Read one scan from its JSON file, or from a folder or tar that contains `scan`."""
    source = Path(path)
    if source.is_file() and source.name.endswith((".json", ".json.gz")):
        named = scan or source.name.removesuffix(".gz").removesuffix(SUFFIXES[0])
        return _read(source, b"", named, str(source))
    graphs = load_graphs(source)
    if scan is None:
        first = next(iter(graphs))
        raise FormatError(
            f"{source}: has {len(graphs)} scans; choose one with scan=, for example scan={shortened(first)}"
        )
    if scan not in graphs:
        raise FormatError(f"{source}: has no scan {shortened(scan)}{did_you_mean(scan, graphs)}")
    return graphs[scan]


def _read(file: Path | slice, tar: bytes, scan: str, where: str) -> Graph:
    """Build the graph of a file, or part of a tar: included viewpoints, joined if one is unobstructed from the other.

    The length of an edge is the straight line between the two cameras (pose entries 3, 7 and 11).
    """
    if isinstance(file, slice):
        content = reading.BoundedFile(io.BytesIO(tar[file]), where, reading.size_limit(SCAN_LIMIT)).read()
    else:
        content = reading.read_bytes(file, SCAN_LIMIT)
    try:
        viewpoints = msgspec.json.decode(content, type=list[Viewpoint])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise FormatError(f"{where}: not a connectivity file: {first_line(error)}") from None
    count = len(viewpoints)
    for viewpoint in viewpoints:
        if len(viewpoint.pose) != 16 or len(viewpoint.unobstructed) != count:
            raise FormatError(
                f"{where}: viewpoint {shortened(viewpoint.image_id)} has {len(viewpoint.pose)} pose values and "
                f"{len(viewpoint.unobstructed)} unobstructed flags; expected 16 and {count}"
            )
    included = np.array([viewpoint.included for viewpoint in viewpoints], dtype=bool)
    if not included.any():
        raise DistanceError(f"{where}: no viewpoint is included, so there is no graph")
    positions = np.array([[v.pose[3], v.pose[7], v.pose[11]] for v in viewpoints])[included]
    flags = b"".join(bytes(viewpoint.unobstructed) for viewpoint in viewpoints)  # lists would take three times as long
    walkable = np.frombuffer(flags, dtype=bool).reshape(count, count)[included][:, included]
    if not np.isfinite(positions).all():
        raise FormatError(f"{where}: a camera position is not finite")
    sources, targets = (ends.astype(np.int32) for ends in np.nonzero(np.triu(walkable | walkable.T, k=1)))
    x, y, z = (positions[sources] - positions[targets]).T
    names = [viewpoint.image_id for viewpoint in viewpoints if viewpoint.included]
    lengths = np.sqrt(x * x + y * y + z * z)
    return Graph(names, sources, targets, lengths, positions=positions, name=f"scan {scan}")
