"""Measure variants that have not been measured yet."""

from typing import Annotated

import typer

from cli.shared.home import this_project
from cli.shared.run_facts import sentences
from cli.shared.terminal import AsJson, show
from curation.diagnostics.measuring import KIND
from curation.encoders.model_folders import DEFAULT_ENCODER
from curation.encoders.plugged_in import LOADERS


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
    """Measure every variant that has not been measured yet."""
    result = this_project().diagnose(encoder=encoder)
    show(result, as_json, *sentences(KIND, result))
