"""Ask chat models for opinions on variants; measure them on a blind sample."""

from typing import Annotated

import typer

from cli.options import (
    BaseUrl,
    CallCap,
    Concurrency,
    MaxTokens,
    ModelName,
    MoneyCap,
    Timeout,
    as_option,
    asked_by,
    open_home,
    reviewer_id,
)
from cli.review import ReviewerName
from cli.runs import carry_out_run
from cli.terminal import LARGEST_NUMBER, AsJson, DryRun, show, table_of
from curation.formatting import counted
from curation.generation.estimate import RunEstimate
from curation.generation.judging.opinion_request import MAX_REPEATS
from curation.generation.judging.opinion_run import JUDGE_VARIANTS
from curation.generation.prices import dollars, spent_by
from curation.generation.run_report import in_words
from curation.review.calibration.consistency import TEMPERATURE
from curation.review.calibration.figures import PRECISION, accept_trusted, count_trusted, trust
from curation.review.calibration.sample import (
    MAX_SAMPLE,
    SampleRequest,
    address_name,
    pick_sample,
    store_sample,
)
from curation.validation import checked
from db.engine import reading, writing
from db.models import Status
from hedgerow.generation import cost_facts, cost_of_judging, judge_request_of
from hedgerow.home import acting

# -- Ask a chat model for its opinion on variants --------------------------------------------------


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
    request = judge_request_of(
        home, values, prompt=prompt, sample=sample, called=as_option, dry_run=dry_run
    )
    if dry_run:
        found = cost_of_judging(home, request)
        show(cost_facts(found), as_json, *_estimate(found))
        return
    result = carry_out_run(*home, JUDGE_VARIANTS.perform(acting(home), request).id)
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


# -- calibration -----------------------------------------------------------------------------------


TypeNames = Annotated[str, typer.Option(help="Variant types, such as 'verbal,word'. Default: all.")]


def draw(
    size: Annotated[
        int,
        typer.Option(
            min=1, max=MAX_SAMPLE, help="Number of variants per type, or in total with --in-all."
        ),
    ] = 100,
    in_all: Annotated[
        bool, typer.Option("--in-all", help="The size is the total of all types.")
    ] = False,
    types: TypeNames = "",
    judge: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Only variants with an opinion of this model. Repeat for several models.",
        ),
    ] = None,
    seed: Annotated[
        int,
        typer.Option(min=0, max=LARGEST_NUMBER, help="A different seed gives a different sample."),
    ] = 0,
    as_json: AsJson = False,
) -> None:
    """Create a random sample of variants that no person has decided on, for a blind review."""
    values = {
        "size": size,
        "each_type": not in_all,
        "types": names(types),
        "judges": tuple(judge or ()),
        "seed": seed,
    }
    request = checked(SampleRequest, values, called=as_option)
    settings, engine = open_home()
    with reading(engine) as session:
        uids = pick_sample(session, request)
    with writing(engine) as session:
        author = asked_by(session, settings)
        sample = store_sample(session, request, uids, requested_by=author)
    address = f"review?selection={address_name(sample.id)}"
    show(
        {"sample": sample.id, "variants": list(sample.uids), "address": address},
        as_json,
        f"Sample {sample.id} has {counted(len(sample.uids), 'variant')}. To decide on them "
        f"blind, open {address} in the app, or follow the link under Generate > Judges.",
        f"To ask a model, run 'hedgerow review judge --sample {sample.id} --model NAME'. "
        f"To see the results, run 'hedgerow review calibration show {sample.id}'.",
    )


def names(types: str) -> tuple[str, ...]:
    """The types in a comma-separated option."""
    return tuple(name.strip() for name in types.split(",") if name.strip())


def apply(
    judge: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="The model, as 'hedgerow review calibration show' names it."
        ),
    ],
    sample: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, max=LARGEST_NUMBER, help="The sample. Default: the newest."
        ),
    ] = None,
    types: Annotated[
        str, typer.Option(help="Only these types. Default: all types that qualify.")
    ] = "",
    precision: Annotated[
        float,
        typer.Option(
            min=0.5, max=1, help="Minimum share of the model's 'accept' verdicts that are right."
        ),
    ] = PRECISION,
    reviewer: ReviewerName = "",
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Accept the pending variants that a trusted model accepts, of the types that qualify.

    One undo takes this back. Releases list these variants as accepted by a rule.
    """
    settings, engine = open_home()
    action = None
    with reading(engine) if dry_run else writing(engine) as session:
        found = trust(session, judge, sample=sample, types=names(types), precision=precision)
        who = 0 if dry_run else reviewer_id(session, settings, reviewer)
        by_type = count_trusted(session, found)
    if not dry_run:
        (by_type, _), action = accept_trusted(engine, found, reviewer_id=who)
    total = sum(by_type.values())
    verb = "Would accept" if dry_run else "Accepted"
    show(
        {
            "rule": found.rule.text,
            "types": list(found.types),
            "why": found.why,
            "dry_run": dry_run,
            "variants": total,
            "by_type": by_type,
            "action": action,
        },
        as_json,
        f"{verb} {counted(total, 'variant')} ({found.rule.text}). {found.why}",
        *([table_of("type", "variants", rows=sorted(by_type.items()))] if by_type else []),
    )
