"""Edit a variant: replace its text, change its type, or correct its cue."""

from typing import NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.content_uids import canonical, variant_uid
from curation.decisions.shown_card import (
    ActionOutcome,
    ShownCard,
    check_reason,
    decision_on,
    done_before,
    is_outdated,
    overtaken,
    shown_variant,
)
from curation.decisions.storing import store_decisions
from curation.diagnostics.measuring import measure_variants
from curation.editing.cues import (
    CueWanted,
    Hedge,
    checked_cue,
    choose_cue,
    correct_cue,
    filed_by_cue,
    number_of_words,
)
from curation.splits import RANDOM_SALT, bucket
from curation.taxonomy.built_in import VariantType, known_type
from curation.taxonomy.project_types import all_types, list_types
from db.errors import HedgerowError
from db.models import Anchor, AnchorRevision, Decision, Variant, Verdict

MAX_TEXT = 2000
"""Longest variant that a person may write, in characters."""


class Edit(NamedTuple):
    """The result of an edit before it is stored.

    Attributes:
        entry: the type of the result.
        text: the new text, in canonical form.
        known: the anchor's existing variant with this text and type, if any.
        remark: a sentence about a choice that the edit makes automatically; '' for none.
    """

    entry: VariantType
    text: str
    cue: str | None
    known: Variant | None
    remark: str


def plan_edit(
    session: Session,
    original: Variant,
    *,
    text: str | None = None,
    type_id: str | None = None,
    cue: str | None = None,
) -> Edit:
    """Compute the result of ``edit`` without storing anything.

    Raises:
        HedgerowError: as ``edit``.
    """
    entry = _type(session, original, type_id)
    new_text = checked_text(original.text if text is None else text)
    known = find_text(session, original.anchor_id, entry.id, new_text)
    anchor = session.get_one(Anchor, original.anchor_id)
    if known is None:
        check_differs(session, anchor, new_text)
    is_news = checked_cue(cue) not in (None, original.cue)
    if known is not None and known.cue and entry.needs_cue and not is_news:
        kept = Hedge(entry, known.cue)
        return Edit(entry, new_text, known.cue, known, _remark(entry, kept, original, known))
    hedge = choose_cue(
        entry,
        list_types(session),
        anchor=current_text(session, anchor),
        text=new_text,
        named=cue,
        current=original.cue,
    )
    if hedge.entry.id != entry.id:
        known = find_text(session, original.anchor_id, hedge.entry.id, new_text)
        if known is original and not is_news:
            raise CueWanted(
                f"Its cue '{hedge.cue}' has {number_of_words(hedge.cue or '')}, so its type is "
                f"'{hedge.entry.label}'; enter a cue that fits '{entry.label}'.",
                proposed=hedge.cue or "",
            )
    remark = _remark(entry, hedge, original, known)
    return Edit(hedge.entry, new_text, hedge.cue, known, remark)


def _remark(asked: VariantType, hedge: Hedge, original: Variant, known: Variant | None) -> str:
    sentences = []
    if hedge.entry.id != asked.id:
        sentences.append(filed_by_cue(hedge))
    elif hedge.cue is not None and hedge.cue != original.cue:
        sentences.append(f"Its cue is '{hedge.cue}'.")
    if known is not None and known.id != original.id:
        sentences.append(
            "Another variant of the anchor already has this text and replaces this one."
        )
    return " ".join(sentences)


def edit(
    session: Session,
    card: ShownCard,
    *,
    reviewer_id: int,
    text: str | None = None,
    type_id: str | None = None,
    cue: str | None = None,
    reason: str = "",
    note: str = "",
) -> ActionOutcome:
    """Replace the variant with a corrected text, or correct its type or cue, as one action.

    With another text or type, the original becomes superseded and the child accepted. If the anchor
    already has a variant with this text and type, that variant is the child. With only another cue,
    the variant stays the same and is accepted with the corrected cue, unless the cue turns a
    single-word hedge into a phrase or the reverse. Distance and flags are measured at once, the
    child's cosine in the next diagnostics run.

    Args:
        text: the new text; None keeps the text.
        type_id: the new type; None keeps the type.
        cue: the hedge cue; with None, ``choose_cue`` chooses it if the type has cues.

    Raises:
        CueWanted: the text has no known cue, or several, and ``cue`` is None.
        HedgerowError: nothing would change, or the text is the anchor's own, empty, too long or not
            plain text.
    """
    if reason:
        check_reason(session, shown_variant(session, card), reason=reason, note=note)
    if done_before(session, card.action_id):
        return ActionOutcome(recorded=False)
    original = shown_variant(session, card, keep_wording=True)
    planned = plan_edit(session, original, text=text, type_id=type_id, cue=cue)
    return carry_out(
        session,
        card,
        original,
        planned,
        reviewer_id=reviewer_id,
        asked=cue,
        reason=reason,
        note=note,
    )


