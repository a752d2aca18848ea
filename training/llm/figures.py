"""The metrics of a language model during finetuning, read from the database."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from sqlalchemy.orm import Session

from curation.release.question_pairs import NO, YES
from db.models import Run
from training.finetune.curve_names import LOSS
from training.runs.curves import read_evaluations
from training.runs.figures import LossPoint, loss_curve

RIGHT = "right"
"""The share of evaluated questions whose correct answer is the more likely one, 0 to 1."""

RIGHT_OF: Mapping[str, str] = {YES: f"{RIGHT}:{YES}", NO: f"{RIGHT}:{NO}"}
"""The same for the questions with each correct answer: about negations (Yes), and about hedges and
paraphrases (No). A model that always gives the same answer has 1 in one and 0 in the other."""

HELD_OUT_LOSS = f"eval_{LOSS}"
"""The loss on these questions: the mean over the tokens of the answers."""

PACE = "tokens_per_second"
"""Tokens of questions and answers per second of training."""

NAMES: Mapping[str, str] = {
    RIGHT: "validation questions answered correctly",
    RIGHT_OF[YES]: "questions about negations (Yes)",
    RIGHT_OF[NO]: "questions about hedges and paraphrases (No)",
    HELD_OUT_LOSS: "loss on the validation questions",
}
"""The labels of the metrics, in the order of tables."""


class Evaluation(NamedTuple):
    """The metrics at one evaluation.

    Attributes:
        epoch: the number of passes over the pairs; 0 before the first step.
        step: the number of training steps.
        figures: the metrics by their names in `NAMES`.
    """

    epoch: float
    step: int
    figures: dict[str, float]


class Course(NamedTuple):
    """The metrics of a run so far: the training loss by step, and the evaluations."""

    losses: list[LossPoint]
    evaluations: list[Evaluation]


SHORT: Mapping[str, str] = {
    RIGHT: "All",
    RIGHT_OF[YES]: "Negations",
    RIGHT_OF[NO]: "Hedges",
    HELD_OUT_LOSS: "Loss",
}
"""Short labels for table headers and legends."""

SHARES = (RIGHT, *RIGHT_OF.values())
"""The metrics that are shown as percentages."""


def evaluations_of(session: Session, run: Run) -> list[Evaluation]:
    """All evaluations of a run, in order."""
    found = read_evaluations(session, run.id)
    if found is None:
        return []
    return [
        Evaluation(
            epoch,
            step,
            {
                name: found.figures[name][step]
                for name in NAMES
                if step in found.figures.get(name, {})
            },
        )
        for step, epoch in sorted(found.epochs.items())
    ]


def course_of(session: Session, run: Run) -> Course:
    """The curves of a run."""
    return Course(loss_curve(session, run), evaluations_of(session, run))
