"""Replacing a variant by a better wording, giving it its right type, correcting its cue."""

from sqlalchemy import select
from sqlmodel import Session, col

from curation.cue_corrections import checked_cue, correct_cue
from curation.cues import cue_list, known_cue
from curation.decisions import store_decisions
from curation.diagnostics import measure_variants
from curation.showing import (
    Outcome,
    Shown,
    check_reason,
    decision_on,
    done_before,
    is_outdated,
    overtaken,
    shown_variant,
)
from curation.starter_corpus import RANDOM_SALT
from curation.taxonomy import VariantType
from curation.text import bucket, canonical, variant_uid
from curation.types import all_types, known_type, list_types
from db.errors import HedgerowError
from db.models import Anchor, AnchorRevision, Decision, Variant, Verdict

MAX_TEXT = 2000
"""Longest variant that a person may write, in characters."""


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
    """Replace the variant by a better wording, or give it its right type or cue: one action.

    With another text or type, the original becomes superseded and the child accepted. Where the
    anchor has a variant of this text and type already, that one is the child. With another cue
    alone, the variant stays the same one and is accepted with its corrected cue. Distance and
    flags are measured at once; the child's cosine follows with the next diagnostics run.

    Args:
        text: the new wording; None keeps the text (retype).
        type_id: the new type; None keeps the type.
        cue: the hedge cue; None keeps it, where the type takes one.

    Raises:
        HedgerowError: nothing would change, a cue is missing, or the text is the anchor's own,
            empty, too long or not plain text.
    """
    if reason:
        check_reason(session, shown_variant(session, card), reason=reason, note=note)
    if done_before(session, card.action_id):
        return Outcome(recorded=False)
    original = shown_variant(session, card, keep_wording=True)
    others = overtaken(session, card, original)
    entry = _type(session, original, type_id)
    new_text = checked_text(original.text if text is None else text)
    known = find_text(session, original.anchor_id, entry.id, new_text)
    if known is None:
        check_differs(session, session.get_one(Anchor, original.anchor_id), new_text)
    new_cue = _cue(entry, original, known, new_text, asked=cue)
    if known is original:
        _check_news(card, original, entry, asked=cue, cue=new_cue)
        child = original
        rows = [
            decision_on(card, original, reviewer_id=reviewer_id, verdict=Verdict.ACCEPT, note=note)
        ]
    else:
        child = known or _new_child(session, card, original, entry, new_text, new_cue, reviewer_id)
        rows = _replacement(
            card, original, child, reviewer_id=reviewer_id, reason=reason, note=note
        )
    if entry.needs_cue and child.cue != new_cue:
        correct_cue(session, child, new_cue, reviewer_id=reviewer_id, action_id=card.action_id)
    changes = store_decisions(session, rows)
    measure_variants(session, [child.id or 0])
    if known is None:
        changes = [c._replace(before=None) if c.variant_id == child.id else c for c in changes]
    child_id = None if child is original else child.id
    return Outcome(True, tuple(changes), others, child_id, is_outdated(card, original))


def _type(session: Session, original: Variant, type_id: str | None) -> VariantType:
    """The type asked for, which must be in use; the variant's own may be a retired one."""
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
            f"Expected a text of 1 to {MAX_TEXT} characters, found {len(clean)}; "
            "write one, or reject the variant."
        )
    return clean


def check_differs(session: Session, anchor: Anchor, text: str) -> None:
    """Whether a canonical text says anything but the anchor's present wording.

    Raises:
        HedgerowError: it is that wording; as a negation it would contradict itself.
    """
    if text == session.get_one(AnchorRevision, (anchor.id, anchor.revision)).text:
        raise HedgerowError("The text is the anchor's own; write what the type changes in it.")


def find_text(session: Session, anchor_id: int, type_id: str, text: str) -> Variant | None:
    """The anchor's variant of this type and canonical text, if it has one."""
    anchor = session.get_one(Anchor, anchor_id)
    uid = variant_uid(anchor_uid=anchor.uid, type_id=type_id, text=text)
    return session.execute(select(Variant).where(col(Variant.uid) == uid)).scalar()


def cue_for(entry: VariantType, text: str, *candidates: str | None) -> str | None:
    """The cue that a text of this type gets: the first candidate, or a known cue that it uses.

    Raises:
        HedgerowError: the type needs one and there is none, or it is too long.
    """
    if not entry.needs_cue:
        return None
    given = (checked_cue(candidate) for candidate in candidates)
    found = next((cue for cue in given if cue), None) or known_cue(text, cue_list(entry))
    if found is None:
        raise HedgerowError(
            f"Expected the hedge cue that the text uses, found none for the type '{entry.id}'; "
            "name it with the text."
        )
    return found


def _cue(
    entry: VariantType, original: Variant, known: Variant | None, text: str, *, asked: str | None
) -> str | None:
    """The cue of the edit's outcome; one that only repeats the original's asks for nothing.

    A type with cues of its own takes one of these rather than the original's, which was another
    type's.
    """
    news = None if checked_cue(asked) == original.cue else asked
    is_new_type = entry.id != original.type_id
    own = known_cue(text, entry.surface_check.require_words) if is_new_type else None
    return cue_for(entry, text, news, known.cue if known else None, own, original.cue)


def _check_news(
    card: Shown, original: Variant, entry: VariantType, *, asked: str | None, cue: str | None
) -> None:
    """Refuse an edit that asks for what is there, unless another window has just made it so."""
    made_elsewhere = asked is not None and card.version != original.version
    if not entry.needs_cue or (cue == original.cue and not made_elsewhere):
        raise HedgerowError("The text is unchanged; change it, or accept the variant as it is.")


def _replacement(
    card: Shown, original: Variant, child: Variant, *, reviewer_id: int, reason: str, note: str
) -> list[Decision]:
    """The original superseded by the child, the child accepted."""
    retyped = child.type_id != original.type_id
    row = decision_on(
        card, original, reviewer_id=reviewer_id, verdict=Verdict.EDIT,
        reason=reason or ("wrong_type" if retyped else ""), note=note,
    )  # fmt: skip
    row.child_id = child.id
    accepted = decision_on(
        card, original, other=child, reviewer_id=reviewer_id, verdict=Verdict.ACCEPT
    )
    return [row, accepted]


def _new_child(
    session: Session,
    card: Shown,
    original: Variant,
    entry: VariantType,
    text: str,
    cue: str | None,
    author_id: int,
) -> Variant:
    anchor = session.get_one(Anchor, original.anchor_id)
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
