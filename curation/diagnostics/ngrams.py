"""N-grams: sequences of one to three words in the texts."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

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
