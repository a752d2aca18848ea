"""Which rows' texts contain a query, in any case, by an index of trigrams.

PostgreSQL keeps its indexes by itself (see migration 0008). SQLite's are FTS5 tables that hold no
texts of their own. They are not filled by triggers, which take ten times as long: each transaction
that adds texts has them indexed all at once before it commits. Texts are only ever added, so what
is new are the rows after the last one that is indexed.
"""

from itertools import product

from sqlalchemy import ColumnElement, bindparam, func, literal_column, or_, text
from sqlalchemy.orm import InstrumentedAttribute, Session

TABLES = {"anchor_revision": "rowid", "variant": "id", "note": "id"}
"""The tables whose texts are indexed, and the number of a row in SQLite's index.

Revisions have no id of their own. SQLite's row id never changes, because none is ever deleted.
"""

TRIGRAM = 3
"""Characters; SQLite's index knows nothing of a shorter query."""


def index_new_texts(session: Session) -> None:
    """Have SQLite's indexes know every text that this transaction has added."""
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
    """Make SQLite's indexes again from the texts."""
    for table in TABLES:
        session.connection().exec_driver_sql(
            f"INSERT INTO {table}_search ({table}_search) VALUES ('rebuild')"
        )


def _last(table: str) -> str:
    """SQL: the last row that is indexed. FTS5 keeps a row there for each text."""
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
    """SQL: the text contains the query, upper and lower case alike in every alphabet.

    Args:
        column: ``text`` of one of ``TABLES``.
        query: as texts are stored (canonical); its characters mean themselves.
    """
    if session.get_bind().dialect.name == "postgresql":
        folded = func.search_fold(column)
        return folded.like(func.search_fold(_pattern(query)))
    if len(query) < TRIGRAM:
        # LIKE itself folds only a to z.
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
