"""Edit a variant, or correct its type or cue."""

from typing import Annotated

import typer

from cli.review.decision import CueName, Note, ReviewerName, TypeName, Uid, show_decided
from cli.shared.home import this_project
from cli.shared.terminal import AsJson


def edit(
    uid: Uid,
    text: Annotated[str | None, typer.Option(help="The new text.")] = None,
    type_id: TypeName = None,
    cue: CueName = None,
    reviewer: ReviewerName = "",
    note: Note = "",
    as_json: AsJson = False,
) -> None:
    """Replace a variant with a better text, or correct its type or cue."""
    if text is None and type_id is None and cue is None:
        raise typer.BadParameter("give --text, --type or --cue")
    done = this_project().edit(uid, text, type=type_id, cue=cue, reviewer=reviewer, note=note)
    show_decided(done, as_json, with_flags=True)
