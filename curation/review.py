"""What a reviewer does with a variant: accept, reject, edit, retype, take back.

Every action carries what was shown (variant, version, and an id of the showing), so that a key
pressed twice, or pressed for a card that is gone, changes nothing.
"""

import uuid
from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import aliased
from sqlmodel import Session, col

from curation.decisions import StatusChange, bulk_store_decisions, chunks, store_decisions
from curation.diagnostics import measure_variants
from curation.starter_corpus import RANDOM_SALT
from curation.taxonomy import GUIDELINE_VERSION, reject_reason
from curation.text import bucket, canonical, variant_uid
from curation.types import known_type, list_types
from db.columns import now
from db.errors import HedgerowError
from db.models import Anchor, Decision, Reviewer, Status, Variant, Verdict

MAX_TEXT = 2000
"""Longest variant that an edit may make, in characters."""

MAX_NOTE = 2000


class Shown(NamedTuple):
    """What was in front of the reviewer.

    Attributes:
        version: the variant's version when the card was drawn.
        action_id: made anew whenever a card is drawn; a second action with it does nothing.
    """

    variant_id: int
    version: int
    action_id: str
    shown_at: datetime | None = None


class Outcome(NamedTuple):
    """What an action did.

    Attributes:
        recorded: False where this showing had been decided before; nothing was changed then.
        changes: every variant touched, with its status before and after.
        overtaken: names of other reviewers who decided on it after the card was drawn.
        child_id: the variant that an edit made or found.
    """

    recorded: bool
    changes: tuple[StatusChange, ...] = ()
    overtaken: tuple[str, ...] = ()
    child_id: int | None = None


def shown(variant: Variant, *, at: datetime | None = None) -> Shown:
    """A new showing of this variant as it is now."""
    return Shown(variant.id or 0, variant.version, str(uuid.uuid4()), at)


def find_variant(session: Session, uid: str) -> Variant:
    """The variant with this content uid.

    Raises:
        HedgerowError: there is none.
    """
    variant = session.execute(select(Variant).where(col(Variant.uid) == uid)).scalar()
    if variant is None:
        raise HedgerowError(f"There is no variant '{uid}'; a uid has 16 hexadecimal digits.")
    return variant


def accept(session: Session, card: Shown, *, reviewer_id: int, note: str = "") -> Outcome:
    """Accept the variant as it stands."""
    return _decide(session, card, reviewer_id=reviewer_id, verdict=Verdict.ACCEPT, note=note)


def reject(
    session: Session, card: Shown, *, reviewer_id: int, reason: str, note: str = ""
) -> Outcome:
    """Reject the variant for one of the taxonomy's reasons.

    Raises:
        HedgerowError: the reason is unknown, or is 'other' without a note.
    """
    _check_reason(reason, note)
    return _decide(
        session, card, reviewer_id=reviewer_id, verdict=Verdict.REJECT, reason=reason, note=note
    )


def _check_reason(reason: str, note: str) -> None:
    if reject_reason(reason).id == "other" and not note.strip():
        raise HedgerowError("Expected a note with the reason 'other', found none; say what it is.")


def _decide(
    session: Session,
    card: Shown,
    *,
    reviewer_id: int,
    verdict: Verdict,
    reason: str = "",
    note: str = "",
) -> Outcome:
    if _done_before(session, card):
        return Outcome(recorded=False)
    overtaken = _overtaken(session, card, reviewer_id)
    row = _decision(card, reviewer_id=reviewer_id, verdict=verdict, reason=reason, note=note)
    return Outcome(True, tuple(store_decisions(session, [row])), overtaken)


def _done_before(session: Session, card: Shown) -> bool:
    query = select(Decision.id).where(col(Decision.action_id) == card.action_id).limit(1)  # type: ignore[call-overload]
    return session.execute(query).first() is not None


def _overtaken(session: Session, card: Shown, reviewer_id: int) -> tuple[str, ...]:
    """Who decided after the card was drawn (the reviewer too, in a second window)."""
    variant = session.get(Variant, card.variant_id)
    if variant is None:
        raise HedgerowError("This variant is no longer in the database; reload the page.")
    if variant.version == card.version:
        return ()
    names = session.execute(
        select(Reviewer.name)  # type: ignore[call-overload]
        .join(Decision, col(Decision.reviewer_id) == Reviewer.id)
        .where(
            col(Decision.variant_id) == card.variant_id,
            col(Decision.variant_version) >= card.version,
        )
        .distinct()
    )
    return tuple(sorted(names.scalars()))


def _decision(
    card: Shown, *, reviewer_id: int, verdict: Verdict, reason: str = "", note: str = ""
) -> Decision:
    if len(note) > MAX_NOTE:
        raise HedgerowError(
            f"Expected a note of at most {MAX_NOTE} characters, found {len(note)}; shorten it."
        )
    return Decision(
        variant_id=card.variant_id,
        variant_version=card.version,
        reviewer_id=reviewer_id,
        verdict=verdict,
        reason=reason,
        note=note,
        action_id=card.action_id,
        guideline_version=GUIDELINE_VERSION,
        shown_at=card.shown_at,
    )


