"""Who does the work: threads, processes, or a Dask cluster; what comes back comes in order.

Threads share what is in memory and start at once, but Python's own code runs in one of them at a time. So they score
Parquet, whose rows never become Python's values; processes do what is written in Python. A process that dies costs a
retry of what it had, not the run.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from wayscore.distances.function import Function
from wayscore.errors import MissingPackageError, OptionError, WayscoreError, check_count
from wayscore.evaluation.match import Matcher
from wayscore.evaluation.work import Task
from wayscore.formats.pieces import Piece

T = TypeVar("T")
Work: TypeAlias = Callable[[Piece, Any, Task], T]
"""What is done with a piece: `score_piece` or `scan_piece`."""
ENGINES = ("local", "dask")
AHEAD = 2
"""Pieces that wait for every worker, so that none waits for a piece."""
MOST_WORKERS = 1024
"""More threads or processes than any machine has cores are a slip of the keyboard."""
WAIT = 60.0
"""Seconds in which a cluster gets its first worker."""
RETRIES = 3
"""How often a piece is tried again whose worker died."""


class Engine:
    """Maps a function over the pieces of a run.

    Args:
        name: "local" or "dask".
        workers: how many threads or processes; with one and no cluster, this thread does it all.
        scheduler: the address of a Dask scheduler; without it, a cluster is started on this machine.
    """

    def __init__(self, name: str = "local", workers: int = 1, scheduler: str | None = None) -> None:
        if name not in ENGINES:
            raise OptionError(f"<<engine>> must be {' or '.join(ENGINES)}, not {name!r}")
        check_count("workers", workers, most=MOST_WORKERS)
        if scheduler is not None and name != "dask":
            raise OptionError("<<scheduler>> is the address of a Dask scheduler; it needs <<engine=dask>>")
        self.name = name
        self.workers = workers
        self.scheduler = scheduler

    def map(self, work: Work[T], pieces: Sequence[Piece], matcher: Matcher, task: Task) -> Iterator[T]:
        """Go through what the work returns for each piece, in their order."""
        if self.name == "dask":
            return self._on_dask(work, pieces, matcher, task)
        if min(self.workers, len(pieces)) <= 1:
            return (work(piece, matcher, task) for piece in pieces)
        if _is_python(pieces, matcher, task):
            return self._in_processes(work, pieces, matcher, task)
        return self._in_threads(work, pieces, matcher, task)

    def _in_threads(self, work: Work[T], pieces: Sequence[Piece], matcher: Matcher, task: Task) -> Iterator[T]:
        from concurrent.futures import ThreadPoolExecutor

        idle = [Matcher(matcher.targets) for _ in range(self.workers)]  # each keeps what it looked up, unshared

        def score(piece: Piece) -> T:
            mine = idle.pop()
            try:
                return work(piece, mine, task)
            finally:
                idle.append(mine)

        pool = ThreadPoolExecutor(min(self.workers, len(pieces)))
        try:
            yield from _in_order(pieces, lambda piece: pool.submit(score, piece), self.workers * AHEAD)
        finally:
            pool.shutdown(wait=True, cancel_futures=True)

    def _in_processes(self, work: Work[T], pieces: Sequence[Piece], matcher: Matcher, task: Task) -> Iterator[T]:
        import tempfile  # what small runs do without is not loaded
        from concurrent.futures.process import BrokenProcessPool

        _check_metrics(task)
        with tempfile.TemporaryDirectory(prefix="wayscore-") as folder:
            mapped = str(Path(folder) / "targets")
            Path(mapped).write_bytes(matcher.targets.to_bytes())

            def attempt(left: Sequence[Piece]) -> Iterator[T]:
                with processes(min(self.workers, len(left))) as submit:
                    yield from _in_order(left, lambda piece: submit(work, piece, mapped, task), self.workers * AHEAD)

            yield from _until_done(pieces, attempt, (BrokenProcessPool,))

    def _on_dask(self, work: Work[T], pieces: Sequence[Piece], matcher: Matcher, task: Task) -> Iterator[T]:
        import asyncio
        from concurrent.futures import CancelledError

        try:
            distributed: Any = import_module("distributed")
        except ImportError:
            raise MissingPackageError("<<engine=dask>> needs Dask: pip install 'wayscore[cluster]'") from None
        cluster: Any = None
        if self.scheduler is None:
            os.environ.setdefault("DASK_DISTRIBUTED__LOGGING__DISTRIBUTED", "error")
            cluster = distributed.LocalCluster(
                n_workers=self.workers, threads_per_worker=1, dashboard_address=":0", host="127.0.0.1", silence_logs=50
            )
        try:
            client = distributed.Client(self.scheduler or cluster, set_as_default=False)
        except OSError as error:
            raise OptionError(f"no Dask scheduler answers at {self.scheduler}: {error}") from None

        def attempt(left: Sequence[Piece]) -> Iterator[T]:
            try:
                client.wait_for_workers(1, timeout=WAIT)
            except (TimeoutError, asyncio.TimeoutError):  # two until Python 3.11
                where = client.scheduler.address
                raise OptionError(f"the Dask scheduler at {where} has no workers; start some") from None
            shared = client.scatter(matcher.targets.to_bytes(), broadcast=True, hash=False)

            def submit(piece: Piece) -> Any:
                return client.submit(work, piece, shared, task, pure=False, retries=RETRIES)

            yield from _in_order(left, submit, AHEAD * sum(client.ncores().values()))

        try:  # the targets go with the last worker that had them
            yield from _until_done(pieces, attempt, (distributed.KilledWorker, CancelledError))
        finally:
            client.close()
            if cluster is not None:
                cluster.close()


@contextmanager
def processes(count: int) -> Iterator[Callable[..., Any]]:
    """Start processes; what they are given to do by calling what this yields comes back as a future.

    Ctrl-C reaches only the process that started them. It does not wait for what they do: they end when it does.
    """
    import signal
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    pool = ProcessPoolExecutor(count, mp_context=get_context("spawn"), initializer=_end_with_parent)

    def submit(*call: Any) -> Any:
        if not hasattr(signal, "pthread_sigmask"):
            return pool.submit(*call)
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # processes that start now inherit it
        try:
            return pool.submit(*call)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    patient = True
    try:
        yield submit
    except KeyboardInterrupt:
        patient = False
        raise
    finally:
        pool.shutdown(wait=patient, cancel_futures=True)


def _is_python(pieces: Sequence[Piece], matcher: Matcher, task: Task) -> bool:
    """Whether much of the work is Python's own: decoding text, or functions of one episode or of two nodes."""
    return (
        any(piece.kind != "parquet" for piece in pieces)
        or any(metric.measure is not None for metric in task.settings.metrics)
        or any(isinstance(space, Function) for space in matcher.targets.spaces)
    )


