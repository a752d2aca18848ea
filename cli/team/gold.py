"""Gold items: made, listed and removed."""

from typing import Annotated, Any

import typer

from cli.review.decision import Reason, ReviewerName, Uid
from cli.review.settle import SettledAs
from cli.shared.home import open_home, reviewer_id
from cli.shared.tables import table_of
from cli.shared.terminal import AsJson, show
from curation.review.gold.items import Gold, gold_items, mark
from curation.review.gold.items import remove as remove_item
from db.engine import reading, writing
from db.models import GoldUse, Verdict


def add(
    uid: Uid,
    verdict: Annotated[SettledAs, typer.Argument(help="The right verdict.")],
    reason: Reason = "",
    explanation: Annotated[
        str, typer.Option(help="Why it is right; shown to those who practise.")
    ] = "",
    training: Annotated[
        bool,
        typer.Option(
            "--training", help="Use it in practice rounds only; otherwise it is mixed in."
        ),
    ] = False,
    reviewer: ReviewerName = "",
    as_json: AsJson = False,
) -> None:
    """Make a variant a gold item. That settles it; 'hedgerow review undo' takes both back."""
    if verdict is SettledAs.ACCEPT and reason:
        raise typer.BadParameter("--reason goes with 'reject'; give --explanation instead")
    settings, engine = open_home()
    with writing(engine) as session:
        made = mark(
            session,
            uid,
            Verdict(verdict.value),
            reviewer_id=reviewer_id(session, settings, reviewer),
            reason=reason,
            explanation=explanation,
            use=GoldUse.TRAINING if training else GoldUse.MIXED,
        )
    what = "it is used in practice rounds" if training else "it is mixed in"
    show(_facts(made), as_json, f"{uid} is a gold item, to {made.verdict}; {what}.")


def list_items(as_json: AsJson = False) -> None:
    """List the gold items, the oldest first."""
    with reading(open_home().engine) as session:
        found = gold_items(session)
    rows = (
        [one.uid, one.type_id, one.verdict, one.reason, one.use, one.maker, one.explanation]
        for one in found
    )
    titles = ("uid", "type", "verdict", "reason", "use", "made by", "explanation")
    lines = table_of(*titles, rows=rows) if found else "There is no gold item yet."
    show({"gold": [_facts(one) for one in found]}, as_json, lines)


def remove(uid: Uid, as_json: AsJson = False) -> None:
    """Have a variant be a gold item no longer; what it was settled as stays."""
    with writing(open_home().engine) as session:
        was = remove_item(session, uid)
    said = f"{uid} is no gold item any more. It stays settled, to {was.verdict}."
    show(_facts(was), as_json, said)


def _facts(one: Gold) -> dict[str, Any]:
    return {
        "uid": one.uid,
        "type": one.type_id,
        "text": one.text,
        "verdict": one.verdict.value,
        "reason": one.reason,
        "use": one.use.value,
        "explanation": one.explanation,
        "made_by": one.maker,
        "made_at": one.made_at.isoformat(),
    }
