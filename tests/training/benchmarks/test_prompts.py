"""The prompts for language models, in versions, and how their answers are read."""

from __future__ import annotations

import hashlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Engine

from curation.generation.prompts import MEASURING, built_in, find_version, save_copy, seed_prompts
from db.engine import reading, writing
from db.errors import HedgerowError
from training.benchmarks.definition import Question
from training.benchmarks.scorers.prompted.chat import read_choice, read_score
from training.benchmarks.scorers.prompted.interface import (
    choice_prompts,
    combined,
    distinct_prompts,
    order_bias,
    orders,
)
from training.benchmarks.scorers.prompted.wording import (
    NEWEST_PROMPTS,
    PromptVersions,
    chosen_versions,
    filled,
    installed,
    letters_of_words,
    prompt_for,
    wording_of,
)


def test_the_papers_words() -> None:
    assert filled("relevance", installed().relevance.text, "q", ("doc 1", "doc 2")) == (
        "Document 1: doc 1\nDocument 2: doc 2\nQuery: q\n"
        "Which document is more relevant to the query? Please choose 1 or 2.\nAnswer:"
    )
    assert filled("similarity", installed().similarity.text, "one", ("two",)) == (
        "Determine the similarity between the following two sentences (S1, S2). The score should "
        "be ranging from -1.0 to 1.0, and can be a decimal.\nS1: one\nS2: two\nScore:"
    )


def test_the_installed_words_stay_as_stored_results_have_them() -> None:
    """Results with these prompts have no mark. New prompts need one (`scoring_of`)."""
    texts = "\n\n".join(built_in(name) for name in MEASURING)
    assert hashlib.sha256(texts.encode()).hexdigest()[:16] == "c7695296ae7a1a9d"
    assert installed().digest == "" and installed().edited == {}
    hostile = "Say {second} and {query} and {0} and %s."
    text = filled("relevance", installed().relevance.text, hostile, (hostile, "b"))
    assert text.count(hostile) == 2, "places in texts are text"


@given(st.lists(st.text(max_size=9), min_size=4, max_size=4))
def test_the_letters_of_a_prompt_are_those_of_its_words_and_texts(texts: list[str]) -> None:
    text, *candidates = texts
    for name, number in (("relevance", 2), ("paraphrase_choice", 3)):
        template = built_in(name)  # type: ignore[arg-type]
        shown = tuple(candidates[:number])
        whole = filled(name, template, text, shown)  # type: ignore[arg-type]
        words = letters_of_words(name, template)  # type: ignore[arg-type]
        assert len(whole) == words + len(text) + sum(map(len, shown))


def test_each_candidate_is_in_each_position_once() -> None:
    assert orders(2) == [(0, 1), (1, 0)]
    assert orders(3) == [(0, 1, 2), (1, 2, 0), (2, 0, 1)]
    prompts = choice_prompts([Question("q", ("a", "b", "c"))], "paraphrase_choice", installed())
    shown = [line for prompt in prompts for line in prompt.splitlines()[:3]]
    assert sorted(shown) == [f"Sentence {n}: {text}" for n in (1, 2, 3) for text in "abc"]


@given(st.lists(st.permutations(range(3)), min_size=1, max_size=6), st.data())
def test_the_score_of_a_candidate_does_not_depend_on_its_position(
    preferences: list[list[int]], data: st.DataObject
) -> None:
    """A model that adds a constant to each position gives the same ranking as without it."""
    import numpy as np

    places = data.draw(st.lists(st.floats(-5, 5), min_size=3, max_size=3))
    answers = [
        [preference[candidate] + places[place] for place, candidate in enumerate(order)]
        for preference in preferences
        for order in orders(3)
    ]
    found = combined(np.array(answers, dtype=float), 3)
    assert found.argsort(axis=1).tolist() == [
        np.argsort(preference).tolist() for preference in preferences
    ]
    fair = [[preference[c] for c in order] for preference in preferences for order in orders(3)]
    assert order_bias(np.array(fair, dtype=float), 3).changed == 0.0


def test_which_prompt_questions_are_put_with() -> None:
    two, three = [Question("q", ("a", "b"))], [Question("q", ("a", "b", "c"))]
    assert prompt_for(two, asks="relevance", paraphrases=False) == "relevance"
    assert prompt_for(three, asks="similarity", paraphrases=True) == "paraphrase_choice"
    for questions, asks, paraphrases in (
        (two, "similarity", True),
        (three, "relevance", False),
        (three, "similarity", False),
        ([*two, *three], "relevance", True),
    ):
        found = prompt_for(questions, asks=asks, paraphrases=paraphrases)  # type: ignore[arg-type]
        assert found == "similarity"
    assert len(distinct_prompts(two * 2, asks="relevance")) == 2


