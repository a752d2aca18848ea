"""The numbers that order the queues, stored with each variant: hardness, suspicion and doubt.

Hardness and suspicion depend on the measurements and on two project settings, the active encoder
and the Levenshtein threshold. When a setting changes, they are recomputed for all variants, in
blocks, while people continue to review. The progress is also a setting, written with each block, so
that another process can continue, and several processes can share the work.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Engine, bindparam, func, select, update
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.decisions.storing import chunks
from curation.diagnostics.measures import Flag, distance_flag, hardness, suspicion
from curation.project.settings import (
    REORDER_AFTER,
    THRESHOLD,
    active_encoder_id,
    get_setting,
    put_setting,
)
from curation.taxonomy.project_types import all_types
from db.engine import reading, writing
from db.execution import RunContext
from db.models import Diagnostic, Opinion, Setting, Variant, VariantCosine, Verdict

KIND = "reorder"
"""The kind of the run that updates the order."""

BLOCK = 2_000
"""Variants between two commits. A decision waits for at most one block, about 50 ms."""


def queue_keys(
    variant_id: int,
    *,
    flags: Flag,
    levenshtein: int,
    content_kept: float,
    cosine: float | None,
    polarity: str,
    threshold: int,
) -> dict[str, Any]:
    """Return a variant's values for ``store_queue_keys``; its hardness is 0 without a cosine."""
    return {
        "variant": variant_id,
        "new_hardness": hardness(levenshtein=levenshtein, cosine=cosine, threshold=threshold)
        or 0.0,
        "new_suspicion": suspicion(
            flags,
            levenshtein=levenshtein,
            cosine=cosine,
            content_kept=content_kept,
            polarity=polarity,
        ),
    }


def store_queue_keys(session: Session, keys: list[dict[str, Any]]) -> None:
    """Store these numbers with their variants."""
    if keys:
        session.connection().execute(
            update(Variant)
            .where(col(Variant.id) == bindparam("variant"))
            .values(hardness=bindparam("new_hardness"), suspicion=bindparam("new_suspicion")),
            keys,
        )


def request_reorder(session: Session) -> None:
    """Request that the numbers of all variants are recomputed."""
    put_setting(session, REORDER_AFTER, 0)


def count_to_reorder(session: Session) -> int:
    """Count the variants whose numbers are outdated; 0 if none are."""
    after = get_setting(session, REORDER_AFTER)
    if after is None:
        return 0
    query = select(func.count()).select_from(Variant).where(col(Variant.id) > after)
    return max(1, session.execute(query).scalar_one())


def work(context: RunContext) -> dict[str, Any]:
    """Recompute the numbers as requested by ``request_reorder`` (run kind ``reorder``)."""
    return {"variants": reorder(context)}


def reorder(context: RunContext) -> int:
    """Recompute the numbers if ``request_reorder`` was called; return the number of variants."""
    with reading(context.engine) as session:
        total = count_to_reorder(session)
    done = 0
    while total:
        context.update(min(done, total), total, "Updating the queues.")
        handled = reorder_block(context.engine)
        if handled is None:
            break
        done += handled
    return done


def reorder_block(engine: Engine) -> int | None:
    """Update the next variants and return how many; None if all are up to date.

    Settings and variants are read, and the numbers written, in one transaction. A concurrent change
    is therefore either included or triggers another reorder later.
    """
    with writing(engine) as session:
        mark = session.execute(
            select(Setting).where(col(Setting.key) == REORDER_AFTER).with_for_update()
        ).scalar()
        if mark is None or mark.value is None:
            return None
        ids = (
            session.execute(
                select(col(Variant.id))
                .where(col(Variant.id) > mark.value)
                .order_by(col(Variant.id))
                .limit(BLOCK)
            )
            .scalars()
            .all()
        )
        if ids:
            _reorder(session, first=ids[0] or 0, last=ids[-1] or 0)
        mark.value = ids[-1] if len(ids) == BLOCK else None
        return len(ids)


