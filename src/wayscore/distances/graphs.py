"""The graphs of many scans, by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from wayscore.distances.graph import Graph
from wayscore.distances.matterport import ScanFiles, find_scans
from wayscore.errors import UnknownSceneError, did_you_mean, shortened


class Graphs(Mapping[str, Graph]):
    """Scan -> Graph; each graph is built when it is first used, and kept."""

    def __init__(self, scans: ScanFiles) -> None:
        self._scans = scans
        self._graphs: dict[str, Graph] = {}

    def __getitem__(self, scan: str) -> Graph:
        if scan not in self._graphs:
            if scan not in self._scans.files:
                raise UnknownSceneError(
                    f"{self._scans.source}: has no scan {shortened(scan)}{did_you_mean(scan, self._scans.files)}"
                )
            self._graphs[scan] = Graph.from_connectivity(self._scans.read(scan))
        return self._graphs[scan]

    def __contains__(self, scan: object) -> bool:
        return scan in self._scans.files

    def __iter__(self) -> Iterator[str]:
        return iter(self._scans.files)

    def __len__(self) -> int:
        return len(self._scans.files)

    def __repr__(self) -> str:
        return f"<{len(self)} graphs of {self._scans.source.name}>"


def load_graphs(path: str | Path) -> Graphs:
    """Find every `<scan>_connectivity.json` in a folder or a tar (compressed or not).

    Returns:
        A mapping from scan to `Graph`, each built when it is first used; lengths in metres.
    """
    return Graphs(find_scans(path))
