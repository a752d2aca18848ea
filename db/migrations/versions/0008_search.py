"""Trigram indexes of anchors, variants and notes, for searches."""

from alembic import op
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

revision = "0008"
down_revision = "0007"

_TABLES = {"anchor_revision": "rowid", "variant": "id", "note": "id"}
_HASH_BYTES = 16 * 2**20
"""Memory for sorting in SQLite; for many texts, a third faster than 1 MiB."""


def upgrade() -> None:
    if op.get_bind().dialect.name == "sqlite":
        for table, key in _TABLES.items():
            search = f"{table}_search"
            op.execute(
                f"CREATE VIRTUAL TABLE {search} USING fts5("
                f"text, content='{table}', content_rowid='{key}', tokenize='trigram')"
            )
            op.execute(f"INSERT INTO {search} ({search}, rank) VALUES ('hashsize', {_HASH_BYTES})")
            op.execute(f"INSERT INTO {search} ({search}) VALUES ('rebuild')")
        return
    op.execute(
        "CREATE FUNCTION search_fold(text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE"
        f" AS $$ SELECT lower($1{_collation()}) $$"
    )
    if _has_trigrams():
        for table in _TABLES:
            op.execute(
                f"CREATE INDEX ix_{table}_search ON {table}"
                " USING gin (search_fold(text) gin_trgm_ops)"
            )


def _collation() -> str:
    """A collation that folds every alphabet. The server's default may fold a to z only."""
    query = text(
        "SELECT collname FROM pg_collation WHERE collname IN ('und-x-icu', 'pg_c_utf8')"
        " AND collencoding IN (-1, pg_char_to_encoding(getdatabaseencoding()))"
        " ORDER BY collname DESC LIMIT 1"
    )
    found = op.get_bind().execute(query).scalar()
    return f' COLLATE pg_catalog."{found}"' if found else ""


def _has_trigrams() -> bool:
    """Whether PostgreSQL can index trigrams. Otherwise, searches read all texts.

    The extension is part of PostgreSQL, and a database's owner can create it unless the host does
    not permit that.
    """
    try:
        with op.get_bind().begin_nested():
            op.execute("CREATE EXTENSION IF NOT EXISTS pg_trgm")
    except DBAPIError:
        return False
    query = text(
        "SELECT count(*) FROM pg_opclass"
        " WHERE opcname = 'gin_trgm_ops' AND pg_opclass_is_visible(oid)"
    )
    return bool(op.get_bind().execute(query).scalar_one())
