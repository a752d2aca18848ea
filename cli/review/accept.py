"""Accept a variant."""

from cli.review.decision import Note, ReviewerName, Uid, show_decided
from cli.shared.home import this_project
from cli.shared.terminal import AsJson


def accept(uid: Uid, reviewer: ReviewerName = "", note: Note = "", as_json: AsJson = False) -> None:
    """Accept a variant as it is."""
    show_decided(this_project().accept(uid, reviewer=reviewer, note=note), as_json)
