"""Gold items: settled whatever reviewers say; created, undone and removed in one step."""

import pytest
from sqlalchemy import Engine
from sqlalchemy.orm import Session

from curation.anchors.changes import correct_anchor, retire_anchor
from curation.review import actions
from curation.review.gold import items
from curation.review.gold.items import gold_items, mark
from curation.review.people import merging
from curation.review.settling import shown_to_settle
from curation.review.shown_card import MAX_NOTE, shown
from curation.review.undo import Done
from curation.variants.edits import edit
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import GoldUse, Reviewer, Status, Variant, Verdict
from tests.support.databases import both_databases, one_database
from tests.support.factories import add_family, person

pytestmark = both_databases

A, R = Verdict.ACCEPT, Verdict.REJECT


@pytest.fixture
def lead(engine: Engine) -> int:
    with writing(engine) as session:
        add_family(session)
        return person(session, "Lena")


def uid_of(session: Session, number: int = 1) -> str:
    return session.get_one(Variant, number).uid


def make(engine: Engine, lead: int, verdict: Verdict = A, number: int = 1, **more: str) -> None:
    if verdict is R:
        more.setdefault("reason", "wrong_scope")
    with writing(engine) as session:
        mark(session, uid_of(session, number), verdict, reviewer_id=lead, **more)


def status(engine: Engine, number: int = 1) -> Status:
    with reading(engine) as session:
        return session.get_one(Variant, number).status


def test_marking_settles_a_variant_that_nobody_disagrees_about(engine: Engine, lead: int) -> None:
    make(engine, lead, R, reason="wrong_scope", explanation=" <b>Only the end.</b>\n")
    with reading(engine) as session:
        (found,) = gold_items(session)
        assert (found.verdict, found.reason, found.use) == (R, "wrong_scope", GoldUse.MIXED)
        assert (found.explanation, found.maker, found.maker_id) == (
            "<b>Only the end.</b>",
            "Lena",
            lead,
        )
        assert gold_items(session, of=[2]) == []
        assert gold_items(session, use=GoldUse.TRAINING) == []
    assert status(engine) is Status.REJECTED


def test_no_verdict_of_a_reviewer_changes_the_status_of_a_gold_item(
    engine: Engine, lead: int
) -> None:
    make(engine, lead)
    with writing(engine) as session:
        variant = session.get_one(Variant, 1)
        actions.reject(
            session, shown(variant), reviewer_id=person(session, "Ben"), reason="wrong_type"
        )
        assert variant.status is Status.ACCEPTED
        done = edit(
            session,
            shown(variant),
            reviewer_id=person(session, "Cleo"),
            text="The bridge isn't safe.",
        )
        assert session.get_one(Variant, 1).status is Status.ACCEPTED  # an edit replaces nothing
        child = session.get_one(Variant, done.child_id)
        assert child.status is Status.ACCEPTED  # like the user's own variants
        actions.undo(session, reviewer_id=person(session, "Cleo"))
        assert session.get_one(Variant, 1).status is Status.ACCEPTED
        assert session.get_one(Variant, done.child_id).status is Status.SUPERSEDED
        dora = person(session, "Dora")
        actions.reject_family(session, shown(session.get_one(Variant, 2)), reviewer_id=dora)
        assert session.get_one(Variant, 1).status is Status.ACCEPTED
        assert session.get_one(Variant, 2).status is Status.REJECTED
        assert len(gold_items(session)) == 1


def test_a_gold_item_is_not_settled_again(engine: Engine, lead: int) -> None:
    make(engine, lead)
    with writing(engine) as session:
        with pytest.raises(HedgerowError, match="is a gold item, which settles it"):
            shown_to_settle(session, uid_of(session))
        items.remove(session, uid_of(session))
        assert shown_to_settle(session, uid_of(session)).settles


def test_one_undo_reverses_the_settlement_and_the_gold_item(engine: Engine, lead: int) -> None:
    with writing(engine) as session:
        variant = session.get_one(Variant, 1)
        ben = person(session, "Ben")
        actions.accept(session, shown(variant), reviewer_id=ben)
        actions.reject(
            session, shown(variant), reviewer_id=person(session, "Cleo"), reason="wrong_type"
        )
    make(engine, lead)
    with writing(engine) as session:
        done = actions.undo(session, reviewer_id=lead)
        assert done is not None and done.done is Done.SETTLE
        assert gold_items(session) == []
        assert session.get_one(Variant, 1).status is Status.CONFLICT
    make(engine, lead, R)
    assert status(engine) is Status.REJECTED


def test_removing_leaves_the_status(engine: Engine, lead: int) -> None:
    make(engine, lead, R)
    with writing(engine) as session:
        assert items.remove(session, uid_of(session)).verdict is R
        with pytest.raises(HedgerowError, match="is not a gold item"):
            items.remove(session, uid_of(session))
        assert gold_items(session) == []
    assert status(engine) is Status.REJECTED
    make(engine, lead, A)
    assert status(engine) is Status.ACCEPTED


def test_a_corrected_or_retired_anchor_leaves_no_gold_item(engine: Engine, lead: int) -> None:
    make(engine, lead)
    with writing(engine) as session:
        correct_anchor(session, 1, "The old bridge is safe.", reviewer_id=lead, expected_revision=1)
        assert gold_items(session) == []
    make(engine, lead, number=2)
    with writing(engine) as session:
        retire_anchor(session, 1)
        assert gold_items(session) == []


def test_the_maker_is_who_they_were_merged_into(engine: Engine, lead: int) -> None:
    make(engine, lead)
    with writing(engine) as session:
        into = person(session, "Lena B.")
        merging.merge(session, session.get_one(Reviewer, lead), session.get_one(Reviewer, into))
        assert [(one.maker_id, one.maker) for one in gold_items(session)] == [(into, "Lena B.")]


@one_database
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"uid": "0" * 16}, "There is no variant"),
        ({"reason": "wrong_type"}, "Only 'reject' takes a reason"),
        ({"verdict": R, "reason": "not_a_hedge"}, "is for hedges"),
        ({"verdict": R, "reason": "silly"}, "Expected a reject reason"),
        ({"verdict": R}, "Expected a reason for 'reject', found none"),
        ({"verdict": R, "reason": "other"}, "Expected an explanation with the reason 'other'"),
        ({"explanation": "a" * (MAX_NOTE + 1)}, "at most 2000 characters, found 2001"),
    ],
)
def test_impossible_values_are_refused(
    engine: Engine, lead: int, given: dict[str, object], message: str
) -> None:
    with reading(engine) as session:
        wanted = {"uid": uid_of(session), "verdict": A} | given
    with pytest.raises(HedgerowError, match=message), writing(engine) as session:
        mark(session, reviewer_id=lead, **wanted)  # type: ignore[arg-type]
    with reading(engine) as session:
        assert gold_items(session) == []
        assert session.get_one(Variant, 1).status is Status.PENDING


@one_database
def test_a_variant_is_a_gold_item_once_and_while_it_is_in_use(engine: Engine, lead: int) -> None:
    make(engine, lead)
    with pytest.raises(HedgerowError, match="is already a gold item .accept.; remove it first"):
        make(engine, lead, R)
    with writing(engine) as session:
        edit(session, shown(session.get_one(Variant, 2)), reviewer_id=lead, text="No bridge is.")
    with pytest.raises(HedgerowError, match="An edit has replaced"):
        make(engine, lead, number=2)
    with writing(engine) as session:
        retire_anchor(session, 1)
    with pytest.raises(HedgerowError, match="is retired"):
        make(engine, lead, number=3)
