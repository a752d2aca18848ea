"""Responses of the HTTP interface: JSON, with one sentence for each error."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from db.errors import HedgerowError

HEADERS = {"Cache-Control": "private, no-cache", "X-Content-Type-Options": "nosniff"}
"""Headers of every response: browsers don't cache it, and don't interpret text as HTML."""


def as_json(content: dict[str, Any], status: int = HTTPStatus.OK) -> Response:
    return JSONResponse(content, status, headers=HEADERS)


def refused(status: int, sentence: str, headers: Mapping[str, str] | None = None) -> Response:
    """An error in the same form as in the command line's ``--json``."""
    return JSONResponse({"error": sentence}, status, headers=HEADERS | dict(headers or {}))


def of_http_error(request: Request, error: Exception) -> Response:
    """The response if an endpoint refuses the request or there is no route."""
    assert isinstance(error, HTTPException)
    sentence = error.detail
    if sentence == HTTPStatus(error.status_code).phrase:  # the router's own
        sentence = "There is nothing at this address."
        if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
            sentence = "Expected GET or HEAD; nothing can be changed over HTTP."
    return refused(error.status_code, sentence, error.headers)


def of_hedgerow_error(request: Request, error: Exception) -> Response:
    """The response if the database or the disk fails."""
    return refused(HTTPStatus.SERVICE_UNAVAILABLE, str(error))


def of_fault(request: Request, error: Exception) -> Response:
    """The response for unexpected errors. The server's log has the details."""
    return refused(
        HTTPStatus.INTERNAL_SERVER_ERROR,
        f"Unexpected {type(error).__name__}; the app's terminal shows where.",
    )


HANDLERS = {HTTPException: of_http_error, HedgerowError: of_hedgerow_error, Exception: of_fault}
"""Kind of error → function that builds the response."""
