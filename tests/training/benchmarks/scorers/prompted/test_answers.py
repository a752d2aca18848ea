"""Parsing answers as models really write them: strictly, and without guessing."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from training.benchmarks.scorers.prompted.answers import read_choice, read_score


@pytest.mark.parametrize(
    ("raw", "choice"),
    [
        ("1", 1),
        (" 2.", 2),
        ("**2**", 2),
        ("Document 1", 1),
        ("Document 1 is better than 2.", 1),
        ("The answer is 2, not 1.", 2),
        ("Answer: 1", 1),
        ("I choose document 2.", 2),
        ("<think>1 or 2? 1.</think>\n2", 2),
        ("Both 1 and 2 are.", None),
        ("12", None),
        ("", None),
        ("1.5", None),
        ("Neither.", None),
    ],
)
def test_how_a_choice_is_read(raw: str, choice: float | None) -> None:
    assert read_choice(raw) == choice


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
        ("On a scale from -1.0 to 1.0 I say 0.7", None),
        ("1.5", None),
        ("80%", None),
        ("S1", None),
        ("<think>0.1</think>0.6", 0.6),
        ("", None),
    ],
)
def test_how_a_score_is_read(raw: str, score: float | None) -> None:
    assert read_score(raw) == score


@pytest.mark.parametrize(
    ("raw", "choice"),
    [
        ("3", 3),
        ("Sentence 3", 3),
        ("**Sentence 2** means the same.", 2),
        ("The answer is 3, not 1 or 2.", 3),
        ("Either 1 or 3.", None),
        ("4", None),
        ("3.5", None),
        ("13", None),
        ("Not 1, but 2.", None),
    ],
)
def test_how_one_of_three_is_read(raw: str, choice: float | None) -> None:
    assert read_choice(raw, choices=3) == choice


@given(st.text(), st.sampled_from([2, 3]))
def test_a_choice_is_one_of_the_numbers_in_the_text(raw: str, choices: int) -> None:
    found = read_choice(raw, choices=choices)
    assert found is None or (1 <= found <= choices and str(int(found)) in raw)


@given(st.text(alphabet="123 .,ab-\n", max_size=12))
def test_several_numbers_after_other_words_are_not_a_choice(raw: str) -> None:
    text = f"I mean {raw}"
    named = set(re.findall(r"(?<![\w.])[123](?!\w|\.\d)", text))
    assert (read_choice(text, choices=3) is not None) == (len(named) == 1)


@given(st.integers(1, 3), st.text(alphabet="abc def.", max_size=20))
def test_a_number_at_the_start_counts_regardless_of_what_follows(number: int, rest: str) -> None:
    assert read_choice(f"{number} {rest} 2 1", choices=3) == number


@given(st.text())
def test_a_score_is_between_its_bounds(raw: str) -> None:
    found = read_score(raw)
    assert found is None or -1.0 <= found <= 1.0


@given(st.floats(-1, 1).map(lambda value: round(value, 3)))
def test_a_score_is_read_as_it_is_written(value: float) -> None:
    assert read_score(f"Score: {value:.3f}") == pytest.approx(value)
