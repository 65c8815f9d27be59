"""The application: which address shows which page, in separate threads, and how errors are shown."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable, Sequence
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

from wayscore.lab.study.store import CONNECTIONS
from wayscore.lab.study.web import dashboard, rater
from wayscore.lab.study.web.forms import ANSWER_FIELDS, read_form
from wayscore.lab.study.web.security import RefusalError, SafeHeaders
from wayscore.lab.study.web.site import FOLDER, Site
from wayscore.palette import base_css

Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]]
SIGNED = ("form", "csrf")
KEPT = {"Cache-Control": "public, max-age=86400"}
"""Headers of files whose addresses change with their content, so browsers may cache them."""


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

    async def run(work: Callable[..., Response], *given: Any) -> Response:
        return await anyio.to_thread.run_sync(functools.partial(work, *given), limiter=threads)

    def rater_page(work: Callable[..., Response], fields: Sequence[str] = ()) -> Endpoint:
        async def endpoint(request: Request) -> Response:
            sent = await read_form(request, fields) if request.method == "POST" else None

            def serve() -> Response:
                here = rater.visit(site, request)
                return work(here, sent) if fields else work(here)

            return await run(serve)

        return endpoint

    async def a_set(request: Request) -> Response:
        sent = await read_form(request, ANSWER_FIELDS) if request.method == "POST" else None

        def serve() -> Response:
            here = rater.visit(site, request)
            number = request.path_params["number"]
            return rater.show_set(here, number, request) if sent is None else rater.answer_set(here, number, sent)

        return await run(serve)

    def admin_page(work: Callable[..., Response]) -> Endpoint:
        async def endpoint(request: Request) -> Response:
            return await run(work, site, request)

        return endpoint

    def admin_form(work: Callable[..., Response], fields: Sequence[str] = SIGNED) -> Endpoint:
        async def endpoint(request: Request) -> Response:
            sent = await read_form(request, fields) if request.method == "POST" else None
            return await run(work, site, request, sent)

        return endpoint

    async def front(_: Request) -> Response:
        return site.page("front.html")

    async def palette(_: Request) -> Response:
        return Response(base_css(), media_type="text/css", headers=KEPT)

    async def too_long(_: Request) -> Response:
        raise RefusalError(414, "This address is too long.")

    def get(path: str, endpoint: Endpoint) -> Route:
        return Route(path, endpoint, methods=["GET"])

    def post(path: str, endpoint: Endpoint) -> Route:
        return Route(path, endpoint, methods=["POST"])

    def both(path: str, endpoint: Endpoint) -> Route:
        return Route(path, endpoint, methods=["GET", "POST"])

    routes = [
        get("/", front),
        Route("/too-long", too_long, methods=["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]),
        get("/r/{token}", rater_page(rater.enter)),
        both("/r/{token}/consent", rater_page(rater.consent, (*SIGNED, "agree"))),
        get("/r/{token}/instructions", rater_page(rater.instructions)),
        both("/r/{token}/sets/{number:int}", a_set),
        get("/r/{token}/pause", rater_page(rater.pause)),
        get("/r/{token}/finished", rater_page(rater.finished)),
        get("/admin", admin_page(dashboard.overview)),
        get("/admin/answers.jsonl", admin_page(dashboard.export)),
        both("/admin/login", admin_form(dashboard.login, (*SIGNED, "secret"))),
        post("/admin/logout", admin_form(dashboard.logout)),
        post("/admin/link", admin_form(dashboard.new_link, (*SIGNED, "rater"))),
        get("/static/palette.css", palette),
        Mount("/static", Static(directory=FOLDER / "static")),
    ]
    app = Starlette(
        routes=routes, middleware=[Middleware(SafeHeaders, secure=site.secure)], exception_handlers=_handlers(site)
    )
    app.router.redirect_slashes = False
    return app


def _handlers(site: Site) -> dict[Any, Any]:
    """Return the handlers of each kind of error."""

    async def refused(_: Request, error: Exception) -> Response:
        assert isinstance(error, RefusalError)
        return site.refuse(error)

    async def by_starlette(_: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        sentences = {
            404: "This page does not exist. Please open your link again.",
            405: "This page does not accept this type of request.",
        }
        response = site.refuse(RefusalError(error.status_code, sentences.get(error.status_code, str(error.detail))))
        response.headers.update(error.headers or {})
        return response

    async def database(_: Request, error: Exception) -> Response:
        assert isinstance(error, SQLAlchemyError)
        return site.refuse(RefusalError(503, site.not_saved(error)))

    async def other(_: Request, __: Exception) -> Response:
        return site.refuse(
            RefusalError(500, "An error happened on the server, and nothing was saved. Please load the page again.")
        )

    return {RefusalError: refused, HTTPException: by_starlette, SQLAlchemyError: database, Exception: other}
