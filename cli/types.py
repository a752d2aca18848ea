"""Variant types and prompt versions: list, show, add and change them."""

from pathlib import Path
from typing import Annotated, Any

import typer

from cli.options import asked_by, open_home
from cli.terminal import LARGEST_NUMBER, AsJson, show, table_of
from curation.editing.own_types import add_type, change_type, find_type, restore_type, retire_type
from curation.editing.type_drafts import OwnType, as_written, read_check
from curation.formatting import counted
from curation.generation.examples import (
    MOST,
    choose_examples,
    from_rows,
    role_of,
    save_with_examples,
)
from curation.generation.prompts import (
    PROMPTS,
    find_version,
    prompt_versions,
    save_copy,
    seed_prompts,
)
from curation.review.queue import status_counts
from curation.tables.json_values import JsonError, read_json
from curation.taxonomy.built_in import VariantType
from curation.taxonomy.project_types import list_types
from curation.taxonomy.surface_check import ROLES, Role, SurfaceCheck
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import PromptVersion
from db.named_files import LARGEST_WRITTEN, read_text

# -- List variant types, and add, change, retire and restore your own ------------------------------


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


# -- List, show and add prompt versions ------------------------------------------------------------


Name = Annotated[str, typer.Argument(metavar="NAME", help=f"One of {', '.join(PROMPTS)}.")]

Number = Annotated[
    int | None,
    typer.Option("--version", metavar="N", min=1, max=LARGEST_NUMBER, help="Default: the newest."),
]


def prompts_list(as_json: AsJson = False) -> None:
    """List all prompt versions."""
    _, engine = open_home()
    with writing(engine) as session:
        seed_prompts(session)
        rows = [_facts(row) for name in PROMPTS for row in prompt_versions(session, name)]
    table = table_of(
        "prompt",
        "version",
        "made",
        "from",
        "examples",
        rows=(
            [r["prompt"], r["version"], r["created_at"][:10], r["origin"], len(r["examples"])]
            for r in rows
        ),
    )
    show({"prompts": rows}, as_json, table)


def _facts(row: PromptVersion) -> dict[str, Any]:
    return {
        "prompt": row.name,
        "version": row.version,
        "created_at": row.created_at.isoformat(),
        "origin": "installed" if row.parent_id is None else "edited copy",
        "examples": row.examples,
    }


def prompts_show(name: Name, number: Number = None, as_json: AsJson = False) -> None:
    """Print a prompt's template and its examples."""
    _, engine = open_home()
    with writing(engine) as session:
        seed_prompts(session)
        row = find_version(session, name, number)
    lines = [*row.template.splitlines(), *_example_lines(row)]
    show(_facts(row) | {"template": row.template}, as_json, *lines)


def prompts_add(
    name: Name,
    file: Annotated[
        Path | None,
        typer.Argument(
            help="The template in UTF-8. Default with --examples: the newest version's template."
        ),
    ] = None,
    examples: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=MOST,
            help="Maximum number of accepted variants per type to use as examples.",
        ),
    ] = None,
    seed: Annotated[
        int,
        typer.Option(min=0, max=LARGEST_NUMBER, help="Change the seed to get different examples."),
    ] = 0,
    as_json: AsJson = False,
) -> None:
    """Add a new version, from a file or from the newest version with examples.

    Examples are reviewed variants of training anchors. The prompt for an anchor never includes its
    own variants. Examples replace {examples} in the template, or come before the line with the
    anchor.
    """
    if file is None and examples is None:
        raise typer.BadParameter("give a file, --examples, or both")
    settings, engine = open_home()
    template = read_text(file, kind="a prompt", largest=LARGEST_WRITTEN) if file else None
    with writing(engine) as session:
        seed_prompts(session)
        author = asked_by(session, settings)
        parent = find_version(session, name, None)
        if examples is None:
            row = save_copy(session, parent, template or parent.template, author_id=author)
        else:
            chosen = choose_examples(session, role_of(name), examples, seed=seed)
            row = save_with_examples(session, parent, chosen, template=template, author_id=author)
    what = (
        "The file" if examples is None else f"That, with {counted(len(row.examples), 'example')},"
    )
    lines = [f"{what} is version {row.version} of the prompt {row.name}."]
    show(_facts(row), as_json, *lines, *_example_lines(row))


def _number(row: PromptVersion) -> str:
    return counted(len(row.examples), "example")


def _example_lines(row: PromptVersion) -> list[str]:
    """The examples of a version, as text."""
    return [
        f"{example.type_id}{', edited' if example.edited else ''}: {example.anchor} → "
        f"{example.text}"
        for example in from_rows(row.examples)
    ]
