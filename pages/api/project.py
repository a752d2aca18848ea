"""The health check and the status of the project."""

from http import HTTPStatus
from importlib import metadata

import anyio
from anyio import to_thread
from starlette.requests import Request
from starlette.responses import Response

from curation.overview.counts import project_counts
from curation.taxonomy.project_types import types_version
from db.errors import HedgerowError
from pages.api.answers import as_json
from pages.components.shared.shell import open_project

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
