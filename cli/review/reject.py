"""Rejecting a variant."""

from cli.review.decision import Note, Reason, ReviewerName, Uid, decide, reason_and_note
from cli.shared.terminal import AsJson
from curation.review import actions


def reject(
    uid: Uid,
    reason: Reason = "",
    note: Note = "",
    reviewer: ReviewerName = "",
    as_json: AsJson = False,
) -> None:
    """Reject a variant."""
    reason, note = reason_and_note(reason, note)
    decide(
        lambda session, card, who: actions.reject(
            session, card, reviewer_id=who, reason=reason, note=note
        ),
        uid,
        reviewer,
        as_json,
    )
