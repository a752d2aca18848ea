"""Statistics about each person: which verdicts count, and what they are compared with."""

from datetime import timedelta

import pytest
from sqlalchemy import Engine
from sqlalchemy.orm import Session

from curation.diagnostics.measuring import measure_variants
from curation.review import actions
from curation.review.agreement.overlap import overlap
from curation.review.bulk import apply_rule, parse_rule
from curation.review.gold import items, practice
from curation.review.gold.practice import Score, current_round
from curation.review.people import merging
from curation.review.people.statistics import PersonFigures, Share, overlapping, person_figures
from curation.review.shown_card import shown
from curation.variants.edits import edit
from db.columns import now
from db.engine import reading, writing
from db.models import GoldUse, Reviewer, Variant, Verdict
from tests.support.databases import both_databases
from tests.support.factories import add_family, model, person

pytestmark = both_databases

A, R = Verdict.ACCEPT, Verdict.REJECT


@pytest.fixture
def ada(engine: Engine) -> int:
    with writing(engine) as session:
        for subject in ("bridge", "road", "pier"):
            add_family(session, f"The {subject} is safe.", subject=subject)
        return person(session)


def decide(
    session: Session,
    number: int,
    who: int,
    verdict: Verdict = A,
    *,
    after: float = 2.0,
    **more: bool,
) -> None:
    """A decision on a card that was shown this many seconds ago."""
    variant = session.get_one(Variant, number)
    session.refresh(variant)
    card = shown(variant, at=now() - timedelta(seconds=after), **more)
    if verdict is A:
        actions.accept(session, card, reviewer_id=who)
    else:
        actions.reject(session, card, reviewer_id=who, reason="wrong_type")


def figures(engine: Engine) -> dict[str, PersonFigures]:
    with reading(engine) as session:
        return {one.name: one for one in person_figures(session)}


def test_decisions_are_counted_by_type_without_what_was_undone(engine: Engine, ada: int) -> None:
    with writing(engine) as session:
        decide(session, 1, ada)
        decide(session, 8, ada, R)
        decide(session, 2, ada)
        actions.undo(session, reviewer_id=ada)
        decide(session, 5, ada)
        edit(session, shown(session.get_one(Variant, 15)), reviewer_id=ada, text="No pier is.")
        measure_variants(session, [4, 11, 18])
        rule = parse_rule("levenshtein < 100")
        applied = apply_rule(session, rule, verdict=A, reviewer_id=ada, types=["lexical"])
        assert applied.matches.total == 3
        decide(session, 1, model(session))
    found = figures(engine)
    assert list(found) == ["Ada"]
    ada_ = found["Ada"]
    assert ada_.decisions == 4
    assert ada_.accepted == {"verbal": Share(1, 3), "word": Share(1, 1)}
    assert list(ada_.accepted) == ["verbal", "word"] and ada_.acceptance == Share(2, 4)
    assert ada_.acceptance.in_words() == "2 of 4", "too few for an interval"
    assert Share(11, 12).in_words() == "11 of 12, 91.7% (61.5% to 99.8%)"
    low, high = ada_.acceptance.estimate().low, ada_.acceptance.estimate().high
    assert low is not None and high is not None
    assert low == pytest.approx(0.0676, abs=1e-4) and high == pytest.approx(0.9324, abs=1e-4)


def test_the_median_leaves_breaks_out_and_counts_a_key_once(engine: Engine, ada: int) -> None:
    with writing(engine) as session:
        for number, after in ((1, 2.0), (2, 4.0), (3, 9.0), (4, 3_600.0)):
            decide(session, number, ada, after=after)
        card = shown(session.get_one(Variant, 8), at=now() - timedelta(seconds=30))
        actions.reject_family(session, card, reviewer_id=ada)
        actions.accept(session, shown(session.get_one(Variant, 15)), reviewer_id=ada)
    ada_ = figures(engine)["Ada"]
    assert ada_.timed == 4
    assert ada_.seconds == pytest.approx(6.5, abs=0.2)


