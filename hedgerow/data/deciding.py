"""Decisions on single variants."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from sqlalchemy.orm import Session

from curation.anchors.changes import get_anchor
from curation.diagnostics.measuring import stored_flags
from curation.review import actions
from curation.review.bulk import Matches, apply_rule, find_matches, parse_rule
from curation.review.notes import add_note, count_notes
from curation.review.people.reviewers import find_reviewer
from curation.review.settling import shown_to_settle
from curation.taxonomy.reject_reasons import reject_reason
from curation.variants.own import write_variant
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import Status, Variant, Verdict
from hedgerow.asked import uid as one_uid
from hedgerow.home import Home, reviewer_id

Action = Callable[[Session, actions.ShownCard, int], actions.ActionOutcome]
"""A decision as a function of the session, the card and the reviewer's id."""

NO_REASON = "Rejected without a reason."


class Decided(NamedTuple):
    """A variant after a decision.

    Attributes:
        uid: the variant's.
        status: pending, accepted, rejected, conflict or superseded.
        child: uid of the variant that replaces it after an edit; otherwise None.
        type, cue: those of the text that is now stored.
        flags: the flags of that text, a few words each.
        remark: what the reviewer should know, such as a cue that was found; otherwise "".
    """

    uid: str
    status: str
    child: str | None
    type: str
    cue: str | None
    flags: list[str]
    remark: str

    @property
    def in_conflict(self) -> bool:
        """Whether the variant is now in conflict."""
        return self.status == Status.CONFLICT


class Undone(NamedTuple):
    """What was undone.

    Attributes:
        number: number of decisions, or 1 for a note or mark; 0 if there was nothing to undo.
        what: the kind of action; None if there was nothing to undo.
        uid: the variant's.
        sentence: the same in words.
    """

    number: int
    what: str | None
    uid: str | None
    sentence: str


def accept(home: Home, uid: str, reviewer: str, note: str, *, settles: bool = False) -> Decided:
    """See `hedgerow.Project.accept`; with ``settles`` `hedgerow.Project.settle`."""
    return _decide(
        home,
        lambda session, card, who: actions.accept(session, card, reviewer_id=who, note=note),
        uid,
        reviewer,
        settles=settles,
    )


def reject(
    home: Home, uid: str, reason: str, reviewer: str, note: str, *, settles: bool = False
) -> Decided:
    """See `hedgerow.Project.reject`; with ``settles`` `hedgerow.Project.settle`."""
    reason, note = reason_and_note(reason, note)
    return _decide(
        home,
        lambda session, card, who: actions.reject(
            session, card, reviewer_id=who, reason=reason, note=note
        ),
        uid,
        reviewer,
        settles=settles,
    )


def reason_and_note(reason: str, note: str) -> tuple[str, str]:
    """The reason and note to store. Without a reason they are 'other' and a note that says so.

    Raises:
        HedgerowError: there is no such reason, or it is 'other' without a note.
    """
    if not reason:
        return "other", note or NO_REASON
    if reject_reason(reason).id == "other" and not note.strip():
        raise HedgerowError("The reason 'other' needs a note that states the reason; add one.")
    return reason, note


def edit(
    home: Home,
    uid: str,
    text: str | None,
    type_id: str | None,
    cue: str | None,
    reviewer: str,
    note: str,
) -> Decided:
    """See `hedgerow.Project.edit`."""
    if text is None and type_id is None and cue is None:
        raise HedgerowError("Expected a text, type or cue to change, found none; give one of them.")
    return _decide(
        home,
        lambda session, card, who: actions.edit(
            session, card, reviewer_id=who, text=text, type_id=type_id, cue=cue, note=note
        ),
        uid,
        reviewer,
    )


def _decide(
    home: Home, action: Action, uid: str, reviewer: str, *, settles: bool = False
) -> Decided:
    with writing(home.engine) as session:
        variant = actions.find_variant(session, one_uid(uid))
        card = shown_to_settle(session, uid) if settles else actions.shown(variant)
        outcome = action(session, card, reviewer_id(session, home.settings, reviewer))
        session.refresh(variant)
        child = session.get(Variant, outcome.child_id) if outcome.child_id else None
        return _decided(session, variant, child, outcome.remark)


def _decided(session: Session, variant: Variant, child: Variant | None, remark: str) -> Decided:
    stored = child or variant
    return Decided(
        uid=variant.uid,
        status=variant.status.value,
        child=child.uid if child else None,
        type=stored.type_id,
        cue=stored.cue,
        flags=[flag.label for flag in stored_flags(session, stored)],
        remark=remark,
    )


def write(
    home: Home, anchor: str, type_id: str, text: str, cue: str | None, reviewer: str
) -> Decided:
    """See `hedgerow.Project.write`."""
    with writing(home.engine) as session:
        written = write_variant(
            session,
            anchor_id=get_anchor(session, anchor).id,
            type_id=type_id,
            text=text,
            cue=cue,
            reviewer_id=reviewer_id(session, home.settings, reviewer),
        )
        return _decided(session, written.variant, None, written.remark)


def leave_note(home: Home, uid: str, text: str, reviewer: str) -> int:
    """See `hedgerow.Project.note`."""
    with writing(home.engine) as session:
        variant_id = actions.find_variant(session, one_uid(uid)).id
        who = reviewer_id(session, home.settings, reviewer)
        add_note(session, variant_id, reviewer_id=who, text=text)
        return count_notes(session, variant_id)


def undo(home: Home, reviewer: str) -> Undone:
    """See `hedgerow.Project.undo`."""
    with writing(home.engine) as session:
        who = find_reviewer(session, reviewer or home.settings.reviewer)
        undone = actions.undo(session, reviewer_id=who.id)
        if undone is None:
            return Undone(0, None, None, "There is nothing left to undo.")
        variant = session.get_one(Variant, undone.variant_id)
        # A note or a mark counts as one.
        return Undone(undone.decisions or 1, undone.done.value, variant.uid, str(undone))


class ByRule(NamedTuple):
    """The decisions of a rule, or those it would make.

    Attributes:
        rule: its text, with normalised spaces.
        matches: number of matching pending variants by type, and of unmeasured ones.
        action: id of the action, which one undo reverses; None if nothing was stored.
    """

    rule: str
    matches: Matches
    action: str | None


def decide_by_rule(
    home: Home,
    rule: str,
    verdict: Verdict,
    *,
    reason: str,
    note: str,
    types: tuple[str, ...],
    reviewer: str,
    dry_run: bool,
) -> ByRule:
    """See `hedgerow.Project.decide_by_rule`."""
    parsed = parse_rule(rule)
    if verdict is Verdict.REJECT:
        reason, note = reason_and_note(reason, note)
    elif reason:
        raise HedgerowError("A reason requires 'reject'; leave it out, or give a note.")
    if dry_run:
        with reading(home.engine) as session:
            found = find_matches(session, parsed, types=types, reason=reason or None)
        return ByRule(parsed.text, found, None)
    with writing(home.engine) as session:
        found, action = apply_rule(
            session,
            parsed,
            verdict=verdict,
            reviewer_id=reviewer_id(session, home.settings, reviewer),
            reason=reason,
            note=note,
            types=types,
        )
    return ByRule(parsed.text, found, action)
