"""Case-insensitive search for parts of texts with a trigram index.

PostgreSQL updates its indexes itself (see migration 0008). On SQLite, the indexes are FTS5 tables
without texts of their own. Triggers would be ten times slower, so each transaction that adds texts
indexes them all at once before it commits. Texts are only ever added, so the new ones are the rows
after the last indexed one.
"""

from itertools import product

from sqlalchemy import ColumnElement, bindparam, func, literal_column, or_, text
from sqlalchemy.orm import InstrumentedAttribute, Session

TABLES = {"anchor_revision": "rowid", "variant": "id", "note": "id"}
"""The indexed tables, and the column with a row's number in SQLite's index.

Revisions have no id, but SQLite's row id never changes, because no revision is ever deleted.
"""

TRIGRAM = 3
"""Length in characters. SQLite's index can't answer shorter queries."""


def index_new_texts(session: Session) -> None:
    """Add all texts of this transaction to SQLite's indexes."""
    connection = session.connection()
    if not connection.exec_driver_sql(_INDEXES).scalar_one():  # an older database, or a new one
        return
    behind = connection.exec_driver_sql(_BEHIND).one()
    for (table, key), is_behind in zip(TABLES.items(), behind, strict=True):
        if is_behind:
            connection.exec_driver_sql(
                f"INSERT INTO {table}_search (rowid, text) SELECT {key}, text FROM {table}"
                f" WHERE {key} > {_last(table)}"
            )


def rebuild(session: Session) -> None:
    """Rebuild SQLite's indexes from the texts."""
    for table in TABLES:
        session.connection().exec_driver_sql(
            f"INSERT INTO {table}_search ({table}_search) VALUES ('rebuild')"
        )


def _last(table: str) -> str:
    """SQL: the last indexed row, from the FTS5 table with one row per text."""
    return f"(SELECT coalesce(max(id), 0) FROM {table}_search_docsize)"


_NAMES = ", ".join(f"'{table}_search'" for table in TABLES)
_INDEXES = f"SELECT count(*) = {len(TABLES)} FROM sqlite_master WHERE name IN ({_NAMES})"
_BEHIND = "SELECT " + ", ".join(
    f"(SELECT coalesce(max({key}), 0) FROM {table}) > {_last(table)}"
    for table, key in TABLES.items()
)


def contains(
    session: Session, column: InstrumentedAttribute[str], query: str
) -> ColumnElement[bool]:
    """SQL: the text contains the query, ignoring case in every alphabet.

    Args:
        column: ``text`` of one of ``TABLES``.
        query: a canonical text; no character is special.
    """
    if session.get_bind().dialect.name == "postgresql":
        folded = func.search_fold(column)
        return folded.like(func.search_fold(_pattern(query)))
    if len(query) < TRIGRAM:
        # LIKE ignores the case of a to z only.
        cased = product(*({character.lower(), character.upper()} for character in query))
        return or_(*(column.like(_pattern("".join(some)), escape="\\") for some in cased))
    table = column.class_.__table__.name
    phrase = query.replace('"', '""')
    matching = text(f"SELECT rowid FROM {table}_search WHERE {table}_search MATCH :phrase")
    key: ColumnElement[int] = literal_column(f"{table}.{TABLES[table]}")
    return key.in_(matching.bindparams(bindparam("phrase", f'"{phrase}"', unique=True)))


def _pattern(query: str) -> str:
    for special in ("\\", "%", "_"):
        query = query.replace(special, f"\\{special}")
    return f"%{query}%"
