"""Anchors that are not plain affirmative claims."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from curation.anchors import checks as suitability
from curation.anchors.checks import Finding, Reason, anchor_problems, find_problems
from curation.content_uids import words_of
from curation.corpora.corpus import CORPORA, STARTER
from curation.language.english import looks_foreign
from curation.language.tokens import ABSOLUTE_NEGATORS, VERBAL_NEGATORS, Analysis


@pytest.mark.parametrize(
    ("anchor", "kind", "named"),
    [
        ("The ferry isn't safe.", Reason.NEGATED, ""),
        ("The ferry is in no way safe.", Reason.NEGATED, ""),
        ("Nobody likes rain.", Reason.NEGATED, ""),
        ("They were no longer friends.", Reason.NEGATED, ""),
        ("That dog isn't friendly.", Reason.NEGATED, ""),
        ("Because it isn't fair.", Reason.NEGATED, ""),
        ("She hardly ever smiles.", Reason.NEGATED, "hardly"),
        ("He rarely eats meat.", Reason.NEGATED, "rarely"),
        ("Scarcely anyone came.", Reason.NEGATED, "scarcely"),
        ("The bus barely moves.", Reason.NEGATED, "barely"),
        ("She seldom laughs.", Reason.NEGATED, "seldom"),
        ("Very few people came to the concert.", Reason.NEGATED, "few"),
        ("There is little hope of rain.", Reason.NEGATED, "little"),
        ("Little is known about her.", Reason.NEGATED, "little"),
        ("It is probably raining.", Reason.HEDGED, ""),
        ("It seems that the bridge is open.", Reason.HEDGED, ""),
        (
            "The Red Cross reported that 400 were dead, but this was disputed by officials.",
            Reason.DISPUTED,
            "disputed",
        ),
        ("He won, although it was later overturned.", Reason.DISPUTED, "overturned"),
        ("Is the bridge open?", Reason.QUESTION, ""),
        ("Is the bridge open", Reason.QUESTION, ""),
        ("What's your name", Reason.QUESTION, ""),
        ("Is it open?!", Reason.QUESTION, ""),
        ("Who won the race", Reason.QUESTION, ""),
        ("Who has won", Reason.QUESTION, ""),
        ("Who did you see", Reason.QUESTION, ""),
        ("How old are you", Reason.QUESTION, ""),
        ("Which of them won", Reason.QUESTION, ""),
        ("Which train goes to Berlin", Reason.QUESTION, ""),
        ("What time does the museum open", Reason.QUESTION, ""),
        ("Where did Mary go", Reason.QUESTION, ""),
        ("Close the door when you leave.", Reason.COMMAND, ""),
        ("If it rains, take the bus.", Reason.COMMAND, ""),
        ("Let's go.", Reason.COMMAND, ""),
        ("Please sit down.", Reason.COMMAND, ""),
        ("Turn off the lights.", Reason.COMMAND, ""),
        ("Press and hold the button.", Reason.COMMAND, ""),
        ("Sarah, close the door.", Reason.COMMAND, ""),
        ("Sie lächelt fast nie.", Reason.OTHER_LANGUAGE, ""),
        ("Der Hund schläft.", Reason.OTHER_LANGUAGE, ""),
        ("Die Regierung plant neue Steuern.", Reason.OTHER_LANGUAGE, ""),
        ("Elle ne sourit presque jamais.", Reason.OTHER_LANGUAGE, ""),
        ("Le chat dort sur le canapé.", Reason.OTHER_LANGUAGE, ""),
        ("Kot śpi na kanapie.", Reason.OTHER_LANGUAGE, ""),
        ("Prezydent podpisal ustawe wczoraj.", Reason.OTHER_LANGUAGE, ""),
        ("Los niños juegan.", Reason.OTHER_LANGUAGE, ""),
        ("De hond slaapt op de bank.", Reason.OTHER_LANGUAGE, ""),
        ("Koira nukkuu sohvalla.", Reason.OTHER_LANGUAGE, ""),
        ("Собака спит.", Reason.OTHER_LANGUAGE, ""),
    ],
)
def test_the_problem_is_found_and_its_word_named(anchor: str, kind: Reason, named: str) -> None:
    (problem,) = find_problems(anchor, words_of(anchor))
    assert problem.reason is kind and named in problem.sentence
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
    assert {problem.reason for problem in found} == {Reason.COMMAND}
    assert len(found) / len(anchors) < 0.005
    statements = [family["anchor"] for family in CORPORA["antonyms"].families()]
    kinds = Counter(p.reason for text in statements for p in find_problems(text, words_of(text)))
    odd = kinds[Reason.COMMAND] + kinds[Reason.QUESTION] + kinds[Reason.OTHER_LANGUAGE]
    assert len(statements) > 10_000 and odd / len(statements) < 0.001


def _looked_at_in_full(anchor: str) -> list[Finding]:
    analysis = Analysis(anchor)
    if looks_foreign(anchor, words_of(anchor)):
        return [Finding(Reason.OTHER_LANGUAGE, "The anchor does not look like English.")]
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
