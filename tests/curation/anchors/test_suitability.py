"""Anchors that are not plain affirmative claims."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curation.anchors import suitability
from curation.anchors.suitability import (
    AnchorProblem,
    UnsuitableKind,
    anchor_problems,
    find_problems,
)
from curation.content_uids import words_of
from curation.corpora.corpus import CORPORA, STARTER
from curation.language.english import looks_foreign
from curation.language.tokens import ABSOLUTE_NEGATORS, VERBAL_NEGATORS, Analysis


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
        ("She hardly ever smiles.", "'hardly'"),
        ("He rarely eats meat.", "'rarely'"),
        ("Scarcely anyone came.", "'scarcely'"),
        ("The bus barely moves.", "'barely'"),
        ("She seldom laughs.", "'seldom'"),
        ("Very few people came to the concert.", "'few'"),
        ("There is little hope of rain.", "'little'"),
        ("Little is known about her.", "'little'"),
        ("Close the door when you leave.", "command"),
        ("If it rains, take the bus.", "command"),
        ("Let's go.", "command"),
        ("Please sit down.", "command"),
        ("Turn off the lights.", "command"),
        ("Press and hold the button.", "command"),
        ("Is the bridge open", "question"),
        ("What's your name", "question"),
        ("Is it open?!", "question"),
        ("Who won the race", "question"),
        ("Who has won", "question"),
        ("Who did you see", "question"),
        ("How old are you", "question"),
        ("Which of them won", "question"),
        ("Which train goes to Berlin", "question"),
        ("What time does the museum open", "question"),
        ("Where did Mary go", "question"),
        ("Sarah, close the door.", "command"),
        ("Sie lächelt fast nie.", "not look like English"),
        ("Der Hund schläft.", "not look like English"),
        ("Die Regierung plant neue Steuern.", "not look like English"),
        ("Elle ne sourit presque jamais.", "not look like English"),
        ("Le chat dort sur le canapé.", "not look like English"),
        ("Kot śpi na kanapie.", "not look like English"),
        ("Prezydent podpisal ustawe wczoraj.", "not look like English"),
        ("Los niños juegan.", "not look like English"),
        ("De hond slaapt op de bank.", "not look like English"),
        ("Koira nukkuu sohvalla.", "not look like English"),
        ("Собака спит.", "not look like English"),
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
        "A few people came.",
        "The last few days were hot.",
        "A little boy is singing.",
        "Little girl riding a horse.",
        "The barely visible scar itched.",
        "He won barely two years ago.",
        "The man who rarely speaks left early.",
        "What he said is true.",
        "What he said surprised us.",
        "What surprised us is the colour.",
        "What matters is the result.",
        "What remains of the bridge after the storm.",
        "Who wins gets the prize",
        "Who dares wins.",
        "Who did this is a mystery.",
        "Which train he took is known.",
        "How old he is was kept quiet.",
        "Why the bridge fell is clear.",
        "When the bell rang, the children ran.",
        "Sarah, the teacher, closed the door.",
        "Had I known, I would have stayed.",
        "Can openers are useful.",
        "Believe me, he did it.",
        "In the morning, we cover the plants.",
    ],
)
def test_affirmative_anchors_pass(anchor: str) -> None:
    assert anchor_problems(anchor) == []


@pytest.mark.parametrize(
    "anchor",
    [
        "A man riding a wave on top of a surfboard.",
        "Two dogs running through snow.",
        "Stop sign in front of a house.",
        "Park bench next to a lake.",
        "Close up of a cat.",
        "Cut flowers in a vase.",
        "Open book on a desk.",
        "Kitchen with white cabinets.",
        "Police arrest man over airport threat.",
        "Rain delays launch of weather satellite.",
        "Love conquers all.",
        "Interest on a student loan is deductible.",
        "Charles de Gaulle landed yesterday.",
        "Lech Wałęsa won Nobel Peace Prize.",
        "El Niño brings heavy rain.",
        "Le Monde reports record profits.",
        "Apple unveils new iPhone",
        "Tesla unveils Cybertruck",
        "Angela Merkel met Emmanuel Macron in Berlin.",
        "Macron wins French election",
        "Adders are venomous.",
        "Fatima finds algebra interesting.",
        'She said "je ne sais quoi" twice.',
    ],
)
def test_captions_headlines_and_foreign_names_pass(anchor: str) -> None:
    assert anchor_problems(anchor) == []


def test_false_alarms_are_rare() -> None:
    """In the starter corpus, these are five instructions. The other corpora contain negation on
    purpose."""
    anchors = [family["anchor"] for family in STARTER.families()]
    found = [problem for anchor in anchors for problem in find_problems(anchor, words_of(anchor))]
    assert {problem.kind for problem in found} == {UnsuitableKind.COMMAND}
    assert len(found) / len(anchors) < 0.005
    statements = [family["anchor"] for family in CORPORA["antonyms"].families()]
    kinds = Counter(p.kind for text in statements for p in find_problems(text, words_of(text)))
    odd = (
        kinds[UnsuitableKind.COMMAND]
        + kinds[UnsuitableKind.QUESTION]
        + kinds[UnsuitableKind.OTHER_LANGUAGE]
    )
    assert len(statements) > 10_000 and odd / len(statements) < 0.001


def _looked_at_in_full(anchor: str) -> list[AnchorProblem]:
    analysis = Analysis(anchor)
    if looks_foreign(anchor, words_of(anchor)):
        return [
            AnchorProblem(UnsuitableKind.OTHER_LANGUAGE, "The anchor does not look like English.")
        ]
    checks = (
        suitability._negated,
        suitability._nearly_negated,
        suitability._hedged,
        suitability._disputed,
        suitability._no_statement,
    )
    return [problem for check in checks for problem in check(analysis)]


def test_the_quick_check_misses_nothing_in_the_starter_corpus() -> None:
    looked_at = 0
    for line in (STARTER.folder / "families.jsonl").read_text("utf-8").splitlines()[::4]:
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
    *"hardly few little is please let's close the it you what don't have if turn off".split(),
    *"? . , ; — - ' ’ ʼ ' \u0345 \u0302 İ ß \u212a _ \u200d 5".split(),
]


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(_PIECES), st.sampled_from([" ", " ", ""])), max_size=8))
def test_the_quick_check_misses_no_combination(
    parts: list[tuple[str, str]],
) -> None:
    text = "".join(piece + gap for piece, gap in parts)
    for shown in (text, text.upper(), text.capitalize()):
        assert list(find_problems(shown, words_of(shown))) == _looked_at_in_full(shown)
