"""Sources of anchors: the project's own and the bundled corpora."""

from collections.abc import Collection
from typing import Any

from sqlalchemy import ColumnElement, case, func, select, true
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.corpora.corpus import CORPORA
from db.errors import HedgerowError
from db.models import Anchor, Source, Variant


def is_bundled(name: Any) -> ColumnElement[int]:
    """SQL: 1 for the source of a bundled corpus, 0 for other sources.

    Args:
        name: the column with the source's name.
    """
    return case((name.in_([corpus.source for corpus in CORPORA.values()]), 1), else_=0)


def of_sources(names: Collection[str]) -> ColumnElement[bool]:
    """SQL: the variant's anchor is from one of these sources; an empty list means all."""
    if not names:
        return true()
    return col(Variant.source_id).in_(select(col(Source.id)).where(col(Source.name).in_(names)))


def sources_in_use(session: Session) -> dict[int, str]:
    """Id → name of the sources with variants in use: own sources first, then by name."""
    in_use = (
        select(col(Variant.id))
        .join(Anchor, col(Anchor.id) == col(Variant.anchor_id))
        .where(col(Anchor.source_id) == col(Source.id), col(Variant.retired).is_(False))
    )
    query = select(col(Source.id), col(Source.name)).where(in_use.exists())
    order = is_bundled(col(Source.name)), func.lower(Source.name), col(Source.id)
    return dict(session.execute(query.order_by(*order)).all())


def source_in_use(session: Session, name: str) -> int:
    """The id of the source with this name that has variants in use.

    Raises:
        HedgerowError: there is none.
    """
    known = {its_name: key for key, its_name in sources_in_use(session).items()}
    if name not in known:
        there = ", ".join(known) or "there is none"
        raise HedgerowError(f"Expected a source with variants ({there}), found {name}.")
    return known[name]
