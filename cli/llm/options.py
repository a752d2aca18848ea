"""The options that the commands about language models share."""

from typing import Annotated

import typer

from curation.release.question_pairs import Arm

ArmName = Annotated[
    Arm,
    typer.Option(
        help="Which variants are asked about: all, those of the paper's six types, or, for an "
        "ablation, only negations or only hedges."
    ),
]
