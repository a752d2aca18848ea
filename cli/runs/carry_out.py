"""Carrying out a stored run by its id."""

from typing import Annotated

import typer

from cli.shared.home import open_home
from cli.shared.run_facts import sentences
from cli.shared.run_here import carry_out_run
from cli.shared.terminal import LARGEST_NUMBER, AsJson, RunId, show
from curation.generation.choices import raise_budget
from curation.generation.duplicates import check_alone
from curation.generation.request import KIND as GENERATE
from db.engine import reading, writing
from db.runs import get_run


def carry_out(
    run_id: RunId,
    budget: Annotated[
        float | None,
        typer.Option(metavar="USD", help="New spending limit of a run that uses a paid model."),
    ] = None,
    max_calls: Annotated[
        int | None,
        typer.Option(min=1, max=LARGEST_NUMBER, help="New limit on the number of calls."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Carry out a stored run in this process."""
    settings, engine = open_home()
    if budget is not None or max_calls is not None:
        with writing(engine) as session:
            raise_budget(session, run_id, money=budget, calls=max_calls)
    with reading(engine) as session:
        kind = get_run(session, run_id).kind
        if kind == GENERATE:
            check_alone(session, run_id)
    result = carry_out_run(settings, engine, run_id)
    show(result, as_json, *sentences(kind, result))
