"""Geodesic distance on a navigation mesh, as Habitat's PathFinder measures it."""

from __future__ import annotations

import hashlib
import os
import re
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wayscore import kernels
from wayscore.distances.base import ByScene, Distance, Floats, Places, as_points
from wayscore.distances.navmesh_build import build
from wayscore.distances.navmesh_file import SIZE_LIMIT, parse
from wayscore.errors import FormatError, OptionError, PathError, shortened
from wayscore.paths import PathBatch, Paths, Role, path_name
from wayscore.reading import read_bytes

HABITAT = "0.3.4"
"""The version of habitat-sim whose rules are followed by default: the latest whose source was read."""
POINTS = 256  # more than any path has
ENDINGS = (".navmesh", ".navmesh.gz")
NO_PAIRS, ONE_PAIR = np.empty((0, 2), dtype=np.int32), np.array([[0, 1]], dtype=np.int32)
Singles = NDArray[np.float32]
Numbers = NDArray[np.int32]


class NavMesh(Distance):
    """The length of the path that habitat-sim finds between two points, metres; infinity where it finds none.

    Points are in Habitat's frame: x, y up, z. Each is looked for on the mesh within 2 m sideways and 4 m up and down.
    These are not shortest paths, and they depend on the direction: habitat-sim searches from polygon to polygon through
    the middles of edges, and pulls only the corridor that it found straight. So the search is run for every pair, as
    Detour runs it, in float32, by the native kernels: without a C compiler there is no NavMesh.

    Give it as `distance=` to score a whole path in it. `between(a, b)` measures from `b` to `a`, since metrics put the
    reference first and the simulator measures from the agent; `distance`, `distances` and `pairs` measure from the
    first to the second.

    Args:
        content: of a `.navmesh` file, version 1 or 2; `NavMesh.load` reads one.
        habitat: follow this version of habitat-sim. They differ in when two points are the same (0.3.3), in how borders
            between tiles are rounded (0.3.4; Habitat's own files have one tile) and in what a goal off the mesh does to
            the others (0.2.4). VLN-CE uses 0.1.7.
        source: names the mesh in errors.

    Attributes:
        agent_height: the height of the agent that the mesh was built for, metres.
        agent_radius: its radius, metres.
        agent_climb: the highest step that it climbs, metres.
        islands: how many parts the mesh has that no path connects.
        habitat: the version of habitat-sim that is followed.

    >>> mesh = NavMesh.load("mp3d/17DRP5sb8fy/17DRP5sb8fy.navmesh")  # doctest: +SKIP
    >>> mesh.distance([1, 0, 1], [7, 0, 1])  # doctest: +SKIP
    6.0
    """

    name = "navigation mesh"

    def __init__(self, content: bytes, *, habitat: str = HABITAT, source: str = "navmesh") -> None:
        version = checked_version(habitat)
        file = parse(content, source)
        self.habitat = habitat
        self.source = source
        self._mesh, self.islands = build(file, rounds=version >= (0, 3, 4), where=source)
        self._by_component = int(version >= (0, 3, 3))
        self._skips_goals = version >= (0, 2, 4)
        header = file.tiles[0].header
        self.agent_height, self.agent_radius, self.agent_climb = (
            float(str(header[name]))
            for name in ("height", "radius", "climb")  # 0.1, not the float32 next to it
        )

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, habitat: str = HABITAT) -> NavMesh:
        """Read a `.navmesh` file, gzipped or not."""
        return cls(read_bytes(path, SIZE_LIMIT), habitat=habitat, source=os.fspath(path))

    def __repr__(self) -> str:
        polygons, islands = len(self._mesh.polygons), self.islands
        return f"<NavMesh of {polygons} polygons, {islands} island{'s' * (islands != 1)}>"

    @cached_property
    def fingerprint(self) -> str:  # type: ignore[override]
        """`navmesh-0.3.4#` and eight digits: the version of habitat-sim, and a hash of all that distances depend on."""
        digest = hashlib.sha256()
        for array in self._mesh:
            digest.update(repr(array.shape).encode() + array.tobytes())
        return f"navmesh-{self.habitat}#{digest.hexdigest()[:8]}"

    def agent_warning(self, *, height: float, radius: float) -> str:
        """Return a warning if the mesh was built for an agent of another size, or an empty text.

        R2R-CE's agents have the size of the files that come with the scenes, 1.5 m and 0.1 m. RxR-CE's have 0.88 m and
        0.18 m, for which the simulator builds the mesh again.
        """
        if abs(self.agent_height - height) < 1e-4 and abs(self.agent_radius - radius) < 1e-4:
            return ""
        return (
            f"{self.source}: the mesh was built for an agent of height {self.agent_height:g} m and radius "
            f"{self.agent_radius:g} m, but distances are needed for {height:g} m and {radius:g} m; save the mesh of a "
            "simulator with that agent: sim.pathfinder.save_nav_mesh(path)"
        )

    def distance(self, start: ArrayLike, end: ArrayLike) -> float:
        """Return the distance from a point to another one, or to the nearest of several as Habitat finds it, metres.

        Args:
            start: x, y, z.
            end: x, y, z, or an (m, 3) array of goals.
        """
        points = np.concatenate((_one(start, "start"), _points(end, "end")))
        return float(
            self._search(points, ONE_PAIR)[2][0] if len(points) == 2 else self.distances(points[:1], points[1:])[0]
        )

    def distances(self, points: ArrayLike, goal: ArrayLike) -> Floats:
        """Return the distance from each point of a walk to the goal, metres.

        Args:
            points: (n, 3), in the order of the walk.
            goal: x, y, z, or an (m, 3) array of goals. With several, Habitat leaves goals out that a straight line puts
                farther away than another is, and it remembers along the walk how far they were. Points above the floor
                can be nearer than a straight line, so this is not always the least of the single distances.
        """
        walk, goals = _points(points, "points"), _points(goal, "goal")
        if not len(goals):
            raise PathError("goal must be one or more points (x, y up, z), got none")
        if len(goals) > 1:
            search = Goals(self, goals)
            return np.array([search.nearest(point)[0] for point in walk])
        if not len(walk):
            return np.empty(0)
        moved = np.append(True, (walk[1:] != walk[:-1]).any(axis=1))  # turning on the spot needs no new search
        starts = np.flatnonzero(moved)
        pairs = np.column_stack((np.arange(len(starts)), np.full(len(starts), len(starts))))
        lengths = self._search(np.concatenate((walk[starts], goals)), pairs)[2]
        return np.repeat(lengths, np.diff(starts, append=len(walk)))

    def path(self, start: ArrayLike, end: ArrayLike) -> Floats:
        """Return the points of the path between two points, (k, 3); none where there is no path."""
        points = np.concatenate((_one(start, "start"), _one(end, "end")))
        corners = np.empty((1, POINTS, 3), dtype=np.float32)
        count = self._search(points, ONE_PAIR, corners)[3][0, 2]
        return corners[0, :count].astype(np.float64)

    def snap(self, points: ArrayLike) -> tuple[Floats, Floats]:
        """Return the nearest points of the mesh to (n, 3) points, as Habitat finds them, and how far away they are.

        A point that is too far from the mesh is returned itself, with an infinite distance.
        """
        given = _points(points, "points")
        snapped, polygons, *_ = self._search(given)
        moved = np.sqrt(((snapped.astype(np.float64) - given) ** 2).sum(axis=1))
        return snapped.astype(np.float64), np.where(polygons < 0, np.inf, moved)

    def encode(self, paths: Paths, *, role: Role = "path") -> PathBatch:
        """Check points and return them as one batch."""
        paths = as_points(paths, role)
        if len(paths) and paths.places.shape[1:] != (3,):
            raise PathError(
                f"a NavMesh needs points in space, (x, y up, z) as Habitat has them, but those of {path_name(role, 0)} "
                f"have dimension {paths.places.shape[1]}"
            )
        return paths

    def between(self, a: Places, b: Places) -> Floats:
        """Return the distances (len(a), len(b)) from each point of `b` (the agent's) to each of `a`."""
        goals, rows = np.unique(_singles(a), axis=0, return_inverse=True)
        starts, columns = np.unique(_singles(b), axis=0, return_inverse=True)
        goal, start = np.divmod(np.arange(len(goals) * len(starts)), max(1, len(starts)))
        lengths = self._search(np.concatenate((goals, starts)), np.column_stack((start + len(goals), goal)))[2]
        return np.ascontiguousarray(
            lengths.reshape(len(goals), len(starts))[np.ix_(rows.reshape(-1), columns.reshape(-1))]
        )

    def pairs(self, a: Places, b: Places) -> Floats:
        """Return the distance from each point of `a` to its partner in `b`."""
        numbers = np.arange(len(a))
        return self._search(_singles(np.concatenate((a, b))), np.column_stack((numbers, numbers + len(a))))[2]

    def _search(
        self, points: Singles, pairs: NDArray[Any] = NO_PAIRS, corners: Singles | None = None
    ) -> tuple[Singles, Numbers, Floats, Numbers]:
        """Snap points and search between pairs of them; see the kernel for what is returned."""
        snapped, polygons = np.empty_like(points), np.empty(len(points), dtype=np.int32)
        found = snapped, polygons, np.empty(len(pairs)), np.empty((len(pairs), 3), dtype=np.int32)
        numbers = np.ascontiguousarray(pairs, dtype=np.int32)
        kernels.navmesh_search(self._mesh, points, numbers, self._by_component, *found, corners)
        return found


