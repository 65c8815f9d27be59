"""What all pages share: the study, its store, templates, signatures and rate limits."""

from __future__ import annotations

import hashlib
import hmac
import logging
from collections.abc import Sequence
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from statistics import median
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from sqlalchemy.exc import SQLAlchemyError
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from wayscore.lab.study.database import explain
from wayscore.lab.study.model import Assignment, Study
from wayscore.lab.study.store import Store
from wayscore.lab.study.web.security import Limiter, RefusalError, Sessions, Signer
from wayscore.palette import base_css

log = logging.getLogger("wayscore.study")
FOLDER = Path(str(files(__package__)))
ASSUMED_SECONDS = 30
"""How long a set takes, as long as nobody has measured it; the text that raters read beforehand says so."""
MEASURED = 20
"""Answers of people that are enough to say how long a set takes."""

HEADINGS = {
    403: "Not accepted",
    404: "Not found",
    409: "Already saved",
    429: "One moment",
    500: "Something went wrong",
    503: "Not saved yet",
}


class Site:
    """A study that is being served, at a public address without a slash at the end.

    Raters agree to the paragraphs of `consent`; to those of wayscore by default.
    """

    def __init__(self, study: Study, store: Store, *, secret: str, url: str, consent: Sequence[str] = ()) -> None:
        self.study, self.store, self.url = study, store, url
        self.secure = url.startswith("https:")
        self.signer = Signer(store.key)
        self.admin = Signer(hmac.digest(store.key, secret.encode(), hashlib.sha256))  # sessions end with the secret
        self.sessions = Sessions(store, self.admin)
        self.assignments: dict[int, Assignment] = {one.rater: one for one in study.assignments}
        self.raters = Limiter(burst=60, rate=4)
        self.strangers = Limiter(burst=20, rate=0.5)
        self.logins = Limiter(burst=5, rate=0.1)
        self.drawn: dict[str, tuple[Markup, list[Markup]]] = {}
        self._consent = list(consent)
        self.secret = hashlib.sha256(secret.encode()).digest()

    def consent(self, rater: int) -> list[str]:
        """Return the paragraphs that a rater agrees to."""
        return self._consent or default_consent(len(self.assignments[rater].items), self._seconds)

    @cached_property
    def _seconds(self) -> float | None:
        """The median time of an answer so far, once at the start, so that the text of the consent stays the same."""
        if self.store.simulated:
            return None
        found = [ranking.seconds for ranking in self.store.rankings() if ranking.seconds > 0]
        return median(found) if len(found) >= MEASURED else None

    @cached_property
    def _templates(self) -> Environment:
        templates = Environment(
            loader=FileSystemLoader(FOLDER / "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        content = b"".join(path.read_bytes() for path in sorted((FOLDER / "static").rglob("*")) if path.is_file())
        templates.globals |= {
            "study": self.study,
            "simulated": self.store.simulated,
            "version": hashlib.sha256(content + base_css().encode()).hexdigest()[:12],
        }
        return templates

    def page(self, template: str, *, status: int = 200, **values: Any) -> HTMLResponse:
        """Return a page."""
        return HTMLResponse(self._templates.get_template(template).render(**values), status)

    def not_saved(self, error: SQLAlchemyError) -> str:
        """Log what the database could not do, and return what the visitor reads."""
        log.error("wayscore: %s; answers that were confirmed are safe", explain(error, self.store.where))
        return "The server could not use its database. Please wait a moment, then send your answer again."

    def refuse(self, refusal: RefusalError) -> HTMLResponse:
        """Return a page that says why a request is not served."""
        heading = HEADINGS.get(refusal.status, "Not possible")
        response = self.page("message.html", status=refusal.status, heading=heading, sentence=refusal.sentence)
        if refusal.status == 429:
            response.headers["Retry-After"] = "30"
        return response


def address_of(request: Request) -> str:
    """Return a visitor's address, which limits are counted by."""
    return request.client.host if request.client else ""


def see(path: str) -> Response:
    """Return a redirection to another page, as after a form."""
    return RedirectResponse(path, 303)


def default_consent(sets: int, seconds: float | None = None) -> list[str]:
    """Return the text that raters agree to if the study has no text of its own.

    `sets` is how many the rater has, and `seconds` how long people take for a set, or None if that is not measured.

    >>> default_consent(50, 24.6)[0]
    'You will put pictures of paths in order: 50 sets of five pictures. This takes about 20 minutes, as measured so
    far.'
    >>> default_consent(1)[0]
    'You will put pictures of paths in order: 1 set of five pictures. We have not measured yet how long this takes; with
    30 seconds for each set it is 1 minute.'
    """
    minutes = max(1, round(sets * (seconds or ASSUMED_SECONDS) / 60))
    total = f"{minutes} minute{'s' if minutes != 1 else ''}"
    measured = f"This takes about {total}, as measured so far."
    assumed = (
        f"We have not measured yet how long this takes; with {ASSUMED_SECONDS} seconds for each set it is {total}."
    )
    return [
        f"You will put pictures of paths in order: {sets} set{'s' if sets != 1 else ''} of five pictures. "
        f"{assumed if seconds is None else measured}",
        "What is saved: the orders that you give, when you gave each, and how long it took. You are identified by a "
        "number. Your name, your address and your device are not stored, and no cookies are set.",
        "Taking part is voluntary. You can pause at any time and continue later with the same link. You can stop by "
        "closing the page; the answers that you have saved are kept.",
        "If you have questions, or want your answers to be erased, ask the person who sent you the link.",
    ]
