"""The people who review: listed, added, renamed, and two spellings of one person made one."""

from typing import Annotated

import typer

from cli.shared.home import open_home
from cli.shared.tables import table_of
from cli.shared.terminal import AsJson, show
from curation.review.people import merging
from curation.review.people.reviewers import (
    ensure_reviewer,
    find_person,
    is_person,
    people,
    rename_person,
)
from curation.review.people.roles import Role, set_role
from db.engine import reading, writing
from db.errors import HedgerowError
from hedgerow.runs.progress import err, text_of

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
    head = ("name", "role", "decisions", "merged into")
    line = table_of(*head, rows=rows) if rows else "Nobody reviews yet."
    show({"reviewers": result}, as_json, line)


def add(
    name: Name,
    role: Annotated[Role, typer.Argument(help="What they may do.")] = Role.LEAD,
    as_json: AsJson = False,
) -> None:
    """Add a person before they begin, to give them a role or a quota."""
    _, engine = open_home()
    with writing(engine) as session:
        if is_person(session, name):
            raise HedgerowError(
                f"There is already a person '{name}'; 'hedgerow reviewers role' changes their role."
            )
        found = ensure_reviewer(session, name)
        set_role(session, found, role)
        added = found.name
    show({"name": added, "role": role}, as_json, f"Added {added} as a {role}.")


def change_role(
    person: Name,
    role: Annotated[Role, typer.Argument(help="What they may do from now on.")],
    as_json: AsJson = False,
) -> None:
    """Give a person a role: a lead may change everything, a reviewer decides on variants, a viewer
    reads. It counts in the browser app; whoever uses the command line is a lead."""
    _, engine = open_home()
    with writing(engine) as session:
        found = find_person(session, person)
        set_role(session, found, role)
        name = found.name
    show({"name": name, "role": role}, as_json, f"{name} is a {role} now.")


def rename(
    old: Name,
    new: Annotated[str, typer.Argument(help="Their new name.")],
    as_json: AsJson = False,
) -> None:
    """Give a person another name, also in what they have done before. To take it back, rename
    them again."""
    _, engine = open_home()
    with writing(engine) as session:
        person = find_person(session, old)
        before = person.name
        rename_person(session, person, new)
        now = person.name
    show({"before": before, "name": now}, as_json, f"{before} is called {now} now.")


def merge(
    person: Annotated[str, typer.Argument(metavar="FROM", help="A person's name.")],
    into: Annotated[str, typer.Argument(metavar="INTO", help="Whose name both have then.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what changes.")] = False,
    as_json: AsJson = False,
) -> None:
    """Make two people one reviewer, with all that both have done. Shows what changes and asks
    first; 'hedgerow reviewers separate FROM' takes it back."""
    _, engine = open_home()
    with reading(engine) as session:
        plan = merging.plan_merge(session, find_person(session, person), find_person(session, into))
    lines = plan.in_words()
    if not (yes or dry_run):
        for line in lines:
            err.print(text_of(line), soft_wrap=True)
        typer.confirm("Merge them?", abort=True, err=True)
    if not dry_run:
        with writing(engine) as session:
            plan = merging.merge(session, find_person(session, person), find_person(session, into))
        lines = [f"{plan.person} and {plan.into} are one reviewer now, {plan.into}."]
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
    """Take a merge back: a person is a reviewer of their own again."""
    _, engine = open_home()
    with writing(engine) as session:
        found = find_person(session, person)
        name, into = found.name, merging.separate(session, found)
    said = f"{name} and {into} are two reviewers again."
    show({"name": name, "separated_from": into}, as_json, said)
