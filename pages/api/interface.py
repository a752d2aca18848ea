"""The routes of the HTTP interface. All except one require the token. None changes anything."""

import hmac
from collections.abc import Awaitable, Callable
from http import HTTPStatus

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from pages.api import answers, project, releases

Endpoint = Callable[[Request], Awaitable[Response]]

WITH_TOKEN: dict[str, Endpoint] = {
    "/status": project.status,
    "/releases": releases.every,
    "/releases/{number}/export": releases.export,
    "/releases/{number}/{file}": releases.table,
}


def interface(token: str) -> Starlette:
    """The interface, protected by the token."""
    return Starlette(
        routes=[
            Route("/health", project.health),
            *(Route(path, _guarded(endpoint, token)) for path, endpoint in WITH_TOKEN.items()),
        ],
        exception_handlers=answers.HANDLERS,
    )


def _guarded(endpoint: Endpoint, token: str) -> Endpoint:
    """The endpoint, protected by the token."""
    expected = token.encode()

    async def guarded(request: Request) -> Response:
        scheme, _, shown = request.headers.get("Authorization", "").partition(" ")
        fits = hmac.compare_digest(shown.strip().encode(), expected)
        if scheme.lower() == "bearer" and fits:
            return await endpoint(request)
        return answers.refused(
            HTTPStatus.UNAUTHORIZED,
            "Expected the header 'Authorization: Bearer' with the token of HEDGEROW_HTTP_TOKEN.",
            {"WWW-Authenticate": 'Bearer realm="hedgerow"'},
        )

    return guarded
