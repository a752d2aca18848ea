"""Publishing a model or a release on the Hub."""

from typing import Annotated

import typer

from cli.shared.home import open_home
from cli.shared.run_here import carry_out_run
from cli.shared.terminal import LARGEST_NUMBER, AsJson, show
from db.errors import HedgerowError
from hedgerow.publishing import store_push
from training.hub.push_run import KIND, Subject
from training.runs.kinds import kind_of


def push_to_hub(
    run: Annotated[
        int | None,
        typer.Argument(
            metavar="ID", min=1, max=LARGEST_NUMBER, help="The training run whose model to publish."
        ),
    ] = None,
    *,
    repo: Annotated[
        str,
        typer.Option(
            metavar="OWNER/NAME", help="Repository on the Hub; created if it does not exist."
        ),
    ],
    release: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            max=LARGEST_NUMBER,
            help="Publish this release as a data set, instead of a model.",
        ),
    ] = None,
    private: Annotated[
        bool, typer.Option("--private/--public", help="Whether the repository is private.")
    ] = True,
    as_json: AsJson = False,
) -> None:
    """Publish a trained model, or a release, on the Hugging Face Hub.
    The access token comes from HF_TOKEN or 'hf auth login'. HF_ENDPOINT sets another hub.
    """
    if (run is None) == (release is None):
        found = "neither" if run is None else "both"
        raise HedgerowError(f"Expected a run's number or --release, found {found}; give one.")
    home = open_home()
    result = carry_out_run(*home, store_push(home, Subject(run, release), repo, private=private))
    show(result, as_json, kind_of(KIND).sum_up(result))
