"""Agreement of a model with people: by hand, and compared with scikit-learn."""

import random

import pytest
from sqlalchemy import Engine
from sqlalchemy.orm import Session

from curation.anchors.changes import correct_anchor
from curation.review import actions
from curation.review.actions import shown
from curation.review.opinions.agreement import Agreement, agreement, together, verdict_counts
from curation.review.opinions.stored import show_opinions
from db.engine import reading, writing
from db.models import Variant, Verdict
from tests.support.databases import both_databases
from tests.support.factories import add_family, add_opinion, judge, person

pytestmark = both_databases

A, R, E = Verdict.ACCEPT, Verdict.REJECT, Verdict.EDIT


def decide(session: Session, variant: Variant, who: int, verdict: Verdict) -> None:
    card = shown(variant)
    if verdict is A:
        actions.accept(session, card, reviewer_id=who)
    elif verdict is R:
        actions.reject(session, card, reviewer_id=who, reason="wrong_scope")
    else:
        actions.edit(session, card, reviewer_id=who, text=f"{variant.text} Really.")


def test_agreement_by_hand(engine: Engine) -> None:
    """Eight anchors, with the verdicts of the model and Ada on each of two types."""
    verbal = [(A, A), (A, A), (A, R), (R, A), (E, E), (R, E), (R, R), (A, None)]
    word = [(A, A), (R, A), (A, R), (None, A), (A, A), (A, A), (A, A), (R, R)]
    with writing(engine) as session:
        who, ada, bert = judge(session), person(session), person(session, "Bert")
        for number, pairs in enumerate(zip(verbal, word, strict=True)):
            found = add_family(session, f"Bridge {number} is safe.", subject=f"bridge {number}")
            for type_id, (model, own) in zip(("verbal", "word"), pairs, strict=True):
                variant = found[type_id]
                if model is not None:
                    add_opinion(session, variant, model, reviewer_id=who)
                if own is not None:
                    decide(session, variant, ada, own)
            families = found
        # The latest verdict counts: Ada changes her mind, then undoes that; Bert agrees with the
        # model.
        decide(session, families["word"], ada, A)
        actions.undo(session, reviewer_id=ada)
        decide(session, families["word"], bert, R)
        # Two do not count: one decided after looking, and one on an earlier text of the anchor.
        seen = add_family(session, "A road is safe.", subject="road")["verbal"]
        add_opinion(session, seen, A, reviewer_id=who)
        show_opinions(session, seen.id, reviewer_id=ada, own_first=False)
        session.flush()
        decide(session, seen, ada, A)
        old = add_family(session, "A path is safe.", subject="path")["verbal"]
        add_opinion(session, old, A, reviewer_id=who)
        decide(session, old, ada, A)
        correct_anchor(
            session, old.anchor_id, "A wide path is safe.", reviewer_id=ada, expected_revision=1
        )
        # Looking after one's own verdict changes nothing.
        show_opinions(session, families["word"].id, reviewer_id=ada, own_first=True)
    with reading(engine) as session:
        rows = agreement(session, who)
        assert verdict_counts(session, who) == {A: 11, R: 5, E: 1}
    assert rows == [Agreement("verbal", 2, 1, 1, 3, 1), Agreement("word", 4, 1, 1, 2, 0)]
    assert rows[0].share == 5 / 7 and rows[1].share == 6 / 8
    # 7 pairs: both accept 3 of 7, so (9 + 16) / 49 agree by chance.
    assert rows[0].kappa == pytest.approx((5 / 7 - 25 / 49) / (1 - 25 / 49))
    assert together(rows) == Agreement("all", 6, 2, 2, 5, 1)


def test_kappa_is_scikit_learns() -> None:
    from sklearn.metrics import cohen_kappa_score

    dice = random.Random(1)
    for _ in range(50):
        cells = [dice.randint(0, 9) for _ in range(4)]
        row = Agreement("verbal", *cells)
        pairs = (
            [(1, 1)] * cells[0] + [(1, 0)] * cells[1] + [(0, 1)] * cells[2] + [(0, 0)] * cells[3]
        )
        model, own = zip(*pairs, strict=True) if pairs else ((), ())
        if row.kappa is not None:
            assert row.kappa == pytest.approx(cohen_kappa_score(model, own))


def test_kappa_is_left_open_if_it_is_not_defined() -> None:
    assert Agreement("verbal").kappa is None and Agreement("verbal").share is None
    assert Agreement("verbal", both=5).kappa is None
    assert Agreement("verbal", both=5, model_only=1).kappa == 0
