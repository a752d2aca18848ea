"""Question pairs: equal numbers of Yes and No, in the triples' proportions, in a fixed order."""

from collections import Counter, defaultdict
from fractions import Fraction

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine

from curation.release.freezing import create_release
from curation.release.question_pairs import (
    Arm,
    QuestionCounts,
    QuestionPair,
    count_questions,
    question_pairs,
    require_questions,
)
from curation.release.triples import triple_rows
from curation.taxonomy.nli_types import CONTRADICTION, ENTAILMENT, ensure_types
from curation.taxonomy.project_types import seed_taxonomy
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import Split
from tests.curation.support.families import NEGATIVES, POSITIVES, add_family, add_plain_family
from tests.support.databases import both_databases

OF_PAPER = {
    "verbal": ["It is not late."],
    "absolute": ["It is never late."],
    "affixal": ["It is unlate."],
    "lexical": ["It is early."],
    "word": ["It is probably late."],
    "phrase": ["I think it is late."],
}


def test_the_question_is_the_papers(engine: Engine) -> None:
    with writing(engine) as session:
        add_family(session, "It is late.", OF_PAPER, split=Split.TRAIN)
        release = create_release(session).release
    with reading(engine) as session:
        found = {pair.type: pair for pair in question_pairs(session, release.id)}
    assert found["verbal"].prompt == (
        "Sentence 1: It is late.\nSentence 2: It is not late.\n"
        "Do the two sentences have opposite meaning? Yes or No.\nAnswer:"
    )
    assert found["verbal"].answer == "Yes"
    assert found["phrase"].prompt.splitlines()[1] == "Sentence 2: I think it is late."
    assert found["phrase"].answer == "No"


def test_braces_in_a_sentence_are_text(engine: Engine) -> None:
    pair = QuestionPair("a", "v", "verbal", "{sentence_2}", "{0}", "Yes", Split.TRAIN)
    assert pair.prompt.splitlines()[:2] == ["Sentence 1: {sentence_2}", "Sentence 2: {0}"]


def test_with_four_negations_and_two_hedges_a_hedge_comes_twice_as_often(engine: Engine) -> None:
    with writing(engine) as session:
        add_family(session, "It is late.", OF_PAPER)
        release = create_release(session).release
    with reading(engine) as session:
        found = list(question_pairs(session, release.id))
    assert [pair.answer for pair in found] == ["Yes", "No"] * 4
    assert Counter(pair.type for pair in found) == dict.fromkeys(NEGATIVES, 1) | {
        "word": 2,
        "phrase": 2,
    }


@pytest.mark.slow
@settings(
    max_examples=20,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    shapes=st.lists(
        st.tuples(
            st.lists(st.sampled_from(POSITIVES), max_size=4),
            st.lists(st.sampled_from(NEGATIVES), max_size=6),
            st.sampled_from(Split),
        ),
        max_size=4,
    )
)
def test_they_keep_the_proportions_of_the_triples_and_nothing_repeats_without_need(
    engine: Engine, shapes: list[tuple[list[str], list[str], Split]]
) -> None:
    with writing(engine) as session:
        add_family(session, "Always here.", {"verbal": ["Not here."]}, split=Split.TRAIN)
        for number, (positives, negatives, split) in enumerate(shapes):
            variants = defaultdict(list)
            for position, type_id in enumerate(positives + negatives):
                variants[type_id].append(f"Variant {position} of {number}.")
            add_family(session, f"Anchor {number}.", variants, split=split)
        release = create_release(session).release
        in_triples: dict[str, Counter[str]] = defaultdict(Counter)
        for row in triple_rows(session, release.id):
            in_triples[row.anchor_uid].update([row.positive_uid, row.negative_uid])
        found = list(question_pairs(session, release.id))
        by_split = [list(question_pairs(session, release.id, split=split)) for split in Split]
        counts = count_questions(session, release.id)
        in_pairs: dict[str, Counter[str]] = defaultdict(Counter)
        for pair in found:
            in_pairs[pair.anchor_uid].update([pair.variant_uid])
        assert in_pairs.keys() == in_triples.keys()
        for uid, times in in_pairs.items():
            ratios = {Fraction(n, in_triples[uid][variant]) for variant, n in times.items()}
            assert len(ratios) == 1 and times.keys() == in_triples[uid].keys()
            assert _greatest_divisor(times) == 1
            answers = Counter(pair.answer for pair in found if pair.anchor_uid == uid)
            assert answers["Yes"] == answers["No"]
        assert Counter(found) == Counter(pair for pairs in by_split for pair in pairs)
        assert counts.pairs == {
            split: len(pairs) for split, pairs in zip(Split, by_split, strict=True) if pairs
        }
        anchors = release.summary["anchors"]
        assert counts.left_out == anchors - len(in_pairs)
        session.rollback()


