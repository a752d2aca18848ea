"""Creating and upgrading the database, with a backup copy before anything changes."""

import sqlite3
from datetime import UTC, datetime
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, inspect
from sqlalchemy.exc import DatabaseError

from db.errors import HedgerowError

SCRIPTS = Path(__file__).parent / "migrations"


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(SCRIPTS))
    return config


def head_revision() -> str:
    """The newest schema this program knows."""
    head = ScriptDirectory.from_config(_config()).get_current_head()
    if head is None:  # pragma: no cover (the first migration is part of the program)
        raise HedgerowError("No migration found in the program's folder; reinstall Hedgerow.")
    return head


def current_revision(engine: Engine) -> str | None:
    """The schema the database has; None for an empty one."""
    with engine.connect() as connection:
        return MigrationContext.configure(connection).get_current_revision()


def upgrade(engine: Engine) -> Path | None:
    """Bring the database to the newest schema, in one transaction.

    Returns:
        The backup copy, where an older SQLite database was there to copy.

    Raises:
        HedgerowError: the file is not a database, belongs to another program, or is newer than
            this program. Nothing is changed then.
    """
    try:
        found = current_revision(engine)
        foreign = found is None and bool(inspect(engine).get_table_names())
    except DatabaseError as error:
        raise HedgerowError(
            f"{_where(engine)} cannot be read as a database: {error.orig}."
        ) from error
    if foreign:
        raise HedgerowError(
            f"{_where(engine)} holds another program's tables; name an empty database or another "
            "working directory."
        )
    known = [script.revision for script in ScriptDirectory.from_config(_config()).walk_revisions()]
    if found == head_revision():
        return None
    if found is not None and found not in known:
        raise HedgerowError(
            f"{_where(engine)} was written by a newer Hedgerow (schema {found}, this program knows "
            f"up to {head_revision()}); update Hedgerow."
        )
    backup = _back_up(engine) if found is not None else None
    config = _config()
    with engine.execution_options(writes=True).begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
    return backup


def _where(engine: Engine) -> str:
    return engine.url.render_as_string(hide_password=True)


def _back_up(engine: Engine) -> Path | None:
    """Copy a SQLite database beside itself. PostgreSQL's administrators have their own backups."""
    if engine.name != "sqlite" or not engine.url.database:
        return None
    source = Path(engine.url.database)
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    target = source.with_name(f"{source.name}.{stamp}.bak")
    with sqlite3.connect(source) as old, sqlite3.connect(target) as new:
        old.backup(new)
    old.close()
    new.close()
    return target
