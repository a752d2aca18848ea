"""Anchors that are no plain affirmative claim."""

from __future__ import annotations

import pytest

from curation.suitability import anchor_problems


@pytest.mark.parametrize(
    ("anchor", "word"),
    [
        ("The ferry isn't safe.", "negated"),
        ("The ferry is in no way safe.", "negated"),
        ("Nobody likes rain.", "negated"),
        ("They were no longer friends.", "negated"),
        ("That dog isn't friendly.", "negated"),
        ("Because it isn't fair.", "negated"),
        ("It is probably raining.", "hedged"),
        ("It seems that the bridge is open.", "hedged"),
        (
            "The Red Cross reported that 400 were dead, but this was disputed by officials.",
            "disputed",
        ),
        ("He won, although it was later overturned.", "overturned"),
        ("Is the bridge open?", "question"),
    ],
)
def test_the_problem_is_named_in_one_sentence(anchor: str, word: str) -> None:
    problems = anchor_problems(anchor)
    assert len(problems) == 1
    assert word in problems[0]


@pytest.mark.parametrize(
    "anchor",
    [
        "The man who didn't pay left early.",
        "If it does not rain, we will eat outside.",
        "A man with no hat is running.",
        "There is no doubt that it rained.",
        "No. 5 is running.",
        "Pupils may wear trainers on Fridays.",
        "The dispute between the two gardens was resolved.",
        "The bank denied the claim.",
        "The box is unlocked.",
    ],
)
def test_affirmative_anchors_pass(anchor: str) -> None:
    assert anchor_problems(anchor) == []