def edit(
    session: Session,
    card: Shown,
    *,
    reviewer_id: int,
    text: str | None = None,
    type_id: str | None = None,
    cue: str | None = None,
    reason: str = "",
    note: str = "",
) -> Outcome:
    """Replace the variant by a better wording, or give it its right type: one action.

    The original becomes superseded, the child accepted. Where the anchor has a variant of this
    text and type already, that one is the child. The child's distance and flags are measured at
    once; its cosine follows with the next diagnostics run.

    Args:
        text: the new wording; None keeps the text (retype).
        type_id: the new type; None keeps the type.
        cue: the hedge cue of the new wording; None keeps it, where the type takes one.

    Raises:
        HedgerowError: nothing would change, or the text is empty, too long or not plain text.
    """
    if reason:
        _check_reason(reason, note)
    if _done_before(session, card):
        return Outcome(recorded=False)
    overtaken = _overtaken(session, card, reviewer_id)
    original = session.get_one(Variant, card.variant_id)
    child, is_new = _child(
        session, original, text=text, type_id=type_id, cue=cue, author_id=reviewer_id
    )
    row = _decision(
        card, reviewer_id=reviewer_id, verdict=Verdict.EDIT,
        reason=reason or ("wrong_type" if child.type_id != original.type_id else ""), note=note,
    )  # fmt: skip
    row.child_id = child.id
    child_card = Shown(child.id or 0, child.version, card.action_id, card.shown_at)
    accepted = _decision(child_card, reviewer_id=reviewer_id, verdict=Verdict.ACCEPT)
    changes = store_decisions(session, [row, accepted])
    measure_variants(session, [child.id or 0])
    if is_new:
        changes = [c._replace(before=None) if c.variant_id == child.id else c for c in changes]
    return Outcome(True, tuple(changes), overtaken, child.id)


def _child(
    session: Session,
    original: Variant,
    *,
    text: str | None,
    type_id: str | None,
    cue: str | None,
    author_id: int,
) -> tuple[Variant, bool]:
    """The variant that the edit makes, or finds, and whether it is new."""
    new_text = canonical(original.text if text is None else text)
    if not new_text or len(new_text) > MAX_TEXT:
        raise HedgerowError(
            f"Expected a text of 1 to {MAX_TEXT} characters, found {len(new_text)}; "
            "write one, or reject the variant."
        )
    entry = known_type(list_types(session), type_id or original.type_id)
    if (new_text, entry.id) == (original.text, original.type_id):
        raise HedgerowError("The text is unchanged; change it, or accept the variant as it is.")
    anchor = session.get_one(Anchor, original.anchor_id)
    uid = variant_uid(anchor_uid=anchor.uid, type_id=entry.id, text=new_text)
    known = session.execute(select(Variant).where(col(Variant.uid) == uid)).scalar()
    if known is not None:
        return known, False
    child = Variant(
        uid=uid,
        anchor_id=original.anchor_id,
        anchor_revision=original.anchor_revision,
        type_id=entry.id,
        text=new_text,
        cue=(canonical(cue or "") or original.cue) if entry.needs_cue else None,
        parent_id=original.id,
        author_id=author_id,
        provider=original.provider,
        model=original.model,
        random_key=bucket(uid, salt=RANDOM_SALT),
    )
    session.add(child)
    session.flush()
    return child, True


def reject_family(session: Session, card: Shown, *, reviewer_id: int, note: str = "") -> Outcome:
    """Reject every variant of the card's anchor because the anchor itself is unsuitable.

    Wordings that an edit has replaced stay as they are. One action, undone together.
    """
    if _done_before(session, card):
        return Outcome(recorded=False)
    overtaken = _overtaken(session, card, reviewer_id)
    anchor_id = session.get_one(Variant, card.variant_id).anchor_id
    family = session.execute(
        select(Variant).where(
            col(Variant.anchor_id) == anchor_id, col(Variant.status) != Status.SUPERSEDED
        )
    ).scalars()
    rows = [
        _decision(
            Shown(v.id or 0, v.version, card.action_id, card.shown_at),
            reviewer_id=reviewer_id, verdict=Verdict.REJECT, reason="anchor_unsuitable", note=note,
        )
        for v in family
    ]  # fmt: skip
    return Outcome(True, tuple(store_decisions(session, rows)), overtaken)


class Undone(NamedTuple):
    """What an undo took back: how many decisions, and the variant to show again."""

    variant_id: int
    verdict: Verdict
    decisions: int
    changes: tuple[StatusChange, ...]


def undo(session: Session, *, reviewer_id: int) -> Undone | None:
    """Take back the reviewer's latest action that still stands; None where there is none left.

    What an action did together (an edit and its child, a family, a bulk decision) is taken back
    together, by ``retract`` rows; nothing is deleted.
    """
    retract = aliased(Decision)
    taken_back = select(retract.id).where(col(retract.retracts_id) == Decision.id).exists()  # type: ignore[call-overload]
    last = session.execute(
        select(Decision)
        .where(
            col(Decision.reviewer_id) == reviewer_id,
            col(Decision.verdict) != Verdict.RETRACT,
            ~taken_back,
        )
        .order_by(col(Decision.id).desc())
        .limit(1)
    ).scalar()
    return (
        None if last is None else retract_action(session, last.action_id, reviewer_id=reviewer_id)
    )


def retract_action(session: Session, action_id: str, *, reviewer_id: int) -> Undone:
    """Take back all decisions of one action.

    Raises:
        HedgerowError: there is no such action of this reviewer.
    """
    decisions = session.execute(
        select(col(Decision.id), col(Decision.variant_id), col(Decision.verdict))
        .where(
            col(Decision.action_id) == action_id,
            col(Decision.reviewer_id) == reviewer_id,
            col(Decision.verdict) != Verdict.RETRACT,
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
    _, first, verdict = decisions[0]
    return Undone(first, verdict, len(decisions), tuple(changes))


def _versions(session: Session, ids: Iterable[int]) -> dict[int, int]:
    found: dict[int, int] = {}
    for some in chunks(ids):
        query = select(Variant.id, Variant.version).where(col(Variant.id).in_(some))  # type: ignore[call-overload]
        found |= dict(session.execute(query).all())
    return found
