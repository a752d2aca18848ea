"""Variants from a language model or from rules: what it would cost, and the run."""

from collections.abc import Sequence
from typing import Annotated, Any

import typer
from sqlalchemy.orm import Session

from cli.shared.home import asked_by, open_home
from cli.shared.options import (
    BaseUrl,
    CallCap,
    Concurrency,
    MaxTokens,
    ModelName,
    MoneyCap,
    Timeout,
    as_option,
    one_of,
)
from cli.shared.run_facts import sentences
from cli.shared.run_here import carry_out_run
from cli.shared.terminal import LARGEST_NUMBER, MAX_DIGITS, AsJson, DryRun, show
from curation.anchors.lookup import source_ids
from curation.generation.costs.estimate import RunEstimate, estimate
from curation.generation.costs.prices import price_of, price_under
from curation.generation.prompts import find_version, seed_prompts
from curation.generation.providers.chat.addresses import require_key
from curation.generation.providers.forecast import Forecast, can_forecast, forecast
from curation.generation.providers.installed import provider_names
from curation.generation.request import (
    KIND,
    OPENAI,
    GenerationRequest,
    Which,
)
from curation.generation.run import checked_request, request_generation
from curation.plurals import counted
from curation.taxonomy.built_in import TAXONOMY, known_type
from curation.taxonomy.project_types import list_types
from curation.taxonomy.roles import ROLES, Role
from db.engine import reading, writing
from db.errors import HedgerowError
from db.runs import get_run

TOLD = 8
"""Sources that a message names."""

_ON_REQUEST = tuple(entry.id for entry in TAXONOMY if entry.on_request)


