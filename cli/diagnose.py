"""Measuring what is not measured yet."""

from typing import Annotated

import typer

from cli.shared.home import open_home
from cli.shared.run_facts import sentences
from cli.shared.run_here import carry_out_run
from cli.shared.terminal import AsJson, show
from curation.diagnostics.measuring import KIND
from curation.encoders.model_folders import DEFAULT_ENCODER
from curation.encoders.plugged_in import LOADERS
from curation.encoders.registered import encoder_name
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import RunState
from db.runs import ensure_run


def diagnose(
    encoder: Annotated[
        str,
        typer.Option(
            help=f"{', '.join((DEFAULT_ENCODER, *LOADERS.names()))}, a folder or a name on the "
            "model hub."
        ),
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Measure every variant that is not measured yet."""
    settings, engine = open_home()
    with reading(engine) as session:
        name = encoder_name(session, settings, encoder) if encoder else ""
    parameters = {"encoder": name} if name else {}
    with writing(engine) as session:
        run = ensure_run(session, kind=KIND, parameters=parameters).run  # one may wait already
    if run.state == RunState.RUNNING:
        raise HedgerowError(
            f"Run {run.id} is measuring at present (process {run.pid} on {run.host}); wait for it, "
            f"or cancel it with 'hedgerow runs cancel {run.id}'."
        )
    result = carry_out_run(settings, engine, run.id)
    show(result, as_json, *sentences(KIND, result))
