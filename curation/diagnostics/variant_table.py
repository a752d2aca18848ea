"""All variants in a scope as rows, with their origin and measurements."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.anchors.current_revision import of_current_revision
from curation.diagnostics.distributions import Scope
from curation.diagnostics.measures import Flag
from curation.diagnostics.variants_by_measure import measured
from curation.project.search import SearchKind, matches
from db.models import Anchor, AnchorRevision, Diagnostic, Source, Variant, VariantCosine

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
