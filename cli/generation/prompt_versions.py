"""The prompts on the command line: see them, and add versions of them."""

from pathlib import Path
from typing import Annotated, Any

import typer

from cli.shared.home import asked_by, open_home
from cli.shared.tables import table_of
from cli.shared.terminal import LARGEST_NUMBER, AsJson, show
from curation.generation.prompts import (
    PROMPTS,
    find_version,
    prompt_versions,
    save_copy,
    seed_prompts,
)
from db.engine import writing
from db.models import PromptVersion
from db.named_files import LARGEST_WRITTEN, read_text

Name = Annotated[str, typer.Argument(metavar="NAME", help=f"One of {', '.join(PROMPTS)}.")]

Number = Annotated[
    int | None,
    typer.Option("--version", metavar="N", min=1, max=LARGEST_NUMBER, help="Otherwise the newest."),
]


def prompts_list(as_json: AsJson = False) -> None:
    """Name all prompts in their versions."""
    _, engine = open_home()
    with writing(engine) as session:
        seed_prompts(session)
        rows = [_facts(row) for name in PROMPTS for row in prompt_versions(session, name)]
    table = table_of(
        "prompt",
        "version",
        "made",
        "from",
        rows=([r["prompt"], r["version"], r["created_at"][:10], r["origin"]] for r in rows),
    )
    show({"prompts": rows}, as_json, table)


def _facts(row: PromptVersion) -> dict[str, Any]:
    return {
        "prompt": row.name,
        "version": row.version,
        "created_at": row.created_at.isoformat(),
        "origin": "installed" if row.parent_id is None else "edited copy",
    }


def prompts_show(name: Name, number: Number = None, as_json: AsJson = False) -> None:
    """Print a prompt's template."""
    _, engine = open_home()
    with writing(engine) as session:
        seed_prompts(session)
        row = find_version(session, name, number)
    show(_facts(row) | {"template": row.template}, as_json, *row.template.splitlines())


def prompts_add(
    name: Name,
    file: Annotated[Path, typer.Argument(help="The template, UTF-8.")],
    as_json: AsJson = False,
) -> None:
    """Add a file as the next version of a prompt."""
    settings, engine = open_home()
    template = read_text(file, kind="a prompt", largest=LARGEST_WRITTEN)
    with writing(engine) as session:
        seed_prompts(session)
        author = asked_by(session, settings)
        row = save_copy(session, find_version(session, name, None), template, author_id=author)
    show(_facts(row), as_json, f"The file is version {row.version} of the prompt {row.name}.")
