"""Decisions on variants, notes, and undoing them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy.orm import Session

from curation.anchors.revisions import source_in_use
from curation.decisions.notes import add_note, count_notes
from curation.decisions.reviewers import find_reviewer
from curation.diagnostics.measuring import stored_flags
from curation.editing.anchors import get_anchor
from curation.editing.own_variants import write_variant
from curation.review import deciding, discussing
from curation.review.adjudication import ConflictOrder, GivenVerdict, shown_to_settle
from curation.review.adjudication import conflicts as find_conflicts
from curation.review.deciding import find_variant
from curation.review.large_actions import undo_rest
from curation.review.rules import Matches, apply_rule, find_matches, parse_rule
from curation.taxonomy.built_in import known_type
from curation.taxonomy.project_types import all_types
from curation.taxonomy.reject_reasons import check_note, reject_reason
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import Status, Variant, Verdict
from hedgerow.arguments import names
from hedgerow.arguments import uid as one_uid
from hedgerow.home import Home, reviewer_id

if TYPE_CHECKING:
    import pandas as pd


Action = Callable[[Session, deciding.ShownCard, int], deciding.ActionOutcome]
"""A decision as a function of the session, the card and the reviewer's id."""

NO_REASON = "Rejected without a reason."
NO_REASON_TO_ACCEPT = "A reason requires 'reject'; give a note instead."


class Decided(NamedTuple):
    """A variant after a decision.

    Attributes:
        uid: the uid of the variant.
        status: 'pending', 'accepted', 'rejected', 'conflict' or 'superseded'.
        child: after an edit, the uid of the new variant; otherwise None.
        type, cue, flags: the type, the hedge cue and the labels of the flags; after an edit, those
            of the new variant.
        remark: a sentence for the reviewer, for example about a cue that was found in the text;
            otherwise "".
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
    """The action that was undone.

    Attributes:
        number: the number of decisions, or 1 for a note or mark; 0 if there was nothing to undo.
        what: the kind of action; None if there was nothing to undo.
        uid: the uid of the variant, or of one of them; None if there was nothing to undo.
        sentence: a sentence that describes the action.
    """

    number: int
    what: str | None
    uid: str | None
    sentence: str


def accept(home: Home, uid: str, reviewer: str, note: str, *, settles: bool = False) -> Decided:
    """See `hedgerow.Project.accept`, or `hedgerow.Project.settle` if ``settles`` is True."""
    return _decide(
        home,
        lambda session, card, who: deciding.accept(session, card, reviewer_id=who, note=note),
        uid,
        reviewer,
        settles=settles,
    )


def reject(
    home: Home, uid: str, reason: str, reviewer: str, note: str, *, settles: bool = False
) -> Decided:
    """See `hedgerow.Project.reject`, or `hedgerow.Project.settle` if ``settles`` is True."""
    reason, note = reason_and_note(reason, note)
    return _decide(
        home,
        lambda session, card, who: deciding.reject(
            session, card, reviewer_id=who, reason=reason, note=note
        ),
        uid,
        reviewer,
        settles=settles,
    )


def reason_and_note(reason: str, note: str) -> tuple[str, str]:
    """The reason and note to store.

    Without a reason, the reason is 'other', and the note, if empty, says that none was given.

    Raises:
        HedgerowError: the reason is unknown, or it is 'other' without a note.
    """
    if not reason:
        return "other", note or NO_REASON
    check_note(reject_reason(reason), note)
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
        raise HedgerowError("Expected a new text, type or cue, found none; give at least one.")
    return _decide(
        home,
        lambda session, card, who: deciding.edit(
            session, card, reviewer_id=who, text=text, type_id=type_id, cue=cue, note=note
        ),
        uid,
        reviewer,
    )


def _decide(
    home: Home, action: Action, uid: str, reviewer: str, *, settles: bool = False
) -> Decided:
    with writing(home.engine) as session:
        variant = deciding.find_variant(session, one_uid(uid))
        card = shown_to_settle(session, uid) if settles else deciding.shown(variant)
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
        variant_id = deciding.find_variant(session, one_uid(uid)).id
        who = reviewer_id(session, home.settings, reviewer)
        add_note(session, variant_id, reviewer_id=who, text=text)
        return count_notes(session, variant_id)


def undo(home: Home, reviewer: str) -> Undone:
    """See `hedgerow.Project.undo`."""
    with writing(home.engine) as session:
        who = find_reviewer(session, reviewer or home.settings.reviewer)
        undone = deciding.undo(session, reviewer_id=who.id)
        if undone is None:
            return Undone(0, None, None, "There is nothing left to undo.")
        uid = session.get_one(Variant, undone.variant_id).uid
    undone = undo_rest(home.engine, undone, reviewer_id=who.id)
    # Undoing a note or a mark undoes no decision, but counts as one action.
    return Undone(undone.decisions or 1, undone.done.value, uid, str(undone))


class ByRule(NamedTuple):
    """The decisions of a rule, or in a dry run those it would make.

    Attributes:
        rule: the text of the rule, with normalised spaces.
        matches: the number of matching pending variants by type, and of unmeasured variants.
        action: the id of the action, which one undo reverts; None if nothing was stored.
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
        raise HedgerowError(NO_REASON_TO_ACCEPT)
    if dry_run:
        with reading(home.engine) as session:
            found = find_matches(session, parsed, types=types, reason=reason or None)
        return ByRule(parsed.text, found, None)
    with writing(home.engine) as session:
        who = reviewer_id(session, home.settings, reviewer)
    found, action = apply_rule(
        home.engine,
        parsed,
        verdict=verdict,
        reviewer_id=who,
        reason=reason,
        note=note,
        types=types,
    )
    return ByRule(parsed.text, found, action)


