"""Connections with limits: how many there are, and how long each may wait for its visitor."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

MOST_CONNECTIONS = 1000
SPARE_FILES = 256
"""Files that a process needs beside its connections: the database, pages, and connections about to be accepted."""
REQUEST_SECONDS = 15.0
"""How long a visitor may take to send the header of a request, to read a page, or to be idle."""
RESPONSE_SECONDS = 60.0
"""How long a request may take to be answered, with its form and the database."""


def most_connections() -> int:
    """Return how many connections this process may have, with files to spare."""
    try:
        import resource
    except ImportError:  # Windows
        return MOST_CONNECTIONS
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return MOST_CONNECTIONS if files == resource.RLIM_INFINITY else max(16, min(MOST_CONNECTIONS, files - SPARE_FILES))


class LimitedProtocol(H11Protocol):
    """uvicorn's protocol, with an end to every wait.

    When there are too many connections, the one that has waited longest for its visitor is closed. So half-open
    connections cannot keep raters out: those who send a whole request are served, and the others make room.

    Args:
        waiting: the connections of the server that wait for their visitors, those that have waited longest first.
        most: how many connections the server may have.
    """

    def __init__(
        self, *given: Any, waiting: OrderedDict[LimitedProtocol, None], most: int = MOST_CONNECTIONS, **named: Any
    ) -> None:
        super().__init__(*given, **named)
        self._waiting, self._most = waiting, most
        self._end: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request, and make room for it."""
        super().connection_made(transport)
        self._wait_for_visitor()
        if len(self.connections) > self._most:
            self._waiting.popitem(last=False)[0].transport.abort()

    def data_received(self, data: bytes) -> None:
        """Note whether a request is complete."""
        super().data_received(data)
        if self in self._waiting and self.cycle is not None and not self.cycle.response_complete:
            del self._waiting[self]
            self._end_after(RESPONSE_SECONDS)

    def on_response_complete(self) -> None:
        """Begin to wait for the page to be read, and for the next request."""
        self._wait_for_visitor()
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        if self._end is not None:
            self._end.cancel()
        self._waiting.pop(self, None)
        super().connection_lost(exc)

    def _wait_for_visitor(self) -> None:
        if self in self.connections:  # and not lost in the meantime
            self._waiting[self] = None
            self._waiting.move_to_end(self)
            self._end_after(REQUEST_SECONDS)

    def _end_after(self, seconds: float) -> None:
        if self._end is not None:
            self._end.cancel()
        self._end = self.loop.call_later(seconds, self.transport.abort)
