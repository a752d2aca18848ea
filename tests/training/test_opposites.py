"""Families from the list of opposites."""

from collections import Counter

import pytest

from curation.generation.rules.forms import past
from curation.negators import find_negators
from curation.tokens import analyse
from training.losses import Member, Role
from training.opposites import (
    HEDGED,
    IN_LOWER_CASE,
    NEGATED,
    OPPOSITE,
    PARAPHRASE,
    Opposites,
    frames,
    pairs,
    sentences,
)

FAMILY = [
    Member("The shop on the corner is open late.", Role.ANCHOR),
    Member("The shop on the corner isn't open late.", Role.NEGATION, NEGATED),
    Member("The shop on the corner is apparently open late.", Role.HEDGE, HEDGED),
]


def drawn(steps: int = 60, count: int = 4, **settings: object) -> list[list[Member]]:
    made = Opposites([FAMILY], count=count, seed=1, **settings)  # type: ignore[arg-type]
    return [list(family) for step in range(1, steps + 1) for family in made.of(step)]


def frames_whole(anchor: Member, member: Member) -> bool:
    """Whether it has the anchor in it as it is, but for the first letter."""
    return anchor.text[1:] in member.text


def test_the_list_has_two_sides_everywhere_and_no_word_on_both() -> None:
    assert len(pairs()) > 1000
    for pair in pairs():
        assert pair.one and pair.other and not set(pair.one) & set(pair.other), pair
        assert all(word == word.strip() and word for word in pair.one + pair.other), pair
    assert len({frozenset((pair.kind, pair.one, pair.other)) for pair in pairs()}) == len(pairs())


def test_a_sentence_of_the_list_has_two_forms_with_a_negator_and_two_without() -> None:
    assert len(sentences()) > 2000
    assert len(set(sentences())) == len(sentences())
    for sentence in sentences():
        assert len(set(sentence)) == 4
        negated = [bool(find_negators(analyse(text))) for text in sentence]
        assert negated[1] and negated[3], sentence
        plain = sentence.anchor + sentence.opposite
        assert " not " not in plain and "n't " not in plain, sentence


def test_a_family_has_its_opposite_negated_as_a_paraphrase() -> None:
    told = {pair: set() for pair in ("types", "roles")}
    for anchor, *variants in drawn():
        assert anchor.role == Role.ANCHOR
        by_type: dict[str, list[str]] = {}
        for member in variants:
            if not frames_whole(anchor, member):
                by_type.setdefault(member.type_id, []).append(member.text)
        told["types"] |= set(by_type)
        assert len(by_type[NEGATED]) == 1
        assert len(by_type[OPPOSITE]) == len(by_type[PARAPHRASE]) in (1, 2)
        for text in by_type[NEGATED] + by_type[PARAPHRASE]:
            assert find_negators(analyse(text)), text
        for text in [anchor.text, *by_type[OPPOSITE]]:
            assert "not " not in text and "n't" not in text
        texts = [anchor.text, *(member.text for member in variants)]
        assert len(set(texts)) == len(texts)
    assert told["types"] == {NEGATED, OPPOSITE, PARAPHRASE, HEDGED}


def test_now_and_then_an_anchor_is_affirmed_weakened_or_denied_as_a_whole() -> None:
    made = drawn(steps=200)
    found: dict[tuple[Role, str], set[str]] = {}
    for anchor, *variants in made:
        for member in variants:
            if frames_whole(anchor, member):
                frame, _, rest = member.text.partition(anchor.text[1:])
                assert frame[-1] == anchor.text[0].lower() and rest == ""
                found.setdefault((member.role, member.type_id), set()).add(frame[:-1])
    assert set(found) == {
        (Role.PARAPHRASE, PARAPHRASE), (Role.HEDGE, HEDGED), (Role.NEGATION, NEGATED)
    }  # fmt: skip
    paraphrases, hedges, negations = found.values()
    assert not paraphrases & hedges and not paraphrases & negations and not hedges & negations
    assert "There is no doubt that " in set().union(*found.values())
    framed = [any(frames_whole(anchor, member) for member in rest) for anchor, *rest in made]
    assert 0.2 < sum(framed) / len(made) < 0.6


def test_a_first_word_that_may_be_a_name_stays_as_it_is() -> None:
    for anchor, *variants in drawn(steps=400):
        if anchor.text.split()[0] not in IN_LOWER_CASE:
            assert not [member for member in variants if frames_whole(anchor, member)]


def test_what_is_made_depends_on_seed_and_step_alone() -> None:
    first, again = Opposites([FAMILY], count=3, seed=1), Opposites([FAMILY], count=3, seed=1)
    made = {step: first.of(step) for step in range(1, 6)}
    assert {step: again.of(step) for step in (4, 2, 5, 1, 3)} == made
    assert Opposites([FAMILY], count=3, seed=2).of(1) != made[1]
    assert all(len(families) == 3 for families in made.values())


def test_words_are_put_into_sentences_of_the_data_and_into_plain_ones() -> None:
    in_sentences = Counter("on the corner" in family[0].text for family in drawn())
    assert min(in_sentences.values()) > 20
    assert not any("on the corner" in f[0].text for step in (1, 2) for f in
                   Opposites([], count=4, seed=1).of(step))  # fmt: skip


def test_a_sentence_is_used_where_its_negation_has_the_same_quality() -> None:
    (found,) = frames(FAMILY, {"open", "late"})
    assert found.anchor == ("The shop on the corner is ", " late.")
    assert found.negated == ("The shop on the corner isn't ", " late.")
    assert found.hedged == ("The shop on the corner is apparently ", " late.")
    other = [FAMILY[0], Member("The shop on the corner never opens late.", Role.NEGATION, NEGATED)]
    assert not list(frames(other, {"open"}))
    assert not list(frames(FAMILY, {"blue"}))


@pytest.mark.parametrize(
    ("verb", "form"),
    [
        ("acquit", "acquitted"), ("concur", "concurred"), ("fulfil", "fulfilled"),
        ("panic", "panicked"), ("unwrap", "unwrapped"), ("uphold", "upheld"),
        ("misunderstand", "misunderstood"), ("deny", "denied"), ("delay", "delayed"),
    ],
)  # fmt: skip
def test_verbs_of_the_list_have_their_past(verb: str, form: str) -> None:
    listed = {word for pair in pairs() for word in pair.one + pair.other}
    assert verb in listed and past(verb) == form


def test_types_that_are_left_out_are_left_out_here_too() -> None:
    made = drawn(without=[HEDGED, PARAPHRASE])
    assert not made  # nothing would be left on the anchor's side
    types = {member.type_id for family in drawn(without=[NEGATED]) for member in family[1:]}
    assert types == {OPPOSITE, PARAPHRASE, HEDGED}
