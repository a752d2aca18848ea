"""Settling a conflict."""

from enum import StrEnum
from typing import Annotated

import typer

from cli.review.decision import (
    Note,
    Reason,
    ReviewerName,
    Uid,
    decide,
    reason_and_note,
)
from cli.shared.terminal import AsJson
from curation.review import actions


class SettledAs(StrEnum):
    """How a conflict can be settled."""

    ACCEPT = "accept"
    REJECT = "reject"


def settle(
    uid: Uid,
    verdict: Annotated[SettledAs, typer.Argument(help="The verdict that counts.")],
    reason: Reason = "",
    note: Note = "",
    reviewer: ReviewerName = "",
    as_json: AsJson = False,
) -> None:
    """Settle a conflict: your verdict counts instead of those that contradict each other."""
    if verdict is SettledAs.ACCEPT:
        if reason:
            raise typer.BadParameter("--reason goes with 'reject'; give --note instead")
        decide(
            lambda session, card, who: actions.accept(session, card, reviewer_id=who, note=note),
            uid,
            reviewer,
            as_json,
            settles=True,
        )
        return
    reason, note = reason_and_note(reason, note)
    decide(
        lambda session, card, who: actions.reject(
            session, card, reviewer_id=who, reason=reason, note=note
        ),
        uid,
        reviewer,
        as_json,
        settles=True,
    )
