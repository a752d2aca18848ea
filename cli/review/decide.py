"""Decisions on variants: by rule, one by one, and taken back; variants and notes written."""

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Annotated, Any

import typer
from rich.table import Table
from sqlalchemy.orm import Session

from cli.shared.home import open_home, reviewer_id
from cli.shared.tables import table_of
from cli.shared.terminal import AsJson, DryRun, counted, show
from curation.anchors.changes import get_anchor
from curation.diagnostics.measuring import stored_flags
from curation.review import actions
from curation.review.bulk import FLAG_NAMES, apply_rule, find_matches, parse_rule
from curation.review.notes import add_note, count_notes
from curation.review.reviewers import find_reviewer
from curation.review.settling import shown_to_settle
from curation.taxonomy.reject_reasons import REJECT_REASONS, reject_reason
from curation.variants.own import write_variant
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import Status, Variant, Verdict

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


review_app = typer.Typer(no_args_is_help=True, help="Decide on variants.")


@review_app.command("apply")
def review_apply(
    rule: Annotated[
        str,
        typer.Option(
            help="Such as 'levenshtein > 60' or 'flag = content_dropped and cosine < 0.8'; also "
            f"length_ratio, content_kept, 'no flags'. Flags: {', '.join(FLAG_NAMES)}."
        ),
    ],
    accept: Annotated[bool, typer.Option("--accept", help="Accept what matches.")] = False,
    reject: Annotated[bool, typer.Option("--reject", help="Reject what matches.")] = False,
    reason: Reason = "",
    note: Note = "",
    type_id: TypeName = None,
    reviewer: ReviewerName = "",
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Decide on every pending variant that a rule matches; one undo takes it back."""
    if accept == reject:
        raise typer.BadParameter("give either --accept or --reject")
    if accept and reason:
        raise typer.BadParameter("a reason goes with --reject only")
    parsed = parse_rule(rule)
    if reject:
        reason, note = reason_and_note(reason, note)
    settings, engine = open_home()
    action_id = None
    if dry_run:
        with reading(engine) as session:
            matches = find_matches(session, parsed, type_id=type_id, reason=reason or None)
    else:
        with writing(engine) as session:
            matches, action_id = apply_rule(
                session,
                parsed,
                verdict=Verdict.ACCEPT if accept else Verdict.REJECT,
                reviewer_id=reviewer_id(session, settings, reviewer),
                reason=reason,
                note=note,
                type_id=type_id,
            )
    verb = "Would decide on" if dry_run else "Decided on"
    lines: list[str | Table] = [f"{verb} {counted(matches.total, 'variant')}."]
    if matches.by_type:
        lines.append(table_of("type", "variants", rows=sorted(matches.by_type.items())))
    if matches.unmeasured:
        lines.append(
            f"Not measured yet and left out: {counted(matches.unmeasured, 'pending variant')}. Run "
            "'hedgerow diagnose' first."
        )
    result = {
        "rule": parsed.text,
        "dry_run": dry_run,
        "variants": matches.total,
        "types": matches.by_type,
        "unmeasured": matches.unmeasured,
        "action": action_id,
    }
    show(result, as_json, *lines)


@review_app.command("accept")
def review_accept(
    uid: Uid, reviewer: ReviewerName = "", note: Note = "", as_json: AsJson = False
) -> None:
    """Accept a variant as it stands."""
    _decide(
        lambda session, card, who: actions.accept(session, card, reviewer_id=who, note=note),
        uid,
        reviewer,
        as_json,
    )


@review_app.command("reject")
def review_reject(
    uid: Uid,
    reason: Reason = "",
    note: Note = "",
    reviewer: ReviewerName = "",
    as_json: AsJson = False,
) -> None:
    """Reject a variant."""
    reason, note = reason_and_note(reason, note)
    _decide(
        lambda session, card, who: actions.reject(
            session, card, reviewer_id=who, reason=reason, note=note
        ),
        uid,
        reviewer,
        as_json,
    )


class SettledAs(StrEnum):
    """How a conflict can be settled."""

    ACCEPT = "accept"
    REJECT = "reject"


@review_app.command("settle")
def review_settle(
    uid: Uid,
    verdict: Annotated[SettledAs, typer.Argument(help="The verdict that counts.")],
    reason: Reason = "",
    note: Note = "",
    reviewer: ReviewerName = "",
    as_json: AsJson = False,
) -> None:
    """Settle a conflict: your verdict counts instead of those that contradict each other."""
    if verdict is SettledAs.ACCEPT:
        if reason:
            raise typer.BadParameter("--reason goes with 'reject'; give --note instead")
        _decide(
            lambda session, card, who: actions.accept(session, card, reviewer_id=who, note=note),
            uid,
            reviewer,
            as_json,
            settles=True,
        )
        return
    reason, note = reason_and_note(reason, note)
    _decide(
        lambda session, card, who: actions.reject(
            session, card, reviewer_id=who, reason=reason, note=note
        ),
        uid,
        reviewer,
        as_json,
        settles=True,
    )


@review_app.command("edit")
def review_edit(
    uid: Uid,
    text: Annotated[str | None, typer.Option(help="The better wording.")] = None,
    type_id: TypeName = None,
    cue: CueName = None,
    reviewer: ReviewerName = "",
    note: Note = "",
    as_json: AsJson = False,
) -> None:
    """Replace a variant by a better wording, or give it its right type or cue."""
    if text is None and type_id is None and cue is None:
        raise typer.BadParameter("give --text, --type or --cue")
    _decide(
        lambda session, card, who: actions.edit(
            session, card, reviewer_id=who, text=text, type_id=type_id, cue=cue, note=note
        ),
        uid,
        reviewer,
        as_json,
        with_flags=True,
    )


@review_app.command("write")
def review_write(
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
    show(result, as_json, *filter(None, said), *_flagged(flags))


@review_app.command("note")
def review_note(
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


def _decide(
    action: Callable[[Session, actions.Shown, int], actions.Outcome],
    uid: str,
    reviewer: str,
    as_json: bool,
    *,
    with_flags: bool = False,
    settles: bool = False,
) -> None:
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
    show(result, as_json, *filter(None, said), *_flagged(flags))


def _flagged(flags: Sequence[str]) -> list[str]:
    """What the checks say of a text that a person wrote, as a sentence."""
    return [f"The checks flag it: {', '.join(flags)}."] if flags else []


@review_app.command("undo")
def review_undo(
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
