"""The actions of a reviewer: accept, reject, edit, retype, undo.

Every action receives the card that was shown (see ``curation.decisions.shown_card``).
"""

from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.decisions.assignment import is_asked
from curation.decisions.history import replacement_of
from curation.decisions.shown_card import (
    MAX_NOTE,
    ActionOutcome,
    ShownCard,
    check_reason,
    decision_on,
    done_before,
    find_variant,
    is_outdated,
    overtaken,
    shown,
    shown_variant,
)
from curation.decisions.storing import store_decisions
from curation.editing.variants import MAX_TEXT, edit
from curation.review.undo import Undone, retract_action, undo
from db.errors import HedgerowError
from db.models import Status, Variant, Verdict

__all__ = [
    "MAX_NOTE",
    "MAX_TEXT",
    "ActionOutcome",
    "ShownCard",
    "Undone",
    "accept",
    "edit",
    "find_variant",
    "reject",
    "reject_family",
    "retract_action",
    "shown",
    "undo",
]


def accept(session: Session, card: ShownCard, *, reviewer_id: int, note: str = "") -> ActionOutcome:
    """Accept the variant as it is.

    Raises:
        HedgerowError: the card shows a text that an edit has replaced.
    """
    return _decide(session, card, reviewer_id=reviewer_id, verdict=Verdict.ACCEPT, note=note)


def reject(
    session: Session, card: ShownCard, *, reviewer_id: int, reason: str, note: str = ""
) -> ActionOutcome:
    """Reject the variant for one of the taxonomy's reasons.

    Raises:
        HedgerowError: the reason is unknown, does not apply to the variant's type, or is 'other'
            without a note; or the card shows a text that an edit has replaced.
    """
    check_reason(session, shown_variant(session, card), reason=reason, note=note)
    return _decide(
        session, card, reviewer_id=reviewer_id, verdict=Verdict.REJECT, reason=reason, note=note
    )


def _decide(
    session: Session,
    card: ShownCard,
    *,
    reviewer_id: int,
    verdict: Verdict,
    reason: str = "",
    note: str = "",
) -> ActionOutcome:
    if done_before(session, card.action_id):
        return ActionOutcome(recorded=False)
    variant = shown_variant(session, card)
    if not is_asked(session, variant, reviewer_id):
        _check_not_replaced(session, card, variant)
    others = overtaken(session, card, variant)
    row = decision_on(
        card, variant, reviewer_id=reviewer_id, verdict=verdict, reason=reason, note=note
    )
    changes = store_decisions(session, [row])
    return ActionOutcome(True, tuple(changes), others, outdated=is_outdated(card, variant))


def _check_not_replaced(session: Session, card: ShownCard, variant: Variant) -> None:
    """Refuse a verdict on a text whose card already said that an edit has replaced it.

    Otherwise the old and the new text could both be accepted. If the edit came while the card was
    on the screen, the verdict is stored, and the two reviewers disagree. The same holds if several
    people are assigned to the variant: the later ones do not know of the edit.
    """
    if variant.status != Status.SUPERSEDED or variant.version != card.version:
        return
    if (uid := replacement_of(session, variant.id)) is not None:
        raise HedgerowError(
            f"An edit has replaced this wording; undo the edit, or decide on the replacement {uid}."
        )


def reject_family(session: Session, card: ShownCard, *, reviewer_id: int) -> ActionOutcome:
    """Reject every variant of the card's anchor, because the anchor itself is unsuitable.

    Texts that an edit has replaced stay as they are. This is one action with one undo. The decision
    on the card's own variant is stored first, so that an undo returns to it.
    """
    if done_before(session, card.action_id):
        return ActionOutcome(recorded=False)
    variant = shown_variant(session, card)
    others = overtaken(session, card, variant)
    family = session.execute(
        select(Variant)
        .where(
            col(Variant.anchor_id) == variant.anchor_id, col(Variant.status) != Status.SUPERSEDED
        )
        .order_by(col(Variant.id) != variant.id, col(Variant.id))
    ).scalars()
    rows = [
        decision_on(
            card,
            variant,
            reviewer_id=reviewer_id,
            verdict=Verdict.REJECT,
            reason="anchor_unsuitable",
            other=member,
        )
        for member in family
    ]
    changes = store_decisions(session, rows)
    return ActionOutcome(True, tuple(changes), others, outdated=is_outdated(card, variant))
