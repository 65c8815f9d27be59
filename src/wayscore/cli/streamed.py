"""Runs too large for memory, for `wayscore score` and `wayscore compare`: when to stream, and how that is shown."""

from __future__ import annotations

import glob
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wayscore.errors import OptionError

if TYPE_CHECKING:
    from wayscore.report import Comparison

LARGE = 64 * 2**20
"""Bytes from which on a table is streamed rather than read at once."""
WorkersOption = Annotated[
    int | None, typer.Option(help="Stream on so many processes; large runs are streamed on all cores anyway.")
]
EngineOption = Annotated[str, typer.Option(help="Who streams: local (processes), or dask (a cluster).")]
SchedulerOption = Annotated[
    str | None, typer.Option(help="Of --engine dask: the scheduler's address; a cluster on this machine by default.")
]
ResumeOption = Annotated[bool, typer.Option("--resume", help="Keep what an interrupted run finished of --episodes.")]
ChunkOption = Annotated[int, typer.Option(help="Rows in a worker's memory at a time, when streaming.")]


def is_stream(run: str, references: object, asked_for: bool) -> bool:
    """Say whether a run is streamed: it is a folder, a pattern, an address or a large table, or it was asked for.

    Args:
        run: the file, folder, pattern or address.
        references: None where rows carry their own, which only streams read.
        asked_for: an option was given that only streams have.
    """
    if asked_for or references is None or "://" in run or os.path.isdir(run):
        return True
    if not os.path.exists(run):
        return glob.has_magic(run)
    return run.endswith((".parquet", ".jsonl", ".ndjson")) and os.path.getsize(run) > LARGE


def score_streams(
    runs: Sequence[str], *, episodes: str | None, workers: int | None, refused: dict[str, Any], **options: Any
) -> list[Any]:
    """Stream runs one after the other and return their summaries.

    Args:
        runs: files, folders, patterns or addresses, one for each agent.
        episodes: where to write the scores; with several runs the run's name is added.
        workers: how many processes; all cores by default.
        refused: options that only runs in memory have, with what was given.
        **options: of `wayscore.bulk.streaming.score_stream`.
    """
    from wayscore.evaluation.runs import names_apart
    from wayscore.evaluation.streaming import name_of, score_stream

    _check(runs, options["references"], refused)
    summaries = []
    options["workers"] = workers or os.cpu_count() or 1
    for run, name in zip(runs, names_apart([name_of(run) for run in runs], runs), strict=True):
        target = episodes
        if episodes is not None and len(runs) > 1:
            stem, ending = os.path.splitext(episodes.rstrip("/"))
            target = f"{stem}-{name.replace('/', '-')}{ending}"
        with rows_bar(name) as progress:
            summaries.append(score_stream(run, episodes=target, name=name, progress=progress, **options))
    return summaries


def compare_streamed(
    runs: Sequence[str], *, workers: int | None, refused: dict[str, Any], **options: Any
) -> Comparison:
    """Stream runs and compare them; the arguments are those of `score_streams` and of `compare_streams`."""
    from wayscore.evaluation.comparing import compare_streams

    _check(runs, options["references"], refused)
    with rows_bar("comparing") as progress:
        return compare_streams(runs, workers=workers or os.cpu_count() or 1, progress=progress, **options)


def _check(runs: Sequence[str], references: object, refused: dict[str, Any]) -> None:
    if given := [option for option, value in refused.items() if value]:
        raise OptionError(
            f"{given[0]} needs the whole run in memory, and this one is streamed; leave it out, or work on the table "
            "that `wayscore score --episodes` writes"
        )
    if references is None and (plain := [run for run in runs if run.endswith((".json", ".json.gz"))]):
        raise OptionError(f"{plain[0]}: what was asked for is missing; give it with --references FILE")


@contextmanager
def rows_bar(name: str) -> Iterator[Callable[[str, int, int], None] | None]:
    """Show a bar of rows on standard error, if that is a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    words = (TextColumn(f"{{task.{part}}}", markup=False) for part in ("description", "fields[told]"))
    columns = (next(words), BarColumn(), next(words), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(name, total=None, told="")

        def advance(what: str, done: int, total: int) -> None:
            told = f"{done:,} of {total:,} rows, {bar.tasks[task].speed or 0:,.0f}/s" if total else ""
            bar.update(task, description=f"{name}: {what}", completed=done, total=total or None, told=told)

        yield advance
