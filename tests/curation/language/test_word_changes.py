"""Applying the changes of one sentence to another sentence that was made from it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from curation.language.word_changes import MAX_WORDS, carry

LEAVES = "The ferry leaves at nine."


@pytest.mark.parametrize(
    ("old", "new", "text", "expected"),
    [
        ("The brigde is safe.", "The bridge is safe.", "No brigde is safe.", "No bridge is safe."),
        (
            "The brigde is safe.",
            "The bridge is safe.",
            "It looks like the brigde is safe.",
            "It looks like the bridge is safe.",
        ),
        (
            LEAVES,
            "A ferry leaves at nine.",
            "It looks like the ferry leaves at nine.",
            "It looks like a ferry leaves at nine.",
        ),
        (
            LEAVES,
            "A ferry leaves at nine.",
            "The ferry doesn't leave at nine.",
            "A ferry doesn't leave at nine.",
        ),
        (
            LEAVES,
            "The old ferry leaves at nine.",
            "No ferry leaves at nine.",
            "No old ferry leaves at nine.",
        ),
        (
            "Ferries leave at nine.",
            "Old ferries leave at nine.",
            "Ferries don't leave at nine.",
            "Old ferries don't leave at nine.",
        ),
        (
            "Old ferries leave at nine.",
            "Ferries leave at nine.",
            "Old ferries don't leave at nine.",
            "Ferries don't leave at nine.",
        ),
        (
            LEAVES,
            "The ferry leaves at nine on Mondays.",
            "The ferry leaves at nine, I think.",
            "The ferry leaves at nine on Mondays, I think.",
        ),
        (
            "The council, which met in May, accepted it.",
            "The council accepted it.",
            "The council, which met in May, didn't accept it.",
            "The council didn't accept it.",
        ),
        (
            "Peter sleeps.",
            "Paul sleeps.",
            "I'm not sure whether Peter sleeps.",
            "I'm not sure whether Paul sleeps.",
        ),
        (
            "A man is riding a wave.",
            "A surfer is riding a big wave.",
            "No man is riding a wave.",
            "No surfer is riding a big wave.",
        ),
        (
            "The painting was sold by the museum.",
            "The painting was sold by the gallery.",
            "The museum didn't sell the painting.",
            "The gallery didn't sell the painting.",
        ),
    ],
)
def test_corrected_words_are_replaced_in_their_place_and_keep_their_case(
    old: str, new: str, text: str, expected: str
) -> None:
    assert carry(text, old=old, new=new) == expected


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ("She smiles.", "She laughs.", "She doesn't smile."),
        ("The bridge is safe.", "The bridge is secure.", "The bridge is unsafe."),
        ("Cats purr.", "Dogs purr.", "Concats don't purr."),
        (LEAVES, LEAVES, "The ferry doesn't leave at nine."),
        (f"{'so ' * MAX_WORDS}it is.", f"{'so ' * MAX_WORDS}it was.", "So it is not."),
    ],
)
def test_nothing_is_proposed_for_texts_without_the_words(old: str, new: str, text: str) -> None:
    assert carry(text, old=old, new=new) is None


PLAIN = st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=60)


@given(PLAIN, PLAIN, PLAIN)
def test_any_texts_give_a_text_or_nothing(old: str, new: str, text: str) -> None:
    found = carry(text, old=old, new=new)
    assert found is None or isinstance(found, str)
