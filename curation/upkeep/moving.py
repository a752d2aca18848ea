"""Copy a project to a given database."""

from typing import Any, NamedTuple

from sqlalchemy import Engine
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from curation.review.people.roles import Role, require
from curation.upkeep.copying import Report, copy_database, same_place
from db.engine import create_engine, reading
from db.errors import HedgerowError
from db.failures import shown_address
from db.models import RunState
from db.runs import under_way
from db.settings import Settings


class Moved(NamedTuple):
    """The result of copying a project.

    Attributes:
        source, target: the addresses of the two databases, without passwords.
        rows: the number of rows by table.
        content_hash: the hash of both databases (see ``curation.upkeep.content``).
        data_folder: the folder where models, exports and logs stay.
    """

    source: str
    target: str
    rows: dict[str, int]
    content_hash: str
    data_folder: str

    @property
    def rows_in_all(self) -> int:
        """The number of rows in all tables."""
        return sum(self.rows.values())

    @property
    def facts(self) -> dict[str, Any]:
        """The fields, for JSON."""
        return self._asdict()


def copy_project(engine: Engine, settings: Settings, url: str, *, report: Report) -> Moved:
    """Copy the project's database to an empty one.

    Args:
        url: the address of that database. A relative SQLite path starts at the project's working
            directory.

    Raises:
        HedgerowError: the address is invalid or the project's own, a run is at work, or as in
            ``copy_database``. Nothing is copied.
    """
    require(Role.LEAD)
    target = create_engine(_address(settings, url).url)
    try:
        if same_place(engine, target):
            raise HedgerowError("This is the project's own database; choose another one.")
        with reading(engine) as session:
            for run in under_way(session):
                if run.state == RunState.RUNNING:
                    raise HedgerowError(
                        f"Run {run.id} is running, and its results would not be copied; wait for "
                        f"it to finish, or cancel it with 'hedgerow runs cancel {run.id}'."
                    )
        copied = copy_database(engine, target, report=report)
    finally:
        target.dispose()
    return Moved(
        source=shown_address(engine.url),
        target=shown_address(target.url),
        rows=copied.rows,
        content_hash=copied.content_hash,
        data_folder=str(settings.data_folder),
    )


def _address(settings: Settings, url: str) -> Settings:
    """The settings with this database. An invalid address is not quoted: it may hold a password."""
    try:
        is_usable = make_url(url).get_backend_name() in ("sqlite", "postgresql")
    except ArgumentError:
        is_usable = False
    if not is_usable:
        raise HedgerowError(
            "Expected the address of a database, such as postgresql://host/name or "
            "sqlite:////folder/hedgerow.db."
        )
    return settings.model_copy(update={"database_url": url})
