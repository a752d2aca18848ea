"""List, add, rename and merge reviewers; their roles and statistics."""

from pathlib import Path
from typing import Annotated

import typer

from cli.options import open_home
from cli.terminal import AsJson, DryRun, show, table_of
from curation.decisions import people as changes
from curation.decisions.coefficients import FEWEST
from curation.decisions.reviewers import find_person, people, rename_person
from curation.decisions.roles import set_role
from curation.review.agreement.overlap import overlap
from curation.review.people_statistics import (
    COLUMNS,
    PersonFigures,
    facts,
    overlapping,
    person_figures,
    table,
)
from curation.tables.safe_csv import csv_bytes
from db.engine import reading, writing
from db.models import TeamRole
from hedgerow.progress import err, text_of

# -- List, add, rename and merge the people who review ---------------------------------------------


Name = Annotated[str, typer.Argument(help="A person's name.")]


def list_reviewers(as_json: AsJson = False) -> None:
    """List the people who review; 'hedgerow settings' lists the models."""
    _, engine = open_home()
    with reading(engine) as session:
        found = people(session)
    result = [
        {
            "name": one.name,
            "role": one.role,
            "decisions": one.decisions,
            "merged_into": one.merged_into or None,
            "signs_in_as": one.signs_in_as or None,
        }
        for one in found
    ]
    rows = [(one.name, one.role, one.decisions, one.merged_into) for one in found]
    if not rows:
        show({"reviewers": result}, as_json, "There are no reviewers yet.")
        return
    show(
        {"reviewers": result},
        as_json,
        table_of("name", "role", "decisions", "merged into", rows=rows),
        "decisions: all stored decisions, including settlements, decisions by rule and undone "
        "ones. 'hedgerow reviewers statistics' counts current verdicts on single variants.",
    )


def add(
    name: Name,
    role: Annotated[TeamRole, typer.Argument(help="Their role.")] = TeamRole.LEAD,
    as_json: AsJson = False,
) -> None:
    """Add a person before they begin, for example to give them a role or a quota."""
    _, engine = open_home()
    with writing(engine) as session:
        added = changes.add(session, name, role)
    show({"name": added, "role": role}, as_json, f"Added {added} as a {role}.")


def change_role(
    person: Name,
    role: Annotated[TeamRole, typer.Argument(help="The new role.")],
    as_json: AsJson = False,
) -> None:
    """Change a person's role in the browser app.

    A lead can change everything, a reviewer can decide on variants, and a viewer can only read. On
    the command line, everybody is a lead.
    """
    _, engine = open_home()
    with writing(engine) as session:
        name = set_role(session, find_person(session, person).id, role)
    show({"name": name, "role": role}, as_json, f"{name} is now a {role}.")


def rename(
    old: Name,
    new: Annotated[str, typer.Argument(help="Their new name.")],
    as_json: AsJson = False,
) -> None:
    """Rename a person, also in their earlier decisions."""
    _, engine = open_home()
    with writing(engine) as session:
        before, now = rename_person(session, find_person(session, old).id, new)
    show({"before": before, "name": now}, as_json, f"{before} is now called {now}.")


def merge(
    person: Annotated[str, typer.Argument(metavar="FROM", help="A person's name.")],
    into: Annotated[str, typer.Argument(metavar="INTO", help="The name after the merge.")],
    yes: Annotated[bool, typer.Option("--yes", help="Merge without asking.")] = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Merge two people into one reviewer. Shows the effect and asks first.

    'hedgerow reviewers separate FROM' undoes it.
    """
    _, engine = open_home()
    with reading(engine) as session:
        ids = {
            "person": find_person(session, person).id,
            "into": find_person(session, into).id,
        }
        plan = changes.plan_merge(session, **ids)
    lines = plan.in_words()
    if not (yes or dry_run):
        for line in lines:
            err.print(text_of(line), soft_wrap=True)
        typer.confirm("Merge them?", abort=True, err=True)
    if not dry_run:
        plan = changes.merge(engine, **ids)
        lines = [f"{plan.person} and {plan.into} are now one reviewer, {plan.into}."]
    result = {
        "from": plan.person,
        "into": plan.into,
        "merged": not dry_run,
        "both_decided": plan.shared,
        "statuses": [
            {"before": old, "after": new, "variants": count}
            for (old, new), count in plan.statuses.items()
        ],
    }
    show(result, as_json, *lines)


def separate(person: Name, as_json: AsJson = False) -> None:
    """Undo a merge: the person becomes a separate reviewer again."""
    _, engine = open_home()
    with reading(engine) as session:
        key = find_person(session, person).id
    name, into = changes.separate(engine, key)
    show(
        {"name": name, "separated_from": into},
        as_json,
        f"{name} and {into} are two reviewers again.",
    )


# -- Statistics about each person ------------------------------------------------------------------


def statistics(
    csv: Annotated[
        Path | None, typer.Option(help="Also write a CSV file with one row per person and type.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show each reviewer's number of verdicts, speed and acceptance rate, and how often their
    verdicts match gold items and settlements."""
    with reading(open_home().engine) as session:
        found = person_figures(session)
        overlaps = overlapping(overlap(session))
    if csv is not None:
        csv.write_bytes(csv_bytes(COLUMNS, table(found, overlaps)))
    result = {"people": [facts(one, overlaps) for one in found]}
    if not found:
        show(result, as_json, "Nobody has decided on a variant yet.")
        return
    titles = ("name", "verdicts", "seconds", "accepted", "gold", "settled", "practice", "shared")
    rows = (_row(one, overlaps.get(one.reviewer_id, 0)) for one in found)
    by_type = (
        (one.name, key, share.in_words()) for one in found for key, share in one.accepted.items()
    )
    show(
        result,
        as_json,
        table_of(*titles, rows=rows),
        "verdicts: current verdicts on single variants, without settlements and decisions by "
        "rule. gold, settled: verdicts that match the gold item or the later settlement. shared: "
        "variants that somebody else has also decided on. Intervals are shown for "
        f"{FEWEST} or more verdicts.",
        table_of("name", "type", "accepted", rows=by_type),
    )


def _row(one: PersonFigures, shared: int) -> list[str]:
    return [
        one.name,
        f"{one.decisions:,}",
        "–" if one.seconds is None else f"{one.seconds:.1f}",
        one.acceptance.in_words(),
        one.gold.in_words(),
        one.adjudicated.in_words(),
        f"{one.practice.right} of {one.practice.answered}" if one.practice_round else "–",
        f"{shared:,}",
    ]
