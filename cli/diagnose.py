"""Measuring what is not measured yet."""

from typing import Annotated

import typer

from cli.shared.home import open_home
from cli.shared.run_facts import sentences
from cli.shared.run_here import carry_out_run, new_run
from cli.shared.terminal import AsJson, show
from curation.diagnostics.measuring import KIND
from curation.encoders.loading import DEFAULT_ENCODER
from curation.encoders.registered import encoder_name
from db.engine import reading
from db.errors import HedgerowError
from db.models import RunState
from db.runs import list_runs


def diagnose(
    encoder: Annotated[
        str, typer.Option(help=f"'{DEFAULT_ENCODER}', a folder or a name on the model hub.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Measure every variant that is not measured yet."""
    settings, engine = open_home()
    with reading(engine) as session:
        name = encoder_name(session, settings, encoder) if encoder else ""
        at_work = [r for r in list_runs(session, kind=KIND) if r.state == RunState.RUNNING]
    parameters = {"encoder": name} if name else {}
    if other := next((run for run in at_work if run.parameters == parameters), None):
        raise HedgerowError(
            f"Run {other.id} is measuring at present (process {other.pid} on {other.host}); wait "
            "for it, or cancel it in the app."
        )
    run = new_run(engine, KIND, parameters)
    result = carry_out_run(settings, engine, run.id)
    show(result, as_json, *sentences(KIND, result))
