"""Decide on variants: one by one, by a rule, and on conflicts."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Any

import typer
from rich.table import Table

from cli.options import this_project
from cli.terminal import AsJson, DryRun, show, table_of
from curation.formatting import counted
from curation.review.adjudication import ConflictOrder
from curation.review.rules import FLAG_NAMES
from curation.taxonomy.reject_reasons import REJECT_REASONS
from hedgerow.deciding import Decided

# -- Options and output shared by the commands that decide on one variant --------------------------


Uid = Annotated[str, typer.Argument(help="The variant's uid.")]

ReviewerName = Annotated[
    str, typer.Option("--reviewer", help="Your name. Default: HEDGEROW_REVIEWER.")
]

Note = Annotated[str, typer.Option("--note", help="A remark, stored with the decision.")]

TypeName = Annotated[str | None, typer.Option("--type", help="A variant type, such as 'verbal'.")]

CueName = Annotated[str | None, typer.Option("--cue", help="The hedge cue, if the type has one.")]

_REASONS = ", ".join(reason.id for reason in REJECT_REASONS)

Reason = Annotated[
    str, typer.Option("--reason", metavar="REASON", help=f"The reason: one of {_REASONS}.")
]


def show_decided(done: Decided, as_json: bool, *, with_flags: bool = False) -> None:
    """Print the status of a variant after a decision.

    Args:
        with_flags: also print the flags of the stored text.
    """
    result: dict[str, Any] = {"variant": done.uid, "status": done.status, "child": done.child}
    if with_flags:
        result |= {"type": done.type, "cue": done.cue, "flags": done.flags}
    replaced = f"; {done.child} replaces it" if done.child else ""
    now = "in conflict" if done.in_conflict else done.status
    lines = [f"{done.uid} is now {now}{replaced}.", done.remark]
    if done.in_conflict:
        lines.append("To settle it, run 'hedgerow review settle'.")
    show(result, as_json, *filter(None, lines), *flagged(done.flags if with_flags else []))


def flagged(flags: Sequence[str]) -> list[str]:
    """A sentence with the flags of a text, if there are any."""
    return [f"Flagged: {', '.join(flags)}."] if flags else []


# -- Accept a variant ------------------------------------------------------------------------------


def accept(uid: Uid, reviewer: ReviewerName = "", note: Note = "", as_json: AsJson = False) -> None:
    """Accept a variant as it is."""
    show_decided(this_project().accept(uid, reviewer=reviewer, note=note), as_json)


# -- Reject a variant ------------------------------------------------------------------------------


def reject(
    uid: Uid,
    reason: Reason = "",
    note: Note = "",
    reviewer: ReviewerName = "",
    as_json: AsJson = False,
) -> None:
    """Reject a variant."""
    done = this_project().reject(uid, reason=reason, reviewer=reviewer, note=note)
    show_decided(done, as_json)


# -- Edit a variant, or correct its type or cue ----------------------------------------------------


def edit(
    uid: Uid,
    text: Annotated[str | None, typer.Option(help="The new text.")] = None,
    type_id: TypeName = None,
    cue: CueName = None,
    reviewer: ReviewerName = "",
    note: Note = "",
    as_json: AsJson = False,
) -> None:
    """Replace a variant with a better text, or correct its type or cue."""
    if text is None and type_id is None and cue is None:
        raise typer.BadParameter("give --text, --type or --cue")
    done = this_project().edit(uid, text, type=type_id, cue=cue, reviewer=reviewer, note=note)
    show_decided(done, as_json, with_flags=True)


# -- Add your own variant --------------------------------------------------------------------------


def write(
    anchor: Annotated[str, typer.Option(help="The uid of its anchor.")],
    type_id: Annotated[str, typer.Option("--type", help="Its type, such as 'verbal'.")],
    text: Annotated[str, typer.Option(help="Its text.")],
    cue: CueName = None,
    reviewer: ReviewerName = "",
    as_json: AsJson = False,
) -> None:
    """Add your own variant. It is accepted at once."""
    done = this_project().write(anchor, type_id, text, cue=cue, reviewer=reviewer)
    result = {
        "variant": done.uid,
        "status": done.status,
        "type": done.type,
        "cue": done.cue,
        "flags": done.flags,
    }
    lines = [f"{done.uid} is now {done.status}.", done.remark]
    show(result, as_json, *filter(None, lines), *flagged(done.flags))


# -- Add a note to a variant -----------------------------------------------------------------------


def note(
    uid: Uid,
    text: Annotated[str, typer.Argument(help="The note.")],
    reviewer: ReviewerName = "",
    as_json: AsJson = False,
) -> None:
    """Add a note to a variant. A note is not a decision."""
    count = this_project().note(uid, text, reviewer=reviewer)
    show({"variant": uid, "notes": count}, as_json, f"{uid} now has {counted(count, 'note')}.")


# -- Undo the last thing a reviewer did ------------------------------------------------------------


def undo(
    reviewer: Annotated[
        str, typer.Option("--reviewer", help="The reviewer's name. Default: HEDGEROW_REVIEWER.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Undo the last thing a reviewer did: a decision, an edit, a note or a mark."""
    undone = this_project().undo(reviewer=reviewer)
    result = {"undone": undone.number, "what": undone.what, "variant": undone.uid}
    show(result, as_json, undone.sentence)


# -- Mark a variant for discussion -----------------------------------------------------------------


