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
            a row of NaN where there is no answer.
        """

    def score(
        self, pairs: Sequence[Pair], *, asks: Asks, on_progress: Progress | None = None
    ) -> np.ndarray:
        """The similarity of each pair as the model states it, in [-1, 1]; NaN where it does not.

        Raises:
            HedgerowError, RunPaused: as `rated`.
        """
        prompts = pair_prompts(pairs, self.wording)
        different, rows = distinct(prompts)
        found = self.rated(different, on_progress=on_progress)
        self._keep("similarity", found, orders=1)
        return found[rows]

    def answer(
        self, questions: Sequence[Question], *, asks: Asks, on_progress: Progress | None = None
    ) -> list[np.ndarray]:
        """Of two documents what each got in both orders; else as in `score`."""
        return self._answered(questions, asks=asks, paraphrases=False, on_progress=on_progress)

    def choose(
        self, questions: Sequence[Question], *, asks: Asks, on_progress: Progress | None = None
    ) -> list[np.ndarray]:
        """The same, and of three sentences what each got in all rotations."""
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
        """The prompt and its version, in how many orders it was asked, how many prompts there were,
        how many of them got no usable answer, and of choices the `OrderBias`."""
        return dict(getattr(self, "_report", {}))


def _number(value: float) -> float | None:
    return None if math.isnan(value) else round(value, 4)