class Goals:
    """Several goals of one walk, with what Habitat remembers of each: a lower bound of its distance."""

    def __init__(self, mesh: NavMesh, goals: Singles) -> None:
        self.mesh = mesh
        self.goals = goals
        self.bounds = np.zeros(len(goals), dtype=np.float32)
        self.before = np.zeros((1, 3), dtype=np.float32)
        self.on_mesh = mesh._search(goals)[1] >= 0
        if not mesh._skips_goals and not self.on_mesh.all():
            self.on_mesh[:] = False

    def nearest(self, start: Singles) -> tuple[float, int]:
        """Return the distance to the nearest goal and its number: infinity and -1 where none is found."""
        best, number = np.inf, -1
        if not self.on_mesh.any() or self.mesh._search(start[None])[1][0] < 0:
            return best, number
        moved = np.float32(self._length(start, self.before))
        x, y, z = (self.goals - start).T
        self.bounds = np.maximum(self.bounds - moved, np.sqrt(x * x + y * y + z * z))
        self.before = start[None]
        for goal in np.argsort(self.bounds, kind="stable").tolist():
            if self.on_mesh[goal] and not self.bounds[goal] > best:
                length = self._length(start, self.goals[[goal]])
                if length < best:
                    best, number, self.bounds[goal] = length, goal, length
        return best, number

    def _length(self, start: Singles, end: Singles) -> float:
        return float(self.mesh._search(np.concatenate((start[None], end)), ONE_PAIR)[2][0])


