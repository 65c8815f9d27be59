"""Readers of what the field writes: references and runs, recognised by their content.

references = load_references("R2R_val_unseen.json.gz")
run = load_run("val_unseen_agent.json")
run = load_run("submissions.tar.gz::agents/a.json")
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from wayscore.episodes import References, Run
from wayscore.formats.base import MEMBER_MARK, Fault, Format, read
from wayscore.formats.chunks import plan_run
from wayscore.formats.sniff import FORMATS, choose, read_with

__all__ = ["FORMATS", "Fault", "Format", "load_references", "load_run"]


def load_references(
    path: str | os.PathLike[str],
    format: str | None = None,  # noqa: A002 - what every reader calls it
    *,
    member: str | None = None,
    **options: Any,
) -> References:
    """Read the references of a file.

    Args:
        path: the file, gzipped or not; `archive.tar.gz::name` reads one member of a tar.
        format: how it is written (`r2r`, `r4r`, `rxr`, `ndh`, `reverie`, `vlnce`, `street`, `table`, or a
            plug-in's name); by default it is recognised by the file's beginning.
        member: the member of a tar to read, instead of `::name`.
        **options: what the format offers: `language` of rxr and vlnce, `path_type` of ndh, `objects` of reverie,
            `dense` and `names` of vlnce, `up_axis` of table.

    Raises:
        FormatError: the file is missing, damaged, too large, or of another kind.
        OptionError: the format or the option is unknown.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = os.path.join(folder, "mine.jsonl")
    ...     with open(file, "w") as stream:
    ...         _ = stream.write('{"episode": "e1", "scene": "s", "path": ["a", "b"]}')
    ...     load_references(file).episodes["e1"].path
    ['a', 'b']
    """
    source = read(path, member)
    form = choose(source, "references", format, FORMATS)
    references = read_with(form, source, "references", options, FORMATS)
    assert isinstance(references, References)
    if options:  # they change numbers, so they go into the name that signatures print; files by name only
        given = (f"{name}={Path(v).name if isinstance(v, os.PathLike | str) else v}" for name, v in options.items())
        references = replace(references, name=f"{references.name}({','.join(given)})")
    return references


def load_run(
    path: str | os.PathLike[str],
    format: str | None = None,  # noqa: A002
    *,
    member: str | None = None,
    faults: list[Fault] | None = None,
) -> Run:
    """Read the run of one agent.

    Args:
        path: the file, gzipped or not, a folder or a pattern; `archive.tar.gz::name` reads one member of a tar.
        format: how it is written; by default it is recognised by the file's beginning.
        member: the member of a tar to read, instead of `::name`.
        faults: a list that receives what is wrong with single records, which are left out then; without it, the first
            is an error.

    Raises:
        FormatError: the file is missing, damaged, too large, or of another kind.
        OptionError: the format is unknown.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = os.path.join(folder, "agent.json")
    ...     with open(file, "w") as stream:
    ...         _ = stream.write('[{"instr_id": "4332_1", "trajectory": [["a", 0.5, 0.0], ["b", 0.1, 0.0]]}]')
    ...     run = load_run(file)
    >>> run.name, run.format, run.queries["4332_1"].path
    ('agent', 'r2r', ['a', 'b'])
    """
    plan = plan_run(path if member is None else f"{os.fspath(path)}{MEMBER_MARK}{member}", format)
    return Run(plan.name, plan.format, [query for batch in plan.batches(faults) for query in batch.to_queries()])