def carry_out(
    session: Session,
    card: ShownCard,
    original: Variant,
    planned: Edit,
    *,
    reviewer_id: int,
    asked: str | None = None,
    reason: str = "",
    note: str = "",
) -> ActionOutcome:
    """Store the result of ``plan_edit``. Edits with the same action id are undone together.

    Args:
        asked: the cue that the person named, if any.

    Raises:
        HedgerowError: nothing would change.
    """
    others = overtaken(session, card, original)
    known = planned.known
    if known is original:
        _check_news(card, original, planned, asked=asked)
        child = original
        rows = [
            decision_on(card, original, reviewer_id=reviewer_id, verdict=Verdict.ACCEPT, note=note)
        ]
    else:
        child = known or _new_child(session, card, original, planned, reviewer_id)
        rows = _replacement(
            card, original, child, reviewer_id=reviewer_id, reason=reason, note=note
        )
    if planned.entry.needs_cue and child.cue != planned.cue:
        correct_cue(session, child, planned.cue, reviewer_id=reviewer_id, action_id=card.action_id)
    changes = store_decisions(session, rows)
    measure_variants(session, [child.id])
    if known is None:
        changes = [c._replace(before=None) if c.variant_id == child.id else c for c in changes]
    child_id = None if child is original else child.id
    outdated = is_outdated(card, original)
    return ActionOutcome(True, tuple(changes), others, child_id, outdated, planned.remark)


def _type(session: Session, original: Variant, type_id: str | None) -> VariantType:
    """The requested type, which must be in use unless it is the variant's current one."""
    if type_id in (None, original.type_id):
        return all_types(session)[original.type_id]
    return known_type(list_types(session), type_id or "")


def checked_text(text: str) -> str:
    """The text of a variant in its canonical form.

    Raises:
        HedgerowError: it is empty, too long or not plain text.
    """
    clean = canonical(text)
    if not clean or len(clean) > MAX_TEXT:
        raise HedgerowError(
            f"Expected a text of 1 to {MAX_TEXT} characters, found {len(clean)}. "
            "Change the text, or reject the variant."
        )
    return clean


def current_text(session: Session, anchor: Anchor) -> str:
    """The anchor's current text."""
    return session.get_one(AnchorRevision, (anchor.id, anchor.revision)).text


def check_differs(session: Session, anchor: Anchor, text: str) -> None:
    """Refuse a canonical text that is equal to the anchor's current text.

    Raises:
        HedgerowError: it is equal.
    """
    if text == current_text(session, anchor):
        raise HedgerowError(
            "The text is the same as the anchor; make the change that the type requires."
        )


def find_text(session: Session, anchor_id: int, type_id: str, text: str) -> Variant | None:
    """The anchor's variant with this type and canonical text, if any."""
    anchor = session.get_one(Anchor, anchor_id)
    uid = variant_uid(anchor_uid=anchor.uid, type_id=type_id, text=text)
    return session.execute(select(Variant).where(col(Variant.uid) == uid)).scalar()


def _check_news(card: ShownCard, original: Variant, planned: Edit, *, asked: str | None) -> None:
    """Refuse an edit that changes nothing, unless another window has just made the same change."""
    made_elsewhere = asked is not None and card.version != original.version
    if not planned.entry.needs_cue or (planned.cue == original.cue and not made_elsewhere):
        raise HedgerowError("The text is unchanged; change it, or accept the variant.")


def _replacement(
    card: ShownCard, original: Variant, child: Variant, *, reviewer_id: int, reason: str, note: str
) -> list[Decision]:
    """The original superseded by the child, the child accepted."""
    retyped = child.type_id != original.type_id
    row = decision_on(
        card,
        original,
        reviewer_id=reviewer_id,
        verdict=Verdict.EDIT,
        reason=reason or ("wrong_type" if retyped else ""),
        note=note,
    )
    row.child_id = child.id
    accepted = decision_on(
        card, original, other=child, reviewer_id=reviewer_id, verdict=Verdict.ACCEPT
    )
    return [row, accepted]


def _new_child(
    session: Session, card: ShownCard, original: Variant, planned: Edit, author_id: int
) -> Variant:
    anchor, (entry, text, cue, *_) = session.get_one(Anchor, original.anchor_id), planned
    uid = variant_uid(anchor_uid=anchor.uid, type_id=entry.id, text=text)
    outdated = is_outdated(card, original)
    child = Variant(
        uid=uid,
        anchor_id=original.anchor_id,
        anchor_revision=original.anchor_revision if outdated else anchor.revision,
        type_id=entry.id,
        text=text,
        cue=cue,
        parent_id=original.id,
        author_id=author_id,
        provider=original.provider,
        model=original.model,
        retired=entry.retired or anchor.retired_at is not None,
        random_key=bucket(uid, salt=RANDOM_SALT),
    )
    session.add(child)
    session.flush()
    return child
