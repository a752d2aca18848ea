"""Asking a chat model for its opinion on variants."""

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
from curation.plurals import counted
from db.models import Status
from hedgerow.data.judging import cost_facts, cost_of_judging, store_judging

ANY = "any"


def judge(
    model: ModelName,
    base_url: BaseUrl = "",
    types: Annotated[
        str, typer.Option(help="Variant types, such as 'verbal,word'; otherwise all.")
    ] = "",
    status: Annotated[
        str, typer.Option(help=f"Of the variants; '{ANY}' for all but replaced wordings.")
    ] = Status.PENDING.value,
    flagged: Annotated[bool, typer.Option("--flagged", help="Only what is flagged.")] = False,
    limit: Annotated[
        int | None, typer.Option(min=1, max=LARGEST_NUMBER, help="A sample of so many.")
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
            help="Ask so often about each variant of the sample, to see whether the model says the "
            "same again; these answers are no opinions.",
        ),
    ] = None,
    temperature: Annotated[
        float | None,
        typer.Option(min=0, max=2, help=f"Otherwise 0, and with --times {TEMPERATURE}."),
    ] = None,
    prompt: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            max=LARGEST_NUMBER,
            help="Version of the prompt; otherwise the newest.",
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
    """Ask a chat model for its opinion on variants; people see it only if they ask.

    What it has judged already is left out. A run that was broken off is carried on by the same
    command, or by 'hedgerow run ID'.
    """
    if sample is not None and (types or flagged or limit is not None):
        raise typer.BadParameter(
            "a sample names its variants; leave out --types, --flagged and --limit"
        )
    if times and sample is None:
        raise typer.BadParameter("--times asks again about a sample; name it with --sample")
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
        show(cost_facts(found), as_json, *_told(found))
        return
    run = store_judging(home, values, prompt=prompt, sample=sample, called=as_option)
    result = carry_out_run(*home, run)
    asked = counted(result["done"], "variant")
    if times:
        asked = f"variants {result['done']:,} times, which are no opinions"
    show(
        result,
        as_json,
        f"{result['reviewer']} has judged {asked}; {counted(result['failed'], 'call')} failed. "
        f"{counted(result['calls'], 'request')} cost {spent_by(result)}.",
    )


def _told(found: RunEstimate) -> list[str]:
    lines = [
        f"Would ask about {counted(found.total_calls, 'variant')} of "
        f"{counted(found.anchors, 'anchor')}."
    ]
    if found.cost is None or found.seconds is None:
        lines.append(
            "What that costs is not known yet: ask for a few with --limit first, and look here "
            "again."
        )
    else:
        lines.append(
            f"Going by {counted(found.based_on, 'earlier answer')}: {dollars(found.cost)}, about "
            f"{found.seconds / 60:.1f} minutes."
        )
    return lines
