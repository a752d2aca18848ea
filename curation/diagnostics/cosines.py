"""Computes, stores and counts the cosine of each variant and its anchor under an encoder."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlalchemy import Engine, func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.anchors.revisions import of_current_revision
from curation.decisions.storing import chunks
from curation.diagnostics.measures import Flag
from curation.diagnostics.queue_order import queue_keys, store_queue_keys
from curation.project.settings import THRESHOLD, active_encoder_id, get_setting
from curation.taxonomy.project_types import all_types
from db import Report
from db.engine import insert_new, reading, write_in_pieces
from db.models import Anchor, AnchorRevision, Diagnostic, Variant, VariantCosine

BLOCK = 20_000
"""Cosines computed between two commits."""

TELLING_SECONDS = 2.0
"""Seconds; a shorter time is too imprecise to estimate the speed."""


def stored_cosines(
    session: Session, ids: Sequence[int], encoder_id: int | None
) -> dict[int, float]:
    if encoder_id is None:
        return {}
    query = select(col(VariantCosine.variant_id), col(VariantCosine.cosine)).where(
        col(VariantCosine.encoder_id) == encoder_id, col(VariantCosine.variant_id).in_(ids)
    )
    return dict(session.execute(query).all())


def count_without_cosine(session: Session, encoder_id: int | None) -> int:
    """Count the variants without a stored cosine under this encoder; all variants for None."""
    variants = session.execute(select(func.count()).select_from(Variant)).scalar_one()
    if encoder_id is None:
        return variants
    # Each variant has at most one cosine, so two index counts are enough.
    stored = select(func.count()).where(col(VariantCosine.encoder_id) == encoder_id)
    return variants - session.execute(stored).scalar_one()


def store_cosines(
    engine: Engine,
    model: Any,
    *,
    encoder_id: int,
    report: Report,
    wanted: Callable[[], bool] | None = None,
    report_pace: Callable[[float], None] = lambda _: None,
) -> int:
    """Compute and store the cosine of every variant that has none under this encoder.

    Args:
        wanted: called after each block; returning False stops the work.
        report_pace: called after a block with the encoding speed in characters per second.

    Returns:
        The number of cosines computed.
    """
    its = select(col(VariantCosine.variant_id)).where(
        col(VariantCosine.variant_id) == Variant.id,
        col(VariantCosine.encoder_id) == encoder_id,
    )
    query = select(col(Variant.id)).where(~its.exists())
    with reading(engine) as session:
        ordered = query.order_by(col(Variant.anchor_id), col(Variant.id))
        missing = session.execute(ordered).scalars().all()
    done = 0
    for start in range(0, len(missing), BLOCK):
        if start and wanted is not None and not wanted():
            break
        block = missing[start : start + BLOCK]

        def report_block(done: int, total: int, before: int = start) -> None:
            report(before + done, before + total, "Measuring cosine similarities.")

        pace = _store_block(engine, model, block, encoder_id=encoder_id, report=report_block)
        done += len(block)
        if pace:
            report_pace(pace)
    return done


def _store_block(
    engine: Engine,
    model: Any,
    ids: Sequence[int],
    *,
    encoder_id: int,
    report: Callable[[int, int], None],
) -> float:
    """Compute and store some cosines; return characters per second, or 0 for too short a time."""
    # It loads NumPy, which nobody needs who only counts.
    from curation.encoders.embeddings import characters, pair_cosines  # noqa: PLC0415

    texts: dict[int, tuple[str, str]] = {}
    with reading(engine) as session:
        for some in chunks(ids):
            texts |= variant_texts(session, some)
    begun = time.monotonic()
    cosines = pair_cosines(model, [texts[key] for key in ids], on_progress=report)
    seconds = time.monotonic() - begun
    values = zip(ids, (float(c) for c in cosines), strict=True)

    def save(session: Session, some: list[tuple[int, float]]) -> None:
        save_cosines(session, dict(some), encoder_id=encoder_id, texts=texts)

    write_in_pieces(engine, values, save)
    read = characters({text for pair in texts.values() for text in pair})
    return read / seconds if seconds >= TELLING_SECONDS else 0.0


def variant_texts(session: Session, ids: Sequence[int]) -> dict[int, tuple[str, str]]:
    """Return (anchor text, variant text) by variant id, for at most ``CHUNK`` ids."""
    query = (
        select(col(Variant.id), col(AnchorRevision.text), col(Variant.text))
        .join(Anchor, col(Anchor.id) == Variant.anchor_id)
        .join(AnchorRevision, of_current_revision())
        .where(col(Variant.id).in_(ids))
    )
    return {key: (anchor, text) for key, anchor, text in session.execute(query)}


def save_cosines(
    session: Session,
    cosines: dict[int, float],
    *,
    encoder_id: int,
    texts: Mapping[int, tuple[str, str]] | None = None,
) -> None:
    """Store cosines by variant id; under the active encoder, also update the queue order.

    Args:
        texts: the compared texts, from ``variant_texts``. If the anchor has been corrected since,
            the variant's cosine is skipped.
    """
    is_active = encoder_id == active_encoder_id(session)
    types = all_types(session)
    threshold = int(get_setting(session, THRESHOLD))
    for ids in chunks(cosines):
        if texts is not None:
            present = variant_texts(session, ids)
            ids = [key for key in ids if present.get(key) == texts[key]]
        stored = stored_cosines(session, ids, encoder_id)
        fresh = [
            {"encoder_id": encoder_id, "variant_id": key, "cosine": cosines[key]}
            for key in ids
            if key not in stored
        ]
        if fresh:
            insert_new(session, VariantCosine, fresh)
        if is_active:
            store_queue_keys(
                session,
                [
                    queue_keys(
                        row.variant_id,
                        flags=Flag(row.flags),
                        levenshtein=row.levenshtein,
                        content_kept=row.content_kept,
                        cosine=cosines[row.variant_id],
                        polarity=types[type_id].polarity,
                        threshold=threshold,
                    )
                    for row, type_id in session.execute(
                        select(Diagnostic, col(Variant.type_id))
                        .join(Variant, col(Variant.id) == Diagnostic.variant_id)
                        .where(col(Diagnostic.variant_id).in_(ids))
                        .order_by(col(Diagnostic.variant_id))
                    )
                ],
            )
