"""The base class of scorers that send prompts to a language model."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from training.benchmarks.definition import Asks, Question
from training.benchmarks.scorers.interface import Pair, Progress, Scorer, distinct
from training.benchmarks.scorers.prompted.orders import (
    choice_prompts,
    combined,
    order_bias,
    pair_prompts,
)
from training.benchmarks.scorers.prompted.wording import CHOICES, Wording, prompt_for


class Prompted(Scorer):
    """Asks a language model which text it chooses, or how similar two texts are.

    Attributes:
        wording: the prompts.
    """

    wording: Wording
    _report: dict[str, Any]

    @abstractmethod
    def rated(self, prompts: Sequence[str], *, on_progress: Progress | None = None) -> np.ndarray:
        """For each prompt a number from -1 to 1, shape (len(prompts),); NaN for no answer.

        Args:
            prompts: all different.
        """

    @abstractmethod
    def chosen(
        self, prompts: Sequence[str], choices: int, *, on_progress: Progress | None = None
    ) -> np.ndarray:
        """The scores of the positions in each prompt, shape (len(prompts), choices).

        Args:
            prompts: all different.

        Returns:
            Rows of NaN for prompts without an answer.
        """

    def score(
        self, pairs: Sequence[Pair], *, asks: Asks, on_progress: Progress | None = None
    ) -> np.ndarray:
        """The similarity of each pair as stated by the model, in [-1, 1]; NaN if it states none.

        Raises:
            HedgerowError, RunPaused: as in `rated`.
        """
        prompts = pair_prompts(pairs, self.wording)
        different, rows = distinct(prompts)
        found = self.rated(different, on_progress=on_progress)
        self._keep("similarity", found, orders=1)
        return found[rows]

    def answer(
        self, questions: Sequence[Question], *, asks: Asks, on_progress: Progress | None = None
    ) -> list[np.ndarray]:
        """For two documents, the mean score of each over both orders; otherwise as in `score`."""
        return self._answered(questions, asks=asks, paraphrases=False, on_progress=on_progress)

    def choose(
        self, questions: Sequence[Question], *, asks: Asks, on_progress: Progress | None = None
    ) -> list[np.ndarray]:
        """The same, and for three sentences the mean score of each over all rotations."""
        return self._answered(questions, asks=asks, paraphrases=True, on_progress=on_progress)

    def _answered(
        self,
        questions: Sequence[Question],
        *,
        asks: Asks,
        paraphrases: bool,
        on_progress: Progress | None,
    ) -> list[np.ndarray]:
        name = prompt_for(questions, asks=asks, paraphrases=paraphrases)
        if name == "similarity":
            return super().answer(questions, asks=asks, on_progress=on_progress)
        number = CHOICES[name]
        different, rows = distinct(choice_prompts(questions, name, self.wording))
        found = self.chosen(different, number, on_progress=on_progress)
        answers = found[rows]
        bias = order_bias(answers, number)
        self._keep(name, found[:, 0], orders=number)
        self._report |= {f"{key}_share": _number(value) for key, value in bias._asdict().items()}
        return list(combined(answers, number))

    def _keep(self, name: Any, found: np.ndarray, *, orders: int) -> None:
        template = self.wording.of(name)
        self._report = {
            "prompt": name,
            "version": template.version,
            "template": template.text,
            "orders": orders,
            "prompts": len(found),
            "unanswered": int(np.isnan(found).sum()),
        }

    def report(self) -> dict[str, Any]:
        """The prompt and its version, the number of orders, of prompts and of prompts without a
        usable answer, and for choices the `OrderBias`."""
        return dict(getattr(self, "_report", {}))


def _number(value: float) -> float | None:
    return None if math.isnan(value) else round(value, 4)
