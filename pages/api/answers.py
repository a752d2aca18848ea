"""What the HTTP interface sends: JSON, one sentence for whatever goes wrong, and no page."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from db.errors import HedgerowError

HEADERS = {"Cache-Control": "private, no-cache", "X-Content-Type-Options": "nosniff"}
"""Of every answer: a browser asks again each time, and takes no text for a page."""


def as_json(content: dict[str, Any], status: int = HTTPStatus.OK) -> Response:
    return JSONResponse(content, status, headers=HEADERS)


def refused(status: int, sentence: str, headers: Mapping[str, str] | None = None) -> Response:
    """An error in the form that the command line gives it with ``--json``."""
    return JSONResponse({"error": sentence}, status, headers=HEADERS | dict(headers or {}))


def of_http_error(request: Request, error: Exception) -> Response:
    """The answer where an endpoint has refused the request, or no route takes it."""
    assert isinstance(error, HTTPException)
    sentence = error.detail
    if sentence == HTTPStatus(error.status_code).phrase:  # the router's own
        sentence = "There is nothing at this address."
        if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
            sentence = "Expected GET or HEAD; nothing can be changed over HTTP."
    return refused(error.status_code, sentence, error.headers)


def of_hedgerow_error(request: Request, error: Exception) -> Response:
    """The answer where the database or the disk fails."""
    return refused(HTTPStatus.SERVICE_UNAVAILABLE, str(error))


def of_fault(request: Request, error: Exception) -> Response:
    """The answer to what nobody foresaw; the server's log has the rest."""
    return refused(
        HTTPStatus.INTERNAL_SERVER_ERROR,
        f"Unexpected {type(error).__name__}; the app's terminal shows where.",
    )


HANDLERS = {HTTPException: of_http_error, HedgerowError: of_hedgerow_error, Exception: of_fault}
"""Kind of error → what makes an answer of it."""
