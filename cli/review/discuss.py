"""Mark a variant for discussion."""

from typing import Annotated

import typer

from cli.review.decision import ReviewerName, Uid
from cli.shared.home import this_project
from cli.shared.terminal import AsJson, show


def discuss(
    uid: Uid,
    remark: Annotated[str, typer.Option(help="What you want to discuss.")] = "",
    lift: Annotated[bool, typer.Option("--lift", help="Remove the mark instead.")] = False,
    reviewer: ReviewerName = "",
    as_json: AsJson = False,
) -> None:
    """Mark a variant for discussion, or remove the mark. A mark is not a decision."""
    if lift and remark:
        raise typer.BadParameter("--remark cannot be combined with --lift")
    marked = this_project().discuss(uid, remark, lift=lift, reviewer=reviewer)
    line = f"{uid} is {'marked' if marked else 'no longer marked'} for discussion."
    show({"variant": uid, "marked": marked}, as_json, line)
