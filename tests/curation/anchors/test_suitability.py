"""Anchors that are not plain affirmative claims."""

from collections import Counter

import pytest
from hypothesis import given
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
    ("anchor", "kind", "named"),
    [
        ("The ferry isn't safe.", UnsuitableKind.NEGATED, ""),
        ("The ferry is in no way safe.", UnsuitableKind.NEGATED, ""),
        ("Nobody likes rain.", UnsuitableKind.NEGATED, ""),
        ("They were no longer friends.", UnsuitableKind.NEGATED, ""),
        ("That dog isn't friendly.", UnsuitableKind.NEGATED, ""),
        ("Because it isn't fair.", UnsuitableKind.NEGATED, ""),
        ("She hardly ever smiles.", UnsuitableKind.NEGATED, "hardly"),
        ("He rarely eats meat.", UnsuitableKind.NEGATED, "rarely"),
        ("Scarcely anyone came.", UnsuitableKind.NEGATED, "scarcely"),
        ("The bus barely moves.", UnsuitableKind.NEGATED, "barely"),
        ("She seldom laughs.", UnsuitableKind.NEGATED, "seldom"),
        ("Very few people came to the concert.", UnsuitableKind.NEGATED, "few"),
        ("There is little hope of rain.", UnsuitableKind.NEGATED, "little"),
        ("Little is known about her.", UnsuitableKind.NEGATED, "little"),
        ("It is probably raining.", UnsuitableKind.HEDGED, ""),
        ("It seems that the bridge is open.", UnsuitableKind.HEDGED, ""),
        (
            "The Red Cross reported that 400 were dead, but this was disputed by officials.",
            UnsuitableKind.DISPUTED,
            "disputed",
        ),
        ("He won, although it was later overturned.", UnsuitableKind.DISPUTED, "overturned"),
        ("Is the bridge open?", UnsuitableKind.QUESTION, ""),
        ("Is the bridge open", UnsuitableKind.QUESTION, ""),
        ("What's your name", UnsuitableKind.QUESTION, ""),
        ("Is it open?!", UnsuitableKind.QUESTION, ""),
        ("Who won the race", UnsuitableKind.QUESTION, ""),
        ("Who has won", UnsuitableKind.QUESTION, ""),
        ("Who did you see", UnsuitableKind.QUESTION, ""),
        ("How old are you", UnsuitableKind.QUESTION, ""),
        ("Which of them won", UnsuitableKind.QUESTION, ""),
        ("Which train goes to Berlin", UnsuitableKind.QUESTION, ""),
        ("What time does the museum open", UnsuitableKind.QUESTION, ""),
        ("Where did Mary go", UnsuitableKind.QUESTION, ""),
        ("Close the door when you leave.", UnsuitableKind.COMMAND, ""),
        ("If it rains, take the bus.", UnsuitableKind.COMMAND, ""),
        ("Let's go.", UnsuitableKind.COMMAND, ""),
        ("Please sit down.", UnsuitableKind.COMMAND, ""),
        ("Turn off the lights.", UnsuitableKind.COMMAND, ""),
        ("Press and hold the button.", UnsuitableKind.COMMAND, ""),
        ("Sarah, close the door.", UnsuitableKind.COMMAND, ""),
        ("Sie lächelt fast nie.", UnsuitableKind.OTHER_LANGUAGE, ""),
        ("Der Hund schläft.", UnsuitableKind.OTHER_LANGUAGE, ""),
        ("Die Regierung plant neue Steuern.", UnsuitableKind.OTHER_LANGUAGE, ""),
        ("Elle ne sourit presque jamais.", UnsuitableKind.OTHER_LANGUAGE, ""),
        ("Le chat dort sur le canapé.", UnsuitableKind.OTHER_LANGUAGE, ""),
        ("Kot śpi na kanapie.", UnsuitableKind.OTHER_LANGUAGE, ""),
        ("Prezydent podpisal ustawe wczoraj.", UnsuitableKind.OTHER_LANGUAGE, ""),
        ("Los niños juegan.", UnsuitableKind.OTHER_LANGUAGE, ""),
        ("De hond slaapt op de bank.", UnsuitableKind.OTHER_LANGUAGE, ""),
        ("Koira nukkuu sohvalla.", UnsuitableKind.OTHER_LANGUAGE, ""),
        ("Собака спит.", UnsuitableKind.OTHER_LANGUAGE, ""),
    ],
)
def test_the_problem_is_found_and_its_word_named(
    anchor: str, kind: UnsuitableKind, named: str
) -> None:
    (problem,) = find_problems(anchor, words_of(anchor))
    assert problem.kind is kind and named in problem.sentence
    assert anchor_problems(anchor) == [problem.sentence]


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
def test_affirmative_claims_captions_and_headlines_pass(anchor: str) -> None:
    assert anchor_problems(anchor) == []


@pytest.mark.slow
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


@pytest.mark.slow
def test_the_quick_check_misses_nothing_in_the_starter_corpus() -> None:
    for family in STARTER.families()[::4]:
        for value in family.values():
            text = value["text"] if isinstance(value, dict) else value
            assert list(find_problems(text, words_of(text))) == _looked_at_in_full(text), text


_PIECES = [
    *suitability._LEXICON["hedges"],
    *sorted(suitability._DISPUTES),
    *sorted(ABSOLUTE_NEGATORS | VERBAL_NEGATORS),
    *"can't CANNOT isn’t isnʼt mightn't I've no-one bridge safe this it, but".split(),
    *"although but, that because".split(),
    *"hardly few little is please let's close the it you what don't have if turn off".split(),
    *"? . , ; — - ' ’ ʼ ' \u0345 \u0302 İ ß \u212a _ \u200d 5".split(),
]


@given(st.lists(st.tuples(st.sampled_from(_PIECES), st.sampled_from([" ", " ", ""])), max_size=8))
def test_the_quick_check_misses_no_combination(
    parts: list[tuple[str, str]],
) -> None:
    text = "".join(piece + gap for piece, gap in parts)
    for shown in (text, text.upper(), text.capitalize()):
        assert list(find_problems(shown, words_of(shown))) == _looked_at_in_full(shown)