def generate(
    provider: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            callback=one_of(provider_names),
            help=f"A server that speaks OpenAI's protocol, or what asks none: "
            f"{', '.join(provider_names())}.",
        ),
    ] = OPENAI,
    model: ModelName = "",
    base_url: BaseUrl = "",
    which: Annotated[
        Which,
        typer.Option(help="Anchors without variants, types without a usable one, or what failed."),
    ] = Which.WITHOUT,
    run_id: Annotated[
        int | None,
        typer.Option(
            "--run",
            metavar="N",
            min=1,
            max=LARGEST_NUMBER,
            help="The run whose failures are retried.",
        ),
    ] = None,
    search: Annotated[str, typer.Option(help="Only anchors that hold this.")] = "",
    source: Annotated[str, typer.Option(help="Only anchors of this source.")] = "",
    limit: Annotated[
        int | None, typer.Option(min=1, max=LARGEST_NUMBER, help="A sample of so many anchors.")
    ] = None,
    roles: Annotated[
        str, typer.Option(help=f"What to ask for about each anchor: {', '.join(ROLES)}.")
    ] = "negation,hedge",
    types: Annotated[
        str,
        typer.Option(
            help=f"Only these types of the calls, such as 'affixal,word'. {', '.join(_ON_REQUEST)} "
            "are written only if you name them."
        ),
    ] = "",
    prompts: Annotated[
        list[str] | None,
        typer.Option(
            "--prompt",
            metavar="NAME=N",
            help="Version of a prompt, otherwise the newest; may be repeated.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Draws cues and sample.")] = 0,
    temperature: Annotated[
        float, typer.Option(min=0, max=2, help="How much the model's answers vary.")
    ] = 1.0,
    max_tokens: MaxTokens = 1000,
    timeout: Timeout = 120,
    concurrency: Concurrency = 16,
    attempts: Annotated[int, typer.Option(min=1, max=20, help="Maximum attempts at one call.")] = 5,
    budget: MoneyCap = None,
    max_calls: CallCap = None,
    structured: Annotated[
        bool, typer.Option(help="Ask for JSON of a fixed form, or for a numbered list.")
    ] = True,
    batch: Annotated[
        bool, typer.Option("--batch", help="Use the provider's Batch API: half the price, later.")
    ] = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Generate variants; 'hedgerow run ID' resumes a run that stopped."""
    settings, engine = open_home()
    if types and not types.strip(" ,"):
        raise HedgerowError("Expected types such as 'affixal,word' after --types, found none.")
    values = {
        "provider": provider,
        "model": model,
        "base_url": base_url,
        "temperature": temperature,
        "roles": tuple(name.strip() for name in roles.split(",") if name.strip()),
        "seed": seed,
        "max_tokens": max_tokens,
        "timeout": timeout,
        "concurrency": concurrency,
        "attempts": attempts,
        "structured": structured,
        "batch": batch,
        "budget": {"money": budget, "calls": max_calls},
        "selection": {
            "which": which,
            "run": run_id,
            "search": search,
            "limit": limit,
            "types": tuple(name.strip() for name in types.split(",") if name.strip()),
        },
    }
    with writing(engine) as session:
        seed_prompts(session)
        price = price_under(session, model, budget if provider == OPENAI else None)
        is_priced = price_of(session, model) is not None
        values["price"] = price
        request = checked_request(values, called=as_option)
        request = _chosen(session, request, source, prompts or [])
        if provider == OPENAI and not dry_run:
            require_key(request.base_url, settings)
    if dry_run:
        with reading(engine) as session:
            found = estimate(session, request)
            written = forecast(session, request) if can_forecast(provider) else None
        _show_estimate(found, request, written, is_priced=is_priced, as_json=as_json)
        return
    with writing(engine) as session:
        author = asked_by(session, settings)
        run = request_generation(session, request, requested_by=author)
    result = carry_out_run(settings, engine, run.id)
    show(result, as_json, *sentences(KIND, result))


def _chosen(
    session: Session, request: GenerationRequest, source: str, prompts: Sequence[str]
) -> GenerationRequest:
    """The request for a source and for versions of prompts, both by what people call them."""
    selection = request.selection
    if selection.run is not None and get_run(session, selection.run).kind != KIND:
        raise HedgerowError(f"Run {selection.run} generated nothing; name a run that did.")
    for type_id in selection.types:
        if known_type(list_types(session), type_id).imported:
            raise HedgerowError(
                f"'{type_id}' comes with imported anchors and is asked of nobody; name others."
            )
    if source:
        selection = selection.model_copy(update={"source_id": _source(session, source)})
    chosen = dict(_version(session, request.roles, item) for item in prompts)
    return request.model_copy(update={"selection": selection, "prompts": chosen})


def _source(session: Session, name: str) -> int:
    known = source_ids(session)
    if name not in known:
        told = ", ".join(list(known)[:TOLD]) + (", …" if len(known) > TOLD else "")
        raise HedgerowError(f"Expected a source of anchors ({told}), found {name}.")
    return known[name]


def _version(session: Session, roles: Sequence[Role], item: str) -> tuple[Role, int]:
    """The call and the number of the prompt version that an option such as 'hedge=2' names."""
    name, _, number = item.partition("=")
    role = next((role for role in roles if role == name), None)
    if role is None or not number.isdecimal() or len(number) > MAX_DIGITS:
        raise HedgerowError(
            f"Expected --prompt {roles[0]}=2 or the like for a call that is made, found "
            f"{item[:80]}."
        )
    return role, find_version(session, role, int(number)).id


def _show_estimate(
    found: RunEstimate,
    request: GenerationRequest,
    written: Forecast | None,
    *,
    is_priced: bool,
    as_json: bool,
) -> None:
    """What ``--dry-run`` says; tokens, cost and seconds are null while nothing is known.

    Args:
        written: what the provider will write, where it can say that.
    """
    known = is_priced or written is not None
    result = {
        "anchors": found.anchors,
        "calls": found.calls,
        "total_calls": found.total_calls,
        "prompt_tokens": found.prompt_tokens,
        "completion_tokens": found.completion_tokens,
        "cost": found.cost if known else None,
        "seconds": found.seconds,
        "based_on": found.based_on,
        "price": request.charged.model_dump() if known else None,
    }
    calls = ", ".join(f"{count:,} for {role}" for role, count in found.calls.items())
    about = f"{counted(found.anchors, 'anchor')}, {counted(found.total_calls, 'call')}"
    lines = [f"{about} ({calls})."]
    if written is not None:
        result["variants"] = written.variants
        lines += [*written.sentences(), "No model is asked: it costs nothing."]
    elif request.provider != OPENAI:
        lines.append(f"What {request.provider} costs is not known: try it with --limit 3.")
    elif not found.total_calls:
        lines.append("There is nothing to generate for this selection.")
    elif found.prompt_tokens is None or found.completion_tokens is None:
        lines.append("Tokens, cost and time are not known yet: try it with --limit 3.")
    else:
        tokens = f"{found.prompt_tokens:,.0f} tokens in and {found.completion_tokens:,.0f} out"
        lines.append(f"About {tokens}, going by {counted(found.based_on, 'answered call')}.")
        lines.append(_money(result["cost"]))
        if found.seconds is not None:
            lines.append(f"About {found.seconds:,.0f} seconds.")
    show(result, as_json, *lines)


def _money(cost: Any) -> str:
    if cost is None:
        return "No price is known for this model; set one with 'hedgerow prices set'."
    return f"About {cost:.4f} US dollars."
