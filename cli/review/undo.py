"""Taking back the last thing a reviewer did."""

from typing import Annotated

import typer

from cli.shared.home import open_home
from cli.shared.terminal import AsJson, show
from curation.review import actions
from curation.review.people.reviewers import find_reviewer
from db.engine import writing
from db.models import Variant


def undo(
    reviewer: Annotated[
        str, typer.Option("--reviewer", help="Whose work to undo (otherwise HEDGEROW_REVIEWER).")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Take back the last thing a reviewer did: a decision, a bulk decision, an edit or a note."""
    settings, engine = open_home()
    with writing(engine) as session:
        who = find_reviewer(session, reviewer or settings.reviewer)
        undone = actions.undo(session, reviewer_id=who.id)
        variant = session.get_one(Variant, undone.variant_id) if undone else None
        result = {
            "undone": undone.decisions or 1 if undone else 0,  # a note is one thing
            "what": undone.done.value if undone else None,
            "variant": variant.uid if variant else None,
        }
    show(result, as_json, str(undone) if undone else "There is nothing left to take back.")
