"""The HTTP interface. All routes except one require the token. None changes anything."""

import hmac
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from http import HTTPStatus
from importlib import metadata
from itertools import chain
from typing import Any, BinaryIO

import anyio
from anyio import from_thread, to_thread
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from curation.overview.next_steps import project_counts
from curation.release.contents import release_facts
from curation.release.export.export_formats import Progress, export_format
from curation.release.export.file_formats import TABLE_FILES, table_bytes
from curation.release.export.release_folder import export_name, zipped
from curation.release.export.table_rows import cut, read_piece
from curation.release.freezing import NoSuchRelease, get_release, list_releases
from curation.taxonomy.project_types import types_version
from db.errors import HedgerowError
from db.models import Release
from pages.components.shared.shell import open_project
from training.benchmarks.contamination import compare

# -- The health check and the status of the project -----------------------------------------------


PATIENCE_SECONDS = 5
"""Seconds to wait for the database, which may never answer over a broken network."""


async def health(request: Request) -> Response:
    """Whether the database answers. This needs no token, so the response contains nothing else."""
    reachable = False
    with anyio.move_on_after(PATIENCE_SECONDS):
        reachable = await to_thread.run_sync(_database_answers, abandon_on_cancel=True)
    facts = {
        "status": "ok" if reachable else "failing",
        "version": metadata.version("hedgerow"),
        "database": "reachable" if reachable else "unreachable",
    }
    return as_json(facts, HTTPStatus.OK if reachable else HTTPStatus.SERVICE_UNAVAILABLE)


def _database_answers() -> bool:
    try:
        open_project.ask(types_version)
    except HedgerowError:
        return False
    return True


async def status(request: Request) -> Response:
    """The output of ``hedgerow status --json``."""
    settings = open_project.settings()
    return as_json(await to_thread.run_sync(open_project.ask, project_counts, settings))


# -- Listing releases, and sending them as streams ------------------------------------------------


LATEST = "latest"
NUMBER = re.compile("[0-9]{1,9}")
"""Maximum number of digits; a longer number fits in no database."""

ZIPS_AT_ONCE = 2
"""Number of exports at the same time. Each uses one core; further ones wait."""

CHUNK = 1 << 16
"""Bytes per chunk of a ZIP file."""

TYPES = {"csv": "text/csv", "jsonl": "application/x-ndjson", "zip": "application/zip"}

_zips = anyio.CapacityLimiter(ZIPS_AT_ONCE)


async def every(request: Request) -> Response:
    """The output of ``hedgerow release list --json``."""
    found = await to_thread.run_sync(open_project.ask, list_releases)
    return as_json({"releases": [release_facts(release) for release in found]})


async def table(request: Request) -> Response:
    """One table of a release, row by row, identical to the file in an export."""
    file = request.path_params["file"]
    if file not in TABLE_FILES:
        raise HTTPException(
            HTTPStatus.NOT_FOUND,
            f"A release has {', '.join(TABLE_FILES)} and export, not {file!r}.",
        )
    _refuse_parameters(request)
    release = await _release(request)
    headers = _headers(release, f"hedgerow-release-{release.number}-{file}")
    if (answer := _without_body(request, headers)) is not None:
        return answer
    pieces = await to_thread.run_sync(open_project.ask, cut, release.id)
    rows = chain.from_iterable(
        open_project.ask(read_piece, release.id, TABLE_FILES[file], ids) for ids in pieces
    )
    return StreamingResponse(table_bytes(file, rows), headers=headers)


async def export(request: Request) -> Response:
    """A whole export: the same ZIP file as on the page Release & export."""
    _refuse_parameters(request, "format")
    try:
        format = export_format(request.query_params.get("format", "hf")).name
    except HedgerowError as error:
        raise HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY, str(error)) from error
    release = await _release(request)
    headers = _headers(release, f"{export_name(release, format)}.zip")
    if (answer := _without_body(request, headers)) is not None:
        return answer

    def stop_if_gone(done: int, total: int, message: str) -> None:
        if from_thread.run(request.is_disconnected):
            raise ClientDisconnect

    try:
        packed = await to_thread.run_sync(_zip, release, format, stop_if_gone, limiter=_zips)
    except ClientDisconnect:
        return Response()  # nobody hears it
    return StreamingResponse(_chunks(packed), headers=headers)