def load_navmeshes(path: str | os.PathLike[str], *, habitat: str = HABITAT) -> ByScene[NavMesh]:
    """Find the navigation meshes of a folder, as datasets lay them out: SCENE.navmesh, or SCENE/SCENE.navmesh.

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
    loaders = {scene: partial(NavMesh.load, file, habitat=habitat) for scene, file in files.items()}
    return ByScene(source, loaders, ("navigation mesh of scene", "navigation meshes"))


def checked_version(habitat: str) -> tuple[int, ...]:
    """Return the numbers of a version of habitat-sim."""
    if not isinstance(habitat, str) or not re.fullmatch(r"\d+\.\d+\.\d+", habitat):
        raise OptionError(f'habitat must be a version of habitat-sim such as "0.1.7", got {shortened(habitat)}')
    return tuple(map(int, habitat.split(".")))


def _points(given: ArrayLike, what: str) -> Singles:
    """Return one or more points as Habitat takes them, (n, 3) float32."""
    try:
        array = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise PathError(f"{what} must be numbers (x, y up, z), got {shortened(given)}") from None
    if array.ndim == 1 and array.shape == (3,):
        array = array[None]
    elif array.size == 0:
        array = array.reshape(0, 3)
    if array.ndim != 2 or array.shape[1] != 3:
        raise PathError(f"{what} must be points (x, y up, z), an (n, 3) array, got shape {array.shape}")
    if not np.isfinite(array).all():
        row = int(np.flatnonzero(~np.isfinite(array).all(axis=1))[0])
        raise PathError(f"{what}, point {row}: coordinates must be finite, got {array[row].tolist()}")
    return _singles(array)


def _one(given: ArrayLike, what: str) -> Singles:
    point = _points(given, what)
    if len(point) != 1:
        raise PathError(f"{what} must be one point (x, y up, z), got {len(point)}")
    return point


def _singles(points: Floats) -> Singles:
    with np.errstate(over="ignore"):  # what is too large for float32 is not on the mesh
        return np.ascontiguousarray(points, dtype=np.float32)
