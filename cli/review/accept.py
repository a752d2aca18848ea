"""Accepting a variant."""

from cli.review.decision import Note, ReviewerName, Uid, accepting, decide
from cli.shared.terminal import AsJson


def accept(uid: Uid, reviewer: ReviewerName = "", note: Note = "", as_json: AsJson = False) -> None:
    """Accept a variant as it stands."""
    decide(accepting(note), uid, reviewer, as_json)
