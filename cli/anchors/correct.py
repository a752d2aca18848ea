"""Giving an anchor a better wording."""

from typing import Annotated

import typer
from rich.table import Table

from cli.anchors.named import Uid
from cli.shared.home import open_home, reviewer_id
from cli.shared.tables import table_of
from cli.shared.terminal import AsJson, show
from curation.anchors.carry_over import carry_over, proposals
from curation.anchors.changes import (
    SuspiciousWording,
    correct_anchor,
    get_anchor,
)
from curation.plurals import counted
from db.engine import writing
from db.errors import HedgerowError
from db.models import Status


def correct(
    uid: Uid,
    text: Annotated[str, typer.Argument(help="The better wording.")],
    carry: Annotated[
        bool,
        typer.Option(
            "--carry-over",
            help="Make the same change in the variants that were accepted, as edits of yours.",
        ),
    ] = False,
    force: Annotated[
        bool,
        typer.Option("--force", help="Take a suspicious wording, such as a negated sentence."),
    ] = False,
    reviewer: Annotated[
        str, typer.Option(help="Who corrects it (otherwise HEDGEROW_REVIEWER).")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Give an anchor a better wording; its decided variants come back for a second look.

    With --carry-over, accepted variants that have the corrected words are edited and stay accepted.
    'hedgerow review undo' takes these edits back together.
    """
    settings, engine = open_home()
    with writing(engine) as session:
        anchor = get_anchor(session, uid)
        who = reviewer_id(session, settings, reviewer)
        anchor_id = anchor.id
        try:
            done = correct_anchor(
                session,
                anchor_id,
                text,
                expected_revision=anchor.revision,
                reviewer_id=who,
                insist=force,
            )
        except SuspiciousWording as suspicious:
            raise HedgerowError(
                f"Nothing was changed. {suspicious} Word it differently, or insist with --force."
            ) from None
        found = [p for p in proposals(session, anchor_id) if p.was is Status.ACCEPTED]
        if carry:
            chosen = {proposal.variant_id: proposal.new_text for proposal in found}
            carry_over(session, anchor_id, chosen, reviewer_id=who)
        looks = done.second_looks - len(found) * carry
    carried = [{"variant": p.uid, "text": p.new_text} for p in found] if carry else []
    result = {
        "anchor": uid,
        "revision": done.revision,
        "second_looks": looks,
        "carried_over": carried,
    }
    lines: list[str | Table] = [f"{uid} now has wording {done.revision}. {_looks(looks)}"]
    if carried:
        rows = [new.values() for new in carried]
        lines += ["Carried over to:", table_of("variant", "text", rows=rows)]
    elif found:
        lines.append(
            f"{counted(len(found), 'accepted variant')} could take the correction over; open the "
            "anchor on the Anchors page to look at the new texts."
        )
    show(result, as_json, *lines)


def _looks(number: int) -> str:
    if number == 1:
        return "1 decided variant comes back for a second look."
    return f"{number} decided variants come back for a second look."
