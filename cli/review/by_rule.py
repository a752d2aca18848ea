"""Decide on every pending variant that a rule matches."""

from typing import Annotated

import typer
from rich.table import Table

from cli.review.decision import Note, Reason, ReviewerName, TypeName
from cli.shared.home import this_project
from cli.shared.tables import table_of
from cli.shared.terminal import AsJson, DryRun, show
from curation.plurals import counted
from curation.review.bulk import FLAG_NAMES


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
