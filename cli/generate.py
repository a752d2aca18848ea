"""Variants from a language model or from rules: what it would cost, the run, and its prompts."""

from pathlib import Path
from typing import Annotated, Any

import typer
from sqlmodel import Session

from cli.home import open_home, reviewer_id
from cli.runs import carry_out_run
from cli.tables import table_of
from cli.terminal import AsJson, show
from curation.generation.estimate import Estimate, estimate
from curation.generation.prices import price_of
from curation.generation.prompts import (
    PROMPTS,
    prompt_versions,
    save_copy,
    seed_prompts,
)
from curation.generation.request import MAX_CONCURRENCY, GenerationRequest, Provider, Which
from curation.generation.run import checked_request, request_generation
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import PromptVersion

prompts_app = typer.Typer(no_args_is_help=True, help="See the prompts, and add versions of them.")

Name = Annotated[str, typer.Argument(metavar="NAME", help=f"One of {', '.join(PROMPTS)}.")]
Number = Annotated[int | None, typer.Option("--version", metavar="N", help="Otherwise the newest.")]


def generate(
    provider: Annotated[
        Provider, typer.Option(help="A server that speaks OpenAI's protocol, or rules.")
    ] = "openai",
    model: Annotated[str, typer.Option(help="As the server calls it.")] = "",
    base_url: Annotated[
        str, typer.Option(help="The server's address (otherwise HEDGEROW_OPENAI_BASE_URL).")
    ] = "",
    which: Annotated[
        Which,
        typer.Option(help="Anchors without variants, types without a usable one, or what failed."),
    ] = Which.WITHOUT,
    run_id: Annotated[
        int | None, typer.Option("--run", metavar="N", help="The run whose failures are retried.")
    ] = None,
    search: Annotated[str, typer.Option(help="Only anchors that hold this.")] = "",
    limit: Annotated[int | None, typer.Option(min=1, help="At most so many anchors.")] = None,
    roles: Annotated[
        str, typer.Option(help="Calls an anchor: of negation,hedge,paraphrase.")
    ] = "negation,hedge",
    seed: Annotated[int, typer.Option(help="Draws cues and sample.")] = 0,
    temperature: Annotated[float, typer.Option(min=0, max=2)] = 1.0,
    concurrency: Annotated[
        int, typer.Option(min=1, max=MAX_CONCURRENCY, help="Calls at once.")
    ] = 16,
    attempts: Annotated[int, typer.Option(min=1, max=20, help="At most, at one call.")] = 5,
    budget: Annotated[
        float | None, typer.Option(metavar="USD", help="Pause when so much is spent.")
    ] = None,
    max_calls: Annotated[int | None, typer.Option(min=1, help="Pause after so many calls.")] = None,
    structured: Annotated[
        bool, typer.Option(help="Ask for JSON of a fixed form, or for a numbered list.")
    ] = True,
    batch: Annotated[
        bool, typer.Option("--batch", help="Use the provider's Batch API: half the price, later.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what it would take.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Generate variants; 'hedgerow run ID' resumes a run that stopped."""
    settings, engine = open_home()
    values = {
        "provider": provider, "model": model, "base_url": base_url, "temperature": temperature,
        "roles": tuple(name.strip() for name in roles.split(",") if name.strip()), "seed": seed,
        "concurrency": concurrency, "attempts": attempts, "structured": structured,
        "batch": batch, "budget": {"money": budget, "calls": max_calls},
        "selection": {"which": which, "run": run_id, "search": search, "limit": limit},
    }  # fmt: skip
    with reading(engine) as session:
        price = price_of(session, model)
        request = checked_request(values | ({"price": price} if price else {}))
        if dry_run:
            found = estimate(session, request)
    if dry_run:
        _show_estimate(found, request, is_priced=price is not None, as_json=as_json)
        return
    with writing(engine) as session:
        author = reviewer_id(session, settings, "") if settings.reviewer else None
        run = request_generation(session, request, requested_by=author)
    result = carry_out_run(settings, engine, run.id or 0)
    lines = (f"{name}: {value}" for name, value in result.items())
    show(result, as_json, *lines)


def _show_estimate(
    found: Estimate, request: GenerationRequest, *, is_priced: bool, as_json: bool
) -> None:
    """What ``--dry-run`` says; tokens, cost and seconds are null while nothing is known."""
    known = is_priced or request.provider == "rules"
    result = {
        "anchors": found.anchors, "calls": found.calls, "total_calls": found.total_calls,
        "prompt_tokens": found.prompt_tokens, "completion_tokens": found.completion_tokens,
        "cost": found.cost if known else None, "seconds": found.seconds,
        "based_on": found.based_on, "price": request.charged.model_dump() if known else None,
    }  # fmt: skip
    calls = ", ".join(f"{count:,} for {role}" for role, count in found.calls.items())
    lines = [f"{found.anchors:,} anchors, {found.total_calls:,} calls ({calls})."]
    if found.prompt_tokens is None or found.completion_tokens is None:
        lines.append("Tokens, cost and time are not known yet: try it with --limit 3.")
    else:
        tokens = f"{found.prompt_tokens:,.0f} in and {found.completion_tokens:,.0f} out"
        lines.append(f"About {tokens}, going by {found.based_on:,} answered calls.")
        lines.append(_money(result["cost"]))
        if found.seconds is not None:
            lines.append(f"About {found.seconds:,.0f} seconds.")
    show(result, as_json, *lines)


def _money(cost: Any) -> str:
    if cost is None:
        return "No price is known for this model; set one on the Generate page."
    return f"About {cost:.4f} US dollars."


@prompts_app.command("list")
def prompts_list(as_json: AsJson = False) -> None:
    """Name all prompts in their versions."""
    _, engine = open_home()
    with writing(engine) as session:
        seed_prompts(session)
        rows = [_facts(row) for name in PROMPTS for row in prompt_versions(session, name)]
    table = table_of(
        "prompt", "version", "made", "from",
        rows=([r["prompt"], r["version"], r["created_at"][:10], r["origin"]] for r in rows),
    )  # fmt: skip
    show({"prompts": rows}, as_json, table)


def _facts(row: PromptVersion) -> dict[str, Any]:
    return {
        "prompt": row.name, "version": row.version, "created_at": row.created_at.isoformat(),
        "origin": "installed" if row.parent_id is None else "edited copy",
    }  # fmt: skip


@prompts_app.command("show")
def prompts_show(name: Name, number: Number = None, as_json: AsJson = False) -> None:
    """Print a prompt's template."""
    _, engine = open_home()
    with writing(engine) as session:
        seed_prompts(session)
        row = find_version(session, name, number)
    show(_facts(row) | {"template": row.template}, as_json, *row.template.splitlines())


@prompts_app.command("add")
def prompts_add(
    name: Name,
    file: Annotated[Path, typer.Argument(help="The template, UTF-8.")],
    number: Number = None,
    as_json: AsJson = False,
) -> None:
    """Add a file as the next version of a prompt."""
    settings, engine = open_home()
    try:
        template = file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise HedgerowError(f"Expected UTF-8 text in {file}; save it as UTF-8.") from error
    with writing(engine) as session:
        seed_prompts(session)
        author = reviewer_id(session, settings, "") if settings.reviewer else None
        row = save_copy(session, find_version(session, name, number), template, author_id=author)
    show(_facts(row), as_json, f"Version {row.version} of the prompt {row.name}.")


def find_version(session: Session, name: str, number: int | None) -> PromptVersion:
    """The version of a prompt, None for the newest.

    Raises:
        HedgerowError: there is none.
    """
    known = next((prompt for prompt in PROMPTS if prompt == name), None)
    if known is None:
        raise typer.BadParameter(f"expected one of {', '.join(PROMPTS)}, found {name}")
    versions = prompt_versions(session, known)
    for row in versions:
        if number is None or row.version == number:
            return row
    raise HedgerowError(
        f"Expected a version of the prompt {name} from 1 to {versions[0].version}, found {number}."
    )
