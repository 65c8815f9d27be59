"""`wayscore convert`: any run or reference file to Parquet, which is faster to read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from wayscore.cli import options
from wayscore.cli.options import OneOf
from wayscore.cli.output import progress, say
from wayscore.cli.verb import argument, option, verb
from wayscore.errors import OptionError

UNITS = ("bytes", "kB", "MB", "GB", "TB")


@verb(
    "wayscore convert results.json -o results.parquet",
    "wayscore convert rollouts.jsonl -o rollouts.parquet -r R2R_train.json --check",
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
@option("--check", is_flag=True, help="Check a converted file against its checksums.")
@options.out("File to write; by default FILE's name with the ending .parquet, in the current folder.")
def convert(
    file: str, references: str | None, reader: dict[str, str], kind: Any, check: bool, out: Path | None
) -> None:
    """Convert a result file or references to Parquet, so that large files are read faster and in little memory.

    The new file holds the same rows and can be used wherever the original can. If FILE is JSON lines or Parquet, it may
    be larger than memory. --check without --out only checks a file that was converted earlier.
    """
    from wayscore.formats.convert import check as check_file, convert as convert_file

    if check and out is None:
        _print_checked(check_file(file))
        return
    if wrong := reader.keys() & {"references", "kind", "progress"}:
        raise OptionError(
            f"--reader: there is no setting {min(wrong)!r}; known ones are path_type, language, objects and dense"
        )
    target = out or f"{_stem(file)}.parquet"
    with progress() as tell:
        made = convert_file(
            file,
            target,
            references=references,
            kind=kind,
            progress=lambda done, total: tell("rows", done, total),
            **reader,
        )
    sizes = f"{_size(made.read)} in, {_size(made.written)} out"
    say(f"{made.file}: {made.rows:,} rows of {_what(made.kind)}, {sizes}, sha256 {made.checksum}")
    if check:
        _print_checked(check_file(target))


def _print_checked(checked: Any) -> None:
    what = f"{checked.rows:,} rows of {_what(checked.kind)}, {_size(checked.written)}"
    say(f"{checked.file}: {what}: pages and content are what was written, sha256 {checked.checksum}")


def _what(kind: str) -> str:
    return "a run" if kind == "run" else "references"


def _stem(file: str) -> str:
    from wayscore.formats.files import MEMBER_MARK, Source

    archive, _, member = file.partition(MEMBER_MARK)
    return Source(Path(archive), b"", member).stem


def _size(count: int) -> str:
    """Return a number of bytes with its unit.

    >>> _size(301_200_000), _size(12)
    ('301.2 MB', '12 bytes')
    """
    size, unit = float(count), 0
    while size >= 1000 and unit < len(UNITS) - 1:
        size, unit = size / 1000, unit + 1
    return f"{size:.1f} {UNITS[unit]}" if unit else f"{count} bytes"
