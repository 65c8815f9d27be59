"""Work that is begun before its result is needed: decompressing one file while another is decoded."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Ahead(Generic[T]):
    """A call that runs in a thread of its own until its result is asked for.

    >>> Ahead(lambda: 6 * 7).result()
    42
    """

    def __init__(self, call: Callable[[], T]) -> None:
        self._call = call
        self._found: list[T] = []
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def _work(self) -> None:
        try:
            self._found.append(self._call())
        except BaseException as error:  # the thread that asks for the result is told
            self._error = error

    def result(self) -> T:
        """Wait for the call to end; return its result, or raise what it raised."""
        self._thread.join()
        if self._error is not None:
            raise self._error
        return self._found[0]
