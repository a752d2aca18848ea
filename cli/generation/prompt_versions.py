"""List, show and add prompt versions."""

from pathlib import Path
from typing import Annotated, Any

import typer

from cli.shared.home import asked_by, open_home
from cli.shared.tables import table_of
from cli.shared.terminal import LARGEST_NUMBER, AsJson, show
from curation.generation.examples.choosing import MOST, choose_examples
from curation.generation.examples.few_shot import from_rows
from curation.generation.examples.versions import role_of, save_with_examples
from curation.generation.prompts import (
    PROMPTS,
    find_version,
    prompt_versions,
    save_copy,
    seed_prompts,
)
from curation.plurals import counted
from db.engine import writing
from db.models import PromptVersion
from db.named_files import LARGEST_WRITTEN, read_text

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
