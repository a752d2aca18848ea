"""Families from the list of opposites."""

from collections import Counter

import pytest

from curation.generation.providers.rules.grammar.forms import past
from curation.language.negators import find_negators
from curation.language.tokens import analyse
from training.data.antonym_pairs import (
    ABSOLUTE,
    HEDGED,
    NEGATED,
    OPPOSITE,
    PARAPHRASE,
    PHRASE,
    Opposites,
    frames,
    pairs,
    sentences,
)
from training.data.claims import stances
from training.finetune.losses import Member, Role

FAMILY = [
    Member("The shop on the corner is open late.", Role.ANCHOR),
    Member("The shop on the corner isn't open late.", Role.NEGATION, NEGATED),
    Member("The shop on the corner is apparently open late.", Role.HEDGE, HEDGED),
]


def drawn(steps: int = 60, count: int = 4, **settings: object) -> list[list[Member]]:
    made = Opposites([FAMILY], count=count, seed=1, **settings)  # type: ignore[arg-type]
    return [list(family) for step in range(1, steps + 1) for family in made.of(step)]


def around(anchor: Member, member: Member) -> tuple[str, str] | None:
    """What stands before and after the whole anchor, but for its first word."""
    first, _, rest = anchor.text[:-1].partition(" ")
    before, found, after = member.text.partition(f" {rest}")
    named = before.rsplit(" ", 1)[-1].lower() == first.lower() and before != first
    return (before, after) if found and (named or after not in (".", "")) else None


def test_the_list_has_two_sides_everywhere_and_no_word_on_both() -> None:
    assert len(pairs()) > 1000
    for pair in pairs():
        assert pair.one and pair.other and not set(pair.one) & set(pair.other), pair
        assert all(word == word.strip() and word for word in pair.one + pair.other), pair
    assert len({frozenset((pair.kind, pair.one, pair.other)) for pair in pairs()}) == len(pairs())


@pytest.mark.slow
def test_a_sentence_of_the_list_has_two_forms_with_a_negator_and_two_without() -> None:
    assert len(sentences()) > 10_000
    assert len(set(sentences())) == len(sentences())
    for sentence in sentences():
        assert len(set(sentence)) == 4
        negated = [bool(find_negators(analyse(text))) for text in sentence]
        assert negated[1] and negated[3], sentence
        plain = sentence.anchor + sentence.opposite
        assert " not " not in plain and "n't " not in plain, sentence


def test_a_family_has_its_opposite_negated_as_a_paraphrase() -> None:
    types: set[str] = set()
    for anchor, *variants in drawn():
        assert anchor.role == Role.ANCHOR
        by_type: dict[str, list[str]] = {}
        for member in variants:
            if not around(anchor, member):
                by_type.setdefault(member.type_id, []).append(member.text)
        types |= set(by_type)
        assert len(by_type[NEGATED]) == 1
        assert len(by_type[OPPOSITE]) == len(by_type[PARAPHRASE]) in (1, 2)
        for text in by_type[NEGATED] + by_type[PARAPHRASE]:
            assert find_negators(analyse(text)), text
        for text in [anchor.text, *by_type[OPPOSITE]]:
            assert "not " not in text and "n't" not in text
        texts = [anchor.text, *(member.text for member in variants)]
        assert len(set(texts)) == len(texts)
    assert types == {NEGATED, OPPOSITE, PARAPHRASE, HEDGED, ABSOLUTE}


def test_a_hedge_that_rules_and_frames_word_alike_stands_in_a_family_once() -> None:
    """By chance, once in some thousands of families; in this step 'It looks like …'."""
    for family in Opposites([], count=40, seed=3).of(14):
        texts = [member.text for member in family]
        assert len(set(texts)) == len(texts)


def test_now_and_then_an_anchor_is_affirmed_weakened_or_denied_as_a_whole() -> None:
    made = drawn(steps=300)
    found: dict[Role, set[tuple[str, str]]] = {}
    types: dict[Role, set[str]] = {}
    for anchor, *variants in made:
        for member in variants:
            if frame := around(anchor, member):
                before = frame[0].rpartition(" ")[0]
                found.setdefault(member.role, set()).add((before, frame[1]))
                types.setdefault(member.role, set()).add(member.type_id)
    assert types == {
        Role.PARAPHRASE: {PARAPHRASE},
        Role.HEDGE: {HEDGED, PHRASE},
        Role.NEGATION: {NEGATED, ABSOLUTE},
    }
    emphases, hedges, denials = (found[role] for role in sorted(found))
    assert not emphases & hedges and not emphases & denials and not hedges & denials
    assert ("There is no doubt that", ".") in emphases and ("It is not true that", ".") in denials
    assert any(before == "" for before, _ in emphases), "some stand behind it"
    assert all(len(frames) > 20 for frames in found.values())
    framed = [any(around(anchor, member) for member in rest) for anchor, *rest in made]
    assert 0.3 < sum(framed) / len(made) < 0.9


