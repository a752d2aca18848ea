"""Undo a reviewer's actions by adding rows, so that nothing is deleted."""

import uuid
from collections.abc import Collection, Sequence
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from sqlalchemy import bindparam, func, select
from sqlalchemy.orm import Session, aliased
from sqlmodel import col

from curation.decisions.history import not_retracted
from curation.decisions.notes import latest_note, retract_note
from curation.decisions.reviewers import is_by, person_id_now, shown_name
from curation.decisions.shown_card import quoted
from curation.decisions.storing import StatusChange, bulk_store_decisions, rows_with
from curation.decisions.variant_rows import PERSON
from curation.editing.cues import restore_cues
from curation.review.discussing import latest_mark, undo_mark
from curation.review.drafts import DraftKind, find_draft, keep_draft
from db.errors import HedgerowError
from db.models import (
    CueCorrection,
    Decision,
    DiscussMark,
    MarkKind,
    Note,
    Reviewer,
    Status,
    Variant,
    Verdict,
)

AT_ONCE = 500
"""Number of decisions that are undone in one transaction."""


class Done(StrEnum):
    """What a reviewer did with one key press or command, in words."""

    ACCEPT = "accept"
    REJECT = "reject"
    SETTLE = "settlement"
    EDIT = "edit"
    RETYPE = "change of type"
    CUE = "cue correction"
    OWN = "own variant"
    NOTE = "note"
    MARK = "discuss mark"
    LIFT = "lifted discuss mark"


_NOUNS = {
    Done.ACCEPT: "acceptance",
    Done.REJECT: "rejection",
    Done.OWN: "acceptance of your own variant",
}
"""Nouns for actions whose word is not a noun."""


class Undone(NamedTuple):
    """What was undone.

    Attributes:
        variant_id: the variant to show again.
        text: its text.
        decisions: number of retracted decisions; 0 for a note or a mark.
        variants: number of variants, with an edited one and its child counted once.
        action_id: the action of the decisions; '' for a note or a mark.
        left: the action is so large that the rest of it is still to be undone, by
            ``curation.review.large_actions.undo_rest``.
    """

    variant_id: int
    text: str
    done: Done
    decisions: int
    variants: int
    changes: tuple[StatusChange, ...]
    action_id: str
    left: bool = False

    def __str__(self) -> str:
        """One sentence about it."""
        text = quoted(self.text)
        if self.done is Done.NOTE:
            return f"Note on {text} removed."
        if self.done is Done.MARK:
            return f"{text} is no longer marked for discussion."
        if self.done is Done.LIFT:
            return f"{text} is marked for discussion again."
        more = f" and {self.variants - 1:,} more" if self.variants > 1 else ""
        draft = " Press E on the Review page to get back what you entered."
        kept = draft if self.done in (Done.EDIT, Done.CUE) else ""
        noun = _NOUNS.get(self.done, self.done).capitalize()
        return f"{noun}{more} undone.{kept}"


def undo(session: Session, *, reviewer_id: int, after: datetime | None = None) -> Undone | None:
    """Undo the last thing that the reviewer did: an action, a note, or a mark that was made or
    removed.

    An action is undone as a whole: an edit with its child, a family, a bulk decision, a corrected
    cue.

    Args:
        after: undo only what was done after this moment.

    Returns:
        What was undone; None if there was nothing to undo.
    """
    done = (
        latest_note(session, reviewer_id),
        latest_mark(session, reviewer_id),
        _latest_decision(session, reviewer_id),
    )
    # If two have the same time, max() returns the first: the note, which came after its decision.
    last = max((found for found in done if found is not None), key=_moment, default=None)
    if last is None or (after is not None and _moment(last) <= after):
        return None
    if isinstance(last, Decision):
        return retract_action(session, last.action_id, reviewer_id=reviewer_id)
    if isinstance(last, Note):
        retract_note(session, last.id)
        kind = Done.NOTE
    else:
        undo_mark(session, last, reviewer_id=reviewer_id)
        kind = Done.LIFT if last.kind is MarkKind.LIFT else Done.MARK
    text = session.get_one(Variant, last.variant_id).text
    return Undone(last.variant_id, text, kind, 0, 1, (), "")


def _latest_decision(session: Session, reviewer_id: int) -> Decision | None:
    query = (
        select(Decision)
        .where(is_by(session, Decision.reviewer_id, reviewer_id), not_retracted())
        .order_by(col(Decision.id).desc())
        .limit(1)
    )
    return session.execute(query).scalar()


def _moment(done: Note | DiscussMark | Decision) -> datetime:
    return done.decided_at if isinstance(done, Decision) else done.created_at


