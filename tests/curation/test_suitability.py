"""Anchors that are no plain affirmative claim."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curation import suitability
from curation.starter_corpus import FOLDER
from curation.suitability import Problem, anchor_problems, find_problems
from curation.text import words_of
from curation.tokens import ABSOLUTE_NEGATORS, VERBAL_NEGATORS, Analysis


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


def _looked_at_in_full(anchor: str) -> list[Problem]:
    analysis = Analysis(anchor)
    checks = (suitability._negated, suitability._hedged, suitability._disputed)
    found = [problem for check in checks for problem in check(analysis)]
    return found + list(suitability._question(analysis))


def test_the_quick_look_misses_nothing_in_the_starter_corpus() -> None:
    looked_at = 0
    for line in (FOLDER / "families.jsonl").read_text("utf-8").splitlines()[::4]:
        for value in json.loads(line).values():
            text = value["text"] if isinstance(value, dict) else value
            assert list(find_problems(text, words_of(text))) == _looked_at_in_full(text), text
            looked_at += 1
    assert looked_at > 2_000


_PIECES = [
    *suitability._LEXICON["hedges"],
    *sorted(suitability._DISPUTES),
    *sorted(ABSOLUTE_NEGATORS | VERBAL_NEGATORS),
    *"can't CANNOT isn’t isnʼt mightn't I've no-one bridge safe this it, but".split(),
    *"although but, that because".split(),
    *"? . , ; — - ' ’ ʼ ' \u0345 \u0302 İ ß \u212a _ \u200d 5".split(),
]  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(_PIECES), st.sampled_from([" ", " ", ""])), max_size=8))
def test_the_quick_look_misses_nothing_that_can_be_put_together(
    parts: list[tuple[str, str]],
) -> None:
    text = "".join(piece + gap for piece, gap in parts)
    for shown in (text, text.upper(), text.capitalize()):
        assert list(find_problems(shown, words_of(shown))) == _looked_at_in_full(shown)
