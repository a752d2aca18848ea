"""Leaving a note on a variant."""

from typing import Annotated

import typer

from cli.review.decision import ReviewerName, Uid
from cli.shared.home import open_home, reviewer_id
from cli.shared.terminal import AsJson, show
from curation.plurals import counted
from curation.review import actions
from curation.review.notes import add_note, count_notes
from db.engine import writing


def note(
    uid: Uid,
    text: Annotated[str, typer.Argument(help="The remark.")],
    reviewer: ReviewerName = "",
    as_json: AsJson = False,
) -> None:
    """Leave a note on a variant that decides nothing."""
    settings, engine = open_home()
    with writing(engine) as session:
        variant_id = actions.find_variant(session, uid).id
        add_note(
            session, variant_id, reviewer_id=reviewer_id(session, settings, reviewer), text=text
        )
        count = count_notes(session, variant_id)
    show({"variant": uid, "notes": count}, as_json, f"{uid} has {counted(count, 'note')} now.")
