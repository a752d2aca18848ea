"""Making a variant a gold item, and which there are.

A gold item is a variant with a settlement: that decides its status, whatever reviewers say of it.
The settlement and the item are stored together, so whoever takes the settlement back takes the item
back, too.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Select, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.review import actions
from curation.review.decisions import chunks, counts_still
from curation.review.history import stands
from curation.review.notes import clean_lines
from curation.review.people.reviewers import shown_name, whose
from curation.review.shown_card import MAX_NOTE
from db.columns import now
from db.errors import HedgerowError
from db.models import Decision, GoldItem, GoldUse, Reviewer, Status, Variant, Verdict

NO_EXPLANATION = "Gold item."
"""The note of a rejection for another reason that nobody has explained."""


class Gold(NamedTuple):
    """A gold item in force.

    Attributes:
        id: of its settlement.
        verdict: the right one, accept or reject.
        explanation: why, for whoever practises; may be ''.
        maker_id: who made it; of a merged person, whom they were merged into.
    """

    id: int
    variant_id: int
    uid: str
    type_id: str
    source_id: int
    text: str
    verdict: Verdict
    reason: str
    use: GoldUse
    explanation: str
    maker_id: int
    maker: str
    made_at: datetime

    def is_matched_by(self, verdict: Verdict) -> bool:
        """Whether a verdict is right: it takes the variant as it stands, or it does not.

        An edit does not, as in every figure of agreement.
        """
        return (verdict is Verdict.ACCEPT) == (self.verdict is Verdict.ACCEPT)


def gold_items(
    session: Session, *, use: GoldUse | None = None, of: Iterable[int] | None = None
) -> list[Gold]:
    """The gold items in force, the oldest first.

    Not those whose settlement was taken back or no longer counts, since the anchor was corrected,
    nor those out of use.

    Args:
        use: only those for this; None for all.
        of: only these variants; None for all.
    """
    query = _in_force()
    if use is not None:
        query = query.where(col(GoldItem.use) == use)
    if of is None:
        return [Gold(*row) for row in session.execute(query)]
    return [
        Gold(*row)
        for ids in chunks(of)
        for row in session.execute(query.where(col(GoldItem.variant_id).in_(ids)))
    ]


def _in_force() -> Select[
    int, int, str, str, int, str, Verdict, str, GoldUse, str, int, str, datetime
]:
    return (
        select(
            col(Decision.id),
            col(Variant.id),
            col(Variant.uid),
            col(Variant.type_id),
            col(Variant.source_id),
            col(Variant.text),
            col(Decision.verdict),
            col(Decision.reason),
            col(GoldItem.use),
            col(GoldItem.explanation),
            whose(),
            shown_name(),
            col(Decision.decided_at),
        )
        .select_from(GoldItem)
        .join(Decision, col(Decision.id) == col(GoldItem.decision_id))
        .join(Variant, col(Variant.id) == col(GoldItem.variant_id))
        .join(Reviewer, col(Reviewer.id) == col(Decision.reviewer_id))
        .where(
            col(GoldItem.removed_at).is_(None),
            col(Variant.retired).is_(False),
            stands(),
            counts_still(),
        )
        .order_by(col(Decision.id))
    )


def mark(
    session: Session,
    uid: str,
    verdict: Verdict,
    *,
    reviewer_id: int,
    reason: str = "",
    explanation: str = "",
    use: GoldUse = GoldUse.MIXED,
) -> Gold:
    """Make a variant a gold item: settle it, and keep what is right. One undo takes both back.

    Args:
        verdict: accept or reject.
        reason: of a rejection; without one it is 'other'.
        explanation: why, for whoever practises; at most ``MAX_NOTE`` characters.

    Raises:
        HedgerowError: there is no such variant, it is a gold item already, it is out of use, or an
            edit has replaced it; the reason is not for its type; the explanation is too long.
    """
    variant = actions.find_variant(session, uid)
    why = clean_lines(explanation)
    if len(why) > MAX_NOTE:
        raise HedgerowError(
            f"Expected an explanation of at most {MAX_NOTE} characters, found {len(why)}; shorten "
            "it."
        )
    if reason and verdict is Verdict.ACCEPT:
        raise HedgerowError("Expected a reason with 'reject' only; explain it instead.")
    if found := gold_items(session, of=[variant.id]):
        raise HedgerowError(
            f"{uid} is already a gold item ({found[0].verdict}); remove it first to change that."
        )
    if variant.retired:
        raise HedgerowError(f"{uid} is out of use; a gold item has to be in use.")
    if variant.status is Status.SUPERSEDED:
        raise HedgerowError(f"An edit has replaced {uid}; make its new wording the gold item.")
    card = actions.shown(variant, settles=True)
    if verdict is Verdict.ACCEPT:
        actions.accept(session, card, reviewer_id=reviewer_id)
    else:
        actions.reject(
            session,
            card,
            reviewer_id=reviewer_id,
            reason=reason or "other",
            note=(why or NO_EXPLANATION) if reason in ("", "other") else "",
        )
    settlement = select(col(Decision.id)).where(
        col(Decision.action_id) == card.action_id, col(Decision.variant_id) == variant.id
    )
    key = session.execute(settlement).scalar_one()
    session.add(GoldItem(decision_id=key, variant_id=variant.id, use=use, explanation=why))
    session.flush()
    return gold_items(session, of=[variant.id])[0]


def remove(session: Session, uid: str) -> Gold:
    """Have a variant be a gold item no longer. Its settlement, and so its status, stays.

    Returns:
        What it was.

    Raises:
        HedgerowError: there is no such variant, or it is no gold item.
    """
    variant = actions.find_variant(session, uid)
    found = gold_items(session, of=[variant.id])
    if not found:
        raise HedgerowError(
            f"{uid} is no gold item; 'hedgerow review gold list' names those there are."
        )
    for item in found:
        session.get_one(GoldItem, item.id).removed_at = now()
    session.flush()
    return found[0]
