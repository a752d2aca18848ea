"""Guessing the class of variants by their words: how often it succeeds, and by which words."""

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from curation.language.negators import find_negators
from curation.language.tokens import analyse

FOLDS = 5
"""Of the cross-validation; the variants of an anchor are all in the same one."""

GROUPED_BY = ("type", "source", "provider")
"""What there are scores by."""

EPOCHS = 10
"""Of the classifier; more do not guess better."""

TELLING = 15
"""N-grams that are kept for each class."""

ODDS = 2.0
"""A telling n-gram at least doubles the odds of its class; "of the" in a long type does not."""

SURPRISING = 4.0
"""Standard deviations; of the thousands of n-grams, chance alone makes some exceed three."""


class Record(NamedTuple):
    """A variant whose side is guessed, with what the scores are grouped by."""

    anchor: int
    type: str
    source: str
    provider: str
    text: str


class Score(NamedTuple):
    """How well the class of a group of variants is predicted.

    Attributes:
        name: of the type (its id), source or provider.
        records: variants in the group.
        accuracy: share of them that is predicted correctly, in [0, 1].
        chance: the accuracy of always predicting one class, in [0, 1]. For a source or a provider,
            the share of its most frequent class; for a type, whose variants are all of one class,
            the share of that class among all variants.
    """

    name: str
    records: int
    accuracy: float
    chance: float


class Ngram(NamedTuple):
    """An n-gram that predicts a class.

    Attributes:
        text: one to three words, in lower case, with a space between them.
        records: variants that have it, of all classes.
        share: of these, how many are of the class, in [0, 1].
        negator: whether it contains a negator.
    """

    text: str
    records: int
    share: float
    negator: bool


class Guess(NamedTuple):
    """What came of guessing the polarity or the type.

    Attributes:
        total: the score over all variants.
        by: scores by what they are grouped by: "type", "source" and "provider".
        telling: class → its most telling n-grams, the most telling first.
    """

    total: Score
    by: dict[str, list[Score]]
    telling: dict[str, list[Ngram]]


def guess(
    records: Sequence[Record],
    truth: Sequence[str],
    *,
    matrix: Any,
    vocabulary: Sequence[str],
    report: Callable[[int], None],
) -> Guess:
    """Predict the class of each record with a classifier that was not trained on its anchor.

    Args:
        truth: the class of each record.
        matrix: which n-grams each record has, as `ngrams.presence` gives it.
        vocabulary: the n-grams of the matrix' columns.
        report: called with the number of each fold, from 0, before it begins.
    """
    anchors = np.array([record.anchor for record in records])
    guessed = _cross_validated(matrix, np.array(truth), anchors, report)
    right = [one == other for one, other in zip(truth, guessed, strict=True)]
    return Guess(
        _score("", range(len(truth)), truth, right),
        _scores(records, truth, right),
        _telling(matrix, vocabulary, truth),
    )


def _cross_validated(
    matrix: Any, truth: np.ndarray, anchors: np.ndarray, report: Callable[[int], None]
) -> list[str]:
    """The class of each record as guessed by a classifier that has not seen its anchor."""
    from sklearn.linear_model import SGDClassifier  # noqa: PLC0415
    from sklearn.model_selection import GroupKFold  # noqa: PLC0415
    from sklearn.preprocessing import normalize  # noqa: PLC0415

    rows = normalize(matrix)
    guessed = np.empty_like(truth)
    for fold, (train, test) in enumerate(GroupKFold(FOLDS).split(rows, groups=anchors)):
        report(fold)
        if len(set(truth[train].tolist())) == 1:  # nothing to choose from
            guessed[test] = truth[train][0]
            continue
        classifier = SGDClassifier(
            loss="log_loss",
            alpha=3e-6,
            max_iter=EPOCHS,
            tol=None,
            class_weight="balanced",  # else it hardly ever names a rare type
            random_state=0,
        )
        guessed[test] = classifier.fit(rows[train], truth[train]).predict(rows[test])
    found: list[str] = guessed.tolist()
    return found


def _scores(
    records: Sequence[Record], truth: Sequence[str], right: Sequence[bool]
) -> dict[str, list[Score]]:
    """The scores by type, source and provider."""
    share = {name: truth.count(name) / len(truth) for name in set(truth)}
    by: dict[str, list[Score]] = {}
    for field in GROUPED_BY:
        names = [getattr(record, field) for record in records]
        order = sorted(range(len(names)), key=names.__getitem__)
        by[field] = []
        for name, group in groupby(order, key=names.__getitem__):
            places = list(group)
            chance = share[truth[places[0]]] if field == "type" else None
            by[field].append(_score(name, places, truth, right, chance))
    return by


def _score(
    name: str,
    places: Sequence[int],
    truth: Sequence[str],
    right: Sequence[bool],
    chance: float | None = None,
) -> Score:
    if chance is None:
        most = Counter(truth[place] for place in places).most_common(1)
        chance = most[0][1] / len(places)
    return Score(name, len(places), sum(right[place] for place in places) / len(places), chance)


def _telling(
    matrix: Any, vocabulary: Sequence[str], truth: Sequence[str]
) -> dict[str, list[Ngram]]:
    """Class → the n-grams that are most over-represented in it.

    Ranked by how many standard deviations more variants of the class have the n-gram than if it
    had nothing to do with the class; of equal ones the shorter comes first. Of n-grams that are
    parts of each other, the first is kept.
    """
    having = np.asarray(matrix.sum(axis=0)).ravel()
    classes = np.array(truth)
    found: dict[str, list[Ngram]] = {}
    for name in sorted(set(truth)):
        mine = classes == name
        base = mine.mean()
        kept: list[Ngram] = []
        found[name] = kept
        if base == 1:
            continue
        number = np.asarray(matrix[np.flatnonzero(mine)].sum(axis=0)).ravel()
        share = number / having
        surplus = (number - having * base) / np.sqrt(having * base * (1 - base))
        surplus[share * (1 - base) < ODDS * base * (1 - share)] = 0
        for at in np.argsort(-surplus, kind="stable"):
            if surplus[at] <= SURPRISING or len(kept) == TELLING:
                break
            text = vocabulary[at]
            if not any(_overlap(text, other.text) for other in kept):
                kept.append(Ngram(text, int(having[at]), float(share[at]), _negates(text)))
    return found


def _overlap(one: str, other: str) -> bool:
    """Whether one of the n-grams is a part of the other."""
    return f" {one} " in f" {other} " or f" {other} " in f" {one} "


def _negates(ngram: str) -> bool:
    return bool(find_negators(analyse(ngram)))
