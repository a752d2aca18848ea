"""Creating and upgrading the database, with a backup copy before anything changes."""

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
    """The schemas this program knows, oldest first: what the migrations' file names begin with."""
    files = (SCRIPTS / "versions").glob("[0-9]*.py")
    return sorted(file.name.partition("_")[0] for file in files)


def head_revision() -> str:
    """The newest schema this program knows."""
    known = known_revisions()
    if not known:  # pragma: no cover (the first migration is part of the program)
        raise HedgerowError("No migration found in the program's folder; reinstall Hedgerow.")
    return known[-1]


def current_revision(engine: Engine) -> str | None:
    """The schema the database has; None for an empty one."""
    if not inspect(engine).has_table("alembic_version"):
        return None
    with engine.connect() as connection:
        query = text("SELECT version_num FROM alembic_version")
        return connection.execute(query).scalar_one_or_none()


def require_tables(engine: Engine) -> None:
    """Whether anything is in the database.

    Raises:
        HedgerowError: it is empty, or cannot be read.
    """
    with explained(engine):
        if not inspect(engine).get_table_names():
            raise HedgerowError(
                f"{_where(engine)} is empty; replace it with a backup, use another one, or create "
                "a project in it with 'hedgerow init'."
            )


def upgrade(engine: Engine) -> Path | None:
    """Bring the database to the newest schema, in one transaction.

    Returns:
        The backup copy, where an older SQLite database was there to copy.

    Raises:
        HedgerowError: the file is not a database, belongs to another program, or is newer than
            this program. Nothing is changed then.
    """
    with explained(engine):
        # Listed first, so that tables another process makes in between are not taken for foreign.
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
    # A database that is up to date, which nearly all are, opens without Alembic's imports.
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
    """Copy a SQLite database in its folder. PostgreSQL's administrators have their own backups."""
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
    """A name for the copy that no earlier one has, whatever the clock says."""
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    names = (source.with_name(f"{source.name}.{stamp}{n}.bak") for n in ("", *range(2, 100)))
    return next(name for name in names if not name.exists())


def backups(engine: Engine) -> list[Path]:
    """The copies that upgrades made next to a SQLite database, the newest last."""
    if engine.name != "sqlite" or not engine.url.database:
        return []
    source = Path(engine.url.database)
    return sorted(source.parent.glob(f"{glob.escape(source.name)}.*.bak"))
