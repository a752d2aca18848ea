"""Taking back what a reviewer did: by ``retract`` rows, so that nothing is deleted."""

import uuid
from collections.abc import Iterable
from typing import NamedTuple

from sqlalchemy import select
from sqlmodel import Session, col

from curation.cue_corrections import restore_cues
from curation.decisions import StatusChange, bulk_store_decisions, chunks
from curation.history import stands
from curation.taxonomy import GUIDELINE_VERSION
from db.columns import now
from db.errors import HedgerowError
from db.models import Decision, Variant, Verdict


class Undone(NamedTuple):
    """What an undo took back: how many decisions, and the variant to show again."""

    variant_id: int
    verdict: Verdict
    decisions: int
    changes: tuple[StatusChange, ...]
    action_id: str


def undo(session: Session, *, reviewer_id: int) -> Undone | None:
    """Take back the reviewer's latest action that still stands; None where there is none left.

    What an action did together (an edit and its child, a family, a bulk decision, a corrected cue)
    is taken back together.
    """
    last = session.execute(
        select(Decision)
        .where(col(Decision.reviewer_id) == reviewer_id, stands())
        .order_by(col(Decision.id).desc())
        .limit(1)
    ).scalar()
    return (
        None if last is None else retract_action(session, last.action_id, reviewer_id=reviewer_id)
    )


def retract_action(session: Session, action_id: str, *, reviewer_id: int) -> Undone:
    """Take back all decisions of one action.

    Raises:
        HedgerowError: there is no such action of this reviewer, or it has been taken back.
    """
    decisions = session.execute(
        select(col(Decision.id), col(Decision.variant_id), col(Decision.verdict))
        .where(
            col(Decision.action_id) == action_id,
            col(Decision.reviewer_id) == reviewer_id,
            stands(),
        )
        .order_by(col(Decision.id))
    ).all()
    if not decisions:
        raise HedgerowError(f"There is no action '{action_id}' of this reviewer to take back.")
    versions = _versions(session, [variant_id for _, variant_id, _ in decisions])
    action, moment = str(uuid.uuid4()), now()
    rows = [
        {
            "variant_id": variant_id, "variant_version": versions[variant_id],
            "reviewer_id": reviewer_id, "verdict": Verdict.RETRACT, "action_id": action,
            "retracts_id": decision_id, "guideline_version": GUIDELINE_VERSION,
            "decided_at": moment,
        }
        for decision_id, variant_id, _ in decisions
    ]  # fmt: skip
    changes = bulk_store_decisions(session, rows)
    restore_cues(session, action_id, reviewer_id=reviewer_id, undo_id=action)
    _, first, verdict = decisions[0]
    return Undone(first, verdict, len(decisions), tuple(changes), action_id)


def _versions(session: Session, ids: Iterable[int]) -> dict[int, int]:
    found: dict[int, int] = {}
    for some in chunks(ids):
        query = select(Variant.id, Variant.version).where(col(Variant.id).in_(some))  # type: ignore[call-overload]
        found |= dict(session.execute(query).all())
    return found
