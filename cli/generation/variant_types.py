"""List variant types, and add, change, retire and restore your own."""

from pathlib import Path
from typing import Annotated, Any

import typer

from cli.shared.home import open_home
from cli.shared.tables import table_of
from cli.shared.terminal import AsJson, show
from curation.plurals import counted
from curation.review.queue import status_counts
from curation.strict_json import JsonError, read_json
from curation.taxonomy.built_in import VariantType
from curation.taxonomy.own_types import add_type, change_type, find_type, restore_type, retire_type
from curation.taxonomy.project_types import list_types
from curation.taxonomy.roles import ROLES, Role
from curation.taxonomy.surface_check import SurfaceCheck
from curation.taxonomy.type_drafts import OwnType, as_written, read_check
from db.engine import reading, writing
from db.errors import HedgerowError
from db.named_files import LARGEST_WRITTEN, read_text

TypeId = Annotated[str, typer.Argument(metavar="ID", help="The id of one of your own types.")]

PromptLine = Annotated[
    str | None,
    typer.Option(
        metavar="TEXT",
        help="The prompt line for this type (default: generated from name and definition).",
    ),
]

DEFINITION = "What makes a variant belong to this type."

ANCHOR = "An example anchor."

EXAMPLE = "An example variant of that anchor."

Check = Annotated[
    str | None,
    typer.Option(
        metavar="JSON",
        help="The surface check as 'types list --json' prints it: '{\"require_new\": "
        '["negator"]}\', or @FILE.',
    ),
]

Guideline = Annotated[
    Path | None, typer.Option(metavar="FILE", help="The guideline for reviewers, in UTF-8.")
]


def list_all(
    retired: Annotated[bool, typer.Option("--retired", help="Include retired types.")] = False,
    as_json: AsJson = False,
) -> None:
    """List the variant types with their number of variants."""
    _, engine = open_home()
    with reading(engine) as session:
        types = list_types(session, retired=retired)
        counts = status_counts(session)
    variants = {entry.id: sum(counts.get(entry.id, {}).values()) for entry in types}
    rows = [
        (entry.id, entry.label, entry.role, _state(entry), entry.version, variants[entry.id])
        for entry in types
    ]
    table = table_of("type", "name", "role", "state", "version", "variants", rows=rows)
    facts = [_as_json(entry) | {"variants": variants[entry.id]} for entry in types]
    show({"types": facts}, as_json, table)


def _state(entry: VariantType) -> str:
    if entry.retired:
        return "retired"
    return "imported" if entry.imported else "own" if entry.own else "built in"


def _as_json(entry: VariantType) -> dict[str, Any]:
    check = entry.surface_check.model_dump(mode="json", exclude_defaults=True)
    facts = entry.model_dump(mode="json")
    return facts | {"polarity": entry.polarity, "surface_check": check}


def add(
    name: Annotated[str, typer.Argument(help="The name of the type; the id is derived from it.")],
    role: Annotated[
        Role,
        typer.Option(
            help="The role of its variants: "
            + "; ".join(f"{role} {facts.does}" for role, facts in ROLES.items())
            + "."
        ),
    ],
    definition: Annotated[str, typer.Option(metavar="TEXT", help=DEFINITION)],
    anchor: Annotated[str, typer.Option(metavar="TEXT", help=ANCHOR)],
    example: Annotated[str, typer.Option(metavar="TEXT", help=EXAMPLE)],
    prompt_line: PromptLine = None,
    check: Check = None,
    guideline: Guideline = None,
    as_json: AsJson = False,
) -> None:
    """Add a variant type. It is generated, reviewed, counted and released like any other."""
    wanted = OwnType(
        label=name,
        role=role,
        definition=definition,
        example_anchor=anchor,
        example=example,
        prompt_line=prompt_line or "",
        surface_check=_check(check) or SurfaceCheck(),
        guideline=_read(guideline) or "",
    )
    _, engine = open_home()
    with writing(engine) as session:
        entry = add_type(session, wanted)
    show(_as_json(entry), as_json, f"Added the type '{entry.id}'.")


def change(
    type_id: TypeId,
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="A new name; the id does not change.")
    ] = None,
    definition: Annotated[str | None, typer.Option(metavar="TEXT", help=DEFINITION)] = None,
    anchor: Annotated[str | None, typer.Option(metavar="TEXT", help=ANCHOR)] = None,
    example: Annotated[str | None, typer.Option(metavar="TEXT", help=EXAMPLE)] = None,
    prompt_line: PromptLine = None,
    check: Check = None,
    guideline: Guideline = None,
    as_json: AsJson = False,
) -> None:
    """Change one of your types as a new version; options you leave out keep their value."""
    values = {
        "label": name,
        "definition": definition,
        "example_anchor": anchor,
        "example": example,
        "prompt_line": prompt_line,
        "surface_check": _check(check),
        "guideline": _read(guideline),
    }
    _, engine = open_home()
    with writing(engine) as session:
        current = as_written(find_type(session, type_id))
        named = {key: value for key, value in values.items() if value is not None}
        done = change_type(session, type_id, current.model_copy(update=named))
    again = ""
    if done.to_measure:
        waiting = counted(done.to_measure, "variant")
        again = f" Run 'hedgerow diagnose' to measure {waiting} again."
    result = _as_json(done.entry) | {"to_measure": done.to_measure}
    show(result, as_json, f"'{type_id}' is now at version {done.entry.version}.{again}")


def retire(type_id: TypeId, as_json: AsJson = False) -> None:
    """Retire a type and its variants. Decisions and existing releases are kept."""
    _set_retired(type_id, True, as_json)


def restore(type_id: TypeId, as_json: AsJson = False) -> None:
    """Restore a retired type and its variants."""
    _set_retired(type_id, False, as_json)


def _set_retired(type_id: str, retired: bool, as_json: bool) -> None:
    _, engine = open_home()
    with writing(engine) as session:
        changed = (retire_type if retired else restore_type)(session, type_id)
    state = "retired" if retired else "in use"
    result = {"type": type_id, "retired": retired, "changed": changed}
    show(result, as_json, f"'{type_id}' {'is' if changed else 'was'} {state}{' now' * changed}.")


def _check(given: str | None) -> SurfaceCheck | None:
    if given is None:
        return None
    text = (_read(Path(given[1:])) or "") if given.startswith("@") else given
    try:
        values = read_json(text)
    except JsonError as error:
        raise HedgerowError(f"Expected the surface check as JSON, found none: {error}.") from None
    if not isinstance(values, dict):
        raise HedgerowError("Expected the surface check as a JSON object, found something else.")
    return read_check(values)


def _read(file: Path | None) -> str | None:
    if file is None:
        return None
    return read_text(file, kind="a guideline or a check", largest=LARGEST_WRITTEN)
