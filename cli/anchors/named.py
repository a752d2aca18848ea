"""Anchors named by their uids, and what a change made of them."""

from typing import Annotated

import typer
from sqlalchemy.orm import Session

from cli.shared.terminal import show
from curation.anchors.changes import (
    get_anchor,
)
from curation.plurals import counted

Uid = Annotated[str, typer.Argument(help="The anchor's uid.")]

Uids = Annotated[list[str], typer.Argument(metavar="UID...", help="The anchors' uids.")]


def ids_of(session: Session, uids: list[str]) -> dict[str, int]:
    """Uid → id of the anchors named.

    Raises:
        HedgerowError: there is no anchor with one of these uids.
    """
    return {uid: get_anchor(session, uid).id for uid in uids}


def show_changed(
    ids: dict[str, int],
    changed: set[int],
    as_json: bool,
    done: str,
    before: str,
    wanted: dict[str, object],
) -> None:
    """Say which anchors were changed, and how many needed no change."""
    named = [uid for uid, anchor_id in ids.items() if anchor_id in changed]
    same = [uid for uid in ids if uid not in named]
    said = f"{counted(len(named), 'anchor')} {done}."
    if same:
        verb = "was" if len(same) == 1 else "were"
        said += f" {counted(len(same), 'anchor')} {verb} {before} already."
    show({"changed": named, "unchanged": same} | wanted, as_json, said)
