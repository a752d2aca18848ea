"""Create and upgrade the database, with a backup copy before an upgrade."""

import glob
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import Engine, inspect, text

from db.engine import explained
from db.errors import HedgerowError
from db.failures import shown_address

SCRIPTS = Path(__file__).parent / "migrations"


def known_revisions() -> list[str]:
    """The schema revisions this program knows, oldest first, from the migrations' file names."""
    files = (SCRIPTS / "versions").glob("[0-9]*.py")
    return sorted(file.name.partition("_")[0] for file in files)


def head_revision() -> str:
    """The newest schema revision this program knows."""
    known = known_revisions()
    if not known:  # pragma: no cover (the first migration is part of the program)
        raise HedgerowError("No migration found in the program's folder; reinstall Hedgerow.")
    return known[-1]


def current_revision(engine: Engine) -> str | None:
    """The database's schema revision; None for an empty database."""
    if not inspect(engine).has_table("alembic_version"):
        return None
    with engine.connect() as connection:
        query = text("SELECT version_num FROM alembic_version")
        return connection.execute(query).scalar_one_or_none()


def require_tables(engine: Engine) -> None:
    """Require a database with tables.

    Raises:
        HedgerowError: the database is empty or cannot be read.
    """
    with explained(engine):
        if not inspect(engine).get_table_names():
            raise HedgerowError(
                f"{_where(engine)} is empty; replace it with a backup, use another one, or create "
                "a project in it with 'hedgerow init'."
            )


def upgrade(engine: Engine) -> Path | None:
    """Upgrade the database to the newest schema, in one transaction.

    Returns:
        The backup copy of an older SQLite database; otherwise None.

    Raises:
        HedgerowError: the file is not a database, belongs to another program, or is newer than
            this program. Nothing is changed.
    """
    with explained(engine):
        # Read first: tables that another process creates in between would look foreign.
        filled = bool(inspect(engine).get_table_names())
        found = current_revision(engine)
    if filled and found is None:
        raise HedgerowError(
            f"{_where(engine)} has tables of another program; use an empty database or another "
            "working directory."
        )
    if found == head_revision():
        return None
    if found is not None and found not in known_revisions():
        raise HedgerowError(
            f"{_where(engine)} was written by a newer version of Hedgerow (schema {found}; this "
            f"version knows up to {head_revision()}). If you have just upgraded Hedgerow, restart "
            "it; otherwise update it."
        )
    backup = _back_up(engine) if found is not None else None
    _run_migrations(engine)
    return backup


def _run_migrations(engine: Engine) -> None:
    # Imported here, because nearly all databases are up to date and don't need Alembic.
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(SCRIPTS))
    with explained(engine), engine.execution_options(writes=True).begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


def _where(engine: Engine) -> str:
    return f"The database {shown_address(engine.url)}"


def _back_up(engine: Engine) -> Path | None:
    """Copy a SQLite database within its folder. PostgreSQL has backups of its own."""
    if engine.name != "sqlite" or not engine.url.database:
        return None
    source = Path(engine.url.database)
    target = _free_name(source)
    try:
        with closing(sqlite3.connect(source)) as old, closing(sqlite3.connect(target)) as new:
            old.backup(new)
    except (sqlite3.Error, OSError) as error:
        target.unlink(missing_ok=True)
        raise HedgerowError(
            f"{_where(engine)} is older than this program and could not be copied before its "
            f"upgrade ({error}). Nothing was changed; free some space in its folder, then retry."
        ) from error
    return target


def _free_name(source: Path) -> Path:
    """An unused name for the copy."""
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    names = (source.with_name(f"{source.name}.{stamp}{n}.bak") for n in ("", *range(2, 100)))
    return next(name for name in names if not name.exists())


def backups(engine: Engine) -> list[Path]:
    """The copies of a SQLite database from upgrades, the newest last."""
    if engine.name != "sqlite" or not engine.url.database:
        return []
    source = Path(engine.url.database)
    return sorted(source.parent.glob(f"{glob.escape(source.name)}.*.bak"))
