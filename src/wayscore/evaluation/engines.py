"""Who does the work: this process, processes beside it, or a Dask cluster. All call `score_piece`, and order is free.

A worker that dies costs a retry of what it had, not the run.
"""

from __future__ import annotations

import multiprocessing
import os
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

from wayscore.episodes.targets import Course
from wayscore.errors import MissingPackageError, OptionError, WayscoreError
from wayscore.evaluation.work import Done, Task, score_piece
from wayscore.formats.plan import Piece

Engine: TypeAlias = Callable[[Sequence[Piece], Course, Task], Iterator[tuple[Piece, Done]]]
ENGINES = ("local", "dask")
AHEAD = 2
"""Pieces that wait for every worker, so that none waits for a piece."""
WAIT = 60.0
"""Seconds in which a cluster gets its first worker."""
RETRIES = 3
"""How often a piece is tried again whose worker died."""


def engine_of(name: str, workers: int, scheduler: str | None) -> Engine:
    """Return who does the work.

    Args:
        name: "local" or "dask".
        workers: how many processes; with one and no cluster, this process does it all.
        scheduler: the address of a Dask scheduler; without it, a cluster is started on this machine.
    """
    if name not in ENGINES:
        raise OptionError(f"there is no engine {name!r}; known: {', '.join(ENGINES)}")
    if workers < 1:
        raise OptionError(f"the number of workers must be 1 or more, got {workers}")
    if scheduler is not None and name != "dask":
        raise OptionError("--scheduler is the address of a Dask scheduler; it needs --engine dask")
    if name == "dask":
        return lambda pieces, course, task: _on_dask(pieces, course, task, workers, scheduler)
    if workers == 1:
        return _here
    return lambda pieces, course, task: _beside(pieces, course, task, workers)


def _here(pieces: Sequence[Piece], course: Course, task: Task) -> Iterator[tuple[Piece, Done]]:
    for piece in pieces:
        yield piece, score_piece(piece, course, task)


def _until_done(
    pieces: Sequence[Piece],
    attempt: Callable[[Sequence[Piece]], Iterator[tuple[Piece, Done]]],
    lost: tuple[type[Exception], ...],
) -> Iterator[tuple[Piece, Done]]:
    """Go through pieces as an attempt does; those that are lost with their workers are tried again."""
    left = {piece.number: piece for piece in pieces}
    for _ in range(1 + RETRIES):
        try:
            for piece, done in attempt(list(left.values())):
                del left[piece.number]
                yield piece, done
        except lost:
            continue
        return
    raise WayscoreError(
        f"workers died {1 + RETRIES} times, most likely for want of memory; use fewer --workers or a smaller --chunk "
        "(a script of your own must call this under `if __name__ == '__main__':`, since workers import it)"
    )


def _beside(pieces: Sequence[Piece], course: Course, task: Task, workers: int) -> Iterator[tuple[Piece, Done]]:
    with tempfile.TemporaryDirectory(prefix="wayscore-") as folder:
        mapped = str(Path(folder) / "course")
        Path(mapped).write_bytes(course.to_bytes())
        yield from _until_done(pieces, lambda left: _pooled(left, mapped, task, workers), (BrokenProcessPool,))


def _pooled(pieces: Sequence[Piece], mapped: str, task: Task, workers: int) -> Iterator[tuple[Piece, Done]]:
    coming = iter(pieces)
    spawn = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(min(workers, len(pieces)), mp_context=spawn, initializer=_end_with_parent)
    try:
        running: dict[Future[Done], Piece] = {}
        while True:
            for piece in islice(coming, workers * AHEAD - len(running)):
                running[pool.submit(score_piece, piece, mapped, task)] = piece
            if not running:
                return
            finished, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                yield running.pop(future), future.result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _end_with_parent() -> None:
    """Let this process end when the one that started it does, even by a signal that cannot be caught."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _on_dask(
    pieces: Sequence[Piece], course: Course, task: Task, workers: int, scheduler: str | None
) -> Iterator[tuple[Piece, Done]]:
    try:
        distributed: Any = import_module("distributed")
    except ImportError:
        raise MissingPackageError("--engine dask needs Dask: pip install 'wayscore[cluster]'") from None
    cluster: Any = None
    if scheduler is None:
        os.environ.setdefault("DASK_DISTRIBUTED__LOGGING__DISTRIBUTED", "error")
        cluster = distributed.LocalCluster(
            n_workers=workers, threads_per_worker=1, dashboard_address=":0", host="127.0.0.1", silence_logs=50
        )
    try:
        client = distributed.Client(scheduler or cluster, set_as_default=False)
    except OSError as error:
        raise OptionError(f"no Dask scheduler answers at {scheduler}: {error}") from None
    try:
        lost = (distributed.KilledWorker, CancelledError)  # the course goes with the last worker that had it
        yield from _until_done(pieces, lambda left: _clustered(left, course, task, client), lost)
    finally:
        client.close()
        if cluster is not None:
            cluster.close()


def _clustered(pieces: Sequence[Piece], course: Course, task: Task, client: Any) -> Iterator[tuple[Piece, Done]]:
    distributed: Any = import_module("distributed")
    try:
        client.wait_for_workers(1, timeout=WAIT)
    except TimeoutError:
        raise OptionError(f"the Dask scheduler at {client.scheduler.address} has no workers; start some") from None
    shared = client.scatter(course.to_bytes(), broadcast=True, hash=False)
    coming = iter(pieces)
    running: dict[Any, Piece] = {}
    done = distributed.as_completed(loop=client.loop)

    def submit(count: int) -> None:
        for piece in islice(coming, count):
            future = client.submit(score_piece, piece, shared, task, pure=False, retries=RETRIES)
            running[future] = piece
            done.add(future)

    submit(AHEAD * sum(client.ncores().values()))
    for future in done:
        piece = running.pop(future)
        yield piece, future.result()
        submit(1)
