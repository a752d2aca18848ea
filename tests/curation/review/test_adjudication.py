"""Conflicts with each person's verdict, their order, and the history of settled ones."""

from datetime import timedelta

import pytest
from sqlalchemy import Engine
from sqlalchemy.orm import Session

from curation.review import actions
from curation.review.adjudication import (
    ConflictOrder,
    conflicts,
    latest_of_each,
    ranked,
    settled,
    verdicts_on,
    wordings,
)
from curation.review.settling import shown_to_settle
from curation.review.shown_card import shown
from db.columns import now
from db.engine import reading, writing
from db.models import Status, Variant, Verdict
from tests.support.databases import both_databases
from tests.support.factories import add_family, person

pytestmark = both_databases
BETTER = "The bridge is in no way safe."


def decide(session: Session, variant_id: int, name: str, verdict: str, text: str = "") -> None:
    variant = session.get_one(Variant, variant_id)
    card = shown(variant, at=now() - timedelta(seconds=7))
    who = person(session, name)
    if verdict == "accept":
        actions.accept(session, card, reviewer_id=who)
    elif verdict == "reject":
        actions.reject(session, card, reviewer_id=who, reason="wrong_scope", note="Narrow.")
    else:
        actions.edit(session, card, reviewer_id=who, text=text)


@pytest.fixture
def family(engine: Engine) -> list[int]:
    """Two people disagree about the second variant, five about the fourth. The third has
    agreement."""
    with writing(engine) as session:
        ids = [variant.id for variant in add_family(session).values()]
        for name, verdict in (("Ada", "accept"), ("Bert", "reject")):
            decide(session, ids[1], name, verdict)
        decide(session, ids[2], "Ada", "accept")
        for name, verdict in zip(
            "ABCDE", ("accept", "reject", "accept", "reject", "accept"), strict=True
        ):
            decide(session, ids[3], name, verdict)
        return ids


def settle(session: Session, variant_id: int, name: str = "Cleo") -> None:
    card = shown_to_settle(session, session.get_one(Variant, variant_id).uid)
    actions.reject(session, card, reviewer_id=person(session, name), reason="wrong_type")


def test_conflicts_show_each_persons_verdict(engine: Engine, family: list[int]) -> None:
    with reading(engine) as session:
        first, second = conflicts(session)
        assert (first.type_id, first.dispute, second.dispute) == ("absolute", 1, 2)
        assert first.anchor == "The bridge is safe."
        accepted, rejected = first.verdicts
        assert (accepted.reviewer, accepted.verdict) == ("Ada", Verdict.ACCEPT)
        assert (rejected.reason, rejected.note) == ("wrong_scope", "Narrow.")
        assert rejected.seconds is not None and 6 < rejected.seconds < 60
        assert first.since == rejected.decided_at
        assert conflicts(session, type_ids=["verbal"]) == [] == conflicts(session, source_id=99)


def test_the_most_disputed_comes_first_and_own_anchors_before_corpora(
    engine: Engine, family: list[int]
) -> None:
    with reading(engine) as session:
        assert ranked(session) == [family[3], family[1]]
        found = conflicts(session, order=ConflictOrder.DISPUTED)
        assert [one.dispute for one in found] == [2, 1]
    with writing(engine) as session:
        corpus = add_family(session, "The road is safe.", source="Hedgerow starter corpus")
        for name, verdict in zip("ABCDEF", ("accept", "reject") * 3, strict=True):
            decide(session, corpus["verbal"].id, name, verdict)
    with reading(engine) as session:
        assert ranked(session) == [family[3], family[1], corpus["verbal"].id]


def test_a_change_of_mind_counts_once_and_undone_decisions_do_not_count(
    engine: Engine, family: list[int]
) -> None:
    with writing(engine) as session:
        decide(session, family[3], "A", "reject")
        actions.undo(session, reviewer_id=person(session, "E"))
    with reading(engine) as session:
        given = latest_of_each(verdicts_on(session, [family[3]])[family[3]])
        assert [one.verdict.value for one in given] == ["reject", "reject", "accept", "reject"]
        assert conflicts(session)[1].dispute == 1


def test_an_edited_wording_is_reported_and_can_settle_it(engine: Engine, family: list[int]) -> None:
    with writing(engine) as session:
        decide(session, family[1], "Dora", "edit", BETTER)
    with reading(engine) as session:
        (wording,) = wordings(verdicts_on(session, [family[1]])[family[1]])
        assert (wording.text, wording.type_id) == (BETTER, "absolute")
    with writing(engine) as session:
        card = shown_to_settle(session, session.get_one(Variant, family[1]).uid)
        outcome = actions.edit(
            session, card, reviewer_id=person(session, "Cleo"), text=wording.text
        )
        assert session.get_one(Variant, outcome.child_id).uid == wording.uid
    with reading(engine) as session:
        assert session.get_one(Variant, family[1]).status == Status.SUPERSEDED
        (found,) = settled(session)
        assert found.settlement.wording == wording


def test_a_settled_conflict_keeps_its_trail_and_an_undo_brings_it_back(
    engine: Engine, family: list[int]
) -> None:
    with writing(engine) as session:
        settle(session, family[1])
        settle(session, family[3])
        settle(session, family[3], "Dora")  # once more
    with reading(engine) as session:
        assert conflicts(session) == []
        second, first = settled(session)
        assert [second.variant_id, first.variant_id] == [family[3], family[1]]
        assert second.settlement.reviewer == "Dora"
        assert [one.reviewer for one in second.verdicts] == ["A", "B", "C", "D", "E", "Cleo"]
        assert [(one.reviewer, one.verdict.value) for one in first.verdicts] == [
            ("Ada", "accept"),
            ("Bert", "reject"),
        ]
        assert len(settled(session, limit=1)) == 1
        assert settled(session, type_id="verbal") == [] == settled(session, source_id=99)
    with writing(engine) as session:
        actions.undo(session, reviewer_id=person(session, "Cleo"))
        actions.undo(session, reviewer_id=person(session, "Dora"))
    with reading(engine) as session:
        assert [one.variant_id for one in settled(session)] == [family[1]]
        assert len(conflicts(session)) == 1