def _check_metrics(task: Task) -> None:
    """Refuse metrics whose functions other processes cannot find."""
    import pickle

    for metric in task.settings.metrics:
        try:
            pickle.dumps(metric)
        except (pickle.PicklingError, AttributeError, TypeError):
            raise OptionError(
                f"metric {metric.symbol!r}: other processes cannot get its function; write it with `def` at the top of "
                "a module, or leave <<workers>> out"
            ) from None


def _in_order(pieces: Sequence[Piece], submit: Callable[[Piece], Any], ahead: int) -> Iterator[Any]:
    """Keep so many pieces under way, and go through their results in order."""
    coming = iter(pieces)
    running = deque(map(submit, islice(coming, ahead)))
    while running:
        yield running.popleft().result()
        running.extend(map(submit, islice(coming, 1)))


def _until_done(
    pieces: Sequence[Piece], attempt: Callable[[Sequence[Piece]], Iterator[T]], lost: tuple[type[Exception], ...]
) -> Iterator[T]:
    """Go through results as an attempt does; pieces that are lost with their workers are tried again."""
    done = 0
    for _ in range(1 + RETRIES):
        try:
            for result in attempt(pieces[done:]):
                done += 1
                yield result
        except lost:
            continue
        return
    raise WayscoreError(
        f"workers died {1 + RETRIES} times, most likely for want of memory; use fewer <<workers>> (a script of your "
        "own must call this under `if __name__ == '__main__':`, since workers import it)"
    )


def _end_with_parent() -> None:
    """Let this process end when the one that started it does, even by a signal that cannot be caught."""
    import threading
    from multiprocessing import parent_process

    parent = parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
