"""The card that was shown to a reviewer, and the decision made on it.

Every action receives what was shown (the variant, its version and an id of the showing), so that a
key that is pressed twice or for a card that is gone changes nothing.
"""

import uuid
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import or_, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.content_uids import at_most
from curation.decisions.reviewers import shown_name
from curation.decisions.storing import StatusChange
from curation.taxonomy.built_in import GUIDELINE_VERSION
from curation.taxonomy.project_types import all_types
from curation.taxonomy.reject_reasons import applicable_reason, check_note
from db.errors import HedgerowError
from db.models import Anchor, Decision, Reviewer, ReviewerKind, Status, Variant, Verdict

MAX_NOTE = 2000
"""Longest note, in characters."""

MAX_QUOTED = 40
"""Longest text quoted in a message, in characters."""


class ShownCard(NamedTuple):
    """A card that was shown to a reviewer.

    Attributes:
        version: the variant's version when the card was drawn.
        action_id: a new id for each drawn card; a second action with it does nothing.
        blind: diagnostics and other people's verdicts were hidden.
        settles: the variant is in conflict or settled, and the decision settles it.
        gold: a gold item disguised as a pending variant, with other people's verdicts hidden.
    """

    variant_id: int
    version: int
    action_id: str
    shown_at: datetime | None = None
    blind: bool = False
    settles: bool = False
    gold: bool = False


class ActionOutcome(NamedTuple):
    """The result of an action.

    Attributes:
        recorded: False if this showing had already been decided, so that nothing was changed.
        changes: the affected variants, with their status before and after.
        overtaken: names of the reviewers who decided on it after the card was drawn.
        child_id: the variant that an edit made or found.
        outdated: the anchor was corrected after the card was drawn. The decision is stored but does
            not count, and the variant comes back for a second look.
        remark: a sentence about a choice that an edit made automatically: the cue, or the type that
            follows from the cue.
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


def quoted(text: str) -> str:
    """The text of a variant in quotation marks, shortened for a message."""
    return f"“{text}”" if len(text) <= MAX_QUOTED else f"“{text[: MAX_QUOTED - 1]}…”"


def find_variant(session: Session, uid: str) -> Variant:
    """The variant with this content uid.

    Raises:
        HedgerowError: there is none.
    """
    variant = session.execute(select(Variant).where(col(Variant.uid) == uid)).scalar()
    if variant is None:
        raise HedgerowError(
            f"There is no variant with the uid '{uid}'. Copy the uid from a variant's card, or "
            "find it with 'hedgerow search'."
        )
    return variant


def shown_variant(session: Session, card: ShownCard, *, keep_wording: bool = False) -> Variant:
    """The variant of a card, in its current state.

    Args:
        keep_wording: lock its anchor against corrections until this transaction ends (SQLite has
            only one writer anyway).

    Raises:
        HedgerowError: it no longer exists.
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
    """Whether an action with this id has been stored."""
    query = select(col(Decision.id)).where(col(Decision.action_id) == action_id).limit(1)
    return session.execute(query).first() is not None


def check_reason(session: Session, variant: Variant, *, reason: str, note: str) -> None:
    """Check the reason for a rejection.

    Raises:
        HedgerowError: it is unknown, does not apply to the variant's type, or is 'other' without a
            note.
    """
    entry = all_types(session)[variant.type_id]
    check_note(applicable_reason(reason, entry), note)


def overtaken(session: Session, card: ShownCard, variant: Variant) -> tuple[str, ...]:
    """The names of those who decided after the card was drawn, also the reviewer's own.

    Models whose verdicts do not count are left out: their opinions are shown only on request.
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
    """The row for a decision on a card's variant, or on another variant decided with it.

    Args:
        variant: the card's variant in its current state.
        other: the other variant. If the card is outdated for one, it is for both.

    Raises:
        HedgerowError: the note is too long.
    """
    at_most(MAX_NOTE, note, "a note")
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