def discuss(
    uid: Uid,
    remark: Annotated[str, typer.Option(help="What you want to discuss.")] = "",
    lift: Annotated[bool, typer.Option("--lift", help="Remove the mark instead.")] = False,
    reviewer: ReviewerName = "",
    as_json: AsJson = False,
) -> None:
    """Mark a variant for discussion, or remove the mark. A mark is not a decision."""
    if lift and remark:
        raise typer.BadParameter("--remark cannot be combined with --lift")
    marked = this_project().discuss(uid, remark, lift=lift, reviewer=reviewer)
    line = f"{uid} is {'marked' if marked else 'no longer marked'} for discussion."
    show({"variant": uid, "marked": marked}, as_json, line)


# -- Settle a conflict -----------------------------------------------------------------------------


class SettledAs(StrEnum):
    """The verdicts that can settle a conflict."""

    ACCEPT = "accept"
    REJECT = "reject"


def settle(
    uid: Uid,
    verdict: Annotated[SettledAs, typer.Argument(help="The verdict that counts.")],
    reason: Reason = "",
    note: Note = "",
    reviewer: ReviewerName = "",
    as_json: AsJson = False,
) -> None:
    """Settle a conflict: your verdict outranks those that contradict each other."""
    if verdict is SettledAs.ACCEPT and reason:
        raise typer.BadParameter("--reason requires 'reject'; use --note instead")
    done = this_project().settle(uid, verdict.value, reason=reason, reviewer=reviewer, note=note)
    show_decided(done, as_json)


# -- List conflicts and variants marked for discussion ---------------------------------------------


def show_conflicts(
    type_id: TypeName = None,
    source: Annotated[str, typer.Option(help="Only anchors of this source.")] = "",
    order: Annotated[
        ConflictOrder, typer.Option(help="The order of the conflicts.")
    ] = ConflictOrder.OLDEST,
    as_json: AsJson = False,
) -> None:
    """List the variants in conflict with each person's verdict, and those marked \"discuss\"."""
    project = this_project()
    asked: dict[str, Any] = {"type": type_id or (), "source": source}
    found = project.conflicts(**asked, order=order.value).to_dict("records")
    marks = project.marked(**asked).to_dict("records")
    for row in (*found, *marks):
        for name in ("since", "marked_at"):
            if name in row:
                row[name] = row[name].isoformat() if row[name] is not None else None
    lines: list[str | Table] = [f"In conflict: {counted(len(found), 'variant')}."]
    if found:
        lines.append(
            table_of(
                "uid",
                "type",
                "text",
                "verdicts",
                rows=[
                    (row["uid"], row["type"], row["text"], _summary(row["verdicts"]))
                    for row in found
                ],
            )
        )
        lines.append("To settle one, run 'hedgerow review settle UID accept' (or 'reject').")
    if marks:
        lines.append("Marked for discussion:")
        lines.append(
            table_of(
                "uid",
                "type",
                "text",
                "marked by",
                "remark",
                rows=[
                    (row["uid"], row["type"], row["text"], row["reviewer"], row["remark"])
                    for row in marks
                ],
            )
        )
    show({"conflicts": found, "to_discuss": marks}, as_json, *lines)


def _summary(verdicts: list[dict[str, Any]]) -> str:
    """'Ada: accept; Bert: reject (wrong_scope)'."""
    return "; ".join(
        f"{one['reviewer']}: {one['verdict']}" + (f" ({one['reason']})" if one["reason"] else "")
        for one in verdicts
    )


# -- Decide on every pending variant that a rule matches -------------------------------------------


def apply(
    rule: Annotated[
        str,
        typer.Option(
            help="A rule such as 'levenshtein > 60' or 'flag = content_dropped and cosine < 0.8'. "
            "You can also use length_ratio, content_kept, 'no flags', 'source = NAME' and "
            f"'accepted by JUDGE'. Flags: {', '.join(FLAG_NAMES)}."
        ),
    ],
    accept: Annotated[bool, typer.Option("--accept", help="Accept the variants.")] = False,
    reject: Annotated[bool, typer.Option("--reject", help="Reject the variants.")] = False,
    reason: Reason = "",
    note: Note = "",
    type_id: TypeName = None,
    reviewer: ReviewerName = "",
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Decide on every pending variant that a rule matches. One undo reverses all decisions."""
    if accept == reject:
        raise typer.BadParameter("give either --accept or --reject")
    if accept and reason:
        raise typer.BadParameter("--reason requires --reject")
    decide = "accept" if accept else "reject"
    done = this_project().decide_by_rule(
        rule,
        decide,
        reason=reason,
        note=note,
        type=type_id,
        reviewer=reviewer,
        dry_run=dry_run,
    )
    matches = done.matches
    verb = "Would decide on" if dry_run else "Decided on"
    lines: list[str | Table] = [f"{verb} {counted(matches.total, 'variant')}."]
    if matches.by_type:
        lines.append(table_of("type", "variants", rows=sorted(matches.by_type.items())))
    if matches.unmeasured:
        lines.append(
            f"{counted(matches.unmeasured, 'pending variant')} left out, because the measures for "
            "the rule are missing. Run 'hedgerow diagnose' first."
        )
    result = {
        "rule": done.rule,
        "dry_run": dry_run,
        "variants": matches.total,
        "types": matches.by_type,
        "unmeasured": matches.unmeasured,
        "action": done.action,
    }
    show(result, as_json, *lines)
