"""Create a blind random sample to measure models, and accept what a trusted model accepts."""

from typing import Annotated

import typer

from cli.review.decision import ReviewerName
from cli.shared.home import asked_by, open_home, reviewer_id
from cli.shared.options import as_option
from cli.shared.tables import table_of
from cli.shared.terminal import LARGEST_NUMBER, AsJson, DryRun, show
from curation.plurals import counted
from curation.review.calibration.figures import PRECISION
from curation.review.calibration.sample import (
    MAX_SAMPLE,
    SampleRequest,
    address_name,
    pick_sample,
    store_sample,
)
from curation.review.calibration.trusting import accept_trusted, count_trusted, trust
from curation.validation import checked
from db.engine import reading, writing

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
        if dry_run:
            by_type = count_trusted(session, found)
        else:
            who = reviewer_id(session, settings, reviewer)
            matches, action = accept_trusted(session, found, reviewer_id=who)
            by_type = matches.by_type
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
