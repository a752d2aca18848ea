"""The metrics on the held-out part, and its questions, for embeddings with known angles."""

import math

import pytest

from hedgerow.losses.families import Family, Member, Role
from tests.training.support.vectors import Vectors, at
from training.evaluation import held_out
from training.evaluation.held_out import HeldOut
from training.evaluation.semantoneg_questions import CandidateQuestion, questions, share_right
from training.evaluation.sts import StsPair

KINDS = {
    "word": Role.HEDGE,
    "negated_antonym": Role.PARAPHRASE,
    "verbal": Role.NEGATION,
    "lexical": Role.NEGATION,
}


def family(name: str) -> Family:
    variants = [Member(f"{name} {kind}", role, kind) for kind, role in KINDS.items()]
    return [Member(name, Role.ANCHOR), *variants]


def encoder(**families: tuple[float, float, float, float, float]) -> Vectors:
    """Each family's anchor, then its variants, in degrees."""
    return Vectors(
        {
            member.text: row
            for name, degrees in families.items()
            for member, row in zip(family(name), at(*degrees), strict=True)
        }
    )


def measured(base: Vectors, **more) -> HeldOut:
    return HeldOut(base, [family("a"), family("b")], **more)


def cos(degrees: float) -> float:
    return math.cos(math.radians(degrees))


ANGLES = {"a": (0, 10, 20, 5, 30), "b": (90, 95, 100, 110, 120)}
"""In family a, the verbal negation is nearer than every positive. In b, everything is right."""


def test_rankings_and_cosines_are_those_of_the_angles() -> None:
    metrics = measured(encoder(**ANGLES))
    found, counts = metrics.before, metrics.counts
    assert found["ranked"] == 6 / 8
    assert found["families"] == 1 / 2
    assert found["ranked:word>verbal"] == found["ranked:negated_antonym>verbal"] == 1 / 2
    assert found["ranked:word>lexical"] == found["ranked:negated_antonym>lexical"] == 1
    assert found["cosine:hedge"] == pytest.approx((cos(10) + cos(5)) / 2)
    assert found["cosine:paraphrase"] == pytest.approx((cos(20) + cos(10)) / 2)
    negations = [cos(5), cos(30), cos(20), cos(30)]
    mean = sum(negations) / 4
    assert found["cosine:negation"] == pytest.approx(mean)
    assert found["cosine:negation:sd"] == pytest.approx(
        math.sqrt(sum((value - mean) ** 2 for value in negations) / 4)
    )
    assert found["drift"] == 0
    assert found["questions"] == pytest.approx(answered(0, 20, 5, 30) + answered(90, 100, 110, 120))
    assert (counts["ranked"], counts["families"], counts["questions"]) == (8, 2, 8)
    assert (counts["ranked:word>verbal"], counts["cosine:negation"]) == (2, 4)
    assert set(found) == {*counts, *(f"{name}:sd" for name in counts if name.startswith("cosine"))}


def answered(anchor: float, both: float, verbal: float, lexical: float) -> float:
    """The share of the eight questions that these angles answer correctly."""
    sides = ((anchor, both), (verbal, lexical))
    right = [
        abs(first - second) < min(abs(first - wrong) for wrong in others)
        for (one, two), others in (sides, sides[::-1])
        for first, second in ((one, two), (two, one))
    ]
    return sum(right) / 8


def test_drift_is_how_far_the_cosines_of_the_anchors_have_moved() -> None:
    base = encoder(**ANGLES)
    metrics = measured(base)
    turned = encoder(**ANGLES | {"a": (60, 10, 20, 5, 30)})
    assert metrics.figures(turned)["drift"] == pytest.approx(abs(cos(30) - cos(90)), rel=1e-5)
    assert metrics.figures(base) == metrics.before


def test_an_sts_file_is_measured_as_well() -> None:
    pairs = [StsPair(5, "a", "a word"), StsPair(3, "a", "b"), StsPair(1, "b", "s")]
    base = encoder(**ANGLES)
    base.rows |= {"s": base.rows["a"] * -1}
    assert "sts" not in measured(base).before
    found = measured(base, sts=pairs).before
    # cosines: cos(10), cos(90) = 0 and another 0
    assert 0.8 < found["sts"] <= 1


def test_every_text_is_encoded_once_per_evaluation() -> None:
    base = encoder(**ANGLES)
    checks: list[None] = []
    counted = measured(base, sts=[StsPair(1, "a", "b")], check=lambda: checks.append(None))
    assert len(base.encoded) == len(set(base.encoded)) == 10
    counted.figures(base)
    assert len(base.encoded) == 20
    assert len(checks) >= 2


def test_metrics_without_data_are_left_out() -> None:
    lonely = [family("a")[:2]]  # an anchor and a hedge
    found = HeldOut(encoder(**ANGLES), lonely).before
    assert set(found) == {"cosine:hedge", "cosine:hedge:sd"}
    only = HeldOut(encoder(**ANGLES), [], sts=[StsPair(1, "a", "b"), StsPair(2, "a", "a word")])
    assert set(only.before) == {"sts"} == set(only.counts)


def test_a_sample_of_many_families_is_spread_over_all_of_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(held_out, "MOST_FAMILIES", 4)
    names = [f"f{number}" for number in range(10)]
    base = encoder(**dict.fromkeys(names, (0, 10, 20, 30, 40)))
    HeldOut(base, [family(name) for name in names])
    assert {text for text in base.encoded if " " not in text} == {"f0", "f2", "f5", "f7"}


FAMILY = [
    Member("It is warm.", Role.ANCHOR),
    Member("It may be warm.", Role.HEDGE, "word"),
    Member("It is not cold.", Role.PARAPHRASE, "negated_antonym"),
    Member("It is not warm.", Role.NEGATION, "verbal"),
    Member("It isn't warm.", Role.NEGATION, "verbal"),
    Member("It is cold.", Role.NEGATION, "lexical"),
]
FORMS = ("It is warm.", "It is not cold.", "It is not warm.", "It is cold.")


def embeddings(*degrees: float) -> dict:
    import numpy as np

    return dict(zip(FORMS, np.array(at(*degrees)), strict=True))


def test_each_form_is_asked_for_its_paraphrase() -> None:
    warm, not_cold, not_warm, cold = FORMS
    assert questions([FAMILY]) == [
        CandidateQuestion(warm, not_cold, (not_warm, cold)),
        CandidateQuestion(not_cold, warm, (not_warm, cold)),
        CandidateQuestion(not_warm, cold, (warm, not_cold)),
        CandidateQuestion(cold, not_warm, (warm, not_cold)),
    ]


@pytest.mark.parametrize("missing", ["negated_antonym", "lexical"])
def test_a_family_without_one_of_the_forms_gives_no_question(missing: str) -> None:
    assert questions([[member for member in FAMILY if member.type_id != missing]]) == []


@pytest.mark.parametrize(
    ("degrees", "share"),
    [
        ((0, 10, 90, 80), 1.0),
        ((0, 90, 10, 80), 0.0),  # the negation is nearest, as before training
        ((0, 10, 18, 90), 0.5),  # 'not cold' and 'not warm' are nearest to each other
        ((0, 0, 0, 0), 0.0),  # a tie is not an answer
    ],
)
def test_the_share_is_that_of_paraphrases_nearer_than_both_others(
    degrees: tuple[float, ...], share: float
) -> None:
    assert share_right(questions([FAMILY]), embeddings(*degrees)) == share
