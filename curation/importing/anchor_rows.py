"""New anchors as database rows, one each for the anchor and its first revision; their sources."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.content_uids import at_most, canonical
from curation.editing.attributes import checked_genre, checked_language
from db.columns import UtcDateTime, now
from db.engine import batched, insert_new, know_new_rows
from db.errors import HedgerowError
from db.models import Anchor, AnchorRevision, Source

MAX_SOURCE, MAX_LICENCE = 200, 200


@dataclass(frozen=True)
class About:
    """The attributes of a whole file of anchors.

    Attributes:
        source: name of the source.
        licence: licence of the source; None keeps the licence of an existing source.
        genre: genre of rows without one.
        language: a tag such as 'en' or 'de-CH'.

    Raises:
        HedgerowError: a name is missing or too long, or the language is not a tag.
    """

    source: str
    licence: str | None = None
    genre: str = ""
    language: str = "en"

    def __post_init__(self) -> None:
        for name, limit in (("source", MAX_SOURCE), ("licence", MAX_LICENCE)):
            value = at_most(limit, canonical(getattr(self, name) or ""), f"a {name}")
            if name != "licence" or self.licence is not None:
                object.__setattr__(self, name, value)
        if not self.source:
            raise HedgerowError("Expected the name of a source, found none.")
        object.__setattr__(self, "genre", checked_genre(self.genre))
        object.__setattr__(self, "language", checked_language(self.language))


def check_source(session: Session, about: About) -> Source | None:
    """The source with this name, if any.

    Raises:
        HedgerowError: it has another licence.
    """
    source = session.execute(select(Source).where(col(Source.name) == about.source)).scalar()
    if source is None or about.licence is None or about.licence == source.licence:
        return source
    raise HedgerowError(
        f"The source '{source.name}' already exists with the licence "
        f"'{source.licence or 'none given'}', found '{about.licence or 'none given'}'; enter the "
        "same licence, or use another source name."
    )


def ensure_source(
    session: Session, name: str, licence: str, *, content_hash: str = "", note: str = ""
) -> int:
    """The id of the source with this name, which is added if there is none."""
    query = select(col(Source.id)).where(col(Source.name) == name)
    if (found := session.execute(query).scalar()) is not None:
        return found
    row = {"name": name, "licence": licence, "content_hash": content_hash, "note": note}
    insert_new(session, Source, [row])
    return session.execute(query).scalar_one()


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
