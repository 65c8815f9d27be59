"""The server's log: sentences on standard error, and never so many that they fill a disk."""

from __future__ import annotations

import logging
from typing import Any

from wayscore.lab.study.web.security import Limiter

BURST, PER_MINUTE = 50, 2
"""How many messages may be written at once, and in each minute after that."""
log = logging.getLogger("wayscore.study")


class Sparing(logging.Filter):
    """Lets a limited number of messages pass; the next one that passes says how many did not."""

    def __init__(self, limiter: Limiter | None = None) -> None:
        super().__init__()
        self._limiter = limiter or Limiter(burst=BURST, rate=PER_MINUTE / 60)
        self._dropped = 0

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a message is written."""
        if not self._limiter.allows(""):
            self._dropped += 1
            return False
        if self._dropped:
            record.msg, record.args = f"{record.getMessage()} (before it, {self._dropped} messages were left out)", ()
            self._dropped = 0
        return True


LOGGER = {"handlers": ["stderr"], "level": "WARNING", "propagate": False}
LOG_CONFIG: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {"sparing": {"()": Sparing}},
    "formatters": {"sentence": {"format": "wayscore: %(message)s"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "sentence", "filters": ["sparing"]}},
    "loggers": {"uvicorn": LOGGER, "asyncio": LOGGER, log.name: LOGGER},
}
"""For `logging.config.dictConfig`, which uvicorn calls."""
