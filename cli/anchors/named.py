"""Anchors given by uid, and the report of a change to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from cli.shared.terminal import show
from curation.plurals import counted

if TYPE_CHECKING:
    from hedgerow.data.anchor_changes import Changed

Uid = Annotated[str, typer.Argument(help="The anchor's uid.")]

Uids = Annotated[list[str], typer.Argument(metavar="UID...", help="The anchors' uids.")]


def show_changed(
    done: Changed, as_json: bool, verb: str, before: str, wanted: dict[str, object]
) -> None:
    """Say how many anchors changed, and how many needed no change.

    Args:
        verb: what was done to the changed anchors.
        before: the state that the others already had.
        wanted: the state that all of them have now.
    """
    message = f"{counted(len(done.changed), 'anchor')} {verb}."
    if same := len(done.unchanged):
        message += f" {counted(same, 'anchor')} {'was' if same == 1 else 'were'} {before} already."
    show(done._asdict() | wanted, as_json, message)
