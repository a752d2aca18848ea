"""Add your own variant."""

from typing import Annotated

import typer

from cli.review.decision import CueName, ReviewerName, flagged
from cli.shared.home import this_project
from cli.shared.terminal import AsJson, show


def write(
    anchor: Annotated[str, typer.Option(help="The uid of its anchor.")],
    type_id: Annotated[str, typer.Option("--type", help="Its type, such as 'verbal'.")],
    text: Annotated[str, typer.Option(help="Its text.")],
    cue: CueName = None,
    reviewer: ReviewerName = "",
    as_json: AsJson = False,
) -> None:
    """Add your own variant. It is accepted at once."""
    done = this_project().write(anchor, type_id, text, cue=cue, reviewer=reviewer)
    result = {
        "variant": done.uid,
        "status": done.status,
        "type": done.type,
        "cue": done.cue,
        "flags": done.flags,
    }
    lines = [f"{done.uid} is now {done.status}.", done.remark]
    show(result, as_json, *filter(None, lines), *flagged(done.flags))
