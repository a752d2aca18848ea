"""The base class of scorers that send prompts to a language model."""

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from curation.generation.prompts import MeasuringName
from training.benchmarks.definition import Asks, Question
from training.benchmarks.scorers.interface import Pair, Progress, Scorer, distinct
from training.benchmarks.scorers.prompted.wording import (
    CHOICES,
    Wording,
    filled,
    installed,
    prompt_for,
)


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
        template = self.wording.template(name)
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


# -- orders ---------------------------------------------------------------------------------------
#
# Asking for a choice in several orders, which reveals position bias and cancels it out.
#
# Two candidates are shown in both orders, three in their rotations, so that each candidate is in
# each position once.


POINTS = 100.0

DECIMALS = 5
"""Precision of a candidate's score. Smaller differences are rounding errors of 32-bit numbers, and
equal scores in all orders must be a tie."""


def orders(candidates: int) -> list[tuple[int, ...]]:
    """The orders of this many candidates: their rotations."""
    places = tuple(range(candidates))
    return [places[start:] + places[:start] for start in places]


def choice_prompts(
    questions: Sequence[Question], name: MeasuringName, wording: Wording
) -> list[str]:
    """The prompts of all questions, with all orders of a question in a row."""
    template = wording.template(name).text
    return [
        filled(name, template, text, tuple(candidates[place] for place in order))
        for text, candidates in questions
        for order in orders(CHOICES[name])
    ]


def pair_prompts(pairs: Sequence[tuple[str, str]], wording: Wording) -> list[str]:
    """The prompts that ask how similar these sentences are."""
    template = wording.similarity.text
    return [filled("similarity", template, first, (second,)) for first, second in pairs]


def distinct_prompts(
    questions: Sequence[Question], *, asks: Asks, paraphrases: bool = False
) -> list[str]:
    """The distinct prompts for these questions, with the installed templates."""
    name = prompt_for(questions, asks=asks, paraphrases=paraphrases)
    if name == "similarity":
        pairs = [(text, other) for text, candidates in questions for other in candidates]
        return list(dict.fromkeys(pair_prompts(pairs, installed())))
    return list(dict.fromkeys(choice_prompts(questions, name, installed())))


class OrderBias(NamedTuple):
    """The position bias of a model's choices, in points.

    Attributes:
        first: share of the answers that name the first position. Without a preference, it is 50 for
            two positions, or 33 for three.
        changed: share of the questions whose chosen candidate differs between orders.
    """

    first: float
    changed: float


def combined(answers: np.ndarray, number: int) -> np.ndarray:
    """The mean score of each candidate over the orders of its question.

    Args:
        answers: the model's score for each position in each prompt, in the order of
            `choice_prompts`: shape (questions * orders, positions), with rows of NaN for missing
            answers.

    Returns:
        Shape (questions, candidates); NaN if one order has no answer.
    """
    found: np.ndarray = _by_candidate(answers, number).mean(axis=1)
    return found.round(DECIMALS)


def _by_candidate(answers: np.ndarray, number: int) -> np.ndarray:
    """The scores by candidate instead of position, shape (questions, orders, candidates)."""
    shown = answers.reshape(-1, number, number)
    found = np.empty_like(shown)
    for row, order in enumerate(orders(number)):
        found[:, row, list(order)] = shown[:, row]
    return found


def order_bias(answers: np.ndarray, number: int) -> OrderBias:
    """The position bias of these answers; NaN if nothing is answered."""
    given = np.isfinite(answers).all(axis=1)
    places = answers[given].argmax(axis=1)
    whole = given.reshape(-1, number).all(axis=1)
    picks = _by_candidate(answers, number)[whole].argmax(axis=2)
    changed = (picks != picks[:, :1]).any(axis=1)
    return OrderBias(_share(places == 0), _share(changed))


def _share(of: np.ndarray) -> float:
    return POINTS * float(of.mean()) if len(of) else math.nan
