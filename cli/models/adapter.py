"""Writing the changes of a training run as an adapter."""

from pathlib import Path
from typing import Annotated, Any

import typer

from cli.shared.home import open_home
from cli.shared.terminal import LARGEST_NUMBER, MAX_DIGITS, AsJson, show
from db.engine import reading
from hedgerow.runs.progress import progress_bar
from training.hub.adapter_export import LARGEST, Written, source_in, source_of, write_adapter


def adapter(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A new folder for the adapter.")],
    model: Annotated[
        str,
        typer.Option(
            metavar="RUN",
            help="The number of a training run, or the folder of a model trained from the "
            "built-in encoder.",
        ),
    ],
    rank: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            max=LARGEST_NUMBER,
            help="Rank of the change of each layer. Default: the run's LoRA rank, or the "
            f"largest that fits into {LARGEST // 1_000_000} MB.",
        ),
    ] = None,
    figures: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Results for the card: lines from 'hedgerow benchmark --json' for the base and "
            "the adapter.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write the changes of a training run as a small LoRA adapter of the base encoder.
    Hedgerow and peft can load it. Use its folder wherever you choose a model.
    """
    with progress_bar() as report:
        report(0, 0, "Comparing the weights.")
        if model.isascii() and model.isdecimal() and len(model) <= MAX_DIGITS:
            settings, engine = open_home()
            with reading(engine) as session:
                source = source_of(session, settings, int(model))
                written = write_adapter(source, folder, rank=rank, figures=figures)
        else:
            written = write_adapter(source_in(model), folder, rank=rank, figures=figures)
    show(_facts(written), as_json, _in_words(written))


def _facts(written: Written) -> dict[str, Any]:
    return written._asdict() | {"folder": str(written.folder)}


def _in_words(written: Written) -> str:
    return (
        f"The adapter is in {written.folder} ({written.size / 1e6:.1f} MB). At rank "
        f"{written.rank} it contains {written.share:.1%} of the change of all weights, and "
        f"{written.share_of_layers:.1%} of the change of the {written.layers} linear layers."
    )
