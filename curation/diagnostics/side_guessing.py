"""Predicts the class of variants from their words: how often this succeeds, and by which words."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from curation.language.negation import find_negators
from curation.language.tokens import analyse

FOLDS = 5
"""Folds of the cross-validation. All variants of an anchor are in the same fold."""

GROUPED_BY = ("type", "source", "provider")
"""The groupings of the scores."""

EPOCHS = 10
"""Passes of the classifier; more do not improve its accuracy."""

TELLING = 15
"""N-grams stored for each class."""

ODDS = 2.0
"""A telling n-gram at least doubles the odds of its class.

This excludes "of the" in a wordy type.
"""

SURPRISING = 4.0
"""In standard deviations. With thousands of n-grams, chance alone makes some exceed three."""


class Record(NamedTuple):
    """A variant whose class is predicted, with the groups for its score."""

    anchor: int
    type: str
    source: str
    provider: str
    text: str


class Score(NamedTuple):
    """How well the class of a group of variants is predicted.

    Attributes:
        name: the type's id, the source or the provider.
        records: number of variants in the group.
        accuracy: share of them that is predicted correctly, in [0, 1].
        chance: accuracy of always predicting one class, in [0, 1]. For a source or a provider, the
            share of its most frequent class; for a type, whose variants all have one class, the
            share of that class among all variants.
    """

    name: str
    records: int
    accuracy: float
    chance: float


class Ngram(NamedTuple):
    """An n-gram that predicts a class.

    Attributes:
        text: one to three words, in lower case, separated by spaces.
        records: number of variants that contain it, of all classes.
        share: the share of these that have the class, in [0, 1].
        negator: whether it contains a negator.
    """

    text: str
    records: int
    share: float
    negator: bool


class Guess(NamedTuple):
    """The result of predicting the polarity or the type.

    Attributes:
        total: the score over all variants.
        by: scores by grouping: "type", "source" and "provider".
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
        matrix: which n-grams each record contains, from `ngrams.presence`.
        vocabulary: the n-gram of each column of the matrix.
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
    """Predict the class of each record with a classifier that has not seen its anchor."""
    from sklearn.linear_model import SGDClassifier  # noqa: PLC0415
    from sklearn.model_selection import GroupKFold  # noqa: PLC0415
    from sklearn.preprocessing import normalize  # noqa: PLC0415

    rows = normalize(matrix)
    guessed = np.empty_like(truth)
    for fold, (train, test) in enumerate(GroupKFold(FOLDS).split(rows, groups=anchors)):
        report(fold)
        if len(set(truth[train].tolist())) == 1:  # only one class
            guessed[test] = truth[train][0]
            continue
        classifier = SGDClassifier(
            loss="log_loss",
            alpha=3e-6,
            max_iter=EPOCHS,
            tol=None,
            class_weight="balanced",  # otherwise it hardly ever predicts a rare type
            random_state=0,
        )
        guessed[test] = classifier.fit(rows[train], truth[train]).predict(rows[test])
    return guessed.tolist()


def _scores(
    records: Sequence[Record], truth: Sequence[str], right: Sequence[bool]
) -> dict[str, list[Score]]:
    """Return the scores by type, source and provider."""
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
    """Return each class's most over-represented n-grams.

    They are ranked by z-score: how far the number of the class's variants with the n-gram exceeds
    its expectation under independence, in standard deviations. If scores are equal, the shorter
    n-gram comes first. If one n-gram is part of another, only the first is kept.
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
            padded = [f" {other.text} " for other in kept]
            if not any(f" {text} " in other or other in f" {text} " for other in padded):
                negates = bool(find_negators(analyse(text)))
                kept.append(Ngram(text, int(having[at]), float(share[at]), negates))
    return found


# -- N-grams: sequences of one to three words in the texts ----------------------------------------


LONGEST = 3
"""Maximum words in an n-gram."""

FEWEST = 5
"""Minimum texts that must contain an n-gram; rarer ones say nothing about other texts."""

MOST = 100_000
"""Only the most frequent n-grams are used; more cost memory and add hardly anything."""

_WORD_CHARACTERS = 40
"""Longer words are cut off, because they would not fit where n-grams are shown."""

_WORD = re.compile(r"\w+(?:'\w+)*")


def words(text: str) -> list[str]:
    """Return a text's words in lower case, with contractions as one word."""
    found = _WORD.findall(text.lower().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'"))
    return [word[:_WORD_CHARACTERS] for word in found]


def ngrams(text: str) -> list[str]:
    """Return a text's n-grams of one to three words in order, shorter ones first."""
    found = words(text)
    return [ngram for length in range(1, LONGEST + 1) for ngram in _of_length(found, length)]


def frequent(texts: Sequence[str]) -> list[str]:
    """Return the n-grams that at least `FEWEST` texts contain, at most `MOST`; shorter ones first.

    Longer n-grams are only counted if their parts are frequent, so that memory does not fill with
    the millions that occur once.
    """
    found: Counter[str] = Counter()
    parts: set[str] = set()
    for length in range(1, LONGEST + 1):
        counts: Counter[str] = Counter()
        for text in texts:
            of_text = words(text)
            known = [length == 1 or part in parts for part in _of_length(of_text, length - 1)]
            counts.update(
                {
                    ngram
                    for at, ngram in enumerate(_of_length(of_text, length))
                    if length == 1 or (known[at] and known[at + 1])
                }
            )
        kept = {ngram: number for ngram, number in counts.items() if number >= FEWEST}
        parts = set(kept)
        found.update(kept)
    used = (ngram for ngram, _ in found.most_common(MOST))
    return sorted(used, key=lambda ngram: (ngram.count(" "), ngram))


def presence(texts: Sequence[str], vocabulary: Sequence[str]) -> Any:
    """Mark which n-grams each text contains.

    Returns:
        A sparse matrix of 0 and 1 with a row per text and a column per n-gram.
    """
    from sklearn.feature_extraction.text import CountVectorizer  # noqa: PLC0415

    vectorizer = CountVectorizer(
        analyzer=ngrams, vocabulary=vocabulary, binary=True, dtype=np.float32
    )
    return vectorizer.transform(texts)


def _of_length(found: Sequence[str], length: int) -> list[str]:
    return [" ".join(found[at : at + length]) for at in range(len(found) - length + 1)]
