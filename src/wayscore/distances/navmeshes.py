"""The navigation meshes of many scenes, by name."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from wayscore.distances.navmesh import HABITAT, NavMesh, checked_version
from wayscore.errors import FormatError, UnknownSceneError, did_you_mean, shortened

ENDINGS = (".navmesh", ".navmesh.gz")


class NavMeshes(Mapping[str, NavMesh]):
    """Scene -> NavMesh; each file is read when it is first used, and kept."""

    def __init__(self, source: Path, files: Mapping[str, Path], habitat: str) -> None:
        self._source, self._files, self._habitat = source, files, habitat
        self._meshes: dict[str, NavMesh] = {}

    def __getitem__(self, scene: str) -> NavMesh:
        if scene not in self._meshes:
            if scene not in self._files:
                raise UnknownSceneError(
                    f"{self._source}: has no navigation mesh of scene {shortened(scene)}"
                    f"{did_you_mean(scene, self._files)}"
                )
            self._meshes[scene] = NavMesh.load(self._files[scene], habitat=self._habitat)
        return self._meshes[scene]

    def __contains__(self, scene: object) -> bool:
        return scene in self._files

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)

    def __repr__(self) -> str:
        return f"<{len(self)} navigation meshes of {self._source.name}>"


def load_navmeshes(path: str | os.PathLike[str], *, habitat: str = HABITAT) -> NavMeshes:
    """Find the navigation meshes of a folder, as datasets lay them out: SCENE.navmesh, or SCENE/SCENE.navmesh.

    Args:
        path: the folder.
        habitat: see `NavMesh`.

    Returns:
        A mapping from scene to `NavMesh`, each read when it is first used.
    """
    source = Path(path)
    checked_version(habitat)
    if not source.is_dir():
        raise FormatError(f"{source}: is not a folder; expected one with files SCENE.navmesh or SCENE/SCENE.navmesh")
    files: dict[str, Path] = {}
    for file in (*sorted(source.iterdir()), *sorted(source.glob("*/*.navmesh*"))):
        scene = next((file.name.removesuffix(ending) for ending in ENDINGS if file.name.endswith(ending)), "")
        if scene and file.is_file() and (file.parent == source or file.parent.name == scene):
            if scene in files:
                raise FormatError(
                    f"{source}: has two navigation meshes of scene {shortened(scene)}, {files[scene].name} and "
                    f"{file.relative_to(source)}; keep one of them"
                )
            files[scene] = file
    if not files:
        raise FormatError(f"{source}: holds no file named SCENE.navmesh or SCENE/SCENE.navmesh")
    return NavMeshes(source, files, habitat)
