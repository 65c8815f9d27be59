"""Every number of a search on a navigation mesh against Detour's own answers, where there are golden values."""

from __future__ import annotations

import struct
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import wayscore as ws
from tests.conftest import read_json
from tests.navmeshes import search
from tests.oracles import navmesh_search
from wayscore import kernels
from wayscore.distances.navmesh import Goals
from wayscore.distances.navmesh_build import build
from wayscore.distances.navmesh_file import parse

MESHES = (
    "corridors flags forest house islands plan10 plan30 plan60 ramp room snake stairs thin tiled-mixed tiled"
).split()
OUTCOMES = dict(
    zip(
        "ok same no_start no_end island partial out_of_nodes too_long".split(), (0, 1, 2, 4, 8, 16, 32, 64), strict=True
    )
)


def length_of(value: float | None) -> float:
    """A length as the golden files have it."""
    return np.inf if value is None else float(np.float32(value))


def golden_differences(file: Path, module: ModuleType, most: int | None = None) -> list[str]:
    """Compare every number that Detour gave for the pairs of a mesh."""
    content = file.read_bytes()
    parsed = parse(content, file.name)
    mesh, islands = build(parsed, rounds=True, where=file.name)
    data = read_json(file.with_name(f"{file.stem}.pairs.json.gz"))
    assert (parsed.version, len(parsed.tiles), len(mesh.polygons)) == (data["version"], data["tiles"], data["polygons"])
    assert islands == data["islands"]
    pairs = data["pairs"][:: 1 if most is None else max(1, len(data["pairs"]) // most)]
    count = len(pairs)
    points = np.array([pair[end] for end in "se" for pair in pairs], dtype=np.float32)
    numbers = np.column_stack((np.arange(count), np.arange(count, 2 * count)))
    snapped, polygons, lengths, outcomes, paths = search(module, mesh, points, numbers)
    most_tiles, most_polygons = struct.unpack_from("<2i", content, 32)
    bits, tile_bits = (most_polygons - 1).bit_length(), (most_tiles - 1).bit_length()
    firsts = np.cumsum([0, *(len(tile.polygons) for tile in parsed.tiles)])
    slots = {tile.slot: int(first) for tile, first in zip(parsed.tiles, firsts, strict=False)}

    def polygon(reference: int) -> int:
        slot = reference >> bits & (1 << tile_bits) - 1
        return slots[slot] + (reference & (1 << bits) - 1) if reference else -1

    differences = []
    for row, pair in enumerate(pairs):
        for which, end in zip((row, count + row), "se", strict=True):
            if polygon(pair[f"{end}p"]) != polygons[which]:
                differences.append(f"{file.stem} {row} {pair['k']}: polygon of {end}")
            if pair[f"{end}s"] is not None and np.float32(pair[f"{end}s"]).tolist() != snapped[which].tolist():
                differences.append(f"{file.stem} {row} {pair['k']}: snapped {end}")
        outcome, corridor, corners = outcomes[row].tolist()
        wanted = sum(OUTCOMES[word] for word in pair["st"].split("+"))
        if outcome & 16:  # of a path that was not found we do not know how long it is
            wanted &= ~64
        path = paths[row, :corners].tolist()
        if length_of(pair["d"]) != lengths[row] or outcome != wanted or path != np.float32(pair["path"]).tolist():
            differences.append(f"{file.stem} {row} {pair['k']}: {lengths[row]} for {pair['d']}, {outcome} for {wanted}")
        if pair["d"] is not None and corridor != pair["n"]:
            differences.append(f"{file.stem} {row} {pair['k']}: {corridor} polygons for {pair['n']}")
    return differences


@pytest.mark.parametrize("name", MESHES)
def test_every_bit_of_detours_answers(golden: Path, name: str) -> None:
    assert golden_differences(golden / f"navmesh/{name}.navmesh", kernels) == []


@pytest.mark.parametrize("name", ["room", "stairs", "thin", "flags", "tiled-mixed"])
def test_every_bit_of_the_oracle(golden: Path, name: str) -> None:
    assert golden_differences(golden / f"navmesh/{name}.navmesh", navmesh_search, most=60) == []


@pytest.mark.parametrize("name", MESHES)
def test_distances_of_golden_pairs(golden: Path, name: str) -> None:
    file = golden / f"navmesh/{name}.navmesh"
    pairs = read_json(file.with_name(f"{name}.pairs.json.gz"))["pairs"]
    starts, ends = (np.array([pair[end] for pair in pairs]) for end in "se")
    assert ws.NavMesh.load(file).pairs(starts, ends).tolist() == [length_of(pair["d"]) for pair in pairs]
    if not name.startswith("tiled"):  # borders between tiles were rounded differently, too
        older = [length_of(pair.get("d17", pair["d"])) for pair in pairs]
        assert ws.NavMesh.load(file, habitat="0.1.7").pairs(starts, ends).tolist() == older


@pytest.mark.parametrize("name", MESHES)
def test_several_goals_as_habitat_searches_them(golden: Path, name: str) -> None:
    file = golden / f"navmesh/{name}.navmesh"
    mesh = ws.NavMesh.load(file)
    for asked in read_json(file.with_name(f"{name}.pairs.json.gz"))["multi"]:
        wanted = [length_of(length) for length in asked["d"]]
        goals = Goals(mesh, np.array(asked["ends"], dtype=np.float32))
        found = [goals.nearest(np.array(start, dtype=np.float32)) for start in asked["starts"]]
        assert found == list(zip(wanted, asked["goal"], strict=True))
        assert mesh.distances(asked["starts"], asked["ends"]).tolist() == wanted
        assert mesh.distance(asked["starts"][0], asked["ends"]) == wanted[0]
