"""What was in front of a reviewer, and the decision that is made on it.

Every action carries what was shown (variant, version, and an id of the showing), so that a key
pressed twice, or pressed for a card that is gone, changes nothing.
"""

import uuid
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import or_, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.review.decisions import StatusChange
from curation.review.people.reviewers import shown_name
from curation.taxonomy.built_in import GUIDELINE_VERSION
from curation.taxonomy.project_types import all_types
from curation.taxonomy.reject_reasons import applicable_reason
from db.errors import HedgerowError
from db.models import Anchor, Decision, Reviewer, ReviewerKind, Status, Variant, Verdict

MAX_NOTE = 2000
"""Longest note, in characters."""


class ShownCard(NamedTuple):
    """What was in front of the reviewer.

    Attributes:
        version: the variant's version when the card was drawn.
        action_id: made anew whenever a card is drawn; a second action with it does nothing.
        blind: diagnostics and other people's verdicts were hidden.
        settles: reviewers disagree about the variant, and what is decided on it settles that.
        gold: a gold item that looks like a pending variant; what others said of it was hidden.
    """

    variant_id: int
    version: int
    action_id: str
    shown_at: datetime | None = None
    blind: bool = False
    settles: bool = False
    gold: bool = False


class ActionOutcome(NamedTuple):
    """What an action did.

    Attributes:
        recorded: False where this showing had been decided before; nothing was changed then.
        changes: every variant touched, with its status before and after.
        overtaken: names of other reviewers who decided on it after the card was drawn.
        child_id: the variant that an edit made or found.
        outdated: the anchor was corrected after the card was drawn. What was decided is kept but
            does not count, and the variant comes back for a second look.
        remark: a sentence on what an edit decided by itself: its cue, or its type by the cue.
    """

    recorded: bool
    changes: tuple[StatusChange, ...] = ()
    overtaken: tuple[str, ...] = ()
    child_id: int | None = None
    outdated: bool = False
    remark: str = ""


def shown(
    variant: Variant,
    *,
    at: datetime | None = None,
    blind: bool = False,
    settles: bool = False,
    gold: bool = False,
) -> ShownCard:
    """A new showing of this variant as it is now."""
    return ShownCard(variant.id, variant.version, str(uuid.uuid4()), at, blind, settles, gold)


def find_variant(session: Session, uid: str) -> Variant:
    """The variant with this content uid.

    Raises:
        HedgerowError: there is none.
    """
    variant = session.execute(select(Variant).where(col(Variant.uid) == uid)).scalar()
    if variant is None:
        raise HedgerowError(f"There is no variant '{uid}'; a uid has 16 hexadecimal digits.")
    return variant


def shown_variant(session: Session, card: ShownCard, *, keep_wording: bool = False) -> Variant:
    """The variant of a card, as it is now.

    Args:
        keep_wording: let nobody correct its anchor before this transaction ends (SQLite has one
            writer anyway).

    Raises:
        HedgerowError: it is gone.
    """
    variant = session.get(Variant, card.variant_id)
    if variant is None:
        raise HedgerowError("This variant is no longer in the database; reload the page.")
    if keep_wording:
        session.get_one(
            Anchor, variant.anchor_id, populate_existing=True, with_for_update={"read": True}
        )
        session.refresh(variant)
    return variant


def done_before(session: Session, action_id: str) -> bool:
    """Whether an action with this id is stored."""
    query = select(col(Decision.id)).where(col(Decision.action_id) == action_id).limit(1)
    return session.execute(query).first() is not None


def check_reason(session: Session, variant: Variant, *, reason: str, note: str) -> None:
    """Refuse a reason that is unknown or not for the variant's type, and 'other' without a note.

    Raises:
        HedgerowError: it is one of these.
    """
    entry = all_types(session)[variant.type_id]
    if applicable_reason(reason, entry).id == "other" and not note.strip():
        raise HedgerowError("Expected a note with the reason 'other', found none; say what it is.")


def overtaken(session: Session, card: ShownCard, variant: Variant) -> tuple[str, ...]:
    """Who decided after the card was drawn (the reviewer too, in a second window).

    Not a model whose verdicts do not count: what it says is shown to those who ask.
    """
    if variant.version == card.version:
        return ()
    names = session.execute(
        select(shown_name())
        .select_from(Reviewer)
        .join(Decision, col(Decision.reviewer_id) == Reviewer.id)
        .where(
            col(Decision.variant_id) == card.variant_id,
            col(Decision.variant_version) >= card.version,
            or_(col(Reviewer.kind) == ReviewerKind.PERSON, col(Reviewer.counts)),
        )
        .distinct()
    )
    return tuple(sorted(names.scalars()))


def is_outdated(card: ShownCard, variant: Variant) -> bool:
    """Whether the anchor was corrected after the variant's card was drawn."""
    return card.version < variant.since_version


def decision_on(
    card: ShownCard,
    variant: Variant,
    *,
    reviewer_id: int,
    verdict: Verdict,
    reason: str = "",
    note: str = "",
    other: Variant | None = None,
) -> Decision:
    """The row of a decision on a card's variant, or on another one along with it.

    Args:
        variant: the card's variant as it is now.
        other: decided together with it; a card that is outdated for the one is so for both.

    Raises:
        HedgerowError: the note is too long.
    """
    if len(note) > MAX_NOTE:
        raise HedgerowError(
            f"Expected a note of at most {MAX_NOTE} characters, found {len(note)}; shorten it."
        )
    judged, version = variant, card.version
    if other is not None and other.id != variant.id:
        judged = other
        version = other.since_version - 1 if is_outdated(card, variant) else other.version
    return Decision(
        variant_id=judged.id,
        variant_version=version,
        reviewer_id=reviewer_id,
        verdict=verdict,
        reason=reason,
        note=note,
        action_id=card.action_id,
        adjudicates=card.settles and (judged is variant or judged.status == Status.CONFLICT),
        blind=card.blind or card.gold,
        guideline_version=GUIDELINE_VERSION,
        shown_at=card.shown_at,
    )
