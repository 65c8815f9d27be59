"""The application: which address shows which page, in separate threads, and how errors are shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import anyio
from sqlalchemy.exc import SQLAlchemyError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from wayscore.lab.study.database import CONNECTIONS
from wayscore.lab.study.web import dashboard, rater
from wayscore.lab.study.web.forms import ANSWER_FIELDS, read_form
from wayscore.lab.study.web.security import RefusalError, SafeHeaders
from wayscore.lab.study.web.site import FOLDER, Site
from wayscore.palette import base_css

Work: TypeAlias = Callable[..., Response]
SIGNED = ("form", "csrf")
KEPT = {"Cache-Control": "public, max-age=86400"}
"""Headers of files whose addresses change with their content, so browsers may cache them."""
SENTENCES = {
    404: "This page does not exist. Please open your link again.",
    405: "This page does not accept this type of request.",
}


class Static(StaticFiles):
    """The style sheet, the program and the icon of the pages."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        """Return a file."""
        response = await super().get_response(path, scope)
        response.headers.update(KEPT)
        return response


def create_app(site: Site) -> Starlette:
    """Return the questionnaire as an ASGI application."""
    threads = anyio.CapacityLimiter(CONNECTIONS)

    def page(path: str, work: Work, fields: Sequence[str] = (), methods: Sequence[str] = ()) -> Route:
        """Show a page that needs the database; one with fields also gets the form that was sent, or None."""

        async def endpoint(request: Request) -> Response:
            sent = [await read_form(request, fields) if request.method == "POST" else None] if fields else []
            return await anyio.to_thread.run_sync(lambda: work(site, request, *sent), limiter=threads)

        return Route(path, endpoint, methods=methods or (["GET", "POST"] if fields else ["GET"]))

    def rater_page(path: str, work: Work, fields: Sequence[str] = ()) -> Route:
        def visited(site: Site, request: Request, *sent: Any) -> Response:
            return work(rater.visit(site, request), *sent)

        return page("/r/{token}" + path, visited, fields)

    async def front(_: Request) -> Response:
        return site.page("front.html")

    async def palette(_: Request) -> Response:
        return Response(base_css(), media_type="text/css", headers=KEPT)

    routes = [
        Route("/", front, methods=["GET"]),
        rater_page("", rater.enter),
        rater_page("/consent", rater.consent, (*SIGNED, "agree")),
        rater_page("/instructions", rater.instructions),
        rater_page("/sets/{number:int}", rater.show_set, ANSWER_FIELDS),
        rater_page("/pause", rater.pause),
        rater_page("/finished", rater.finished),
        page("/admin", dashboard.overview),
        page("/admin/answers.jsonl", dashboard.export),
        page("/admin/login", dashboard.login, (*SIGNED, "secret")),
        page("/admin/logout", dashboard.logout, SIGNED, ["POST"]),
        page("/admin/link", dashboard.new_link, (*SIGNED, "rater"), ["POST"]),
        Route("/static/palette.css", palette, methods=["GET"]),
        Mount("/static", Static(directory=FOLDER / "static")),
    ]

    async def refuse(_: Request, error: Exception) -> Response:
        if isinstance(error, RefusalError):
            return site.refuse(error)
        if isinstance(error, HTTPException):
            sentence = SENTENCES.get(error.status_code, str(error.detail))
            response = site.refuse(RefusalError(error.status_code, sentence))
            response.headers.update(error.headers or {})
            return response
        if isinstance(error, SQLAlchemyError):
            return site.refuse(RefusalError(503, site.not_saved(error)))
        return site.refuse(
            RefusalError(500, "An error happened on the server, and nothing was saved. Please load the page again.")
        )

    too_long = site.refuse(RefusalError(414, "This address is too long."))
    app = Starlette(
        routes=routes,
        middleware=[Middleware(SafeHeaders, secure=site.secure, too_long=too_long)],
        exception_handlers=dict.fromkeys((RefusalError, HTTPException, SQLAlchemyError, Exception), refuse),
    )
    app.router.redirect_slashes = False
    return app
