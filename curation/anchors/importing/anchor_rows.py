"""New anchors as database rows: one for the anchor, one for its first revision."""

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from db.columns import UtcDateTime, now
from db.engine import batched, know_new_rows
from db.models import Anchor, AnchorRevision

_ANCHOR = (
    "INSERT INTO anchor"
    " (uid, source_id, genre, language, split, document_id, row_id, id, created_at, revision)"
    " VALUES ({}, 1)"
)
_WORDING = (
    "INSERT INTO anchor_revision (anchor_id, text, text_uid, author_id, created_at, revision)"
    " VALUES ({}, 1)"
)


class NewAnchor(NamedTuple):
    """A new anchor.

    Attributes:
        uid: uid of its canonical text.
    """

    uid: str
    source_id: int
    genre: str
    language: str
    split: str
    document_id: str
    row_id: str
    text: str


def insert_anchors(
    session: Session, anchors: Sequence[NewAnchor], *, author_id: int | None
) -> Sequence[int]:
    """Add anchors in the session's transaction; return their ids in order.

    The values go straight to the driver's executemany, because SQLAlchemy's parameter handling
    would double the time of the insert.

    Raises:
        sqlalchemy.exc.IntegrityError: an anchor already exists.
    """
    connection = session.connection()
    moment = UtcDateTime().dialect_impl(connection.dialect).bind_processor(connection.dialect)
    created = moment(now()) if moment else now()
    ids = _next_ids(session, len(anchors))
    mark = "?" if connection.dialect.paramstyle == "qmark" else "%s"
    numbered = list(zip(ids, anchors, strict=True))
    for some in batched(numbered):
        connection.exec_driver_sql(
            _ANCHOR.format(", ".join([mark] * 9)),
            [(*one[:7], id_, created) for id_, one in some],
        )
        connection.exec_driver_sql(
            _WORDING.format(", ".join([mark] * 5)),
            [(id_, one.text, one.uid, author_id, created) for id_, one in some],
        )
    know_new_rows(session, Anchor, AnchorRevision)
    return ids


def _next_ids(session: Session, count: int) -> Sequence[int]:
    """Reserve ids for this many anchors."""
    if session.get_bind().dialect.name == "postgresql":
        sequence = func.nextval(func.pg_get_serial_sequence("anchor", "id"))
        query = select(sequence).select_from(func.generate_series(1, count))
        return sorted(session.execute(query).scalars())
    # SQLite has a single writer.
    last = session.execute(select(func.max(col(Anchor.id)))).scalar_one_or_none() or 0
    return range(last + 1, last + count + 1)
