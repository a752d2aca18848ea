"""Correct the text of an anchor."""

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
    text: Annotated[str, typer.Argument(help="The corrected text.")],
    carry: Annotated[
        bool,
        typer.Option(
            "--carry-over",
            help="Make the same change in accepted variants, as your edits.",
        ),
    ] = False,
    force: Annotated[
        bool,
        typer.Option(
            "--force", help="Save the text even if it is suspicious, such as a negated sentence."
        ),
    ] = False,
    reviewer: Annotated[
        str, typer.Option(help="Your reviewer name (default: HEDGEROW_REVIEWER).")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Correct the text of an anchor. Its decided variants come back for a second look.

    With --carry-over, accepted variants that contain the corrected words are edited and stay
    accepted. 'hedgerow review undo' undoes these edits together.
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
    summary = f"{uid} is now at revision {done.revision}. {_second_looks(done.second_looks)}"
    lines: list[str | Table] = [summary]
    if done.carried:
        lines += ["Applied to:", table_of("variant", "text", rows=done.carried)]
    elif done.left:
        lines.append(
            f"{counted(len(done.left), 'accepted variant')} also contain the corrected words. "
            "Open the anchor on the Anchors page to see the new texts."
        )
    show(result, as_json, *lines)


def _second_looks(number: int) -> str:
    if number == 1:
        return "1 decided variant comes back for a second look."
    return f"{number} decided variants come back for a second look."
