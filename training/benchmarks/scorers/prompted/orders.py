"""Asking for a choice in several orders, which reveals position bias and cancels it out.

Two candidates are shown in both orders, three in their rotations, so that each candidate is in each
position once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from curation.generation.prompts import MeasuringName
from training.benchmarks.definition import Asks, Question
from training.benchmarks.scorers.prompted.wording import (
    CHOICES,
    Wording,
    filled,
    installed,
    prompt_for,
)

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
    template = wording.of(name).text
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
    questions: Sequence[Question],
    *,
    asks: Asks,
    paraphrases: bool = False,
    wording: Wording | None = None,
) -> list[str]:
    """The distinct prompts for these questions."""
    wording = wording or installed()
    name = prompt_for(questions, asks=asks, paraphrases=paraphrases)
    if name == "similarity":
        pairs = [(text, other) for text, candidates in questions for other in candidates]
        return list(dict.fromkeys(pair_prompts(pairs, wording)))
    return list(dict.fromkeys(choice_prompts(questions, name, wording)))


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
