"""Finetuning a language model at a provider: the estimate and the run."""

from typing import Annotated

import typer

from cli.llm.options import ArmName
from cli.shared.home import open_home
from cli.shared.options import BaseUrl, ModelName, as_option
from cli.shared.run_facts import sentences
from cli.shared.run_here import carry_out_run
from cli.shared.terminal import AsJson, DryRun, ReleaseNumber, show
from hedgerow.models.provider import plan_of, request_of, store_finetuning
from training.llm.provider.request import KIND, LARGEST_SEED, MOST_EPOCHS


def finetune_at_provider(
    model: ModelName = "",
    base_url: BaseUrl = "",
    number: ReleaseNumber = None,
    arm: ArmName = "both",
    epochs: Annotated[
        int | None,
        typer.Option(
            min=1, max=MOST_EPOCHS, help="Number of epochs. Default: the provider chooses."
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(min=0, max=LARGEST_SEED, help="Seed. Default: the provider chooses one."),
    ] = None,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Finetune a language model on a release's question pairs at a provider with OpenAI's API, and
    wait for it. After an interruption, 'hedgerow run ID' continues.
    """
    home = open_home()
    values = {"model": model, "base_url": base_url, "release": number, "arm": arm}
    request = request_of(values | {"epochs": epochs, "seed": seed}, called=as_option)
    if dry_run:
        found = plan_of(home, request)
        show(found.facts, as_json, *found.sentences())
        return
    result = carry_out_run(*home, store_finetuning(home, request))
    show(result, as_json, *sentences(KIND, result))
