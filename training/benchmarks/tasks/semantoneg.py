"""SemAntoNeg: which of three sentences with negations and antonyms is the paraphrase?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np

from curation.content_uids import words_of
from training.benchmarks.data.file_reading import FileRecord, at_least_one, records, source_or_hub
from training.benchmarks.definition import (
    Benchmark,
    ItemResult,
    PartMark,
    Question,
    above,
    answered,
)

CANDIDATES = 3
CHANGES = ("antonym", "negation", "both")
"""What the candidates change, by label (Figure 2). The right one changes both."""

ARTICLES = frozenset({"a", "an", "the"})

TIED, UNANSWERED = "tied", "unanswered"

ANTONYMS = "antonyms"
"""The breakdown by the two adjectives of an item."""


class Entry(NamedTuple):
    """An input and its candidates in the order of `CHANGES`.

    Attributes:
        label: the label of the candidate that says the same as the input.
    """

    key: str
    input: str
    sentences: tuple[str, str, str]
    label: int = 2


class SemAntoNeg(Benchmark[Entry]):
    """The right candidate is the most similar one."""

    id = "semantoneg"
    title = "SemAntoNeg"
    measures = (
        "Is a sentence closer to its paraphrase than to its negation and to a version with an "
        "antonym?"
    )
    paper = "Vahtola et al., It Is Not Easy To Detect Paraphrases (BlackboxNLP 2022)"
    metric = "accuracy"
    chance = 100.0 / CANDIDATES
    paraphrases = True
    outcomes = (*CHANGES, TIED, UNANSWERED)
    published_items = 3152
    expects = "SemAntoNeg as JSON Lines with input, sentences (three) and label"

    @classmethod
    def read(cls, source: Path | str = "") -> Self:
        """The entries of a file in the published format."""
        place = source_or_hub(
            source,
            hub=cls.hub,
            title=cls.title,
            address="https://github.com/Helsinki-NLP/SemAntoNeg",
        )
        entries = [_entry(n, r) for n, r in enumerate(records(place, expects=cls.expects))]
        return cls(at_least_one(entries, place, expects=cls.expects))

    def asked(self, item: Entry) -> list[Question]:
        """The input with all three candidates."""
        return [Question(item.input, item.sentences)]

    def judged(self, number: int, item: Entry, scores: Sequence[np.ndarray]) -> ItemResult:
        """The candidate that the model picks."""
        given = scores[0]
        right, tied = above(given[[item.label]], np.delete(given, item.label))
        whole = answered(scores)
        pair = antonyms(item)
        # Two equal wrong candidates at the top are not a tie: the item is wrong either way.
        pick = CHANGES[int(np.argmax(given))] if whole else UNANSWERED
        return ItemResult(
            key=item.key,
            outcome=TIED if tied else pick,
            right=right,
            tied=tied,
            answered=whole,
            scores=tuple(map(float, given)),
            group="\n".join(sorted((item.input, *item.sentences))),
            marks=(PartMark(ANTONYMS, pair, right),) if pair else (),
            texts={"input": item.input, **dict(zip(CHANGES, item.sentences, strict=True))},
        )


def antonyms(entry: Entry) -> str:
    """The two adjectives in alphabetical order: the difference between the input and its opposite;
    or ''."""
    return differing_words(entry.input, entry.sentences[0])


def differing_words(first: str, second: str) -> str:
    """The only word in which two sentences differ, in both of them, as 'cold / hot'; or ''."""
    # The article depends on the adjective ("an evil idea", "a good idea").
    one, other = (
        [word for word in words_of(text) if word not in ARTICLES] for text in (first, second)
    )
    while one and other and one[0] == other[0]:
        one, other = one[1:], other[1:]
    while one and other and one[-1] == other[-1]:
        one, other = one[:-1], other[:-1]
    return " / ".join(sorted((one[0], other[0]))) if len(one) == len(other) == 1 else ""


def _entry(number: int, record: FileRecord) -> Entry:
    sentences = record.value("sentences")
    if not (
        isinstance(sentences, list)
        and len(sentences) == CANDIDATES
        and all(isinstance(text, str) and text.strip() for text in sentences)
    ):
        raise record.wrong("three texts in 'sentences'", sentences)
    label = record.number("label")
    if label not in range(CANDIDATES):
        raise record.wrong("0, 1 or 2 in 'label'", record.value("label"))
    first, second, third = (text.strip() for text in sentences)
    return Entry(
        record.key("idx", number), record.text("input"), (first, second, third), int(label)
    )