def _reorder(session: Session, *, first: int, last: int) -> None:
    """Update flags and order of the measured variants from one id to another."""
    threshold = int(get_setting(session, THRESHOLD))
    types = all_types(session)
    query = (
        select(
            col(Diagnostic.variant_id),
            col(Diagnostic.levenshtein),
            col(Diagnostic.content_kept),
            col(Diagnostic.flags),
            col(Variant.type_id),
            col(Variant.hardness),
            col(Variant.suspicion),
            col(VariantCosine.cosine),
        )
        .join(Variant, col(Variant.id) == Diagnostic.variant_id)
        .outerjoin(
            VariantCosine,
            (col(VariantCosine.variant_id) == Variant.id)
            & (col(VariantCosine.encoder_id) == active_encoder_id(session)),
        )
        .where(col(Diagnostic.variant_id).between(first, last))
        .order_by(col(Diagnostic.variant_id))
    )
    flagged: list[dict[str, int]] = []
    keys: list[dict[str, Any]] = []
    for key, levenshtein, kept, flags, type_id, hard, suspicious, cosine in session.execute(query):
        entry = types[type_id]
        over = distance_flag(levenshtein, threshold, check=entry.surface_check)
        now = (Flag(flags) & ~Flag.OVER_THRESHOLD) | over
        if now != flags:
            flagged.append({"variant": key, "new_flags": int(now)})
        values = queue_keys(
            key,
            flags=now,
            levenshtein=levenshtein,
            content_kept=kept,
            cosine=cosine,
            polarity=entry.polarity,
            threshold=threshold,
        )
        if (values["new_hardness"], values["new_suspicion"]) != (hard, suspicious):
            keys.append(values)
    if flagged:
        session.connection().execute(
            update(Diagnostic)
            .where(col(Diagnostic.variant_id) == bindparam("variant"))
            .values(flags=bindparam("new_flags")),
            flagged,
        )
    store_queue_keys(session, keys)


# -- Doubt, by the models' opinions ---------------------------------------------------------------
#
# The most doubtful variants are those that a model is unsure about, and those whose opinion
# contradicts the diagnostics or another model's.


UNKNOWN_CERTAINTY = 0.5
"""The certainty to assume if a model states none."""

NOT_OF_THE_TEXT = Flag.OVER_THRESHOLD | Flag.ANCHOR_NOT_AFFIRMATIVE
"""Flags that a good variant may well have, so that they contradict no opinion."""


class ModelVerdict(NamedTuple):
    """A model's verdict and its certainty, in [0, 1] or None."""

    verdict: Verdict
    certainty: float | None


def opinion_priority(opinions: Sequence[ModelVerdict], flags: Flag | None) -> float:
    """The doubt of a variant, in [0, 1]; 0 without an opinion.

    The doubt is 1 - certainty, or the mean for several opinions. It becomes 0.5 + doubt / 2 if the
    opinions contradict each other (one accepts the variant as it is, another does not), if one
    accepts a variant whose text is flagged, or if one does not accept a variant without flags.

    Args:
        flags: the variant's flags; None if it is not measured, which contradicts nothing.
    """
    if not opinions:
        return 0.0
    unsure = [
        1 - (UNKNOWN_CERTAINTY if opinion.certainty is None else opinion.certainty)
        for opinion in opinions
    ]
    mean = sum(unsure) / len(unsure)
    return 0.5 + mean / 2 if _contradicted(opinions, flags) else mean


def _contradicted(opinions: Sequence[ModelVerdict], flags: Flag | None) -> bool:
    accepts = {opinion.verdict is Verdict.ACCEPT for opinion in opinions}
    if flags is not None:
        accepts.add(not flags & ~NOT_OF_THE_TEXT)
    return len(accepts) > 1


def refresh_priority(session: Session, variant_ids: Iterable[int]) -> None:
    """Update the stored doubt of these variants by the opinions on their current text.

    Variants without such an opinion get 0.
    """
    # The variants that have or had an opinion.
    judged = (
        select(col(Opinion.decision_id)).where(col(Opinion.variant_id) == col(Variant.id)).exists()
    )
    query = (
        select(col(Variant.id), col(Variant.doubt), col(Diagnostic.flags))
        .outerjoin(Diagnostic, col(Diagnostic.variant_id) == col(Variant.id))
        .where((col(Variant.doubt) != 0) | judged)
        .order_by(col(Variant.id))
    )
    for ids in chunks(variant_ids):
        kept = session.execute(query.where(col(Variant.id).in_(ids))).all()
        found = _opinions(session, [key for key, *_ in kept])
        changed = []
        for key, doubt, flags in kept:
            fresh = opinion_priority(found[key], None if flags is None else Flag(flags))
            if fresh != doubt:
                changed.append({"variant": key, "new_doubt": fresh})
        if changed:
            session.connection().execute(
                update(Variant)
                .where(col(Variant.id) == bindparam("variant"))
                .values(doubt=bindparam("new_doubt")),
                changed,
            )


def _opinions(session: Session, ids: list[int]) -> defaultdict[int, list[ModelVerdict]]:
    query = (
        select(col(Opinion.variant_id), col(Opinion.verdict), col(Opinion.certainty))
        .join(Variant, col(Variant.id) == Opinion.variant_id)
        .where(
            col(Opinion.variant_id).in_(ids),
            col(Opinion.since_version) == col(Variant.since_version),
        )
        .order_by(col(Opinion.decision_id))
    )
    found: defaultdict[int, list[ModelVerdict]] = defaultdict(list)
    for variant_id, verdict, certainty in session.execute(query):
        found[variant_id].append(ModelVerdict(verdict, certainty))
    return found
