"""Measures stored variants: surface and distance immediately, everything missing in a run.

``curation.diagnostics.measures`` defines the measurements. This module stores them per variant
(cosines also per encoder), with the two numbers that order the queues.
"""

from collections import defaultdict
from collections.abc import Iterable
from functools import partial
from typing import Any

from sqlalchemy import ColumnElement, delete, func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.anchors.revisions import of_current_revision
from curation.decisions.storing import chunks, rows_with
from curation.diagnostics.cosines import count_without_cosine, store_cosines, stored_cosines
from curation.diagnostics.measures import MEASURES_VERSION, Flag, measure
from curation.diagnostics.queue_order import (
    queue_keys,
    refresh_priority,
    reorder,
    request_reorder,
    store_queue_keys,
)
from curation.encoders.embeddings import PACE
from curation.encoders.loading import check_encoder, fingerprint, load_encoder
from curation.encoders.registered import encoder_source, is_registered, register_encoder
from curation.language.english import is_english
from curation.project.settings import (
    ACTIVE_ENCODER,
    THRESHOLD,
    active_encoder_id,
    get_setting,
    put_setting,
)
from curation.taxonomy.built_in import VariantType
from curation.taxonomy.project_types import all_types
from db.columns import now
from db.engine import insert_new, reading, write_in_pieces, writing
from db.execution import RunContext
from db.models import Anchor, AnchorRevision, Diagnostic, Status, Variant
from db.run_process import start_process
from db.runs import ensure_run

KIND = "diagnose"
"""The kind of the run that measures."""


def measure_variants(session: Session, variant_ids: Iterable[int]) -> None:
    """Measure these variants without an encoder and store the results, replacing older ones."""
    types = all_types(session)
    threshold = int(get_setting(session, THRESHOLD))
    encoder_id = active_encoder_id(session)
    for ids in chunks(variant_ids):
        _measure_chunk(session, ids, types=types, threshold=threshold, encoder_id=encoder_id)


def stored_flags(session: Session, variant: Variant) -> Flag:
    """Return a variant's flags; none if it has not been measured."""
    measured = session.get(Diagnostic, variant.id, populate_existing=True)
    return Flag(measured.flags) if measured is not None else Flag(0)


