"""The security of the questionnaire: signed forms, sessions, rate limits, and headers that restrict browsers."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping

import sqlalchemy as sa
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from wayscore.lab.study.database import sessions
from wayscore.lab.study.store import Store

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",  # addresses hold tokens
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
LONGEST_ADDRESS = 300
HSTS = "max-age=31536000; includeSubDomains"
FORM_AGE = 24 * 3600.0
"""Seconds after which a form is no longer valid and must be loaded again."""


class RefusalError(Exception):
    """A request is refused with an HTTP status; a sentence says why to the visitor."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status, self.sentence = status, sentence


class StaleFormError(Exception):
    """A form was signed here, but too long ago."""


class Signer:
    """Signs forms, so that only forms of this server are accepted.

    A form's signature covers its purpose and its rater. The server stores nothing, so forms are also valid in another
    server process.

    >>> signer = Signer(b"a key")
    >>> form = signer.form("answer", "1", "uc-001")
    >>> signer.check(form, "answer", "1", "uc-001") < 1
    True
    >>> signer.check(form, "answer", "2", "uc-001")
    Traceback (most recent call last):
    ...
    wayscore.lab.study.web.security.RefusalError: This form is not valid for this page. Please open your link again.
    """

    def __init__(self, key: bytes, now: Callable[[], float] = time.time) -> None:
        self._key = key
        self._now = now

    def sign(self, *parts: str) -> str:
        """Return the signature of some words."""
        digest = hmac.digest(self._key, json.dumps(parts).encode(), hashlib.sha256)
        return base64.urlsafe_b64encode(digest).decode().rstrip("=")

    def is_signed(self, signature: str, *parts: str) -> bool:
        """Whether this is the signature of these words."""
        return hmac.compare_digest(signature.encode(), self.sign(*parts).encode())

    def form(self, *purpose: str) -> dict[str, str]:
        """Return the hidden fields of a new form."""
        token = f"{secrets.token_urlsafe(16)}.{round(1000 * self._now())}"
        return {"form": token, "csrf": self.sign("form", token, *purpose)}

    def check(self, fields: Mapping[str, str], *purpose: str) -> float:
        """Return the age in seconds of the form that fields came with.

        Raises:
            RefusalError: the form was not signed for this purpose.
            StaleFormError: it was signed too long ago.
        """
        token = fields.get("form", "")
        if not self.is_signed(fields.get("csrf", ""), "form", token, *purpose):
            raise RefusalError(403, "This form is not valid for this page. Please open your link again.")
        age = self._now() - int(token.rpartition(".")[2]) / 1000
        if age > FORM_AGE:
            raise StaleFormError
        return max(age, 0.0)

    def code(self, rater: int) -> str:
        """Return the completion code of a rater: letters and digits that cannot be confused with each other.

        >>> Signer(b"a key").code(1)
        '3O2O-QSES-ZB'
        """
        digest = hmac.digest(self._key, json.dumps(["code", rater]).encode(), hashlib.sha256)
        letters = base64.b32encode(digest).decode()[:10]
        return f"{letters[:4]}-{letters[4:8]}-{letters[8:]}"


class Limiter:
    """Limits the requests of each visitor: a burst at first, then a rate per second.

    `most` visitors are remembered; the one seen longest ago is forgotten first.

    >>> limiter = Limiter(burst=2, rate=1, now=lambda: 0)
    >>> [limiter.allows("a"), limiter.allows("a"), limiter.allows("a"), limiter.allows("b")]
    [True, True, False, True]
    """

    def __init__(
        self, *, burst: float, rate: float, most: int = 10_000, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._burst, self._rate, self._most, self._now = burst, rate, most, now
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = threading.Lock()

    def allows(self, visitor: str, *, count: bool = True) -> bool:
        """Whether a request may be served; it is counted unless `count` is False."""
        with self._lock:
            now = self._now()
            left, since = self._left.pop(visitor, (self._burst, now))
            left = min(self._burst, left + (now - since) * self._rate)
            allowed = left >= 1
            self._left[visitor] = (left - 1 if allowed and count else left, now)
            if len(self._left) > self._most:
                self._left.popitem(last=False)
        return allowed


class SafeHeaders:
    """Adds the security headers to every response, and refuses addresses that are too long."""

    def __init__(self, app: ASGIApp, *, secure: bool, too_long: ASGIApp) -> None:
        self._app, self._too_long = app, too_long
        self._headers = {**HEADERS, **({"Strict-Transport-Security": HSTS} if secure else {})}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""

        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(self._headers)
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        too_long = len(scope["path"]) + len(scope["query_string"]) > LONGEST_ADDRESS
        await (self._too_long if too_long else self._app)(scope, receive, send_safely)


class Sessions:
    """The sessions of one secret: only a keyed hash of each is stored, and another secret has other hashes."""

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