def _zip(release: Release, format: str, progress: Progress) -> BinaryIO:
    folder = open_project.settings().data_folder
    compared = open_project.ask(compare, folder, release, report=progress)
    return open_project.ask(zipped, release, format, compared=compared, progress=progress)


def _chunks(file: BinaryIO) -> Iterator[bytes]:
    with file:
        while chunk := file.read(CHUNK):
            yield chunk


def _refuse_parameters(request: Request, *known: str) -> None:
    for name in request.query_params:
        if name not in known:
            expected = f"only the parameter '{known[0]}'" if known else "no parameters"
            raise HTTPException(
                HTTPStatus.UNPROCESSABLE_ENTITY, f"Expected {expected}, but found {name!r}."
            )


async def _release(request: Request) -> Release:
    asked = request.path_params["number"]
    if asked != LATEST and not NUMBER.fullmatch(asked):
        raise HTTPException(
            HTTPStatus.UNPROCESSABLE_ENTITY,
            f"Expected the number of a release or '{LATEST}', but found {asked!r}.",
        )
    number = None if asked == LATEST else int(asked)
    try:
        return await to_thread.run_sync(open_project.ask, get_release, number)
    except NoSuchRelease as error:
        raise HTTPException(HTTPStatus.NOT_FOUND, str(error)) from error


def _headers(release: Release, name: str) -> dict[str, str]:
    """Of a release as a file. Two releases of equal content may differ in who accepted it."""
    return HEADERS | {
        "Content-Disposition": f'attachment; filename="{name}"',
        "Content-Type": TYPES[name.rpartition(".")[2]],
        "ETag": f'W/"{release.content_hash}-{name}"',
    }


def _without_body(request: Request, headers: dict[str, str]) -> Response | None:
    """The response if the client has the file already, or only requests its headers."""
    had = request.headers.get("If-None-Match", "").split(",")
    if headers["ETag"] in (tag.strip() for tag in had):
        kept = {name: headers[name] for name in ("Cache-Control", "ETag")}
        return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=kept)
    return StreamingResponse(iter(()), headers=headers) if request.method == "HEAD" else None


# -- interface ------------------------------------------------------------------------------------


Endpoint = Callable[[Request], Awaitable[Response]]

WITH_TOKEN: dict[str, Endpoint] = {
    "/status": status,
    "/releases": every,
    "/releases/{number}/export": export,
    "/releases/{number}/{file}": table,
}


def interface(token: str) -> Starlette:
    """The interface, protected by the token."""
    return Starlette(
        routes=[
            Route("/health", health),
            *(Route(path, _guarded(endpoint, token)) for path, endpoint in WITH_TOKEN.items()),
        ],
        exception_handlers=HANDLERS,
    )


def _guarded(endpoint: Endpoint, token: str) -> Endpoint:
    """The endpoint, protected by the token."""
    expected = token.encode()

    async def guarded(request: Request) -> Response:
        scheme, _, shown = request.headers.get("Authorization", "").partition(" ")
        fits = hmac.compare_digest(shown.strip().encode(), expected)
        if scheme.lower() == "bearer" and fits:
            return await endpoint(request)
        return refused(
            HTTPStatus.UNAUTHORIZED,
            "Expected the header 'Authorization: Bearer' with the token of HEDGEROW_HTTP_TOKEN.",
            {"WWW-Authenticate": 'Bearer realm="hedgerow"'},
        )

    return guarded


# -- Responses of the HTTP interface: JSON, with one sentence for each error ----------------------


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
