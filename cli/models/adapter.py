"""Writing what a training changed as an adapter."""

from pathlib import Path
from typing import Annotated, Any

import typer

from cli.shared.home import open_home
from cli.shared.terminal import LARGEST_NUMBER, MAX_DIGITS, AsJson, show
from db.engine import reading
from hedgerow.runs.progress import progress_bar
from training.hub.adapter_export import LARGEST, Written, source_in, source_of, write_adapter


def adapter(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="New.")],
    model: Annotated[
        str,
        typer.Option(
            metavar="RUN",
            help="A training's number, or the folder of a model that was trained from the built-in "
            "encoder.",
        ),
    ],
    rank: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            max=LARGEST_NUMBER,
            help="Of the change of each layer; otherwise the training's own with LoRA, else the "
            f"largest that fits into {LARGEST // 1_000_000} MB.",
        ),
    ] = None,
    figures: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="For the card: lines as 'hedgerow benchmark --json' prints them, of the base "
            "and of the adapter.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write what a training changed as a small LoRA adapter of the base encoder.
    Hedgerow and peft read it; use its folder wherever a model is chosen.
    """
    with progress_bar() as report:
        report(0, 0, "Finding out what the training changed.")
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
        f"{written.rank} it holds {written.share:.1%} of the change of all weights, and "
        f"{written.share_of_layers:.1%} of that of the {written.layers} linear layers."
    )
