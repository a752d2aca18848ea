"""Generate variants with a language model or with rules; the prices of models."""

from typing import Annotated, Any

import typer

from cli.options import (
    BaseUrl,
    CallCap,
    Concurrency,
    MaxTokens,
    ModelName,
    MoneyCap,
    PromptNumbers,
    Timeout,
    as_option,
    one_of,
    open_home,
    prompt_numbers,
)
from cli.runs import carry_out_run, sentences
from cli.terminal import LARGEST_NUMBER, AsJson, DryRun, show, table_of
from curation.formatting import counted
from curation.generation.prices import DATED, own_prices, prices, set_price
from curation.generation.providers.installed import provider_names
from curation.generation.request import KIND, OPENAI, Price, Which
from curation.generation.run import GENERATE
from curation.taxonomy.built_in import TAXONOMY
from curation.taxonomy.surface_check import ROLES
from db.engine import reading, writing
from db.errors import HedgerowError
from hedgerow.generation import Cost, cost_of, request_of
from hedgerow.home import acting

# -- Generate variants with a language model or with rules: cost estimate and run ------------------


SHOWN = 8
"""Maximum number of sources listed in a message."""

_ON_REQUEST = tuple(entry.id for entry in TAXONOMY if entry.on_request)


def generate(
    provider: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            callback=one_of(provider_names),
            help="A server with an OpenAI-compatible API, or a provider without a server: "
            f"{', '.join(provider_names())}.",
        ),
    ] = OPENAI,
    model: ModelName = "",
    base_url: BaseUrl = "",
    which: Annotated[
        Which,
        typer.Option(
            help="Anchors without variants, types without a usable variant, or failed calls."
        ),
    ] = Which.WITHOUT,
    run_id: Annotated[
        int | None,
        typer.Option(
            "--run",
            metavar="N",
            min=1,
            max=LARGEST_NUMBER,
            help="The run whose failed calls to retry.",
        ),
    ] = None,
    search: Annotated[str, typer.Option(help="Only anchors that contain this text.")] = "",
    source: Annotated[str, typer.Option(help="Only anchors of this source.")] = "",
    limit: Annotated[
        int | None,
        typer.Option(min=1, max=LARGEST_NUMBER, help="Size of a random sample of anchors."),
    ] = None,
    roles: Annotated[
        str, typer.Option(help=f"The calls to make for each anchor: {', '.join(ROLES)}.")
    ] = "negation,hedge",
    types: Annotated[
        str,
        typer.Option(
            help=f"Only these types of the calls, such as 'affixal,word'. {', '.join(_ON_REQUEST)} "
            "are written only if you name them."
        ),
    ] = "",
    prompts: PromptNumbers = None,
    seed: Annotated[int, typer.Option(help="Seed for cues and sample.")] = 0,
    temperature: Annotated[
        float, typer.Option(min=0, max=2, help="Sampling temperature of the model.")
    ] = 1.0,
    max_tokens: MaxTokens = 1000,
    timeout: Timeout = 120,
    concurrency: Concurrency = 16,
    attempts: Annotated[int, typer.Option(min=1, max=20, help="Maximum attempts per call.")] = 5,
    budget: MoneyCap = None,
    max_calls: CallCap = None,
    structured: Annotated[
        bool, typer.Option(help="Ask for JSON with a fixed schema, or for a numbered list.")
    ] = True,
    batch: Annotated[
        bool,
        typer.Option("--batch", help="Use the provider's Batch API: half the price, but slower."),
    ] = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Generate variants. 'hedgerow run ID' resumes a stopped run."""
    home = open_home()
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
    request, is_priced = request_of(
        home,
        values,
        source=source,
        prompts=prompt_numbers(prompts, example="hedge=2"),
        called=as_option,
        dry_run=dry_run,
    )
    if dry_run:
        _show_cost(cost_of(home, request, is_priced=is_priced), as_json)
        return
    result = carry_out_run(*home, GENERATE.perform(acting(home), request).id)
    show(result, as_json, *sentences(KIND, result))


def _show_cost(cost: Cost, as_json: bool) -> None:
    """The ``--dry-run`` output; tokens, cost and seconds are null if unknown."""
    found, written, result = cost.estimate, cost.variants, cost.facts
    calls = ", ".join(f"{count:,} for {role}" for role, count in found.calls.items())
    about = f"{counted(found.anchors, 'anchor')}, {counted(found.total_calls, 'call')}"
    lines = [f"{about} ({calls})."]
    if written is not None:
        lines += [*written.sentences(), "This costs nothing because no model is called."]
    elif cost.request.provider != OPENAI:
        lines.append(f"The cost of {cost.request.provider} is unknown. Try it with --limit 3.")
    elif not found.total_calls:
        lines.append("There is nothing to generate for this selection.")
    elif found.prompt_tokens is None or found.completion_tokens is None:
        lines.append("Tokens, cost and time are unknown. Try it with --limit 3 first.")
    else:
        tokens = f"{found.prompt_tokens:,.0f} input and {found.completion_tokens:,.0f} output"
        lines.append(f"About {tokens} tokens, based on {counted(found.based_on, 'answered call')}.")
        lines.append(_money(result["cost"]))
        if found.seconds is not None:
            lines.append(f"About {found.seconds:,.0f} seconds.")
    show(result, as_json, *lines)


def _money(cost: Any) -> str:
    if cost is None:
        return "The price of this model is unknown. Set it with 'hedgerow prices set'."
    return f"About {cost:.4f} US dollars."


# -- Show the price table and set prices -----------------------------------------------------------


Model = Annotated[str, typer.Argument(help="The model's name on the server.")]


def prices_list(as_json: AsJson = False) -> None:
    """List all known prices, in US dollars per million tokens."""
    _, engine = open_home()
    with reading(engine) as session:
        known, own = prices(session), own_prices(session)
    rows = [
        {"model": name, **price.model_dump(), "from": "this project" if name in own else DATED}
        for name, price in known.items()
    ]
    table = table_of("model", "in", "out", "from", rows=(row.values() for row in rows))
    show({"currency": "USD", "per_tokens": 1_000_000, "prices": rows}, as_json, table)


def prices_set(
    model: Model,
    prompt: Annotated[
        float, typer.Argument(metavar="IN", min=0, help="Price per million input tokens.")
    ],
    completion: Annotated[
        float, typer.Argument(metavar="OUT", min=0, help="Price per million output tokens.")
    ],
    as_json: AsJson = False,
) -> None:
    """Set the price of a model, in US dollars per million tokens."""
    _, engine = open_home()
    price = Price(prompt=prompt, completion=completion)
    with writing(engine) as session:
        set_price(session, model, price)
    result = {"model": model, **price.model_dump()}
    show(
        result,
        as_json,
        f"The price of {model} is ${prompt:g} per million input tokens and ${completion:g} per "
        "million output tokens.",
    )


def prices_forget(model: Model, as_json: AsJson = False) -> None:
    """Remove this project's price of a model; the built-in price applies again if there is one."""
    _, engine = open_home()
    with writing(engine) as session:
        set_price(session, model, None)
    show({"model": model}, as_json, f"This project has not set a price for {model}.")
