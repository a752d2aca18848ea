"""Look up the variants of other anchors that are most similar to a given one."""

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
"""Extra neighbours to look up, because siblings and variants out of use are then left out."""

LOW_COSINE = 0.6
"""If the highest cosine is lower, no variant found says something similar."""

NONE_SIMILAR = "None of these variants is very similar: all cosine similarities are low."
"""A remark for that case."""


class SimilarVariant(NamedTuple):
    """A variant and its cosine similarity, in [-1, 1], to the given one."""

    hit: Hit
    cosine: float


class SimilarVariants(NamedTuple):
    """The result of a lookup.

    Attributes:
        found: the variants, most similar first; None if the given variant has no stored embedding.
        missing: number of variants without a stored embedding, which cannot be found.
    """

    found: list[SimilarVariant] | None
    missing: int


def similar_variants(
    session: Session, settings: Settings, variant: Variant, *, limit: int
) -> SimilarVariants:
    """The variants of other anchors that are most similar by the active encoder.

    Superseded and retired variants are left out.
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
    """The ids, by uid, of the variants that are in use and have another anchor."""
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
