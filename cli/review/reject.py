"""Reject a variant."""

from cli.review.decision import Note, Reason, ReviewerName, Uid, show_decided
from cli.shared.home import this_project
from cli.shared.terminal import AsJson


def reject(
    uid: Uid,
    reason: Reason = "",
    note: Note = "",
    reviewer: ReviewerName = "",
    as_json: AsJson = False,
) -> None:
    """Reject a variant."""
    done = this_project().reject(uid, reason=reason, reviewer=reviewer, note=note)
    show_decided(done, as_json)
