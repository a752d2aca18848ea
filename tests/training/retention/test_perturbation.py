"""Slightly edited copies of sentences."""

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from curation.language.tokens import NEGATOR_WORDS
from training.retention.perturbation import FEWEST_WORDS, edited

SENTENCES = [
    "The old ferry crossed the bay before the fog came down on Tuesday.",
    "Nobody on the jury had not heard of the trial, they didn't say so.",
    "Two.",
    "",
]
WORDS = st.text(alphabet="abcdefg'", min_size=1, max_size=6)
TEXTS = st.lists(st.one_of(WORDS, st.sampled_from(["not", "no", "never", "isn't"]))).map(" ".join)


def negators(text: str) -> list[str]:
    return [
        word
        for word in text.lower().replace(",", "").split()
        if word in NEGATOR_WORDS or word.endswith("n't")
    ]


def test_a_sentence_has_copies_that_are_shorter_and_such_with_other_words() -> None:
    text = SENTENCES[0]
    copies = {edited(text, [SENTENCES[1]], random.Random(seed)) for seed in range(60)}
    own = set(text.split())
    assert len(copies) > 20
    assert any(set(copy.split()) < own and copy in text for copy in copies)
    assert any(set(copy.split()) < own and copy not in text for copy in copies)
    assert any(set(copy.split()) - own for copy in copies)


@settings(deadline=None, max_examples=200)
@given(text=TEXTS, other=TEXTS, seed=st.integers(0, 1000))
def test_no_edit_takes_or_brings_a_negator(text: str, other: str, seed: int) -> None:
    copy = edited(text, [other, SENTENCES[1]], random.Random(seed))
    assert negators(copy) == negators(text)
    assert copy == edited(text, [other, SENTENCES[1]], random.Random(seed))


def test_a_text_of_few_words_stays_unchanged() -> None:
    for text in SENTENCES[2:]:
        assert edited(text, SENTENCES, random.Random(0)) == text
    short = " ".join("abc"[:FEWEST_WORDS])
    assert edited(short, SENTENCES, random.Random(0)) == short
