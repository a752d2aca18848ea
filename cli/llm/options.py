"""The options that the commands about language models share."""

from typing import Annotated

import typer

from curation.release.question_pairs import Arm

ArmName = Annotated[
    Arm,
    typer.Option(
        help="Variants for the questions: all, those of the paper's six types, or, for an "
        "ablation, only negations or only hedges."
    ),
]
