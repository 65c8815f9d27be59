"""Matterport3D connectivity files, read into plain arrays: one JSON file per scan, in a folder or a tar.

Nothing is unpacked to disk, and a file that is larger than `SIZE_LIMIT` after decompression is refused.
"""

from __future__ import annotations

import io
import tarfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from wayscore.errors import DistanceError, FormatError, did_you_mean, shortened

SUFFIXES = ("_connectivity.json", "_connectivity.json.gz")
SIZE_LIMIT = 2**30
"""Bytes that a file may have after decompression; the 90 scans of Matterport3D have 13 million together."""


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
        content = _unpacked(self.content[file], where) if isinstance(file, slice) else _read(file)
        return parse(content, scan, where)


def find_scans(path: str | Path) -> ScanFiles:
    """Find every `<scan>_connectivity.json` in a folder or a tar (compressed or not)."""
    source = Path(path)
    found: Iterator[tuple[str, Path | slice]]
    content = b""
    if source.is_dir():
        found = ((file.name, file) for file in sorted(source.iterdir()) if file.name.endswith(SUFFIXES))
    elif source.is_file():
        content = _read(source)
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
        return parse(_read(source), scan or _scan(source.name), str(source))
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
    except msgspec.DecodeError as error:
        raise FormatError(f"{where}: not a connectivity file: {error}") from None
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
    try:
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as archive:
            for member in archive:
                name = PurePosixPath(member.name).name
                if member.isfile() and name.endswith(SUFFIXES):
                    yield name, slice(member.offset_data, member.offset_data + member.size)
    except tarfile.TarError as error:
        raise FormatError(f"{source}: not a readable tar of connectivity files: {error}") from None


def _read(file: Path) -> bytes:
    try:
        return _unpacked(file.read_bytes(), str(file))
    except OSError as error:
        raise FormatError(f"{file}: cannot be read: {error}") from None


def _bz2() -> Any:
    import bz2  # few files need it

    return bz2.BZ2Decompressor()


def _lzma() -> Any:
    import lzma

    return lzma.LZMADecompressor()


UNPACKERS: Mapping[bytes, tuple[str, Callable[[], Any]]] = {
    b"\x1f\x8b": ("gzip", lambda: zlib.decompressobj(wbits=31)),
    b"BZh": ("bz2", _bz2),
    b"\xfd7zXZ": ("lzma", _lzma),
}
"""The first bytes of a compressed file -> the name of its format, and a decompressor of one stream."""


def _unpacked(content: bytes, where: str) -> bytes:
    """Decompress the content if it is compressed, with one call per stream: a file object would be slower."""
    kind, start = next((found for magic, found in UNPACKERS.items() if content.startswith(magic)), ("", None))
    if start is None:
        return content
    parts: list[bytes] = []
    room = SIZE_LIMIT + 1
    try:
        while content and room > 0:
            unpacker = start()
            parts.append(unpacker.decompress(content, room))
            room -= len(parts[-1])
            if not unpacker.eof and room > 0:
                raise EOFError("it ends too early")  # noqa: TRY301
            content = unpacker.unused_data.lstrip(b"\0")  # padding, as tape archives have it
    except Exception as error:  # each library has its own
        raise FormatError(f"{where}: is damaged {kind} ({error}); copy or download it again") from None
    if room <= 0:
        raise FormatError(
            f"{where}: has more than {SIZE_LIMIT >> 20} MiB after decompression; no real connectivity file is so large"
        )
    return b"".join(parts)


def _scan(name: str) -> str:
    for suffix in SUFFIXES:
        name = name.removesuffix(suffix)
    return name
