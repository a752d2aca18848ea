"""Add, list and remove gold items."""

from collections.abc import Iterable
from typing import Annotated, Any

import typer
from sqlalchemy.orm import Session

from cli.review.decision import Reason, ReviewerName, Uid
from cli.review.settle import SettledAs
from cli.shared.home import open_home, reviewer_id
from cli.shared.tables import table_of
from cli.shared.terminal import AsJson, show
from curation.project.opening import GOLD_RATE, get_setting
from curation.review.gold.items import USE_LABELS, Gold, gold_items, mark
from curation.review.gold.items import remove as remove_item
from db.engine import reading, writing
from db.models import GoldUse, Verdict


def add(
    uid: Uid,
    verdict: Annotated[SettledAs, typer.Argument(help="The correct verdict.")],
    reason: Reason = "",
    explanation: Annotated[
        str, typer.Option(help="Why it is right; practice rounds show it.")
    ] = "",
    training: Annotated[
        bool,
        typer.Option("--training", help="Use it in practice rounds instead of the review queue."),
    ] = False,
    reviewer: ReviewerName = "",
    as_json: AsJson = False,
) -> None:
    """Make a variant a gold item, and settle it with this verdict. 'reject' needs a --reason.

    'hedgerow review undo' takes both back.
    """
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
        hint = _hint(session, [made])
    show(
        _facts(made),
        as_json,
        f"{uid} is now a gold item for {_USES[made.use]}, settled as {made.verdict}ed.",
        *hint,
    )


_USES = {GoldUse.MIXED: "the review queue", GoldUse.TRAINING: "practice rounds"}


def _hint(session: Session, found: Iterable[Gold]) -> list[str]:
    """How to show gold items in the queue, if there are any and they are not shown."""
    is_hidden = not get_setting(session, GOLD_RATE)
    if is_hidden and any(one.use is GoldUse.MIXED for one in found):
        return [
            "The review queue does not show gold items yet: 'hedgerow settings set gold_rate 20' "
            "makes about one in 20 cards a gold item."
        ]
    return []


def list_items(as_json: AsJson = False) -> None:
    """List the gold items, the oldest first."""
    with reading(open_home().engine) as session:
        found = gold_items(session)
        hint = _hint(session, found)
    rows = (
        (
            one.uid,
            one.type_id,
            one.verdict,
            one.reason,
            USE_LABELS[one.use],
            one.maker,
            one.explanation,
        )
        for one in found
    )
    titles = ("uid", "type", "verdict", "reason", "use", "added by", "explanation")
    listed = table_of(*titles, rows=rows) if found else "There are no gold items yet."
    show({"gold": [_facts(one) for one in found]}, as_json, listed, *hint)


def remove(uid: Uid, as_json: AsJson = False) -> None:
    """Remove a gold item. The variant stays settled."""
    with writing(open_home().engine) as session:
        removed = remove_item(session, uid)
    show(
        _facts(removed),
        as_json,
        f"{uid} is no longer a gold item. It stays settled as {removed.verdict}ed.",
    )


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
