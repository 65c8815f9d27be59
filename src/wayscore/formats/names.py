"""The names that people give to the columns of their tables, beside wayscore's own."""

from __future__ import annotations

from collections.abc import Collection

NAMES: dict[str, tuple[str, ...]] = {
    "episode": ("episode", "episode_id", "instr_id", "instruction_id", "id"),
    "scene": ("scene", "scene_id", "scan"),
    "path": ("path", "trajectory", "nodes", "viewpoints", "positions"),
}
"""What a column may be called; of several that a table has, the first counts."""


def own_names(columns: Collection[str]) -> dict[str, str]:
    """Return what a table calls the columns that have several names; a `query` is a path already.

    >>> own_names(["instr_id", "nodes", "scan"])
    {'episode': 'instr_id', 'scene': 'scan', 'path': 'nodes'}
    """
    found = {}
    for name, others in NAMES.items():
        own = next((other for other in others if other in columns), None)
        if own is not None and not (name == "path" and own != name and "query" in columns):
            found[name] = own
    return found