# -- Conflicts and marks ---------------------------------------------------------------------------


_CONFLICT = ("uid", "type", "source", "anchor", "text", "people", "dispute", "since", "verdicts")
_MARK = ("uid", "type", "status", "anchor", "text", "reviewer", "remark", "marked_at")


def conflicts(
    home: Home, type_name: str | tuple[str, ...], source: str, order: str
) -> pd.DataFrame:
    """See `hedgerow.Project.conflicts`."""
    import pandas as pd

    wanted = next((one for one in ConflictOrder if one.value == order), None)
    if wanted is None:
        raise HedgerowError(f"Expected an order ({', '.join(ConflictOrder)}), found {order!r}.")
    with reading(home.engine) as session:
        types, source_id = _scope(session, type_name, source)
        found = find_conflicts(session, type_ids=types or None, source_id=source_id, order=wanted)
    rows = [
        (
            *(one.uid, one.type_id, one.source, one.anchor, one.text),
            *(len(one.verdicts), one.dispute, one.since),
            [_verdict(given) for given in one.verdicts],
        )
        for one in found
    ]
    return pd.DataFrame(rows, columns=list(_CONFLICT), dtype=object)


def _verdict(given: GivenVerdict) -> dict[str, Any]:
    return {
        "reviewer": given.reviewer,
        "verdict": given.verdict.value,
        "reason": given.reason,
        "note": given.note,
        "at": given.decided_at.isoformat(),
        "seconds": given.seconds,
        "wording": given.wording and given.wording.text,
    }


def _scope(
    session: Session, type_name: str | tuple[str, ...], source: str
) -> tuple[tuple[str, ...], int | None]:
    types = names(type_name, what="types")
    for name in types:
        known_type(list(all_types(session).values()), name)
    return types, source_in_use(session, source) if source else None


def marked(home: Home, type_name: str | tuple[str, ...], source: str) -> pd.DataFrame:
    """See `hedgerow.Project.marked`."""
    import pandas as pd

    with reading(home.engine) as session:
        types, source_id = _scope(session, type_name, source)
        found = discussing.open_marks(session, source_id=source_id)
    rows = [
        (
            *(one.uid, one.type_id, one.status.value, one.anchor, one.text),
            *(one.reviewer, one.remark, one.marked_at),
        )
        for one in found
        if not types or one.type_id in types
    ]
    return pd.DataFrame(rows, columns=list(_MARK), dtype=object)


def discuss(home: Home, uid: str, remark: str, *, lift: bool, reviewer: str) -> bool:
    """See `hedgerow.Project.discuss`."""
    with writing(home.engine) as session:
        variant_id = find_variant(session, one_uid(uid)).id
        who = reviewer_id(session, home.settings, reviewer)
        if lift:
            discussing.lift(session, variant_id, reviewer_id=who)
        else:
            discussing.mark(session, variant_id, reviewer_id=who, remark=remark)
        return not lift