def _greatest_divisor(times: Counter[str]) -> int:
    return max(n for n in range(1, 30) if all(value % n == 0 for value in times.values()))


@both_databases
def test_the_order_depends_on_uids_alone(engine: Engine) -> None:
    def rows(numbers: list[int]) -> list[QuestionPair]:
        with writing(engine) as session:
            for number in numbers:
                add_plain_family(session, number)
            found = list(question_pairs(session, create_release(session).release.id))
            session.rollback()
        return found

    forwards, backwards = rows([1, 2, 3, 4, 5, 6]), rows([6, 5, 4, 3, 2, 1])
    assert forwards == backwards and len(forwards) == 24
    uids = [pair.anchor_uid for pair in forwards]
    assert uids == sorted(uids)


@pytest.mark.parametrize(
    ("arm", "types"),
    [
        ("both", {*OF_PAPER, ENTAILMENT, CONTRADICTION, "negated_antonym"}),
        ("paper", {*OF_PAPER}),
        ("negation", {*NEGATIVES, ENTAILMENT}),
        ("hedging", {"word", "phrase", CONTRADICTION}),
    ],
)
def test_an_arm_is_a_portion_as_an_encoder_is_trained_on_it(
    engine: Engine, arm: Arm, types: set[str]
) -> None:
    others = {"negated_antonym": ["It is not early."], "unsupported": ["Who knows the time?"]}
    originals = {ENTAILMENT: ["The evening has come."], CONTRADICTION: ["It is noon."]}
    with writing(engine) as session:
        seed_taxonomy(session)
        ensure_types(session, originals)
        add_family(session, "It is late.", OF_PAPER | others | originals)
        release = create_release(session).release
    with reading(engine) as session:
        found = list(question_pairs(session, release.id, arm=arm))
        assert count_questions(session, release.id, arm=arm).total == len(found)
    assert {pair.type for pair in found} == types
    answers = {pair.type: pair.answer for pair in found}
    for type_id, answer in {ENTAILMENT: "No", CONTRADICTION: "Yes"}.items():
        assert answers.get(type_id, answer) == answer


@pytest.mark.parametrize(
    ("arm", "missing"),
    [
        ("both", "a negation and a hedge or paraphrase"),
        ("negation", "an original entailment.*create a new release"),
        ("hedging", "an original contradiction and a hedge"),
    ],
)
def test_a_release_that_gives_one_answer_only_gives_none_and_one_sentence(
    engine: Engine, arm: Arm, missing: str
) -> None:
    with writing(engine) as session:
        add_family(session, "It is late.", {"verbal": ["It is not late."]})
        release = create_release(session).release
    with reading(engine) as session:
        assert list(question_pairs(session, release.id, arm=arm)) == []
        counts = count_questions(session, release.id, arm=arm)
    assert counts == QuestionCounts({}, 1)
    with pytest.raises(HedgerowError, match=missing):
        require_questions(release, counts, arm)
