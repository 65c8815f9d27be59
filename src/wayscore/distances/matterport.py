"""Matterport3D connectivity files, read into plain arrays: one JSON file per scan, in a folder or a tar.

A tar is decompressed once; of its files, only those that are used are read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import msgspec
import numpy as np
from numpy.typing import NDArray

from wayscore import reading
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


@dataclass(frozen=True, slots=True, eq=False)
class Connectivity:
    """The included viewpoints of one scan, and the edges between them.

    Attributes:
        scan: the scan's name.
        nodes: the viewpoints' names.
        positions: (n, 3) cameras, metres.
        sources: the number of one end of each edge.
        targets: the number of the other end.
        lengths: the straight line between the two cameras of each edge, metres.
    """

    scan: str
    nodes: list[str]
    positions: NDArray[np.float64]
    sources: NDArray[np.int32]
    targets: NDArray[np.int32]
    lengths: NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class ScanFiles:
    """Where the scans of a folder or tar are.

    Attributes:
        source: the folder or tar.
        files: scan -> its file, or the part of the tar's content that is its file.
        content: the tar's content.
    """

    source: Path
    files: Mapping[str, Path | slice]
    content: bytes = b""

    def read(self, scan: str) -> Connectivity:
        """Read one scan."""
        file = self.files[scan]
        where = f"{self.source}: {scan}"
        if not isinstance(file, slice):
            return parse(reading.read_bytes(file, SCAN_LIMIT), scan, where)
        most = reading.size_limit(SCAN_LIMIT)
        if file.stop - file.start > most:
            raise reading.too_large(where, most)
        return parse(reading.unpack(self.content[file], where, SCAN_LIMIT), scan, where)


def find_scans(path: str | Path) -> ScanFiles:
    """Find every `<scan>_connectivity.json` in a folder or a tar (compressed or not)."""
    source = Path(path)
    found: Iterator[tuple[str, Path | slice]]
    content = b""
    if source.is_dir():
        found = ((file.name, file) for file in sorted(source.iterdir()) if file.name.endswith(SUFFIXES))
    elif source.is_file():
        content = reading.read_bytes(source, TAR_LIMIT)
        found = _members(source, content)
    else:
        raise FormatError(f"{source}: no such file or directory; expected a folder or a tar of connectivity files")
    files: dict[str, Path | slice] = {}
    for name, file in found:
        scan = _scan(name)
        if scan in files:
            raise FormatError(f"{source}: has two files of scan {shortened(scan)}; keep one of them")
        files[scan] = file
    if not files:
        raise FormatError(f"{source}: holds no file named <scan>_connectivity.json")
    return ScanFiles(source, files, content)


def read_scan(path: str | Path, scan: str | None = None) -> Connectivity:
    """Read one scan from its JSON file, or from a folder or tar that contains `scan`."""
    source = Path(path)
    if source.is_file() and source.name.endswith((".json", ".json.gz")):
        return parse(reading.read_bytes(source, SCAN_LIMIT), scan or _scan(source.name), str(source))
    scans = find_scans(source)
    if scan is None:
        first = next(iter(scans.files))
        raise FormatError(
            f"{source}: has {len(scans.files)} scans; choose one with scan=, for example scan={shortened(first)}"
        )
    if scan not in scans.files:
        raise FormatError(f"{source}: has no scan {shortened(scan)}{did_you_mean(scan, scans.files)}")
    return scans.read(scan)


def parse(content: bytes, scan: str, where: str) -> Connectivity:
    """Read the content of one file: included viewpoints, joined if one of the two is unobstructed from the other.

    The length of an edge is the straight line between the two cameras (pose entries 3, 7 and 11).
    """
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
    return Connectivity(scan, names, positions, sources, targets, np.sqrt(x * x + y * y + z * z))


def _members(source: Path, content: bytes) -> Iterator[tuple[str, slice]]:
    """Find the scans in a tar; scans that are not used are never copied."""
    import io

    for member, _ in reading.members(io.BytesIO(content), str(source)):
        name = PurePosixPath(member.name).name
        if name.endswith(SUFFIXES):
            yield name, slice(member.offset_data, member.offset_data + member.size)


def _scan(name: str) -> str:
    for suffix in SUFFIXES:
        name = name.removesuffix(suffix)
    return name
