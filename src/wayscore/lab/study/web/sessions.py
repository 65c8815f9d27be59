"""Sessions of the administrator: stored in the database, so that they end at logout and survive a restart."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable

import sqlalchemy as sa

from wayscore.lab.study.database import sessions
from wayscore.lab.study.store import Store
from wayscore.lab.study.web.security import Signer


class Sessions:
    """The sessions of one secret: only a keyed hash of each is stored, and another secret has other hashes.

    Args:
        store: where they are stored.
        signer: signs with a key that depends on the administrator's secret.
        now: the clock.
    """

    def __init__(self, store: Store, signer: Signer, now: Callable[[], float] = time.time) -> None:
        self._store, self._signer, self._now = store, signer, now

    def begin(self, seconds: float) -> str:
        """Return a new session, which ends after some time; forget those that have ended."""
        session = secrets.token_urlsafe(32)
        with self._store.write() as connection:
            connection.execute(sa.delete(sessions).where(sessions.c.expires_at <= self._now()))
            row = {"hash": self._signer.sign("session", session), "expires_at": self._now() + seconds}
            connection.execute(sa.insert(sessions), row)
        return session

    def is_open(self, session: str) -> bool:
        """Whether a session began here and has not ended."""
        with self._store.read() as connection:
            ends = connection.scalar(sa.select(sessions.c.expires_at).where(self._is(session)))
        return ends is not None and ends > self._now()

    def end(self, session: str) -> None:
        """End a session."""
        with self._store.write() as connection:
            connection.execute(sa.delete(sessions).where(self._is(session)))

    def _is(self, session: str) -> sa.ColumnElement[bool]:
        return sessions.c.hash == self._signer.sign("session", session)
