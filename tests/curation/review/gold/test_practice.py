"""Practice rounds: every training item once, by type, with a score, and without decisions."""

import pytest
from sqlalchemy import Engine, func, select
from sqlalchemy.orm import Session

from curation.project.opening import PRACTISE_FIRST, put_setting
from curation.review import actions
from curation.review.gold import items, practice
from curation.review.gold.practice import Score, current_round, must_practise, next_round, offered
from curation.review.people import merging
from curation.review.shown_card import shown
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import Decision, GoldUse, Reviewer, Variant, Verdict
from tests.support.databases import both_databases, one_database
from tests.support.factories import add_family, person

pytestmark = both_databases

A, R, E = Verdict.ACCEPT, Verdict.REJECT, Verdict.EDIT


@pytest.fixture
def ada(engine: Engine) -> int:
    """A new reviewer. Lena has created five training items of two types, and one for the queue."""
    with writing(engine) as session:
        lena = person(session, "Lena")
        for subject, verdict in (("bridge", A), ("road", R), ("pier", A)):
            family = add_family(session, f"The {subject} is safe.", subject=subject)
            for type_id in ("word", "verbal"):
                if (subject, type_id) != ("pier", "word"):
                    items.mark(
                        session,
                        family[type_id].uid,
                        verdict,
                        reviewer_id=lena,
                        reason="wrong_scope" if verdict is R else "",
                        use=GoldUse.TRAINING,
                        explanation="Because.",
                    )
        items.mark(session, family["lexical"].uid, A, reviewer_id=lena)
        return person(session)


def answer_all(session: Session, who: int, verdict: Verdict, *, again: bool = False) -> None:
    now = next_round(session, who) if again else current_round(session, who)
    for item in now.left:
        practice.answer(session, item, verdict, reviewer_id=who, round=now.number)


def test_a_round_has_every_training_item_type_by_type(engine: Engine, ada: int) -> None:
    with writing(engine) as session:
        begun = current_round(session, ada)
        assert [item.type_id for item in begun.left] == ["verbal"] * 3 + ["word"] * 2
        assert (begun.number, begun.answered, begun.is_finished) == (1, (), False)
        practice.answer(session, begun.left[0], R, reviewer_id=ada, round=1, reason="wrong_scope")
        practice.answer(session, begun.left[0], A, reviewer_id=ada, round=1)  # the first counts
        now = current_round(session, ada)
        assert now.answered == begun.left[:1] and now.left == begun.left[1:]
        assert now.answers[begun.left[0].id].reason == "wrong_scope"


def test_the_score_is_by_type_and_an_edit_counts_as_not_accepting(engine: Engine, ada: int) -> None:
    with writing(engine) as session:
        before = session.execute(select(func.count()).select_from(Decision)).scalar()
        answer_all(session, ada, E)
        done = current_round(session, ada)
        assert done.is_finished and done.score() == Score(2, 5)
        assert done.by_type() == {"verbal": Score(1, 3), "word": Score(1, 2)}
        assert practice.scores(session) == {ada: (1, Score(2, 5))}
        assert session.execute(select(func.count()).select_from(Decision)).scalar() == before


def test_a_finished_round_can_be_done_again(engine: Engine, ada: int) -> None:
    with writing(engine) as session:
        answer_all(session, ada, R)
        answer_all(session, ada, A, again=True)
        again = current_round(session, ada)
        assert (again.number, again.score(), again.is_finished) == (2, Score(3, 5), True)
        assert practice.scores(session) == {ada: (2, Score(3, 5))}


def test_it_is_offered_to_new_reviewers_until_they_have_finished(
    engine: Engine, ada: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with writing(engine) as session:
        assert offered(session, ada) == 5 and not must_practise(session, ada)
        assert offered(session, person(session, "Lena")) == 0  # who made them
        put_setting(session, PRACTISE_FIRST, True)
        assert must_practise(session, ada)
        answer_all(session, ada, A)
        assert offered(session, ada) == 0 and not must_practise(session, ada)
        ben = person(session, "Ben")
        actions.accept(session, shown(session.get_one(Variant, 2)), reviewer_id=ben)
        assert not must_practise(session, ben) and offered(session, ben) == 5
        monkeypatch.setattr(practice, "NEW", 1)
        assert offered(session, ben) == 0


def test_two_people_who_are_one_have_one_round(engine: Engine, ada: int) -> None:
    with writing(engine) as session:
        ben = person(session, "Ben")
        item = current_round(session, ada).left[0]
        practice.answer(session, item, A, reviewer_id=ada, round=1)
        merging.merge(session, session.get_one(Reviewer, ada), session.get_one(Reviewer, ben))
        assert current_round(session, ben).answered == (item,)
        assert practice.scores(session) == {ben: (1, Score(int(item.verdict is A), 1))}
        merging.separate(session, session.get_one(Reviewer, ada))
        assert current_round(session, ben).answered == ()


def test_an_item_that_is_removed_leaves_the_round(engine: Engine, ada: int) -> None:
    with writing(engine) as session:
        item = current_round(session, ada).left[0]
        practice.answer(session, item, item.verdict, reviewer_id=ada, round=1)
        items.remove(session, item.uid)
        now = current_round(session, ada)
        assert len(now.items) == 4 and now.answered == () and now.score() == Score(0, 0)
        assert practice.scores(session) == {ada: (1, Score(1, 1))}  # the answers are kept


@one_database
def test_a_reason_must_be_one_for_the_type(engine: Engine, ada: int) -> None:
    with reading(engine) as session:
        item = current_round(session, ada).left[0]
    for reason in ("not_a_hedge", "silly"):
        with pytest.raises(HedgerowError), writing(engine) as session:
            practice.answer(session, item, R, reviewer_id=ada, round=1, reason=reason)
    with pytest.raises(HedgerowError, match="found retract"), writing(engine) as session:
        practice.answer(session, item, Verdict.RETRACT, reviewer_id=ada, round=1)
    with reading(engine) as session:
        assert current_round(session, ada).answers == {}
