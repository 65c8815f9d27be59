"""`wayscore convert`: any run or reference file to Parquet, which is faster to read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from wayscore.cli import options
from wayscore.cli.app import argument, option, verb
from wayscore.cli.options import OneOf
from wayscore.cli.output import progress, say
from wayscore.errors import OptionError

UNITS = ("bytes", "kB", "MB", "GB", "TB")


@verb(
    "wayscore convert results.json -o results.parquet",
    "wayscore convert rollouts.jsonl -o rollouts.parquet -r R2R_train.json",
)
@argument("file", help="Result file or references, in any format.")
@options.references(required=False, note="; for a run, they add the scene of each row.")
@options.reader
@option(
    "--as",
    "kind",
    type=OneOf(["run", "references"]),
    section="Data",
    help="Whether FILE is a run or references, if it is a table that could be both.",
)
@options.out("File to write; by default FILE's name with the ending .parquet, in the current folder.")
def convert(file: str, references: str | None, reader: dict[str, str], kind: Any, out: Path | None) -> None:
    """Convert a result file or references to Parquet, so that large files are read faster and in little memory.

    The new file holds the same rows and can be used wherever the original can. If FILE is JSON lines or Parquet, it may
    be larger than memory.
    """
    from wayscore.formats.convert import convert as convert_file
    from wayscore.formats.files import MEMBER_MARK, Source

    if wrong := reader.keys() & {"references", "kind", "progress"}:
        raise OptionError(
            f"--reader: there is no setting {min(wrong)!r}; known ones are path_type, language, objects and dense"
        )
    archive, _, member = file.partition(MEMBER_MARK)
    target = out or f"{Source(Path(archive), b'', member).stem}.parquet"
    with progress() as tell:
        made = convert_file(
            file,
            target,
            references=references,
            kind=kind,
            progress=lambda done, total: tell("rows", done, total),
            **reader,
        )
    what = "a run" if made.kind == "run" else "references"
    say(f"{made.file}: {made.rows:,} rows of {what}, {_size(made.read)} in, {_size(made.written)} out")


def _size(count: int) -> str:
    """Return a number of bytes with its unit.

    >>> _size(301_200_000), _size(12)
    ('301.2 MB', '12 bytes')
    """
    size, unit = float(count), 0
    while size >= 1000 and unit < len(UNITS) - 1:
        size, unit = size / 1000, unit + 1
    return f"{size:.1f} {UNITS[unit]}" if unit else f"{count} bytes"