def test_versions_are_the_newest_unless_others_are_named(engine: Engine) -> None:
    with reading(engine) as session:
        assert wording_of(session, NEWEST_PROMPTS) == installed(), "before any is stored"
        assert wording_of(session, PromptVersions(relevance=1)) == installed()
        with pytest.raises(HedgerowError, match="relevance from 1 to 1, found 2"):
            wording_of(session, PromptVersions(relevance=2))
    for numbers, fact in (({"hedge": 1}, "relevance, similarity"), ({"relevance": 0}, "relevance")):
        with pytest.raises(HedgerowError, match=fact):
            chosen_versions(numbers)
    with writing(engine) as session:
        seed_prompts(session)
        first = find_version(session, "similarity", None)
        save_copy(session, first, "{first} / {second}: alike?", author_id=None)
    with reading(engine) as session:
        newest = wording_of(session, NEWEST_PROMPTS)
        assert newest.similarity == ("{first} / {second}: alike?", 2)
        assert newest.edited == {"similarity": 2} and len(newest.digest) == 8
        older = wording_of(session, PromptVersions(similarity=1))
        assert (older.similarity.version, older.edited, older.digest) == (1, {}, "")
        assert NEWEST_PROMPTS.resolved(session) == PromptVersions(
            relevance=1, similarity=2, paraphrase_choice=1
        )


@pytest.mark.parametrize(
    ("raw", "score"),
    [
        ("0.8", 0.8),
        ("-1.0", -1.0),
        ("−0.5", -0.5),
        (" .25", 0.25),
        ("**0.3**", 0.3),
        ("Score: 0.9 out of 1.0", 0.9),
        ("The similarity score between S1 and S2 is -0.2.", -0.2),
        ("On a scale from -1.0 to 1.0 I say 0.7", 0.7),
        ("1.5", None),
        ("80%", None),
        ("0.5 %", None),
        ("0,85", 0.85),
        ("minus 0.7", -0.7),
        ("0.8/1.0", 0.8),
        ("4/5", None),
        ("1 out of 5", None),
        ("0.7-0.8", None),
        ("Score: between 0.2 and 0.3", None),
        ("Score (-1.0 to 1.0): 0.3", 0.3),
        ("1. S1 says so.\n2. S2 says so.\nScore: 0.8", 0.8),
        ("1. They are alike.\nScore: 0.8", None),
        ("S1", None),
        ("<think>0.1</think>0.6", 0.6),
        ("", None),
    ],
)
def test_how_a_score_is_read(raw: str, score: float | None) -> None:
    assert read_score(raw).value == score


@given(st.text(), st.sampled_from([2, 3]))
def test_an_answer_is_one_of_the_numbers_or_within_bounds(raw: str, choices: int) -> None:
    found = read_choice(raw, choices=choices).value
    assert found is None or (1 <= found <= choices and str(int(found)) in raw)
    score = read_score(raw).value
    assert score is None or -1.0 <= score <= 1.0


@given(st.text(alphabet="123 .,ab-\n", max_size=12))
def test_several_numbers_after_other_words_are_not_a_choice(raw: str) -> None:
    text = f"I mean {raw}"
    named = set(re.findall(r"(?<![\w.])[123](?!\w|\.\d)", text))
    assert (read_choice(text, choices=3).value is not None) == (len(named) == 1)


@given(st.integers(1, 3), st.text(alphabet="abc def.", max_size=20))
def test_a_number_at_the_start_counts_regardless_of_what_follows(number: int, rest: str) -> None:
    assert read_choice(f"{number} {rest} 2 1", choices=3).value == number


@given(st.floats(-1, 1).map(lambda value: round(value, 3)))
def test_a_score_is_read_as_it_is_written(value: float) -> None:
    assert read_score(f"Score: {value:.3f}").value == pytest.approx(value)


@pytest.mark.parametrize(
    ("raw", "of_two", "of_three"),
    [
        ("1", 1, 1),
        (" 2.", 2, 2),
        ("**2**", 2, 2),
        ("Document 1", 1, 1),
        ("Document 1 is better than 2.", 1, 1),
        ("The answer is 2, not 1.", 2, 2),
        ("Answer: 1", 1, 1),
        ("I choose document 2.", 2, 2),
        ("<think>1 or 2? 1.</think>\n2", 2, 2),
        ("Both 1 and 2 are.", None, None),
        ("12", None, None),
        ("", None, None),
        ("1.5", None, None),
        ("Neither.", None, None),
        ("3", None, 3),
        ("Sentence 3", None, 3),
        ("**Sentence 2** means the same.", 2, 2),
        ("The answer is 3, not 1 or 2.", None, 3),
        ("Either 1 or 3.", 1, None),
        ("4", None, None),
        ("3.5", None, None),
        ("13", None, None),
        ("Not 1, but 2.", None, None),
        ("Not document 1.", None, None),
        ("The answer isn't 1.", None, None),
        ("1 or 2", None, None),
        ("Answer: 1/2", None, None),
        ("Document 1 and document 2 are.", None, None),
        ("1. Document 1 is about cats.\n2. Document 2 is about dogs.", None, None),
        ("Document 1 is about cats. Document 2 is about dogs, so 2.", None, None),
        ("Document 1 is irrelevant.", None, None),
        ("The first document", 1, 1),
        ("The second sentence means the same as the first one.", 2, 2),
        ("Third.", None, 3),
        ("Document Two", 2, 2),
        ("First, let me compare.", None, None),
        ("Answer: No.", None, None),
        ("**Yes**", None, None),
    ],
)
def test_how_a_choice_is_read(raw: str, of_two: int | None, of_three: int | None) -> None:
    assert (read_choice(raw).value, read_choice(raw, choices=3).value) == (of_two, of_three)
