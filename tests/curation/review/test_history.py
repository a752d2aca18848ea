"""The decisions on a variant, and those of a reviewer."""

from datetime import timedelta

import pytest
from sqlalchemy import Engine
from sqlalchemy.orm import Session

from curation.review import actions
from curation.review.actions import shown
from curation.review.decisions import store_decisions
from curation.review.history import actions_since, decided_by, history, last_actions, latest_of_each
from db.columns import now
from db.engine import reading, writing
from db.models import Decision, Variant, Verdict
from tests.support.databases import both_databases, one_database
from tests.support.factories import add_family, person

pytestmark = both_databases


@pytest.fixture
def ids(engine: Engine) -> dict[str, int]:
    """The variants of one anchor, by type."""
    with writing(engine) as session:
        return {type_id: variant.id for type_id, variant in add_family(session).items()}


def card_of(session: Session, variant_id: int) -> actions.ShownCard:
    return shown(session.get_one(Variant, variant_id))


def test_the_history_shows_undone_actions(engine: Engine, ids: dict[str, int]) -> None:
    number = ids["verbal"]
    with writing(engine) as session:
        ada = person(session)
        actions.accept(session, card_of(session, number), reviewer_id=ada, note="ok")
        actions.undo(session, reviewer_id=ada)
        actions.reject(session, card_of(session, number), reviewer_id=ada, reason="wrong_type")
    with reading(engine) as session:
        found = history(session, number)
    assert [(d.reviewer, d.verdict, d.retracted) for d in found] == [
        ("Ada", Verdict.ACCEPT, True),
        ("Ada", Verdict.REJECT, False),
    ]
    assert found[0].note == "ok"
    assert [d.verdict for d in latest_of_each(found)] == [Verdict.REJECT]


def test_the_people_who_decided_are_listed_by_variant(engine: Engine, ids: dict[str, int]) -> None:
    every = list(ids.values())
    with writing(engine) as session:
        ada, bert = person(session), person(session, "Bert")
        actions.accept(session, card_of(session, ids["verbal"]), reviewer_id=ada)
        actions.accept(session, card_of(session, ids["word"]), reviewer_id=bert)
        assert decided_by(session, ada, every) == {ids["verbal"]}
        actions.undo(session, reviewer_id=ada)
        assert decided_by(session, ada, every) == set()


def test_your_latest_actions_come_first_and_complete(engine: Engine, ids: dict[str, int]) -> None:
    with writing(engine) as session:
        ada, bert = person(session), person(session, "Bert")
        actions.accept(session, card_of(session, ids["verbal"]), reviewer_id=ada)
        actions.accept(session, card_of(session, ids["word"]), reviewer_id=bert)
        actions.reject_family(session, card_of(session, ids["lexical"]), reviewer_id=ada)
        found = last_actions(session, ada, limit=9)
        assert [(a.verdict, a.type_id, a.decisions) for a in found] == [
            (Verdict.REJECT, "lexical", 7),  # the card it was made on, not the family's first
            (Verdict.ACCEPT, "verbal", 1),
        ]
        assert last_actions(session, ada, limit=1) == found[:1]
        undone = actions.retract_action(session, found[0].action_id, reviewer_id=ada)
        assert undone.variant_id == ids["lexical"]
        assert [a.type_id for a in last_actions(session, ada, limit=9)] == ["verbal"]


@one_database
def test_the_actions_of_a_day_are_those_since_its_beginning(
    engine: Engine, ids: dict[str, int]
) -> None:
    with writing(engine) as session:
        ada, yesterday = person(session), now() - timedelta(days=1)
        old = Decision(
            variant_id=ids["verbal"],
            variant_version=1,
            reviewer_id=ada,
            verdict=Verdict.ACCEPT,
            action_id="yesterday's",
            decided_at=yesterday,
        )
        store_decisions(session, [old])
        for type_id in ("word", "phrase"):
            actions.accept(session, card_of(session, ids[type_id]), reviewer_id=ada)
        midnight = now() - timedelta(hours=1)
        assert len(actions_since(session, ada, midnight)) == 2
        assert len(actions_since(session, ada, yesterday - timedelta(days=1))) == 3
        assert actions_since(session, ada, now() + timedelta(hours=1)) == set()
        actions.undo(session, reviewer_id=ada)
        assert len(actions_since(session, ada, midnight)) == 1
