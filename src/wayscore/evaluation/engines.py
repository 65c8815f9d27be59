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

from msgspec import Struct

from wayscore.distances.function import Function
from wayscore.errors import MissingPackageError, OptionError, WayscoreError
from wayscore.evaluation.scorer import Scorer
from wayscore.evaluation.work import Task
from wayscore.formats.chunks import Chunk

T = TypeVar("T")
Work: TypeAlias = Callable[[Chunk, Any, Task], T]
"""What is done with a chunk: `score_chunk` or `scan_chunk`."""
ENGINES = ("local", "dask")
AHEAD = 2
"""Chunks that wait for every worker, so that none waits for a chunk."""
MOST_WORKERS = 1024
"""More threads or processes than any machine has cores are a slip of the keyboard."""
WAIT = 60.0
"""Seconds in which a cluster gets its first worker."""
RETRIES = 3
"""How often a chunk is tried again whose worker died."""
DIED = (
    "workers died {} times, most likely for want of memory; use fewer <<workers>> (a script of your own must call this "
    "under `if __name__ == '__main__':`, since workers import it)"
)


class Engine(Struct, frozen=True):
    """Maps a function over the chunks of a run.

    Attributes:
        name: "local" or "dask".
        workers: how many threads or processes; with one and no cluster, this thread does it all.
        scheduler: the address of a Dask scheduler; without it, a cluster is started on this machine.
    """

    name: str = "local"
    workers: int = 1
    scheduler: str | None = None

    def map(self, work: Work[T], chunks: Sequence[Chunk], scorer: Scorer, task: Task) -> Iterator[T]:
        """Go through what the work returns for each chunk, in their order."""
        if self.name == "dask":
            return self._on_dask(work, chunks, scorer, task)
        if min(self.workers, len(chunks)) <= 1:
            return (work(chunk, scorer, task) for chunk in chunks)
        if _is_python(chunks, scorer, task):
            return self._in_processes(work, chunks, scorer, task)
        return self._in_threads(work, chunks, scorer, task)

    def _in_threads(self, work: Work[T], chunks: Sequence[Chunk], scorer: Scorer, task: Task) -> Iterator[T]:
        from concurrent.futures import ThreadPoolExecutor

        pool = ThreadPoolExecutor(min(self.workers, len(chunks)))
        try:
            yield from _in_order(chunks, lambda chunk: pool.submit(work, chunk, scorer, task), self.workers * AHEAD)
        finally:
            pool.shutdown(wait=True, cancel_futures=True)

    def _in_processes(self, work: Work[T], chunks: Sequence[Chunk], scorer: Scorer, task: Task) -> Iterator[T]:
        import pickle  # what small runs do without is not loaded
        import tempfile
        from concurrent.futures.process import BrokenProcessPool

        for metric in task.settings.metrics:
            try:
                pickle.dumps(metric)
            except (pickle.PicklingError, AttributeError, TypeError):
                raise OptionError(
                    f"metric {metric.symbol!r}: other processes cannot get its function; write it with `def` at the "
                    "top of a module, or leave <<workers>> out"
                ) from None
        with tempfile.TemporaryDirectory(prefix="wayscore-") as folder:
            file = Path(folder) / "scorer"
            file.write_bytes(pickle.dumps(scorer, protocol=5))
            done = 0
            for _ in range(1 + RETRIES):  # chunks that are lost with their workers are tried again
                try:
                    with processes(min(self.workers, len(chunks) - done)) as submit:
                        start = lambda chunk: submit(work, chunk, str(file), task)  # noqa: E731
                        for result in _in_order(chunks[done:], start, self.workers * AHEAD):
                            done += 1
                            yield result
                except BrokenProcessPool:
                    continue
                else:
                    return
        raise WayscoreError(DIED.format(1 + RETRIES))

    def _on_dask(self, work: Work[T], chunks: Sequence[Chunk], scorer: Scorer, task: Task) -> Iterator[T]:
        import asyncio

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
        try:
            client.wait_for_workers(1, timeout=WAIT)
            # A task, not scattered data: Dask makes it again where it is lost with its worker.
            shared = client.submit(_itself, scorer, pure=False)
            start = lambda chunk: client.submit(work, chunk, shared, task, pure=False, retries=RETRIES)  # noqa: E731
            yield from _in_order(chunks, start, AHEAD * sum(client.ncores().values()))
        except (TimeoutError, asyncio.TimeoutError):  # two until Python 3.11
            where = client.scheduler.address
            raise OptionError(f"the Dask scheduler at {where} has no workers; start some") from None
        except distributed.KilledWorker:
            raise WayscoreError(DIED.format("several")) from None
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


def _is_python(chunks: Sequence[Chunk], scorer: Scorer, task: Task) -> bool:
    """Whether much of the work is Python's own: decoding text, or functions of one episode or of two nodes."""
    return (
        any(chunk.kind != "parquet" for chunk in chunks)
        or any(metric.measure is not None for metric in task.settings.metrics)
        or any(isinstance(space, Function) for space in scorer.spaces)
    )


def _itself(scorer: Scorer) -> Scorer:
    return scorer


def _in_order(chunks: Sequence[Chunk], submit: Callable[[Chunk], Any], ahead: int) -> Iterator[Any]:
    """Keep `ahead` chunks under way, and go through their results in order."""
    coming = iter(chunks)
    running = deque(map(submit, islice(coming, ahead)))
    while running:
        yield running.popleft().result()
        running.extend(map(submit, islice(coming, 1)))


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
