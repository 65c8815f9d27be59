"""What arguments name: the runs `[NAME=]RUN` of each agent, references and graphs."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wayscore.convention import Convention
    from wayscore.episodes import References


def named_runs(arguments: Iterable[str]) -> list[tuple[str | None, str]]:
    """Return the name, if one is given, and the file of each argument.

    Files of one name in several folders get names that differ, so that they are not taken for runs of one agent.

    >>> named_runs(["A=a.json", "A=b.json", "agent.json"])
    [('A', 'a.json'), ('A', 'b.json'), (None, 'agent.json')]
    >>> named_runs(["old/results.json", "new/results.json"])
    [('old/results', 'old/results.json'), ('new/results', 'new/results.json')]
    """
    from wayscore.evaluation.result import names_apart

    parted = [split_name(argument) for argument in arguments]
    unnamed = [place for name, place in parted if name is None]
    folders = (os.path.basename(os.path.dirname(os.path.abspath(place))) for place in unnamed)
    apart = iter(names_apart([stem(place) for place in unnamed], folders))
    runs: list[tuple[str | None, str]] = []
    for name, place in parted:
        wanted = next(apart) if name is None else name
        runs.append((None if name is None and wanted == stem(place) else wanted, place))
    return runs


def split_name(argument: str) -> tuple[str | None, str]:
    """Return the name and the file of NAME=FILE; a file whose own name has "=" in it is just that.

    >>> split_name("A=a.json"), split_name("sweep/lr=0.1/results.json"), split_name("s3://runs/lr=1.json")
    (('A', 'a.json'), (None, 'sweep/lr=0.1/results.json'), (None, 's3://runs/lr=1.json'))
    """
    name, equals, place = argument.partition("=")
    if not equals or not name or not place or "/" in name or os.sep in name:
        return None, argument
    import glob

    if os.path.exists(argument) or (glob.has_magic(argument) and glob.glob(argument)):
        return None, argument
    return name, place


def by_agent(runs: Sequence[tuple[str | None, str]]) -> list[tuple[str | None, list[str]]]:
    """Return each agent with its runs: those of one name are runs of one agent.

    >>> by_agent([("A", "a.json"), (None, "x.json"), ("A", "b.json")])
    [('A', ['a.json', 'b.json']), (None, ['x.json'])]
    """
    agents: dict[str, tuple[str | None, list[str]]] = {}
    for name, place in runs:
        agents.setdefault(place if name is None else f"{name}=", (name, []))[1].append(place)
    return list(agents.values())


def stem(place: str) -> str:
    """Return a file's name without folder and endings.

    >>> stem("runs/agent.json.gz"), stem("runs/agent/")
    ('agent', 'agent')
    """
    name = os.path.basename(place.rstrip("/")).removesuffix(".gz")
    return os.path.splitext(name)[0]


def with_name(target: str, name: str) -> str:
    """Return a file's name with a run's name added.

    >>> with_name("out/scores.parquet", "a/b")
    'out/scores-a-b.parquet'
    """
    start, ending = os.path.splitext(target.rstrip("/"))
    return f"{start}-{file_name(name)}{ending}"


def file_name(name: str) -> str:
    """Return a run's name as part of a file's, on any system.

    >>> file_name("a/b: lr=0.1")
    'a-b- lr=0.1'
    """
    return re.sub(r'[/\\:*?"<>|]', "-", name)


def load(
    references: str, graphs: str | None, reader: dict[str, str], convention: Any = "paper"
) -> tuple[References, Any]:
    """Return the references and the distances of their scenes, None for Euclidean."""
    from wayscore.formats import load_references
    from wayscore.formats.graphs import distances_for

    found = load_references(references, **reader)
    return found, distances_for(found, graphs, convention)


def with_path_step(convention: str | None, step: float | None) -> str | Convention | None:
    """Return a convention that lays points at this step along paths of coordinates, if one is given."""
    from dataclasses import replace

    from wayscore.convention.presets import find_convention

    return convention if step is None else replace(find_convention(convention), path_step=step)
