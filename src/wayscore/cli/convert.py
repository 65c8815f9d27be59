"""`wayscore convert`: any run or reference file to Parquet, once, for bulk work."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from wayscore.cli.score import ReaderOption, progress_bar, reader_settings
from wayscore.errors import OptionError

UNITS = ("bytes", "kB", "MB", "GB", "TB")


def convert(
    file: Annotated[str, typer.Argument(help="A result file, or references.", show_default=False)],
    out: Annotated[
        str | None, typer.Option("--out", "-o", help="The .parquet file to write; the file's name by default.")
    ] = None,
    references: Annotated[
        str | None, typer.Option("--references", "-r", help="What the run answers, so that rows say their scene.")
    ] = None,
    kind: Annotated[
        str | None, typer.Option("--as", help="run or references, where a table with a scene could be both.")
    ] = None,
    reader: ReaderOption = None,
    rows: Annotated[int, typer.Option(help="Records in memory at a time.")] = 100_000,
    resume: Annotated[bool, typer.Option("--resume", help="Go on where a run of this command was stopped.")] = False,
    check: Annotated[bool, typer.Option("--check", help="Compare a converted file with its checksums.")] = False,
) -> None:
    """Convert a result file or references to Parquet, once, for work with many episodes.

    The new file holds the same rows, can be read a piece at a time, and goes wherever the original did. That may be
    larger than memory if it is JSON lines, an array of records, CSV or Parquet. Work that was stopped leaves its parts
    beside the result, and goes on with --resume.

    Example: wayscore convert results.json -o results.parquet

    Args:
        file: a result file or references, in any format.
        out: the file to write; by default the file's name with .parquet, in this folder.
        references: what the run answers: each row gets its scene, and labels are numbered scene by scene.
        kind: run or references. A table with a scene is references, unless it has a column `stopped` or references are
            given.
        reader: settings of the references' reader, each as name=value; can be given several times.
        rows: how many records are in memory at a time.
        resume: keep the parts that were finished before, if the file and the settings are still the same.
        check: without --out, only read a converted file and say whether it is what was written; with it, do so after
            converting.
    """
    from wayscore.formats.convert import check as check_file
    from wayscore.formats.convert import convert as convert_file

    if check and out is None:
        _tell_checked(check_file(file))
        return
    chosen: Any = kind
    settings = reader_settings(reader)
    if wrong := settings.keys() & {"references", "kind", "rows", "resume", "progress"}:
        raise OptionError(f"no reader has a setting {min(wrong)!r}; some are path_type, language, objects and dense")
    target = out or f"{_stem(file)}.parquet"
    with progress_bar(100) as advance:
        shown = 0

        def told(share: float, count: int) -> None:
            nonlocal shown
            while shown < min(100, int(100 * share)):
                advance(f"{count:,} rows")
                shown += 1

        made = convert_file(
            file,
            target,
            references=references,
            kind=chosen,
            rows=rows,
            resume=resume,
            progress=told,
            **settings,
        )
    sizes = f"{_size(made.read)} in, {_size(made.written)} out"
    kept = f" ({made.kept} part{'' if made.kept == 1 else 's'} kept)" if made.kept else ""
    typer.echo(f"{made.file}: {made.rows:,} rows of {_what(made.kind)}{kept}, {sizes}, sha256 {made.checksum}")
    if check:
        _tell_checked(check_file(target))


def _tell_checked(checked: Any) -> None:
    what = f"{checked.rows:,} rows of {_what(checked.kind)}, {_size(checked.written)}"
    typer.echo(f"{checked.file}: {what}: pages and content are what was written, sha256 {checked.checksum}")


def _what(kind: str) -> str:
    return "a run" if kind == "run" else "references"


def _stem(file: str) -> str:
    from wayscore.formats.files import MEMBER_MARK, Source

    archive, _, member = file.partition(MEMBER_MARK)
    return Source(Path(archive), b"", member).stem


def _size(count: int) -> str:
    """Return a number of bytes in words.

    >>> _size(301_200_000), _size(12)
    ('301.2 MB', '12 bytes')
    """
    size, unit = float(count), 0
    while size >= 1000 and unit < len(UNITS) - 1:
        size, unit = size / 1000, unit + 1
    return f"{size:.1f} {UNITS[unit]}" if unit else f"{count} bytes"
