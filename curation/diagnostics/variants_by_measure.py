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
    """Which of the matching variants come first (see ``curation.diagnostics.measures``)."""

    HARDEST = "hardness"
    SUSPICIOUS = "suspicion"


@dataclass(frozen=True)
class VariantFilter:
    """Search conditions; all of them must be met.

    Attributes:
        levenshtein: minimum and maximum distance in characters, inclusive.
        cosine_bins: first and last bin of the cosine under the active encoder (see
            ``curation.diagnostics.distributions.cosine_counts``), inclusive.
        flag: a flag that must be set.
    """

    scope: Scope = EVERYTHING
    levenshtein: tuple[int, int] | None = None
    cosine_bins: tuple[int, int] | None = None
    flag: Flag | None = None
    first: First = First.HARDEST


class FoundVariants(NamedTuple):
    """How many variants match in total, and the ids of the first ones."""

    total: int
    ids: tuple[int, ...]


class FoundVariant(NamedTuple):
    """A variant in a table; measures are None if they are not stored."""

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
    """Count the matching variants and return the ids of the first ``limit``.

    As in every queue, variants of the user's own anchors come before those of the corpora.
    """
    total = session.execute(_found(session, select(func.count()), wanted))
    key = col(getattr(Variant, wanted.first.value))
    query = (
        # A first condition without an index makes SQLite read the table in its own order.
        _found(session, select(col(Variant.id)).where(key >= 0), wanted)
        .join(Source, col(Source.id) == col(Variant.source_id))
        .order_by(is_bundled(col(Source.name)), key.desc(), col(Variant.id))
    )
    ids = session.execute(query.limit(limit)).scalars()
    return FoundVariants(total.scalar_one(), tuple(ids))


def rows(session: Session, ids: tuple[int, ...]) -> list[FoundVariant]:
    """Return the variants with these ids in this order; unknown ids are skipped.

    Meant for at most a few hundred ids.
    """
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
    """Extend ``query`` to the variants' measures and their cosine under the active encoder."""
    return with_cosine(session, with_diagnostic(query.select_from(Variant)))


def _found(session: Session, query: Select[*Columns], wanted: VariantFilter) -> Select[*Columns]:
    """Restrict ``query`` to the matching variants, joining only the tables that are needed."""
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
