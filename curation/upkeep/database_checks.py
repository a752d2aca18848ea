"""Checks of the database itself: damage, and references to missing rows.

A PostgreSQL server prevents both. In SQLite, another program can store such references while they
are not enforced.
"""

from sqlalchemy import text
from sqlalchemy.orm import Session

from curation.upkeep.found import Check, Found
from db.settings import Settings
from db.trigrams import TABLES, rebuild

_MOST = 100
"""Maximum number of problems that SQLite reports."""


def _is_sqlite(session: Session) -> bool:
    return session.get_bind().dialect.name == "sqlite"


def _damage(session: Session, settings: Settings) -> Found:
    if not _is_sqlite(session):
        return Found()
    lines = list(session.execute(text(f"PRAGMA integrity_check({_MOST})")).scalars())
    return Found() if lines == ["ok"] else Found(len(lines), lines[0])


def _references(session: Session, settings: Settings) -> Found:
    if not _is_sqlite(session):
        return Found()
    rows = session.execute(text("PRAGMA foreign_key_check")).all()
    if not rows:
        return Found()
    table, number, parent, _ = rows[0]
    return Found(len(rows), f"row {number} of {table}, which refers to a missing row of {parent}")


def _unsearchable(session: Session, settings: Settings) -> Found:
    """Texts missing from the search index, and entries of the index without a text."""
    if not _is_sqlite(session):
        return Found()
    total, example = 0, ""
    for table, key in TABLES.items():
        indexed = f"SELECT id FROM {table}_search_docsize"
        stored = f"SELECT {key} FROM {table}"
        for one, other in ((stored, indexed), (indexed, stored)):
            query = f"WITH b(a) AS ({one} EXCEPT {other}) SELECT count(*), min(a) FROM b"
            count, first = session.execute(text(query)).one()
            if count:
                total, example = total + count, example or f"row {first} of {table}"
    return Found(total, example)


def _index_again(session: Session, found: Found) -> None:
    rebuild(session)


CHECKS = (
    Check(
        id="integrity",
        title="Database file",
        find=_damage,
        advice="The file is damaged. Stop Hedgerow, and replace the file with a backup.",
    ),
    Check(
        id="references",
        title="References between rows",
        find=_references,
        advice="Another program has changed the database. Restore an earlier backup.",
    ),
    Check(id="search", title="Search index", find=_unsearchable, repair=_index_again),
)
