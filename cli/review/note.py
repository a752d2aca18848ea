"""Add a note to a variant."""

from typing import Annotated

import typer

from cli.review.decision import ReviewerName, Uid
from cli.shared.home import this_project
from cli.shared.terminal import AsJson, show
from curation.plurals import counted


def note(
    uid: Uid,
    text: Annotated[str, typer.Argument(help="The note.")],
    reviewer: ReviewerName = "",
    as_json: AsJson = False,
) -> None:
    """Add a note to a variant. A note is not a decision."""
    count = this_project().note(uid, text, reviewer=reviewer)
    show({"variant": uid, "notes": count}, as_json, f"{uid} now has {counted(count, 'note')}.")
