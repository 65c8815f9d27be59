"""Matterport3D connectivity: one JSON file a scan, in a directory or a tar, read when first asked for."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path, PurePosixPath

import msgspec
import numpy as np

from wayscore.distances.graph import Graph
from wayscore.errors import DistanceError, FormatError, UnknownSceneError, did_you_mean

SUFFIXES = ("_connectivity.json", "_connectivity.json.gz")
PACKERS = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\xfd7zXZ": "lzma"}
"""How a compressed file begins -> the module that decompresses it."""


class Viewpoint(msgspec.Struct):
    """One panorama: its name, camera pose (4 x 4, row by row, metres), and which others can be walked to."""

    image_id: str
    pose: list[float]
    included: bool
    unobstructed: list[bool]


class Graphs(Mapping[str, Graph]):
    """Scan id -> Graph; each graph is built when first asked for and kept."""

    def __init__(self, source: Path, files: Mapping[str, Path | slice], content: bytes = b"") -> None:
        """Take a file for each scan, or the part of a tar's content that is its file."""
        self._source = source
        self._files = files
        self._content = content
        self._graphs: dict[str, Graph] = {}

    def __getitem__(self, scan: str) -> Graph:
        if scan not in self._graphs:
            if scan not in self._files:
                raise UnknownSceneError(f"{self._source}: has no scan {scan!r}{did_you_mean(scan, self._files)}")
            file = self._files[scan]
            where = f"{self._source}: {scan}"
            content = _unpacked(self._content[file], where) if isinstance(file, slice) else _read(file)
            self._graphs[scan] = parse(content, scan, where)
        return self._graphs[scan]

    def __contains__(self, scan: object) -> bool:
        return scan in self._files

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)

    def __repr__(self) -> str:
        return f"<{len(self)} graphs of {self._source.name}>"


def load_graphs(path: str | Path) -> Graphs:
    """Find every `<scan>_connectivity.json` in a directory or a tar (compressed or not).

    Returns:
        A mapping from scan id to `Graph`, each built when first asked for; lengths in metres.
    """
    source = Path(path)
    if source.is_dir():
        found = {file.name: file for file in sorted(source.iterdir()) if file.name.endswith(SUFFIXES)}
        files: dict[str, Path | slice] = {_scan(name): file for name, file in found.items()}
        content = b""
    elif source.is_file():
        content = _read(source)
        files = dict(_members(source, content))
    else:
        raise FormatError(f"{source}: no such file or directory; expected connectivity files or a tar of them")
    if not files:
        raise FormatError(f"{source}: holds no file named <scan>_connectivity.json")
    return Graphs(source, files, content)


def load_graph(path: str | Path, scan: str | None = None) -> Graph:
    """Read one scan's graph from its JSON file, or from a directory or tar that holds `scan`."""
    source = Path(path)
    if source.is_file() and source.name.endswith((".json", ".json.gz")):
        return parse(_read(source), scan or _scan(source.name), str(source))
    graphs = load_graphs(source)
    if scan is None:
        raise FormatError(
            f"{source}: holds {len(graphs)} scans; say which with scan=, for example {next(iter(graphs))!r}"
        )
    if scan not in graphs:
        raise FormatError(f"{source}: has no scan {scan!r}{did_you_mean(scan, graphs)}")
    return graphs[scan]


def parse(content: bytes, scan: str, where: str) -> Graph:
    """Build the graph of one scan: included viewpoints, joined where both see an unobstructed way.

    An edge is as long as the straight line between the two cameras (pose entries 3, 7 and 11).
    """
    try:
        viewpoints = msgspec.json.decode(content, type=list[Viewpoint])
    except msgspec.DecodeError as error:
        raise FormatError(f"{where}: not a connectivity file: {error}") from None
    count = len(viewpoints)
    for viewpoint in viewpoints:
        if len(viewpoint.pose) != 16 or len(viewpoint.unobstructed) != count:
            raise FormatError(
                f"{where}: viewpoint {viewpoint.image_id!r} has {len(viewpoint.pose)} pose values and "
                f"{len(viewpoint.unobstructed)} unobstructed flags; expected 16 and {count}"
            )
    included = np.array([viewpoint.included for viewpoint in viewpoints], dtype=bool)
    if not included.any():
        raise DistanceError(f"{where}: no viewpoint is included, so there is no graph")
    positions = np.array([[v.pose[3], v.pose[7], v.pose[11]] for v in viewpoints])[included]
    flags = b"".join(bytes(viewpoint.unobstructed) for viewpoint in viewpoints)  # lists would take thrice as long
    walkable = np.frombuffer(flags, dtype=bool).reshape(count, count)[included][:, included]
    if not np.isfinite(positions).all():
        raise FormatError(f"{where}: a camera position is not finite")
    sources, targets = (ends.astype(np.int32) for ends in np.nonzero(np.triu(walkable | walkable.T, k=1)))
    difference = positions[sources] - positions[targets]
    x, y, z = difference.T
    return Graph(
        [viewpoint.image_id for viewpoint in viewpoints if viewpoint.included],
        sources,
        targets,
        np.sqrt(x * x + y * y + z * z),
        positions=positions,
        name=f"scan {scan}",
    )


def _members(source: Path, content: bytes) -> Iterator[tuple[str, slice]]:
    """Find the scans in a tar; those that nobody asks for are not copied out of it."""
    try:
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as archive:
            for member in archive:
                name = PurePosixPath(member.name).name
                if member.isfile() and name.endswith(SUFFIXES):
                    yield _scan(name), slice(member.offset_data, member.offset_data + member.size)
    except tarfile.TarError as error:
        raise FormatError(f"{source}: not a readable tar of connectivity files: {error}") from None


def _read(file: Path) -> bytes:
    try:
        return _unpacked(file.read_bytes(), str(file))
    except OSError as error:
        raise FormatError(f"{file}: cannot be read: {error}") from None


def _unpacked(content: bytes, where: str) -> bytes:
    """Decompress what is compressed, at once: as a stream it would take longer."""
    packer = next((name for magic, name in PACKERS.items() if content.startswith(magic)), None)
    if packer is None:
        return content
    try:
        unpacked: bytes = import_module(packer).decompress(content)
    except Exception as error:  # each has its own
        raise FormatError(f"{where}: is damaged {packer} ({error}); copy or download it again") from None
    return unpacked


def _scan(name: str) -> str:
    for suffix in SUFFIXES:
        name = name.removesuffix(suffix)
    return name
