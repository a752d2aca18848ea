"""Marking a variant for discussion."""

from typing import Annotated

import typer

from cli.review.decision import ReviewerName, Uid
from cli.shared.home import this_project
from cli.shared.terminal import AsJson, show


def discuss(
    uid: Uid,
    remark: Annotated[str, typer.Option(help="What there is to discuss.")] = "",
    lift: Annotated[bool, typer.Option("--lift", help="Lift the mark instead.")] = False,
    reviewer: ReviewerName = "",
    as_json: AsJson = False,
) -> None:
    """Mark a variant "discuss", which decides nothing, or lift the mark."""
    if lift and remark:
        raise typer.BadParameter("--remark goes with a new mark only; leave it out")
    marked = this_project().discuss(uid, remark, lift=lift, reviewer=reviewer)
    said = f"{uid} is marked “discuss”." if marked else f"{uid} is no longer marked “discuss”."
    show({"variant": uid, "marked": marked}, as_json, said)
