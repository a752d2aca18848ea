"""Measuring stored variants: surface and distance at once, cosine by an encoder in a run.

What is measured, and how, is in ``curation.measures``; here it is stored, per variant and (the
cosine) per encoder, together with the two numbers that order the queues.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from sqlalchemy import Engine, delete, func, insert, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlmodel import Session, col

from curation.decisions import chunks
from curation.encoders import fingerprint, load_encoder, pair_cosines
from curation.measures import Flag, measure
from curation.project import ACTIVE_ENCODER, THRESHOLD, active_encoder_id, get_setting
from curation.queue_keys import queue_keys, store_queue_keys
from curation.taxonomy import TAXONOMY_VERSION, VariantType
from curation.types import list_types
from curation.wording import current_wording
from db.engine import reading, writing
from db.execution import RunContext
from db.models import (
    Anchor,
    AnchorRevision,
    Diagnostic,
    Encoder,
    Status,
    Variant,
    VariantCosine,
)

BLOCK = 20_000
"""Variants measured between two commits of a run."""

Report = Callable[[int, int, str], None]
"""Called with (done, total, message)."""


def measure_variants(session: Session, variant_ids: Iterable[int]) -> None:
    """Measure these variants without an encoder and store the result, replacing an older one."""
    types = {entry.id: entry for entry in list_types(session)}
    threshold = int(get_setting(session, THRESHOLD))
    encoder_id = active_encoder_id(session)
    for ids in chunks(variant_ids):
        _measure_chunk(session, ids, types=types, threshold=threshold, encoder_id=encoder_id)


def _measure_chunk(
    session: Session,
    ids: list[int],
    *,
    types: dict[str, VariantType],
    threshold: int,
    encoder_id: int | None,
) -> None:
    rows = session.execute(
        select(  # type: ignore[call-overload]
            Variant.id, Variant.anchor_id, Variant.parent_id, Variant.type_id,
            Variant.text, Variant.cue, AnchorRevision.text,
        )
        .join(Anchor, col(Anchor.id) == Variant.anchor_id)
        .join(AnchorRevision, current_wording())
        .where(col(Variant.id).in_(ids))
    ).all()  # fmt: skip
    siblings = _siblings(session, {row[1] for row in rows})
    cosines = _stored_cosines(session, ids, encoder_id)
    measured: list[dict[str, Any]] = []
    keys: list[dict[str, Any]] = []
    for variant_id, anchor_id, parent_id, type_id, text, cue, anchor in rows:
        others = [t for other, t in siblings[anchor_id] if other not in (variant_id, parent_id)]
        found = measure(
            anchor=anchor, text=text, cue=cue, check=types[type_id].surface_check,
            siblings=others, threshold=threshold,
        )  # fmt: skip
        measured.append(
            {
                "variant_id": variant_id,
                "levenshtein": found.levenshtein,
                "length_ratio": found.length_ratio,
                "content_kept": found.content_kept,
                "flags": int(found.flags),
                "check_version": TAXONOMY_VERSION,
            }
        )
        keys.append(
            queue_keys(
                variant_id,
                flags=found.flags,
                levenshtein=found.levenshtein,
                content_kept=found.content_kept,
                cosine=cosines.get(variant_id),
                polarity=types[type_id].polarity,
                threshold=threshold,
            )
        )
    session.execute(delete(Diagnostic).where(col(Diagnostic.variant_id).in_(ids)))
    session.execute(insert(Diagnostic), measured)
    store_queue_keys(session, keys)


def _siblings(session: Session, anchor_ids: Iterable[int]) -> dict[int, list[tuple[int, str]]]:
    """The (id, text) of all variants of each anchor that no edit has replaced."""
    found: dict[int, list[tuple[int, str]]] = defaultdict(list)
    for ids in chunks(anchor_ids):
        query = select(Variant.anchor_id, Variant.id, Variant.text).where(  # type: ignore[call-overload]
            col(Variant.anchor_id).in_(ids), col(Variant.status) != Status.SUPERSEDED
        )
        for anchor_id, variant_id, text in session.execute(query):
            found[anchor_id].append((variant_id, text))
    return found


def _stored_cosines(
    session: Session, ids: Sequence[int], encoder_id: int | None
) -> dict[int, float]:
    if encoder_id is None:
        return {}
    query = select(VariantCosine.variant_id, VariantCosine.cosine).where(  # type: ignore[call-overload]
        col(VariantCosine.encoder_id) == encoder_id, col(VariantCosine.variant_id).in_(ids)
    )
    return dict(session.execute(query).all())


def register_encoder(session: Session, *, name: str, hash_: str) -> Encoder:
    """The row of the encoder with this fingerprint, made if it is not there."""
    row = session.execute(select(Encoder).where(col(Encoder.fingerprint) == hash_)).scalar()
    if row is None:
        row = Encoder(name=name, fingerprint=hash_)
        session.add(row)
        session.flush()
    return row


def count_without_measures(session: Session) -> int:
    """Variants whose distance and flags are not stored yet."""
    return session.execute(
        select(func.count()).select_from(Variant).where(~_has_diagnostic())
    ).scalar_one()


def count_without_cosine(session: Session, encoder_id: int | None) -> int:
    """Variants without a stored cosine under this encoder; all of them for None."""
    query = select(func.count()).select_from(Variant)
    if encoder_id is not None:
        query = query.where(~_has_cosine(encoder_id))
    return session.execute(query).scalar_one()


def _has_diagnostic() -> Any:
    return select(Diagnostic.variant_id).where(Diagnostic.variant_id == Variant.id).exists()  # type: ignore[call-overload]


def _has_cosine(encoder_id: int) -> Any:
    return (
        select(VariantCosine.variant_id)  # type: ignore[call-overload]
        .where(VariantCosine.variant_id == Variant.id, VariantCosine.encoder_id == encoder_id)
        .exists()
    )


def work(context: RunContext) -> dict[str, Any]:
    """Measure everything that is not measured yet (run kind ``diagnose``).

    Parameters of the run: ``encoder``, a name as ``load_encoder`` takes it; without one the
    project's active encoder. Each block is committed, so that a later run goes on where this one
    stopped.
    """
    engine = context.engine
    with reading(engine) as session:
        name = context.parameters.get("encoder") or get_setting(session, ACTIVE_ENCODER)
        pending = session.execute(select(Variant.id).where(~_has_diagnostic())).scalars().all()  # type: ignore[call-overload]
    for start in range(0, len(pending), BLOCK):
        context.update(start, len(pending), "Measuring distances and surface checks.")
        with writing(engine) as session:
            measure_variants(session, pending[start : start + BLOCK])
    context.update(0, 0, f"Loading the encoder {name}.")
    model = load_encoder(name)
    with writing(engine) as session:
        encoder = register_encoder(session, name=name, hash_=fingerprint(name))
    done = store_cosines(engine, model, encoder_id=encoder.id or 0, report=context.update)
    return {"encoder": name, "measured": len(pending), "cosines": done}


def store_cosines(engine: Engine, model: Any, *, encoder_id: int, report: Report) -> int:
    """Compute and store the cosine of every variant that has none under this encoder.

    Returns:
        How many were computed.
    """
    with reading(engine) as session:
        missing = (
            session.execute(
                select(Variant.id)  # type: ignore[call-overload]
                .where(~_has_cosine(encoder_id))
                .order_by(col(Variant.anchor_id), col(Variant.id))
            )
            .scalars()
            .all()
        )
    for start in range(0, len(missing), BLOCK):
        block = missing[start : start + BLOCK]

        def report_block(done: int, total: int, before: int = start) -> None:
            report(before + done, before + total, "Measuring cosine similarities.")

        _store_block(engine, model, block, encoder_id=encoder_id, report=report_block)
    return len(missing)


def _store_block(
    engine: Engine,
    model: Any,
    ids: Sequence[int],
    *,
    encoder_id: int,
    report: Callable[[int, int], None],
) -> None:
    texts: dict[int, tuple[str, str]] = {}
    with reading(engine) as session:
        for some in chunks(ids):
            texts |= variant_texts(session, some)
    cosines = pair_cosines(model, [texts[key] for key in ids], on_progress=report)
    with writing(engine) as session:
        values = dict(zip(ids, (float(c) for c in cosines), strict=True))
        save_cosines(session, values, encoder_id=encoder_id)


def variant_texts(session: Session, ids: Sequence[int]) -> dict[int, tuple[str, str]]:
    """(anchor text, variant text) of these variants, by id; at most ``CHUNK`` ids."""
    query = (
        select(Variant.id, AnchorRevision.text, Variant.text)  # type: ignore[call-overload]
        .join(Anchor, col(Anchor.id) == Variant.anchor_id)
        .join(AnchorRevision, current_wording())
        .where(col(Variant.id).in_(ids))
    )
    return {key: (anchor, text) for key, anchor, text in session.execute(query)}


def save_cosines(session: Session, cosines: dict[int, float], *, encoder_id: int) -> None:
    """Store cosines by variant id; under the active encoder, reorder the queues by them."""
    is_active = encoder_id == active_encoder_id(session)
    types = {entry.id: entry for entry in list_types(session)}
    threshold = int(get_setting(session, THRESHOLD))
    for ids in chunks(cosines):
        stored = _stored_cosines(session, ids, encoder_id)
        fresh = [
            {"encoder_id": encoder_id, "variant_id": key, "cosine": cosines[key]}
            for key in ids
            if key not in stored
        ]
        if fresh:
            _insert_new(session, fresh)
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
                        select(Diagnostic, Variant.type_id)  # type: ignore[call-overload]
                        .join(Variant, col(Variant.id) == Diagnostic.variant_id)
                        .where(col(Diagnostic.variant_id).in_(ids))
                    )
                ],
            )


def _insert_new(session: Session, rows: list[dict[str, Any]]) -> None:
    """Insert cosines; a row that another run has stored meanwhile says the same and stays."""
    is_postgresql = session.get_bind().dialect.name == "postgresql"
    dialect = postgresql if is_postgresql else sqlite
    session.connection().execute(dialect.insert(VariantCosine).on_conflict_do_nothing(), rows)
