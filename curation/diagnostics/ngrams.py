"""N-grams: which runs of one to three words the texts have."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

LONGEST = 3
"""Words of an n-gram."""

FEWEST = 5
"""Texts that an n-gram must be in; rarer ones say nothing about others."""

MOST = 100_000
"""The most frequent n-grams are used; more cost memory and add hardly anything."""

_WORD_CHARACTERS = 40
"""Longer words are cut: they would not fit where an n-gram is shown."""

_WORD = re.compile(r"\w+(?:'\w+)*")


def words(text: str) -> list[str]:
    """The words of a text in lower case, contractions as one word."""
    found = _WORD.findall(text.lower().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'"))
    return [word[:_WORD_CHARACTERS] for word in found]


def ngrams(text: str) -> list[str]:
    """The n-grams of one to three words of a text, in their order, shorter ones first."""
    found = words(text)
    return [ngram for length in range(1, LONGEST + 1) for ngram in _of_length(found, length)]


def frequent(texts: Sequence[str]) -> list[str]:
    """The n-grams that at least `FEWEST` texts have, at most `MOST`; shorter ones come first.

    Longer ones are counted only where their parts are frequent, so that memory holds few of the
    millions that occur once.
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
    """Which of the n-grams each text has.

    Returns:
        A sparse matrix of 0 and 1: a row a text, a column an n-gram.
    """
    from sklearn.feature_extraction.text import CountVectorizer  # noqa: PLC0415

    vectorizer = CountVectorizer(
        analyzer=ngrams, vocabulary=vocabulary, binary=True, dtype=np.float32
    )
    return vectorizer.transform(texts)


def _of_length(found: Sequence[str], length: int) -> list[str]:
    return [" ".join(found[at : at + length]) for at in range(len(found) - length + 1)]
