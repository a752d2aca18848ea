"""Find variants by their measurements: a region of a chart, a flag, or a threshold."""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from sqlalchemy import ColumnElement, Select, func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.anchors.current_revision import of_current_revision
from curation.anchors.sources import is_bundled
from curation.diagnostics.distributions import (
    EVERYTHING,
    Scope,
    cosine_bin,
    with_cosine,
    with_diagnostic,
)
from curation.diagnostics.measures import Flag
from db.columns import Columns
from db.models import Anchor, AnchorRevision, Diagnostic, Source, Status, Variant, VariantCosine


class First(StrEnum):
    """Which of the found variants come first (see ``curation.diagnostics.measures``)."""

    HARDEST = "hardness"
    SUSPICIOUS = "suspicion"


@dataclass(frozen=True)
class VariantFilter:
    """Search conditions; all of them must be met.

    Attributes:
        levenshtein: least and greatest distance in characters, both included.
        cosine_bins: first and last bin of the cosine under the active encoder (see
            ``curation.diagnostics.distributions.cosine_counts``), both included.
        flag: one that has to be set.
    """

    scope: Scope = EVERYTHING
    levenshtein: tuple[int, int] | None = None
    cosine_bins: tuple[int, int] | None = None
    flag: Flag | None = None
    first: First = First.HARDEST


class FoundVariants(NamedTuple):
    """How many variants there are in all, and the ids of the first of them."""

    total: int
    ids: tuple[int, ...]


class FoundVariant(NamedTuple):
    """A variant as a table shows it; measures are None where they are not stored."""

    id: int
    uid: str
    anchor: str
    text: str
    type_id: str
    cue: str | None
    status: Status
    levenshtein: int | None
    cosine: float | None
    flags: Flag


def find(session: Session, wanted: VariantFilter, *, limit: int) -> FoundVariants:
    """Count the variants wanted, and name the first ``limit`` of them.

    As in every queue, those of one's own anchors come before those of the corpora.
    """
    total = session.execute(_found(session, select(func.count()), wanted))
    key = col(getattr(Variant, wanted.first.value))
    query = (
        # A first condition on what no index has makes SQLite read the table in its own order.
        _found(session, select(col(Variant.id)).where(key >= 0), wanted)
        .join(Source, col(Source.id) == col(Variant.source_id))
        .order_by(is_bundled(col(Source.name)), key.desc(), col(Variant.id))
    )
    ids = session.execute(query.limit(limit)).scalars()
    return FoundVariants(total.scalar_one(), tuple(ids))


def rows(session: Session, ids: tuple[int, ...]) -> list[FoundVariant]:
    """The variants with these ids, in this order, at most some hundreds; unknown ids are left
    out."""
    query = (
        measured(
            session,
            select(
                col(Variant.id),
                col(Variant.uid),
                col(AnchorRevision.text),
                col(Variant.text),
                col(Variant.type_id),
                col(Variant.cue),
                col(Variant.status),
                col(Diagnostic.levenshtein),
                col(VariantCosine.cosine),
                col(Diagnostic.flags),
            ),
        )
        .join(Anchor, col(Anchor.id) == col(Variant.anchor_id))
        .join(AnchorRevision, of_current_revision())
        .where(col(Variant.id).in_(ids))
    )
    found = {
        row[0]: FoundVariant._make((*row[:-1], Flag(row[-1] or 0)))
        for row in session.execute(query)
    }
    return [found[key] for key in ids if key in found]


def measured(session: Session, query: Select[*Columns]) -> Select[*Columns]:
    """``query`` over variants, their measures and their cosine under the active encoder."""
    return with_cosine(session, with_diagnostic(query.select_from(Variant)))


def _found(session: Session, query: Select[*Columns], wanted: VariantFilter) -> Select[*Columns]:
    """``query`` over the variants wanted, joined with only what the conditions read."""
    query = query.select_from(Variant)
    if wanted.levenshtein is not None or wanted.flag is not None:
        query = with_diagnostic(query)
    if wanted.cosine_bins is not None:
        query = with_cosine(session, query)
    return query.where(*_conditions(wanted))


def _conditions(wanted: VariantFilter) -> list[ColumnElement[bool]]:
    conditions = [wanted.scope.condition()]
    if wanted.levenshtein is not None:
        conditions.append(col(Diagnostic.levenshtein).between(*wanted.levenshtein))
    if wanted.cosine_bins is not None:
        conditions.append(cosine_bin().between(*wanted.cosine_bins))
    if wanted.flag is not None:
        conditions.append(col(Diagnostic.flags).bitwise_and(int(wanted.flag)) != 0)
    return conditions
