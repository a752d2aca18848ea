"""Assign variants to several people, and set quotas."""

from typing import Annotated, Any

import typer
from rich.table import Table

from cli.review.decision import TypeName
from cli.shared.home import open_home
from cli.shared.tables import table_of
from cli.shared.terminal import AsJson, show
from curation.plurals import counted
from hedgerow.data import assigning
from hedgerow.data.assigning import Assignment


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