def _measure_chunk(
    session: Session,
    ids: list[int],
    *,
    types: dict[str, VariantType],
    threshold: int,
    encoder_id: int | None,
) -> None:
    rows = session.execute(
        select(
            col(Variant.id),
            col(Variant.anchor_id),
            col(Variant.parent_id),
            col(Variant.type_id),
            col(Variant.text),
            col(Variant.cue),
            col(AnchorRevision.text),
            col(Anchor.language),
        )
        .join(Anchor, col(Anchor.id) == Variant.anchor_id)
        .join(AnchorRevision, of_current_revision())
        .where(col(Variant.id).in_(ids))
        .order_by(col(Variant.id))
    ).all()
    siblings = _siblings(session, {row[1] for row in rows})
    cosines = stored_cosines(session, ids, encoder_id)
    moment = now()
    measured: list[dict[str, Any]] = []
    keys: list[dict[str, Any]] = []
    for variant_id, anchor_id, parent_id, type_id, text, cue, anchor, language in rows:
        others = [t for other, t in siblings[anchor_id] if other not in (variant_id, parent_id)]
        found = measure(
            anchor=anchor,
            text=text,
            cue=cue,
            check=types[type_id].surface_check,
            siblings=others,
            threshold=threshold,
            english=is_english(language),
        )
        measured.append(
            {
                "variant_id": variant_id,
                "levenshtein": found.levenshtein,
                "length_ratio": found.length_ratio,
                "content_kept": found.content_kept,
                "flags": int(found.flags),
                "check_version": MEASURES_VERSION,
                "created_at": moment,
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
    insert_new(session, Diagnostic, measured)
    store_queue_keys(session, keys)
    refresh_priority(session, ids)


def _siblings(session: Session, anchor_ids: Iterable[int]) -> dict[int, list[tuple[int, str]]]:
    """Return (id, text) of all variants of each anchor that no edit has replaced."""
    found: dict[int, list[tuple[int, str]]] = defaultdict(list)
    query = select(col(Variant.anchor_id), col(Variant.id), col(Variant.text)).where(
        col(Variant.status) != Status.SUPERSEDED
    )
    for anchor_id, key, text in rows_with(session, query, col(Variant.anchor_id), anchor_ids):
        found[anchor_id].append((key, text))
    return found


def count_without_measures(session: Session) -> int:
    """Count variants without stored distance and flags, or measured by an older version."""
    return session.execute(
        select(func.count()).select_from(Variant).where(~_has_diagnostic())
    ).scalar_one()


def _has_diagnostic() -> ColumnElement[bool]:
    """SQL: the variant was measured by the current version."""
    return (
        select(col(Diagnostic.variant_id))
        .where(
            col(Diagnostic.variant_id) == Variant.id,
            col(Diagnostic.check_version) == MEASURES_VERSION,
        )
        .exists()
    )


def start_measuring(context: RunContext) -> None:
    """Start a run that measures the variants added by another run, unless one is active."""
    with writing(context.engine) as session:
        ensured = ensure_run(session, kind=KIND, parameters={})
    if ensured.is_new:
        start_process(context.settings, ensured.run)


def work(context: RunContext) -> dict[str, Any]:
    """Measure everything that has not been measured yet (run kind ``diagnose``).

    Parameters of the run: ``encoder``, a name that ``load_encoder`` accepts. Without it, the run
    follows the project's active encoder, even if that changes. Each block is committed, so a later
    run continues where this one stopped, and several runs can work at the same time.
    """
    chosen = context.parameters.get("encoder")
    measured = _measure_missing(context)
    done = 0
    while True:
        reorder(context)
        with reading(context.engine) as session:
            name = chosen or get_setting(session, ACTIVE_ENCODER)
        stored = _store_missing(context, name, follow=not chosen)
        done += stored
        if stored:
            continue  # again, because an anchor may have been corrected meanwhile
        with reading(context.engine) as session:
            if chosen or name == get_setting(session, ACTIVE_ENCODER):
                return {"encoder": name, "measured": measured, "cosines": done}


def _measure_missing(context: RunContext) -> int:
    with reading(context.engine) as session:
        query = select(col(Variant.id)).where(~_has_diagnostic()).order_by(col(Variant.id))
        ids = session.execute(query).scalars().all()
    done = 0

    def write(session: Session, some: list[int]) -> None:
        nonlocal done
        context.update(done, len(ids), "Measuring distances and surface checks.")
        measure_variants(session, some)
        done += len(some)

    write_in_pieces(context.engine, ids, write)
    return len(ids)


def _store_missing(context: RunContext, name: str, *, follow: bool) -> int:
    """Store the missing cosines under this encoder.

    Args:
        follow: this is the project's active encoder, so stop when the active encoder changes.
    """
    context.update(0, 0, f"Locating the encoder {name}.")
    with reading(context.engine) as session:
        source = encoder_source(session, context.settings, name)
    hash_ = fingerprint(source)
    check_encoder(source)
    with reading(context.engine) as session:
        known = is_registered(session, hash_)
    context.update(0, 0, f"Loading the encoder {name}.")
    model = None if known else load_encoder(source)
    with writing(context.engine) as session:
        encoder = register_encoder(session, name=name, hash_=hash_)
        known_name = encoder.name
        if follow and name != known_name and get_setting(session, ACTIVE_ENCODER) == name:
            put_setting(session, ACTIVE_ENCODER, known_name)
            request_reorder(session)
        missing = count_without_cosine(session, encoder.id)
    if not missing:
        return 0

    def is_active() -> bool:
        with reading(context.engine) as session:
            return bool(get_setting(session, ACTIVE_ENCODER) == known_name)

    return store_cosines(
        context.engine,
        model or load_encoder(source),
        encoder_id=encoder.id,
        report=context.update,
        wanted=is_active if follow else None,
        report_pace=partial(context.metric, 0, PACE),
    )