def test_gold_counts_the_last_verdict_before_the_answer_was_known(engine: Engine, ada: int) -> None:
    with writing(engine) as session:
        lena, ben = person(session, "Lena"), person(session, "Ben")
        decide(session, 1, ben)  # before it was a gold item
        for number, right in ((1, A), (2, R), (3, R)):
            items.mark(
                session,
                session.get_one(Variant, number).uid,
                right,
                reviewer_id=lena,
                reason="wrong_scope" if right is R else "",
            )
        decide(session, 1, ada, A, gold=True)
        decide(session, 2, ada, A, gold=True)
        decide(session, 2, ada, R)  # on a card that showed the right answer
        decide(session, 3, ada, A, gold=True)
        actions.undo(session, reviewer_id=ada)
        decide(session, 3, ada, R, gold=True)
        decide(session, 1, lena, R)
    found = figures(engine)
    assert found["Ada"].gold == Share(2, 3)
    assert found["Ben"].gold == found["Lena"].gold == Share(0, 0)
    assert found["Ben"].adjudicated == Share(1, 1)  # before Lena settled it
    with writing(engine) as session:
        items.remove(session, session.get_one(Variant, 2).uid)
    assert figures(engine)["Ada"].gold == Share(2, 2)


def test_adjudication_counts_the_last_verdict_before_anothers_settlement(
    engine: Engine, ada: int
) -> None:
    with writing(engine) as session:
        ben, cleo = person(session, "Ben"), person(session, "Cleo")
        for number in (1, 2):
            decide(session, number, ada, A)
            decide(session, number, ben, R)
        decide(session, 1, cleo, R)
        decide(session, 1, cleo, A, settles=True)
        decide(session, 2, cleo, R, settles=True)
        decide(session, 2, ada, R)  # too late
        decide(session, 3, ada, A)  # not settled
    found = figures(engine)
    assert found["Ada"].adjudicated == Share(1, 2)
    assert found["Ben"].adjudicated == Share(1, 2)
    assert found["Cleo"].adjudicated == Share(0, 0)  # her own settlement
    assert found["Cleo"].decisions == 1


def test_a_merged_person_becomes_the_other(engine: Engine, ada: int) -> None:
    with writing(engine) as session:
        lena, ben = person(session, "Lena"), person(session, "Ben")
        items.mark(session, session.get_one(Variant, 1).uid, A, reviewer_id=lena)
        items.mark(
            session, session.get_one(Variant, 2).uid, A, reviewer_id=lena, use=GoldUse.TRAINING
        )
        decide(session, 1, ada, A, gold=True)
        decide(session, 1, ben, R, gold=True)
        decide(session, 3, ben)
        item = current_round(session, ada).left[0]
        practice.answer(session, item, A, reviewer_id=ada, round=1)
        merging.merge(session, session.get_one(Reviewer, ada), session.get_one(Reviewer, ben))
    found = figures(engine)
    assert list(found) == ["Ben"]
    ben_ = found["Ben"]
    assert (ben_.decisions, ben_.gold) == (3, Share(0, 1))
    assert (ben_.practice_round, ben_.practice) == (1, Score(1, 1))


def test_verdicts_on_gold_items_do_not_overlap_but_earlier_ones_do(
    engine: Engine, ada: int
) -> None:
    with writing(engine) as session:
        lena, ben, cleo = (person(session, name) for name in ("Lena", "Ben", "Cleo"))
        decide(session, 1, ada, A)
        decide(session, 1, ben, R)
        items.mark(session, session.get_one(Variant, 1).uid, A, reviewer_id=lena)
        items.mark(session, session.get_one(Variant, 2).uid, A, reviewer_id=lena)
        decide(session, 1, cleo, A, gold=True)
        for who in (ada, ben, cleo):
            decide(session, 2, who, A, gold=True)
    with reading(engine) as session:
        found = overlap(session)
    assert found.variants == 1 and overlapping(found) == {ada: 1, ben: 1}
    with writing(engine) as session:  # removing an item does not count them all at once
        items.remove(session, session.get_one(Variant, 2).uid)
        assert overlap(session).variants == 1
