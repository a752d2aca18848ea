"""Giving an anchor a better wording."""

from typing import Annotated

import typer
from rich.table import Table

from cli.anchors.named import Uid
from cli.shared.home import open_home
from cli.shared.tables import table_of
from cli.shared.terminal import AsJson, show
from curation.plurals import counted
from hedgerow.data.anchor_changes import correct as correct_anchor


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
    done = correct_anchor(
        open_home(), uid, text, reviewer=reviewer, carry=carry, force=force, forced_by="--force"
    )
    result = {
        "anchor": uid,
        "revision": done.revision,
        "second_looks": done.second_looks,
        "carried_over": [{"variant": new.uid, "text": new.text} for new in done.carried],
    }
    told = f"{uid} now has wording {done.revision}. {_looks(done.second_looks)}"
    lines: list[str | Table] = [told]
    if done.carried:
        lines += ["Carried over to:", table_of("variant", "text", rows=done.carried)]
    elif done.left:
        lines.append(
            f"{counted(len(done.left), 'accepted variant')} could take the correction over; open "
            "the anchor on the Anchors page to look at the new texts."
        )
    show(result, as_json, *lines)


def _looks(number: int) -> str:
    if number == 1:
        return "1 decided variant comes back for a second look."
    return f"{number} decided variants come back for a second look."
