"""A project's folder, database and reviewer."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from sqlalchemy import Engine
from sqlalchemy.orm import Session

from curation.project.opening import open_project
from curation.review.people.reviewers import ensure_reviewer
from db.errors import HedgerowError
from db.settings import Settings


class Home(NamedTuple):
    """The settings of a project and its open database."""

    settings: Settings
    engine: Engine


def home_of(settings: Settings, *, create: bool) -> Home:
    """Open the database that the settings name.

    Args:
        create: make it if it is missing or empty.

    Raises:
        HedgerowError: there is no project and none may be made, or its database cannot be opened.
    """
    file = settings.url.database if settings.url.get_backend_name() == "sqlite" else None
    if file and not create and not Path(file).exists():
        raise HedgerowError(
            f"There is no project in {settings.home}; make one there with 'hedgerow init', or name "
            "its folder with HEDGEROW_HOME."
        )
    return Home(settings, open_project(settings, create=create))


def asked_by(session: Session, settings: Settings) -> int | None:
    """The id of the reviewer whom the settings name, who is added if new; None if they name nobody.

    Raises:
        HedgerowError: the name is too long, or a model's.
    """
    return reviewer_id(session, settings, "") if settings.reviewer else None


def reviewer_id(session: Session, settings: Settings, name: str) -> int:
    """The id of the reviewer with this name, who is added if new; "" takes the settings' name.

    Raises:
        HedgerowError: the name is missing, too long, or a model's.
    """
    return ensure_reviewer(session, name or settings.reviewer).id
