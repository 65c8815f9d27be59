"""The administrator's pages: progress of each rater, agreement, new links, and the answers as a file."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from wayscore.lab.study.analysis import Care, agree, care_of, total_care
from wayscore.lab.study.model import Study
from wayscore.lab.study.rankings import Ranking, rankings_bytes
from wayscore.lab.study.store import Store, rater_name
from wayscore.lab.study.web.security import RefusalError, Signer, StaleFormError
from wayscore.lab.study.web.site import Site, address_of, see
from wayscore.report.layout import counted

MOST_PAIRS = 5_000
"""The most pairs of answers that the page compares; for more, use `wayscore study analyze`."""


class Fact(NamedTuple):
    """A figure on the administrator's page."""

    name: str
    value: str
    note: str


def watch(study: Study, store: Store, signer: Signer) -> dict[str, Any]:
    """Return the progress of a study, for the template: rows of raters, their sums, and facts about agreement."""
    items = {one.rater: len(one.items) for one in study.assignments}
    rankings = store.rankings()
    care = care_of(study, rankings)
    progress = store.progress()
    rows = []
    for one in progress:
        own = care.get(rater_name(one.rater, simulated=store.simulated))
        rows.append(
            {
                "number": one.rater,
                "state": "" if one.consented else "erased" if one.erased else "not started",
                "answered": one.answered,
                "total": items[one.rater],
                "changes": one.changes,
                "checks": f"{own.passed} of {own.checks}" if own and own.checks else "",
                "last": one.last,
                "code": signer.code(one.rater) if one.answered == items[one.rater] else "",
            }
        )
    return {
        "raters": rows,
        "answered": sum(one.answered for one in progress),
        "total": sum(items.values()),
        "facts": list(_facts(study, rankings, care)),
    }


def _facts(study: Study, rankings: Sequence[Ranking], care: dict[str, Care]) -> Iterator[Fact]:
    """Yield how far raters agree, and how much care they take, where that is known yet."""
    answers = Counter(ranking.set for ranking in rankings)
    if sum(count * (count - 1) // 2 for count in answers.values()) > MOST_PAIRS:
        yield Fact("Agreement between raters", "–", "too many answers for this page; use wayscore study analyze")
    else:
        found = agree(study, rankings)
        note = f"mean over {counted(found.sets, 'set')} with {found.raters:.1f} raters each"
        if found.w is not None and found.spearman is not None:
            yield Fact("Kendall's W", f"{found.w:.2f}", note)
            yield Fact("Spearman's rho of two raters", f"{found.spearman:.2f}", note)
            if found.alpha is not None:
                yield Fact("Krippendorff's alpha", f"{found.alpha:.2f}", "of the ranks, ordinal")
    total = total_care(care)
    if total.consistency is not None:
        note = f"Spearman's rho, {total.repeats} sets answered twice"
        yield Fact("Consistency", f"{total.consistency:.2f}", note)
    if total.checks:
        yield Fact("Attention checks", f"{total.passed} of {total.checks}", "passed")


SESSION = "wayscore_admin"
VISITOR = "wayscore_visitor"
"""Cookies: of an administrator who signed in, and of a visitor who has the sign-in form."""
HOURS = 12


def login(site: Site, request: Request, fields: Mapping[str, str] | None) -> Response:
    """Show the form to sign in, and sign in."""
    message = ""
    visitor = request.cookies.get(cookie_name(site, VISITOR), "")
    if fields is not None:
        try:
            site.admin.check(fields, "login", visitor)
        except StaleFormError:
            message = "This page was open for more than a day. Please sign in again."
        else:
            stranger = address_of(request)
            if not site.logins.allows(stranger, count=False):
                raise RefusalError(429, "Too many wrong secrets were entered from your address. Please wait a minute.")
            given = hashlib.sha256(fields.get("secret", "").encode()).digest()
            if hmac.compare_digest(given, site.secret):
                site.sessions.end(request.cookies.get(cookie_name(site, SESSION), ""))  # an earlier one, if there is
                response = see("/admin")
                _set_cookie(site, response, SESSION, site.sessions.begin(HOURS * 3600))
                return response
            site.logins.allows(stranger)
            message = "Wrong secret. The server printed the right one when it started."
    visitor = secrets.token_urlsafe(16)
    form = site.admin.form("login", visitor)
    response = site.page("login.html", status=403 if message else 200, message=message, form=form)
    _set_cookie(site, response, VISITOR, visitor)
    return response


def logout(site: Site, request: Request, fields: Mapping[str, str]) -> Response:
    """End the session, also for whoever has a copy of its cookie."""
    site.sessions.end(_check(site, request, fields, "logout"))
    response = see("/admin/login")
    _set_cookie(site, response, SESSION, "", age=0)
    return response


def overview(site: Site, request: Request) -> Response:
    """Show the progress of each rater."""
    session = _session(site, request)
    if not session:
        return see("/admin/login")
    return site.page(
        "admin.html",
        watched=watch(site.study, site.store, site.signer),
        where=site.store.where,
        link_form=site.admin.form("link", session),
        logout_form=site.admin.form("logout", session),
    )


def new_link(site: Site, request: Request, fields: Mapping[str, str]) -> Response:
    """Give a rater a new link, and show it only once."""
    _check(site, request, fields, "link")
    text = fields.get("rater", "")
    rater = int(text) if re.fullmatch("[0-9]{1,6}", text) else -1
    if rater not in site.assignments:
        raise RefusalError(404, "The study has no rater with this number.")
    token = site.store.new_links([rater])[rater]
    return site.page("link.html", rater=rater, link=f"{site.url}/r/{token}")


def export(site: Site, request: Request) -> Response:
    """Return the answers as JSON Lines, the last of each rater to each set."""
    if not _session(site, request):
        return see("/admin/login")
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", site.study.name).strip("-.") or "study"
    shown = {"Content-Disposition": f'attachment; filename="{name}-answers.jsonl"'}
    return Response(rankings_bytes(site.store.rankings()), media_type="application/x-ndjson", headers=shown)


def cookie_name(site: Site, name: str) -> str:
    """Return what a cookie is called: behind TLS, browsers accept the prefix from this host only, over TLS only."""
    return f"__Host-{name}" if site.secure else name


def _session(site: Site, request: Request) -> str:
    """Return the session of a signed-in administrator, or an empty text."""
    text = request.cookies.get(cookie_name(site, SESSION), "")
    return text if text and site.sessions.is_open(text) else ""


def _check(site: Site, request: Request, fields: Mapping[str, str], purpose: str) -> str:
    """Return the session of a signed-in administrator who sent a form of this purpose."""
    session = _session(site, request)
    if not session:
        raise RefusalError(403, "Please sign in first.")
    try:
        site.admin.check(fields, purpose, session)
    except StaleFormError:
        raise RefusalError(403, "This page was open for more than a day. Please load it again.") from None
    return session


def _set_cookie(site: Site, response: Response, name: str, value: str, age: int = HOURS * 3600) -> None:
    response.set_cookie(
        cookie_name(site, name),
        value,
        max_age=age,
        path="/" if site.secure else "/admin",  # the prefix needs all of the host
        secure=site.secure,
        httponly=True,
        samesite="strict",
    )
