"""Variants in a scope as rows, or found by their measurements."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.anchors.revisions import is_bundled, of_current_revision
from curation.anchors.search import SearchKind, matches
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

BATCH = 5_000
"""Rows fetched from the database at a time."""


class VariantRow(NamedTuple):
    """A variant; measures are None if they are not stored.

    Attributes:
        levenshtein: characters between anchor and variant.
        length_ratio: words in the text per word in the anchor.
        content_kept: share of the anchor's content words that the text keeps, in [0, 1].
        cosine: of anchor and text under the active encoder, in [-1, 1].
        flags: the labels of its flags, separated by '; '.
        provider, model: what wrote it; '' for a person.
    """

    uid: str
    type: str
    cue: str | None
    text: str
    status: str
    anchor: str
    levenshtein: int | None
    length_ratio: float | None
    content_kept: float | None
    cosine: float | None
    flags: str
    provider: str
    model: str
    source: str
    genre: str
    split: str
    anchor_uid: str


def variant_rows(
    session: Session, scope: Scope, *, search: str = "", anchor: str = ""
) -> Iterator[VariantRow]:
    """Yield the variants in a scope, by id.

    Args:
        search: words that the text must contain, or a uid; '' for all.
        anchor: the uid of the anchor; '' for all.
    """
    query = measured(
        session,
        select(
            col(Variant.uid),
            col(Variant.type_id),
            col(Variant.cue),
            col(Variant.text),
            col(Variant.status),
            col(AnchorRevision.text),
            col(Diagnostic.levenshtein),
            col(Diagnostic.length_ratio),
            col(Diagnostic.content_kept),
            col(VariantCosine.cosine),
            col(Diagnostic.flags),
            col(Variant.provider),
            col(Variant.model),
            col(Source.name),
            col(Anchor.genre),
            col(Anchor.split),
            col(Anchor.uid),
        ),
    )
    query = (
        query.join(Anchor, col(Anchor.id) == col(Variant.anchor_id))
        .join(AnchorRevision, of_current_revision())
        .join(Source, col(Source.id) == col(Variant.source_id))
        .where(scope.condition())
        .order_by(col(Variant.id))
        .execution_options(yield_per=BATCH)
    )
    if search:
        query = query.where(matches(session, search, SearchKind.VARIANTS))
    if anchor:
        query = query.where(col(Anchor.uid) == anchor)
    for row in session.execute(query):
        found = VariantRow._make(row)
        flags = "; ".join(flag.label for flag in Flag(row[10] or 0))
        yield found._replace(flags=flags, status=row[4].value, split=row[15].value)


# -- Find variants by their measurements: a region of a chart, a flag, or a threshold -------------


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
    query = query.select_from(Variant).where(wanted.scope.condition())
    if wanted.levenshtein is not None or wanted.flag is not None:
        query = with_diagnostic(query)
    if wanted.levenshtein is not None:
        query = query.where(col(Diagnostic.levenshtein).between(*wanted.levenshtein))
    if wanted.flag is not None:
        query = query.where(col(Diagnostic.flags).bitwise_and(int(wanted.flag)) != 0)
    if wanted.cosine_bins is not None:
        query = with_cosine(session, query).where(cosine_bin().between(*wanted.cosine_bins))
    return query
