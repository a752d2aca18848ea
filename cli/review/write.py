"""Adding a variant of one's own."""

from typing import Annotated

import typer

from cli.review.decision import CueName, ReviewerName, flagged
from cli.shared.home import open_home, reviewer_id
from cli.shared.terminal import AsJson, show
from curation.anchors.changes import get_anchor
from curation.diagnostics.measuring import stored_flags
from curation.variants.own import write_variant
from db.engine import writing


def write(
    anchor: Annotated[str, typer.Option(help="The uid of the anchor it is made for.")],
    type_id: Annotated[str, typer.Option("--type", help="Its type, such as 'verbal'.")],
    text: Annotated[str, typer.Option(help="The sentence.")],
    cue: CueName = None,
    reviewer: ReviewerName = "",
    as_json: AsJson = False,
) -> None:
    """Add a variant of your own, accepted at once."""
    settings, engine = open_home()
    with writing(engine) as session:
        written = write_variant(
            session,
            anchor_id=get_anchor(session, anchor).id,
            type_id=type_id,
            text=text,
            cue=cue,
            reviewer_id=reviewer_id(session, settings, reviewer),
        )
        variant = written.variant
        flags = [flag.label for flag in stored_flags(session, variant)]
        result = {
            "variant": variant.uid,
            "status": variant.status.value,
            "type": variant.type_id,
            "cue": variant.cue,
            "flags": flags,
        }
    said = [f"{result['variant']} is {result['status']} now.", written.remark]
    show(result, as_json, *filter(None, said), *flagged(flags))
