"""Undo the last thing a reviewer did."""

from typing import Annotated

import typer

from cli.shared.home import this_project
from cli.shared.terminal import AsJson, show


def undo(
    reviewer: Annotated[
        str, typer.Option("--reviewer", help="The reviewer's name. Default: HEDGEROW_REVIEWER.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Undo the last thing a reviewer did: a decision, an edit, a note or a mark."""
    undone = this_project().undo(reviewer=reviewer)
    result = {"undone": undone.number, "what": undone.what, "variant": undone.uid}
    show(result, as_json, undone.sentence)
