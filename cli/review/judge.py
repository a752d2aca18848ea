"""Ask a chat model for its opinion on variants."""

from typing import Annotated

import typer

from cli.shared.home import open_home
from cli.shared.options import (
    BaseUrl,
    CallCap,
    Concurrency,
    MaxTokens,
    ModelName,
    MoneyCap,
    Timeout,
    as_option,
)
from cli.shared.run_here import carry_out_run
from cli.shared.terminal import LARGEST_NUMBER, AsJson, DryRun, show
from curation.generation.costs.estimate import RunEstimate
from curation.generation.costs.prices import dollars, spent_by
from curation.generation.judging.consistency import TEMPERATURE
from curation.generation.judging.opinion_request import MAX_REPEATS
from curation.generation.run_report import in_words
from curation.plurals import counted
from db.models import Status
from hedgerow.data.judging import cost_facts, cost_of_judging, store_judging

ANY = "any"


def judge(
    model: ModelName,
    base_url: BaseUrl = "",
    types: Annotated[
        str, typer.Option(help="Variant types, such as 'verbal,word'. Default: all.")
    ] = "",
    status: Annotated[
        str, typer.Option(help=f"Only variants with this status; '{ANY}': all but superseded.")
    ] = Status.PENDING.value,
    flagged: Annotated[bool, typer.Option("--flagged", help="Only flagged variants.")] = False,
    limit: Annotated[
        int | None,
        typer.Option(min=1, max=LARGEST_NUMBER, help="A random sample of this size."),
    ] = None,
    sample: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            max=LARGEST_NUMBER,
            help="The variants of this sample (see 'hedgerow review calibration').",
        ),
    ] = None,
    times: Annotated[
        int | None,
        typer.Option(
            min=2,
            max=MAX_REPEATS,
            help="Ask about each variant of the sample this many times, to measure consistency. "
            "These answers do not count as opinions.",
        ),
    ] = None,
    temperature: Annotated[
        float | None,
        typer.Option(min=0, max=2, help=f"Default: 0, or {TEMPERATURE} with --times."),
    ] = None,
    prompt: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            max=LARGEST_NUMBER,
            help="Version of the prompt. Default: the newest.",
        ),
    ] = None,
    concurrency: Concurrency = 16,
    max_tokens: MaxTokens = 500,
    timeout: Timeout = 120,
    budget: MoneyCap = None,
    max_calls: CallCap = None,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Ask a chat model for its opinion on variants. Reviewers see it only on request.

    Variants that the model has already judged are left out. To continue a run that stopped, repeat
    the command or run 'hedgerow run ID'.
    """
    if sample is not None and (types or flagged or limit is not None):
        raise typer.BadParameter("--sample cannot be combined with --types, --flagged or --limit")
    if times and sample is None:
        raise typer.BadParameter("--times requires --sample")
    home = open_home()
    values = {
        "model": model,
        "base_url": base_url,
        "concurrency": concurrency,
        "max_tokens": max_tokens,
        "timeout": timeout,
        "repeats": times or 0,
        "temperature": temperature if temperature is not None else TEMPERATURE * bool(times),
        "budget": {"money": budget, "calls": max_calls},
        "selection": {
            "types": tuple(name.strip() for name in types.split(",") if name.strip()),
            "status": None if status == ANY else status,
            "flagged": flagged,
            "limit": limit,
        },
    }
    if dry_run:
        found = cost_of_judging(home, values, prompt=prompt, sample=sample, called=as_option)
        show(cost_facts(found), as_json, *_estimate(found))
        return
    run = store_judging(home, values, prompt=prompt, sample=sample, called=as_option)
    result = carry_out_run(*home, run)
    asked = counted(result["done"], "variant")
    if times:
        asked = f"variants {result['done']:,} times (these answers do not count as opinions)"
    show(
        result,
        as_json,
        f"{result['reviewer']} has judged {asked}; {counted(result['failed'], 'call')} failed. "
        f"{counted(result['calls'], 'request')} cost {spent_by(result)}. "
        f"{in_words(result.get('removed', {}))}".rstrip(),
    )


def _estimate(found: RunEstimate) -> list[str]:
    lines = [
        f"Would ask about {counted(found.total_calls, 'variant')} of "
        f"{counted(found.anchors, 'anchor')}."
    ]
    if found.cost is None or found.seconds is None:
        lines.append(
            "The cost is not known yet. To get an estimate, first ask about a few variants with "
            "--limit."
        )
    else:
        lines.append(
            f"Estimate from {counted(found.based_on, 'earlier answer')}: {dollars(found.cost)}, "
            f"about {found.seconds / 60:.1f} minutes."
        )
    return lines
