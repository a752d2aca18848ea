"""SemAntoNeg-style questions: four for each family with all four forms."""

import pytest

from hedgerow.losses.families import Member, Role
from tests.training.support.vectors import at
from training.evaluation.semantoneg_questions import CandidateQuestion, questions, share_right

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
