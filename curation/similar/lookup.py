"""Looking up the variants that are most similar to one, whatever their anchors."""

from typing import NamedTuple

from sqlalchemy import func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.project.opening import active_encoder_id
from curation.project.search import Hit, variant_hits
from curation.review.decisions import chunks
from curation.similar.stored_embeddings import StoredEmbeddings
from db.models import Encoder, Status, Variant
from db.settings import Settings

_SPARE = 500
"""Neighbours looked at beyond those wanted: siblings and variants out of use are left out."""


class SimilarVariant(NamedTuple):
    """A variant and its cosine, in [-1, 1], with the one that was asked about."""

    hit: Hit
    cosine: float


class SimilarVariants(NamedTuple):
    """What was found.

    Attributes:
        found: the most similar variant first; None where the embedding of the variant itself is not
            stored.
        missing: how many variants have no stored embedding, and so cannot be found.
    """

    found: list[SimilarVariant] | None
    missing: int


def similar_variants(
    session: Session, settings: Settings, variant: Variant, *, limit: int
) -> SimilarVariants:
    """The variants of other anchors that are most similar under the active encoder.

    Replaced wordings and variants that are out of use are left out.
    """
    encoder_id = active_encoder_id(session)
    total = session.execute(select(func.count()).select_from(Variant)).scalar_one()
    if encoder_id is None:
        return SimilarVariants(None, total)
    encoder = session.get_one(Encoder, encoder_id)
    stored = StoredEmbeddings(settings.data_folder, encoder.fingerprint)
    missing = max(0, total - len(stored))
    near = stored.nearest(variant.uid, limit=limit + _SPARE)
    if near is None:
        return SimilarVariants(None, max(1, missing))
    cosines = dict(near)
    ids = _in_use(session, cosines, anchor_id=variant.anchor_id)
    first = [ids[uid] for uid in cosines if uid in ids][:limit]
    found = [
        SimilarVariant(hit, cosines[hit.variant_uid or ""]) for hit in variant_hits(session, first)
    ]
    return SimilarVariants(found, missing)


def _in_use(session: Session, uids: dict[str, float], *, anchor_id: int) -> dict[str, int]:
    """Ids by uid of those that are in use and of other anchors."""
    found: dict[str, int] = {}
    for some in chunks(uids):
        query = select(col(Variant.uid), col(Variant.id)).where(
            col(Variant.uid).in_(some),
            col(Variant.anchor_id) != anchor_id,
            col(Variant.retired).is_(False),
            col(Variant.status) != Status.SUPERSEDED,
        )
        found |= dict(session.execute(query).all())
    return found
