"""Settle a conflict."""

from enum import StrEnum
from typing import Annotated

import typer

from cli.review.decision import Note, Reason, ReviewerName, Uid, show_decided
from cli.shared.home import this_project
from cli.shared.terminal import AsJson


class SettledAs(StrEnum):
    """The verdicts that can settle a conflict."""

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
    """Settle a conflict: your verdict outranks those that contradict each other."""
    if verdict is SettledAs.ACCEPT and reason:
        raise typer.BadParameter("--reason requires 'reject'; use --note instead")
    done = this_project().settle(uid, verdict.value, reason=reason, reviewer=reviewer, note=note)
    show_decided(done, as_json)
