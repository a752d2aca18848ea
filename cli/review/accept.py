"""Accepting a variant."""

from cli.review.decision import Note, ReviewerName, Uid, decide
from cli.shared.terminal import AsJson
from curation.review import actions


def accept(uid: Uid, reviewer: ReviewerName = "", note: Note = "", as_json: AsJson = False) -> None:
    """Accept a variant as it stands."""
    decide(
        lambda session, card, who: actions.accept(session, card, reviewer_id=who, note=note),
        uid,
        reviewer,
        as_json,
    )