def test_so_are_anchors_of_the_data_but_for_questions() -> None:
    opposites = Opposites([FAMILY], count=1, seed=1)
    question = [Member("Is the shop open?", Role.ANCHOR), *FAMILY[1:]]
    roles: Counter[Role] = Counter()
    for step in range(1, 200):
        framed, same = opposites.framed([FAMILY, question], step)
        assert [framed, same] == opposites.framed([FAMILY, question], step)
        assert list(framed[: len(FAMILY)]) == FAMILY and list(same) == question
        for member in framed[len(FAMILY) :]:
            assert around(FAMILY[0], member), member
            roles[member.role] += 1
    assert set(roles) == {Role.PARAPHRASE, Role.HEDGE, Role.NEGATION}
    assert all(20 < count < 120 for count in roles.values())
    without = Opposites([FAMILY], count=1, seed=1, without=[PARAPHRASE, HEDGED, NEGATED])
    assert [list(without.framed([FAMILY], step)[0]) for step in range(1, 50)] == [FAMILY] * 49


def test_stances_are_families_beside_the_others() -> None:
    without = Opposites([FAMILY], count=2, seed=1)
    known = {stance.statement: stance for stance in stances()}
    for step in range(1, 50):
        families = Opposites([FAMILY], count=2, stances=3, seed=1).of(step)
        assert families[:-3] == without.of(step)
        for anchor, affirmed, weakened, denied, opposite in families[-3:]:
            stance = known[anchor.text]
            assert affirmed.text in stance.affirmed and affirmed.role == Role.PARAPHRASE
            assert weakened.text in stance.weakened and weakened.role == Role.HEDGE
            assert (denied.text, opposite.text) == stance.contradicted
            assert denied.role == opposite.role == Role.NEGATION
    left_out = Opposites([FAMILY], count=0, stances=2, seed=1, without=[HEDGED]).of(1)
    assert [[member.role for member in family] for family in left_out] == [
        [Role.ANCHOR, Role.PARAPHRASE, Role.NEGATION, Role.NEGATION]
    ] * 2


@pytest.mark.slow
def test_inside_a_sentence_the_first_word_is_small_unless_it_is_a_name() -> None:
    inside: dict[str, set[str]] = {}
    for anchor, *variants in drawn(steps=400):
        for member in variants:
            frame = around(anchor, member)
            if frame and " " in frame[0]:
                inside.setdefault(anchor.text.split()[0], set()).add(frame[0].split()[-1])
    assert {"The", "It", "They"} <= inside.keys()
    for first, found in inside.items():
        assert len(found) == 1, first
        if first in ("The", "A", "It", "They", "We", "My", "Our", "Her", "His", "This"):
            assert found == {first.lower()}
    kept = {first for first, found in inside.items() if found == {first}} - {"I"}
    assert kept, "names"


def test_hedges_of_whole_sentences_use_the_cues_of_the_papers_lists() -> None:
    texts = [m.text for family in drawn(steps=200) for m in family if m.type_id == PHRASE]
    assert len(set(texts)) > 40
    assert any("not so sure" in text for text in texts) and any("It looks like" in t for t in texts)


def test_what_is_made_depends_on_seed_and_step_alone() -> None:
    first, again = Opposites([FAMILY], count=3, seed=1), Opposites([FAMILY], count=3, seed=1)
    made = {step: first.of(step) for step in range(1, 6)}
    assert {step: again.of(step) for step in (4, 2, 5, 1, 3)} == made
    assert Opposites([FAMILY], count=3, seed=2).of(1) != made[1]
    assert all(len(families) == 3 for families in made.values())


def test_words_are_put_into_sentences_of_the_data_and_into_plain_ones() -> None:
    in_sentences = Counter("on the corner" in family[0].text for family in drawn())
    assert min(in_sentences.values()) > 20
    assert not any(
        "on the corner" in f[0].text
        for step in (1, 2)
        for f in Opposites([], count=4, seed=1).of(step)
    )


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
        ("acquit", "acquitted"),
        ("concur", "concurred"),
        ("fulfil", "fulfilled"),
        ("panic", "panicked"),
        ("unwrap", "unwrapped"),
        ("uphold", "upheld"),
        ("misunderstand", "misunderstood"),
        ("deny", "denied"),
        ("delay", "delayed"),
    ],
)
def test_verbs_of_the_list_have_their_past(verb: str, form: str) -> None:
    listed = {word for pair in pairs() for word in pair.one + pair.other}
    assert verb in listed and past(verb) == form


def test_types_that_are_left_out_are_left_out_here_too() -> None:
    made = drawn(without=[HEDGED, PHRASE, PARAPHRASE])
    assert not made  # nothing would be left on the anchor's side
    types = {member.type_id for family in drawn(without=[NEGATED]) for member in family[1:]}
    assert types == {OPPOSITE, PARAPHRASE, HEDGED, PHRASE, ABSOLUTE}
