"""SemAntoNeg-style questions (*It Is Not Easy To Detect Paraphrases*) from families.

A sentence has four forms: itself, its negation, its opposite, and both at once. Each form is the
input of a question. Of the other three, the one with both changes is its paraphrase.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from hedgerow.losses.families import Family

NEGATION, ANTONYM, BOTH = "verbal", "lexical", "negated_antonym"
"""The variant types that provide the three other forms of an anchor."""


class Forms(NamedTuple):
    """The four forms of a sentence.

    Attributes:
        negation: the original with its negator removed, or with one added.
        antonym: the original with a word replaced by its antonym.
        both: both changes at once, which say the same as the original.
    """

    original: str
    negation: str
    antonym: str
    both: str


class CandidateQuestion(NamedTuple):
    """An input, its paraphrase, and the two candidates that say the opposite."""

    input: str
    right: str
    wrong: tuple[str, str]


def forms_of(families: Iterable[Family]) -> list[Forms]:
    """The forms of each family that has four different ones. The first variant of a type is
    used."""
    found = []
    for anchor, *variants in families:
        texts: dict[str, str] = {}
        for member in variants:
            texts.setdefault(member.type_id, member.text)
        if {NEGATION, ANTONYM, BOTH} <= texts.keys():
            forms = Forms(anchor.text, texts[NEGATION], texts[ANTONYM], texts[BOTH])
            if len(set(forms)) == len(forms):
                found.append(forms)
    return found


def questions(families: Iterable[Family]) -> list[CandidateQuestion]:
    """Four questions for each family with all four forms."""
    found = []
    for original, negation, antonym, both in forms_of(families):
        affirmed, denied = (original, both), (negation, antonym)
        for (first, second), wrong in ((affirmed, denied), (denied, affirmed)):
            found += [
                CandidateQuestion(first, second, wrong),
                CandidateQuestion(second, first, wrong),
            ]
    return found


def share_right(asked: Iterable[CandidateQuestion], embeddings: Mapping[str, np.ndarray]) -> float:
    """The share, in [0, 1], of questions whose paraphrase is the most similar. A tie counts as
    wrong.

    Args:
        asked: at least one question.
        embeddings: the embedding of each text, of length 1.
    """
    return float(
        np.mean(
            [
                embeddings[input_] @ embeddings[right]
                > max(embeddings[input_] @ embeddings[text] for text in wrong)
                for input_, right, wrong in asked
            ]
        )
    )
