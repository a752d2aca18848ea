"""Deciding on every pending variant that a rule matches."""

from typing import Annotated

import typer
from rich.table import Table

from cli.review.decision import Note, Reason, ReviewerName, TypeName, reason_and_note
from cli.shared.home import open_home, reviewer_id
from cli.shared.tables import table_of
from cli.shared.terminal import AsJson, DryRun, show
from curation.plurals import counted
from curation.review.bulk import FLAG_NAMES, apply_rule, find_matches, parse_rule
from db.engine import reading, writing
from db.models import Verdict


def apply(
    rule: Annotated[
        str,
        typer.Option(
            help="Such as 'levenshtein > 60' or 'flag = content_dropped and cosine < 0.8'; also "
            "length_ratio, content_kept, 'no flags', 'source = NAME'. Flags: "
            f"{', '.join(FLAG_NAMES)}."
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
    types = () if type_id is None else (type_id,)
    settings, engine = open_home()
    action_id = None
    if dry_run:
        with reading(engine) as session:
            matches = find_matches(session, parsed, types=types, reason=reason or None)
    else:
        with writing(engine) as session:
            matches, action_id = apply_rule(
                session,
                parsed,
                verdict=Verdict.ACCEPT if accept else Verdict.REJECT,
                reviewer_id=reviewer_id(session, settings, reviewer),
                reason=reason,
                note=note,
                types=types,
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