def retract_action(session: Session, action_id: str, *, reviewer_id: int) -> Undone:
    """Retract the decisions of one action. The text of an edit becomes a draft in the editor.

    Of a large action, the first decisions are retracted (see ``Undone.left``).

    Raises:
        HedgerowError: this reviewer has no such action, or it has been undone already.
    """
    query = select(Decision).where(
        col(Decision.action_id) == action_id,
        is_by(session, Decision.reviewer_id, reviewer_id),
        not_retracted(),
    )
    query = query.order_by(col(Decision.id)).limit(AT_ONCE + 1)
    decisions = session.execute(query).scalars().all()
    if not decisions:
        raise HedgerowError(
            f"This reviewer has no action '{action_id}' to undo; it may have been undone already."
        )
    first = decisions[0]
    done = _done(session, first)
    if done is Done.CUE or (first.verdict == Verdict.EDIT and done is not Done.RETYPE):
        _keep_edit(session, first, reviewer_id=reviewer_id)
    some, left = decisions[:AT_ONCE], len(decisions) > AT_ONCE
    variants = len(some) - sum(decision.verdict == Verdict.EDIT for decision in some)
    changes = retract(session, [one.id for one in some], reviewer_id=reviewer_id)
    restore_cues(session, action_id, reviewer_id=reviewer_id, undo_id=_undo_id(action_id))
    text = session.get_one(Variant, first.variant_id).text
    return Undone(
        first.variant_id, text, done, len(some), variants, tuple(changes), action_id, left
    )


def retract(
    session: Session, decision_ids: Sequence[int], *, reviewer_id: int
) -> list[StatusChange]:
    """Retract these decisions. All pieces of an action's undo are one action, too."""
    query = (
        select(
            col(Decision.id),
            col(Decision.variant_id),
            col(Variant.version),
            col(Decision.action_id),
        )
        .join(Variant, col(Variant.id) == col(Decision.variant_id))
        .where(not_retracted())
    )
    rows = [
        {
            "variant_id": variant_id,
            "variant_version": version,
            "reviewer_id": reviewer_id,
            "verdict": Verdict.RETRACT,
            "action_id": _undo_id(action_id),
            "retracts_id": key,
        }
        for key, variant_id, version, action_id in rows_with(
            session, query, col(Decision.id), decision_ids
        )
    ]
    return bulk_store_decisions(session, rows)


def _undo_id(action_id: str) -> str:
    """The id of the undo of an action. No action is undone twice."""
    return str(uuid.uuid5(uuid.NAMESPACE_OID, f"undo {action_id}"))


def _keep_edit(session: Session, first: Decision, *, reviewer_id: int) -> None:
    """Store what an edit had entered as a draft, so that undoing it loses no text.

    A draft that the reviewer has typed since then stays.
    """
    if find_draft(session, first.variant_id, DraftKind.EDIT, reviewer_id=reviewer_id):
        return
    edited = session.get_one(Variant, first.child_id or first.variant_id)
    fields = {"text": edited.text, "type": edited.type_id, "note": first.note}
    if edited.cue is not None:
        fields["cue"] = edited.cue
    keep_draft(session, first.variant_id, DraftKind.EDIT, fields, reviewer_id=reviewer_id)


def _done(session: Session, first: Decision) -> Done:
    """The kind of the action with this first decision."""
    variant = session.get_one(Variant, first.variant_id)
    if first.adjudicates:
        return Done.SETTLE
    if first.verdict == Verdict.EDIT:
        child = session.get_one(Variant, first.child_id)
        return Done.RETYPE if child.text == variant.text else Done.EDIT
    if first.verdict == Verdict.REJECT:
        return Done.REJECT
    corrected = select(col(CueCorrection.id)).where(col(CueCorrection.action_id) == first.action_id)
    if session.execute(corrected.limit(1)).first() is not None:
        return Done.CUE
    is_own = variant.provider == PERSON and variant.author_id == first.reviewer_id
    oldest = select(func.min(Decision.id)).where(col(Decision.variant_id) == variant.id)
    if is_own and session.execute(oldest).scalar() == first.id:
        return Done.OWN
    return Done.ACCEPT


# -- Decisions on a card that another person or window had decided on just before -----------------


class LateDecision(NamedTuple):
    """A decision made on a card that was on the screen when another decision was stored.

    Attributes:
        text: the variant's text.
        status: the variant's current status.
    """

    id: int
    reviewer_id: int
    reviewer: str
    verdict: Verdict
    reason: str
    settles: bool
    text: str
    status: Status


# Built once, because every card that is drawn needs it.
_OWN = aliased(Decision)
_LATE = (
    select(
        col(Decision.id),
        person_id_now(),
        shown_name(),
        col(Decision.verdict),
        col(Decision.reason),
        col(Decision.adjudicates),
        col(Variant.text),
        col(Variant.status),
    )
    .join(_OWN, col(_OWN.variant_id) == col(Decision.variant_id))
    .join(Reviewer, col(Reviewer.id) == col(Decision.reviewer_id))
    .join(Variant, col(Variant.id) == col(Decision.variant_id))
    .where(
        col(_OWN.action_id).in_(bindparam("actions", expanding=True)),
        col(Decision.id) > col(_OWN.id),
        col(Decision.variant_version) <= col(_OWN.variant_version),
        col(Decision.action_id) != col(_OWN.action_id),
        col(Decision.verdict) != Verdict.RETRACT,
        col(Variant.verdicts_by) == "",
    )
    .order_by(col(Decision.id))
)


def late_decisions(session: Session, action_ids: Collection[str]) -> list[LateDecision]:
    """Decisions made after one of these actions on a card drawn before it, in order of time.

    If several people are assigned to the variant, only after all of them have decided.
    """
    if not action_ids:
        return []
    rows = session.connection().execute(_LATE, {"actions": list(action_ids)})
    return [LateDecision(*row) for row in rows]
