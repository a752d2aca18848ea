"""A project's folder, database and reviewer."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import Engine, event
from sqlalchemy.orm import Session

from curation.actions import OpenProject, silent
from curation.decisions.reviewers import ensure_reviewer, get_reviewer
from curation.overview.project_settings import open_project
from db.errors import HedgerowError
from db.settings import Settings
from hedgerow.progress import Report, err, text_of


class Home(NamedTuple):
    """The settings of a project and its open database."""

    settings: Settings
    engine: Engine


def home_of(settings: Settings, *, create: bool) -> Home:
    """Open the database that the settings name.

    Args:
        create: whether to create the project if the database is missing or empty.

    Raises:
        HedgerowError: there is no project and ``create`` is False, or the database cannot be
            opened.
    """
    file = settings.url.database if settings.url.get_backend_name() == "sqlite" else None
    if file and not create and not Path(file).exists():
        raise HedgerowError(
            f"There is no project in {settings.home}; create one with 'hedgerow init', or set "
            "HEDGEROW_HOME to the project's folder."
        )
    return Home(settings, open_project(settings, create=create))


def acting(home: Home, report: Report = silent) -> OpenProject:
    """The project in which an action happens; the reviewer named in the settings acts."""
    return OpenProject(*home, lambda session: asked_by(session, home.settings), report)


def asked_by(session: Session, settings: Settings) -> int | None:
    """The id of the reviewer named in the settings, or None if the settings name nobody.

    A new name adds a reviewer.

    Raises:
        HedgerowError: the name is too long, or belongs to a model.
    """
    return reviewer_id(session, settings, "") if settings.reviewer else None


def reviewer_id(session: Session, settings: Settings, name: str) -> int:
    """The id of the reviewer with this name, or of the one in the settings if the name is "".

    A new name adds a reviewer. A message on standard error says so after the commit, because a
    misspelt name would otherwise go unnoticed.

    Raises:
        HedgerowError: the name is missing, is too long, or belongs to a model.
    """
    name = name or settings.reviewer
    is_new = get_reviewer(session, name) is None
    reviewer = ensure_reviewer(session, name)
    if is_new:
        event.listen(session, "after_commit", partial(_announce, reviewer.name), once=True)
    return reviewer.id


def _announce(name: str, _: Session) -> None:
    message = (
        f"Added a new reviewer, '{name}'. If that is a misspelling, merge it into the right name "
        "with 'hedgerow reviewers merge'."
    )
    err.print(text_of(message), soft_wrap=True)
