"""Gold items: adding, listing and removing them.

A gold item is a variant with a settlement, which decides its status whatever reviewers decide. The
settlement and the item are stored together, so undoing the settlement also undoes the item.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Select, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.content_uids import at_most
from curation.decisions.history import not_retracted
from curation.decisions.notes import clean_lines
from curation.decisions.reviewers import person_id_now, shown_name
from curation.decisions.shown_card import MAX_NOTE
from curation.decisions.storing import chunks, counts_still
from curation.review import deciding
from curation.taxonomy.reject_reasons import REJECT_REASONS
from db.columns import now
from db.errors import HedgerowError
from db.models import Decision, GoldItem, GoldUse, Reviewer, Status, Variant, Verdict

USE_LABELS = {GoldUse.MIXED: "review queue", GoldUse.TRAINING: "practice rounds"}
"""The names of the uses, for the page and the command line."""


class Gold(NamedTuple):
    """A current gold item.

    Attributes:
        id: the id of its settlement.
        verdict: the correct verdict, accept or reject.
        explanation: why it is right, for practice rounds; may be ''.
        maker_id: the person who added it; for a merged person, the one they were merged into.
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
        """Whether a verdict is right. An edit counts as a rejection, as in the agreement."""
        return (verdict is Verdict.ACCEPT) == (self.verdict is Verdict.ACCEPT)


def gold_items(
    session: Session, *, use: GoldUse | None = None, of: Iterable[int] | None = None
) -> list[Gold]:
    """The current gold items, the oldest first.

    Left out are retired variants, and items whose settlement was undone or no longer counts because
    the anchor was corrected.

    Args:
        use: only items for this use; None for all.
        of: only items among these variants; None for all.
    """
    query = _current()
    if use is not None:
        query = query.where(col(GoldItem.use) == use)
    if of is None:
        return [Gold(*row) for row in session.execute(query)]
    return [
        Gold(*row)
        for ids in chunks(of)
        for row in session.execute(query.where(col(GoldItem.variant_id).in_(ids)))
    ]


def _current() -> Select[
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
            person_id_now(),
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
            not_retracted(),
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
    """Make a variant a gold item and settle it. One undo takes both back.

    Args:
        verdict: the correct verdict, accept or reject.
        reason: the reason for a rejection, which needs one; 'other' needs an explanation, too.
        explanation: why it is right, for practice rounds; at most ``MAX_NOTE`` characters.

    Raises:
        HedgerowError: there is no such variant, or it is already a gold item, retired, or replaced
            by an edit; the reason is missing or does not apply; the explanation is missing or too
            long.
    """
    variant = deciding.find_variant(session, uid)
    why = at_most(MAX_NOTE, clean_lines(explanation), "an explanation")
    _check_reason(verdict, reason, why)
    if found := gold_items(session, of=[variant.id]):
        raise HedgerowError(
            f"{uid} is already a gold item ({found[0].verdict}); remove it first to change it."
        )
    if variant.retired:
        raise HedgerowError(f"{uid} is retired; choose a variant in use.")
    if variant.status is Status.SUPERSEDED:
        raise HedgerowError(f"An edit has replaced {uid}; make the edited variant the gold item.")
    card = deciding.shown(variant, settles=True)
    if verdict is Verdict.ACCEPT:
        deciding.accept(session, card, reviewer_id=reviewer_id)
    else:
        deciding.reject(
            session,
            card,
            reviewer_id=reviewer_id,
            reason=reason,
            note=why if reason == "other" else "",
        )
    settlement = select(col(Decision.id)).where(
        col(Decision.action_id) == card.action_id, col(Decision.variant_id) == variant.id
    )
    key = session.execute(settlement).scalar_one()
    session.add(GoldItem(decision_id=key, variant_id=variant.id, use=use, explanation=why))
    session.flush()
    return gold_items(session, of=[variant.id])[0]


def _check_reason(verdict: Verdict, reason: str, explanation: str) -> None:
    if verdict is Verdict.ACCEPT and reason:
        raise HedgerowError("Only 'reject' takes a reason; give an explanation instead.")
    if verdict is Verdict.REJECT and not reason:
        known = ", ".join(one.id for one in REJECT_REASONS)
        raise HedgerowError(f"Expected a reason for 'reject', found none; choose one of {known}.")
    if reason == "other" and not explanation:
        raise HedgerowError(
            "Expected an explanation with the reason 'other', found none; say what is wrong."
        )


def remove(session: Session, uid: str) -> Gold:
    """Remove a gold item. The variant keeps its settlement and its status.

    Returns:
        The removed item.

    Raises:
        HedgerowError: there is no such variant, or it is not a gold item.
    """
    variant = deciding.find_variant(session, uid)
    found = gold_items(session, of=[variant.id])
    if not found:
        raise HedgerowError(
            f"{uid} is not a gold item; 'hedgerow review gold list' lists the gold items."
        )
    for item in found:
        session.get_one(GoldItem, item.id).removed_at = now()
    session.flush()
    return found[0]
