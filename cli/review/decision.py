"""What the commands that decide on one variant share."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer
from sqlalchemy.orm import Session

from cli.shared.home import open_home, reviewer_id
from cli.shared.terminal import show
from curation.diagnostics.measuring import stored_flags
from curation.review import actions
from curation.review.settling import shown_to_settle
from curation.taxonomy.reject_reasons import REJECT_REASONS, reject_reason
from db.engine import writing
from db.errors import HedgerowError
from db.models import Status, Variant

Uid = Annotated[str, typer.Argument(help="The variant's uid.")]

ReviewerName = Annotated[
    str, typer.Option("--reviewer", help="Who decides (otherwise HEDGEROW_REVIEWER).")
]

Note = Annotated[str, typer.Option("--note", help="A remark, stored with the decision.")]

TypeName = Annotated[str | None, typer.Option("--type", help="A variant type, such as 'verbal'.")]

CueName = Annotated[
    str | None, typer.Option("--cue", help="The hedge cue, where the type has one.")
]

_REASONS = ", ".join(reason.id for reason in REJECT_REASONS)

Reason = Annotated[
    str, typer.Option("--reason", metavar="REASON", help=f"Why it is rejected: one of {_REASONS}.")
]

Action = Callable[[Session, actions.ShownCard, int], actions.ActionOutcome]
"""A decision; it is given the session, the card and the reviewer's id."""

NO_REASON = "Rejected on the command line without a reason."


def reason_and_note(reason: str, note: str) -> tuple[str, str]:
    """What is stored of a rejection: without a reason 'other', which says so in its note.

    Raises:
        HedgerowError: there is no such reason, or it is 'other' and no note says what it is.
    """
    if not reason:
        return "other", note or NO_REASON
    if reject_reason(reason).id == "other" and not note.strip():
        raise HedgerowError("Expected --note with the reason 'other', found none; say what it is.")
    return reason, note


def accepting(note: str) -> Action:
    """The action of accepting a variant as it is."""
    return lambda session, card, who: actions.accept(session, card, reviewer_id=who, note=note)


def rejecting(reason: str, note: str) -> Action:
    """The action of rejecting a variant.

    Raises:
        HedgerowError: as in `reason_and_note`.
    """
    reason, note = reason_and_note(reason, note)
    return lambda session, card, who: actions.reject(
        session, card, reviewer_id=who, reason=reason, note=note
    )


def decide(
    action: Action,
    uid: str,
    reviewer: str,
    as_json: bool,
    *,
    with_flags: bool = False,
    settles: bool = False,
) -> None:
    """Decide on the variant with this uid, and say where it stands now.

    Args:
        action: the decision.
        with_flags: say, too, what the checks flag in the text that is stored.
        settles: the decision settles a conflict.
    """
    settings, engine = open_home()
    with writing(engine) as session:
        variant = actions.find_variant(session, uid)
        card = shown_to_settle(session, uid) if settles else actions.shown(variant)
        outcome = action(session, card, reviewer_id(session, settings, reviewer))
        session.refresh(variant)
        child = session.get(Variant, outcome.child_id) if outcome.child_id else None
        result: dict[str, Any] = {
            "variant": uid,
            "status": variant.status.value,
            "child": child.uid if child else None,
        }
        stored = child or variant
        flags = [flag.label for flag in stored_flags(session, stored)] if with_flags else []
        if with_flags:
            result |= {"type": stored.type_id, "cue": stored.cue, "flags": flags}
    replaced = f"; {result['child']} replaces it" if child else ""
    now = "in conflict" if result["status"] == Status.CONFLICT else result["status"]
    said = [f"{uid} is {now} now{replaced}.", outcome.remark]
    if variant.status == Status.CONFLICT:
        said.append("'hedgerow review settle' settles that.")
    show(result, as_json, *filter(None, said), *flagged(flags))


def flagged(flags: Sequence[str]) -> list[str]:
    """What the checks say of a text that a person wrote, as a sentence."""
    return [f"The checks flag it: {', '.join(flags)}."] if flags else []
