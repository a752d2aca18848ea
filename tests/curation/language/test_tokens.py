"""Words, stems, and the alignment of a variant with its anchor."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from curation.language.tokens import Analysis, align, is_content, lemma, related, stem, tokenize


def words(text: str) -> list[str]:
    return [token.word for token in tokenize(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It isn't", ["it", "is", "not"]),
        ("I can't, won't, shan't", ["i", "can", "not", ",", "will", "not", ",", "shall", "not"]),
        ("She cannot; we’d go", ["she", "can", "not", ";", "we", "'d", "go"]),
        ("the dogs' non-flying plane's", ["the", "dogs", "non-flying", "plane", "'s"]),
        ("3.5% of “it”", ["3.5", "%", "of", "it"]),
    ],
)
def test_contractions_clitics_and_hyphens(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_offsets_point_at_the_original_characters() -> None:
    text = "We CANNOT say it isn’t."
    spans = {token.word: text[token.start : token.end] for token in tokenize(text)}
    assert spans["can"] == "CAN"
    assert spans["is"] == "is"
    assert [text[t.start : t.end] for t in tokenize(text) if t.word == "not"] == ["NOT", "n’t"]


@given(st.text(max_size=200))
def test_tokens_never_overlap_and_stay_inside_any_text(text: str) -> None:
    end = 0
    for token in tokenize(text):
        assert end <= token.start <= token.end <= len(text)
        assert token.word
        end = token.end


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("planted", "plant"),
        ("bought", "buy"),
        ("freezes", "frozen"),
        ("stopped", "stops"),
        ("agreed", "agree"),
        ("occupied", "occupy"),
        ("honoured", "honor"),
        ("recognised", "recognizes"),
        ("evenly", "even"),
        ("happily", "happy"),
    ],
)
def test_forms_and_spellings_of_a_word_share_their_stem(one: str, other: str) -> None:
    assert stem(one) == stem(other)


def test_a_lemma_keeps_adverbs_separate() -> None:
    assert lemma("likely") != lemma("like")
    assert lemma("looks") == lemma("looked") == lemma("look")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("relevant", "relevance"),
        ("rely", "reliable"),
        ("useful", "use"),
        ("insured", "insurance"),
        ("leafy", "leaves"),
        ("migratory", "migrate"),
        ("approve", "approval"),
    ],
)
def test_derived_words_are_related(one: str, other: str) -> None:
    assert related(one, other) and related(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [("harmful", "harmless"), ("happy", "unhappy"), ("import", "export"), ("warm", "cold")],
)
def test_opposites_are_not_related(one: str, other: str) -> None:
    assert not related(one, other)


def test_content_words() -> None:
    assert [w for w in words("The old ferry has not left it.") if is_content(w)] == [
        "old",
        "ferry",
        "left",
    ]


def test_alignment_prefers_the_end_because_hedges_come_first() -> None:
    anchor, variant = Analysis("I was lucky."), Analysis("I'm not sure, but I was lucky.")
    origin = align(anchor, variant)
    assert origin[-4:] == [0, 1, 2, 3]
    assert origin[:-4] == [None] * (len(origin) - 4)


def test_alignment_looks_through_inflection() -> None:
    anchor, variant = Analysis("She planted roses."), Analysis("She did not plant roses.")
    assert align(anchor, variant) == [0, None, None, 1, 2, 3]


def test_a_very_long_hostile_text_is_handled_in_linear_time() -> None:
    start = time.process_time()
    for text in ("'" * 50_000, "a-" * 50_000, "n't" * 50_000, "x" * 100_000):
        tokenize(text)
    assert time.process_time() - start < 2
