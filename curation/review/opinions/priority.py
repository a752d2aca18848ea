"""How doubtful the models' opinions leave a variant: the number that orders a queue, kept on it.

Doubtful variants come first: those of which a model is unsure, and those whose opinion contradicts
what is measured, or another model's.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from sqlalchemy import bindparam, select, update
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.diagnostics.measures import Flag
from curation.review.decisions import chunks
from db.models import Diagnostic, Opinion, Variant, Verdict

UNKNOWN_CERTAINTY = 0.5
"""Taken where a model names none."""

NOT_OF_THE_TEXT = Flag.OVER_THRESHOLD | Flag.ANCHOR_NOT_AFFIRMATIVE
"""Flags that a good variant may well have: they contradict no opinion of it."""


class Said(NamedTuple):
    """What one model says, as far as doubt depends on it; certainty in [0, 1] or None."""

    verdict: Verdict
    certainty: float | None


def opinion_priority(opinions: Sequence[Said], flags: Flag | None) -> float:
    """How doubtful a variant is, in [0, 1]; 0 without an opinion.

    Of one opinion, 1 - certainty; of several, the mean. Where they contradict each other (one takes
    the variant as it stands, another does not), or where one takes a variant whose text is flagged
    or turns down one that is not, that is halved and raised by a half.

    Args:
        flags: what is flagged; None where the variant is not measured, which contradicts nothing.
    """
    if not opinions:
        return 0.0
    unsure = [
        1 - (UNKNOWN_CERTAINTY if said.certainty is None else said.certainty) for said in opinions
    ]
    mean = sum(unsure) / len(unsure)
    return 0.5 + mean / 2 if _contradicted(opinions, flags) else mean


def _contradicted(opinions: Sequence[Said], flags: Flag | None) -> bool:
    taken = {said.verdict is Verdict.ACCEPT for said in opinions}
    if flags is not None:
        taken.add(not flags & ~NOT_OF_THE_TEXT)
    return len(taken) > 1


def refresh_priority(session: Session, variant_ids: Iterable[int]) -> None:
    """Bring the kept doubt of these variants up to date: by the opinions on their wording of now.

    Those that nobody has judged on that wording get 0.
    """
    for ids in chunks(variant_ids):
        kept = _kept(session, ids)
        if not kept:
            continue
        found = _opinions(session, list(kept))
        flags = _flags(session, list(kept))
        fresh = {
            key: opinion_priority(found[key], Flag(flags[key]) if key in flags else None)
            for key in kept
        }
        changed = [
            {"variant": key, "new_doubt": value}
            for key, value in sorted(fresh.items())
            if value != kept[key]
        ]
        if changed:
            session.connection().execute(
                update(Variant)
                .where(col(Variant.id) == bindparam("variant"))
                .values(doubt=bindparam("new_doubt")),
                changed,
            )


def _kept(session: Session, ids: list[int]) -> dict[int, float]:
    """The kept doubt of those of these variants that have, or had, an opinion."""
    judged = (
        select(col(Opinion.decision_id)).where(col(Opinion.variant_id) == col(Variant.id)).exists()
    )
    query = select(col(Variant.id), col(Variant.doubt)).where(
        col(Variant.id).in_(ids), (col(Variant.doubt) != 0) | judged
    )
    return dict(session.execute(query).all())


def _flags(session: Session, ids: list[int]) -> dict[int, int]:
    query = select(col(Diagnostic.variant_id), col(Diagnostic.flags)).where(
        col(Diagnostic.variant_id).in_(ids)
    )
    return dict(session.execute(query).all())


def _opinions(session: Session, ids: list[int]) -> defaultdict[int, list[Said]]:
    query = (
        select(col(Opinion.variant_id), col(Opinion.verdict), col(Opinion.certainty))
        .join(Variant, col(Variant.id) == Opinion.variant_id)
        .where(
            col(Opinion.variant_id).in_(ids),
            col(Opinion.since_version) == col(Variant.since_version),
        )
        .order_by(col(Opinion.decision_id))
    )
    found: defaultdict[int, list[Said]] = defaultdict(list)
    for variant_id, verdict, certainty in session.execute(query):
        found[variant_id].append(Said(verdict, certainty))
    return found
