"""Rejecting a variant."""

from cli.review.decision import Note, Reason, ReviewerName, Uid, decide, rejecting
from cli.shared.terminal import AsJson


def reject(
    uid: Uid,
    reason: Reason = "",
    note: Note = "",
    reviewer: ReviewerName = "",
    as_json: AsJson = False,
) -> None:
    """Reject a variant."""
    decide(rejecting(reason, note), uid, reviewer, as_json)
