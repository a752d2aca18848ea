"""Causal language models on this machine, scored by the likelihood of each answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np

from curation.encoders.bare_transformers import BareTransformer, load_transformer
from training.benchmarks.scorers.interface import Progress
from training.benchmarks.scorers.prompted.answer_tokens import AnswerTokens
from training.benchmarks.scorers.prompted.interface import Prompted
from training.benchmarks.scorers.prompted.likelihoods import Likelihoods
from training.benchmarks.scorers.prompted.wording import Wording, installed

GRID = tuple(round(number / 10, 1) for number in range(-10, 11))
"""The similarities that a model can choose, as answers with one decimal: '-1.0' to '1.0'."""


class Causal(Prompted):
    """Compares the likelihoods of the possible answers.

    The model generates no text, so every answer is usable. A candidate's score is the mean log
    probability of its number over all orders, normalised over the possible numbers. A preference
    for the first position is the same for every candidate and cancels out. A similarity is the mean
    of `GRID`, weighted by the model's probabilities for these numbers. No answer is the beginning
    of another one, so longer answers are not at a disadvantage.

    A prompt is formatted with the chat template if the tokenizer has one. A prompt that is too long
    for the model has no answer.

    Attributes:
        wording: the prompts.
    """

    architecture = "causal-lm"

    def __init__(self, loaded: BareTransformer) -> None:
        self.model, self.tokenizer = loaded
        self.wording: Wording = installed()
        self._tokens = AnswerTokens(self.tokenizer, self.model)
        self._likelihoods = Likelihoods(self.model)

    @classmethod
    def load(cls, name: str) -> Self:
        """The model of this name; an adapter is merged into its base."""
        return cls(load_transformer(name, "AutoModelForCausalLM"))

    def rated(self, prompts: Sequence[str], *, on_progress: Progress | None = None) -> np.ndarray:
        """The expected similarity.

        Raises:
            HedgerowError: the chat template can't be used, or the model's weights are damaged.
        """
        found = self._logarithms(prompts, [f"{number:.1f}" for number in GRID], on_progress)
        rated: np.ndarray = np.exp(_shares(found)) @ np.array(GRID)
        return rated

    def chosen(
        self, prompts: Sequence[str], choices: int, *, on_progress: Progress | None = None
    ) -> np.ndarray:
        """The log probability of each number, normalised over the possible numbers.

        Raises:
            HedgerowError: as in `rated`.
        """
        names = [str(number) for number in range(1, choices + 1)]
        return _shares(self._logarithms(prompts, names, on_progress))

    def _logarithms(
        self, prompts: Sequence[str], answers: Sequence[str], on_progress: Progress | None
    ) -> np.ndarray:
        """The log probability of each answer after each prompt, shape (prompts, answers)."""
        asked = self._tokens.asked(prompts, answers)
        spelled = self._likelihoods.of(asked, on_progress=on_progress)
        found = np.full((len(prompts), len(answers)), np.nan)
        for row, (one, values) in enumerate(zip(asked, spelled, strict=True)):
            if values is not None:
                found[row] = [np.logaddexp.reduce(values[list(way)]) for way in one.answers.ways]
        return found


def _shares(logarithms: np.ndarray) -> np.ndarray:
    """The log probabilities of each row, normalised to a sum of 1."""
    with np.errstate(invalid="ignore"):  # rows without an answer are NaN
        shares: np.ndarray = logarithms - np.logaddexp.reduce(logarithms, axis=1, keepdims=True)
    return shares
