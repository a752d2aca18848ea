"""Assignment and quotas, gold items, and the audit of who did what."""

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from sqlalchemy.orm import Session

from cli.options import open_home, reviewer_id
from cli.review import Reason, ReviewerName, SettledAs, TypeName, Uid
from cli.terminal import AsJson, show, table_of
from curation.anchors.lookup import source_named
from curation.decisions.reviewers import find_reviewer
from curation.formatting import counted
from curation.project.settings import GOLD_RATE, get_setting
from curation.review.audit import BATCH, COLUMNS, Filters, Kind, entries, page
from curation.review.gold.items import USE_LABELS, Gold, gold_items, mark
from curation.review.gold.items import remove as remove_item
from curation.tables.safe_csv import csv_lines
from curation.taxonomy.built_in import known_type
from curation.taxonomy.project_types import list_types
from db.engine import reading, writing
from db.models import GoldUse, Verdict
from hedgerow import assigning
from hedgerow.assigning import Assignment

# -- Assign variants to several people, and set quotas ---------------------------------------------


def assign(
    reviewers: Annotated[
        int | None, typer.Option(help="How many people decide on each assigned variant.")
    ] = None,
    share: Annotated[
        float | None,
        typer.Option(help="Share of the variants to assign, such as 0.2; 0 ends the assignment."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Have several people decide on a share of the variants without seeing each other's verdicts.

    Without options, show the progress.
    """
    home = open_home()
    if reviewers is not None or share is not None:
        assigning.change_plan(home, reviewers=reviewers, share=share)
    found, quotas = assigning.assignment(home), assigning.quota_rows(home)
    lines: list[str | Table] = [*found.meaning]
    if found.verdicts:
        lines.append(_verdicts(found))
    if quotas:
        lines += ["Quotas:", _quotas(quotas)]
    show(found._asdict() | {"quotas": quotas}, as_json, *lines)


def quota(
    name: Annotated[str, typer.Argument(help="A person's name.")],
    variants: Annotated[
        int | None, typer.Argument(metavar="N", help="The number of variants.")
    ] = None,
    type_id: TypeName = None,
    remove: Annotated[bool, typer.Option("--remove", help="Remove the quota instead.")] = False,
    as_json: AsJson = False,
) -> None:
    """Set the number of variants that a person should decide on, for one type or for all types."""
    if remove == (variants is not None):
        raise typer.BadParameter("give either the number of variants or --remove")
    home = open_home()
    assigning.set_quota(home, name, variants, type_id=type_id or "")
    quotas = assigning.quota_rows(home)
    lines: list[str | Table] = [_quotas(quotas)] if quotas else ["Nobody has a quota."]
    show({"quotas": quotas}, as_json, *lines)


def _verdicts(found: Assignment) -> Table:
    heads = [counted(number, "verdict") for number in range(found.reviewers + 1)]
    rows: list[tuple[Any, ...]] = [(name, *numbers) for name, numbers in found.verdicts.items()]
    return table_of("type", *heads, rows=rows)


def _quotas(quotas: list[dict[str, Any]]) -> Table:
    rows = [(one["reviewer"], one["type"] or "all", one["done"], one["quota"]) for one in quotas]
    return table_of("reviewer", "type", "decided", "quota", rows=rows)


# -- Add, list and remove gold items ---------------------------------------------------------------


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


# -- Show who did what, and when -------------------------------------------------------------------


_DAY = ["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"]


def audit(
    reviewer: Annotated[str, typer.Option(help="Only actions of this person or model.")] = "",
    kind: Annotated[
        Kind | None,
        typer.Option("--action", help="Only this kind of action.", show_default=False),
    ] = None,
    type_id: Annotated[str, typer.Option("--type", help="Only variants of this type.")] = "",
    source: Annotated[str, typer.Option(help="Only anchors of this source.")] = "",
    since: Annotated[
        datetime | None,
        typer.Option(formats=_DAY, help="From this day or time on, in UTC.", show_default=False),
    ] = None,
    until: Annotated[
        datetime | None,
        typer.Option(formats=_DAY, help="Before this day or time, in UTC.", show_default=False),
    ] = None,
    text: Annotated[str, typer.Option(help="Part of the variant's text, or its uid.")] = "",
    limit: Annotated[
        int, typer.Option(min=1, max=BATCH, help="Maximum number of actions to list.")
    ] = 20,
    csv: Annotated[
        Path | None,
        typer.Option(help="Also write a CSV file with all actions; the limit does not apply."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show who did what and when, newest first."""
    with reading(open_home().engine) as session:
        wanted = Filters(
            reviewer_id=find_reviewer(session, reviewer).id if reviewer else None,
            kind=kind,
            type_id=known_type(list_types(session), type_id).id if type_id else None,
            source_id=source_named(session, source) if source else None,
            since=since and since.replace(tzinfo=UTC),
            until=until and until.replace(tzinfo=UTC),
            text=text,
        )
        found = page(session, wanted, limit=limit)
        if csv is not None:
            with csv.open("w", encoding="utf-8", newline="") as file:
                rows = (entry.row() for entry in entries(session, wanted))
                file.writelines(csv_lines(COLUMNS, rows))
    result = {
        "entries": [entry.facts() for entry in found.entries],
        "more": found.older is not None,
    }
    if not found.entries:
        show(result, as_json, "No actions found.")
        return
    shown = table_of(
        "at (UTC)",
        "who",
        "what",
        "detail",
        "type",
        "text",
        "uid",
        rows=(
            [
                f"{entry.at:%Y-%m-%d %H:%M}",
                entry.who,
                entry.kind.value,
                entry.detail,
                entry.type_id,
                entry.text,
                entry.uid,
            ]
            for entry in found.entries
        ),
    )
    more = [f"These are the newest {limit:,}; there are older ones."] if found.older else []
    show(result, as_json, shown, *more)
