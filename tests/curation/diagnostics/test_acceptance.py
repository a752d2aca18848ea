"""Acceptance and reject reasons, compared with counts over all decisions."""

from collections import Counter

from sqlalchemy import Engine, update
from sqlalchemy.orm import Session

from curation.diagnostics.acceptance import (
    Dimension,
    Outcomes,
    ReasonCount,
    outcomes,
    reject_reasons,
)
from curation.project.funnel import funnel
from curation.review import actions
from db.columns import now
from db.engine import reading, writing
from db.models import Reviewer, Status, Variant
from tests.curation.support.measured import Measured, everything, fill
from tests.support.databases import both_databases, one_database
from tests.support.factories import add_family, model, person

pytestmark = both_databases

NAMES = {
    Status.ACCEPTED: "accepted",
    Status.SUPERSEDED: "edited",
    Status.REJECTED: "rejected",
    Status.CONFLICT: "conflict",
    Status.PENDING: "pending",
}


def group_of(row: Measured, dimension: Dimension) -> tuple[object, ...]:
    return {
        Dimension.TYPE: (row.type_id,),
        Dimension.CUE: (row.cue,),
        Dimension.GENRE: (row.genre,),
        Dimension.ORIGIN: (*row.origin, None),
    }[dimension]


def test_outcomes_of_variants_that_are_not_edits(engine: Engine) -> None:
    with writing(engine) as session:
        fill(session)
    with reading(engine) as session:
        rows = [r for r in everything(session) if not r.retired and not r.is_edit]
        for types, source_id in (((), None), (("word", "affixal"), None), ((), 2)):
            for dimension in Dimension:
                expected: dict[tuple[object, ...], Counter[str]] = {}
                for row in rows:
                    if types and row.type_id not in types:
                        continue
                    if source_id not in (None, row.source_id):
                        continue
                    if dimension is Dimension.CUE and not row.cue:
                        continue
                    if dimension is Dimension.PROMPT:  # none of these was written with a prompt
                        continue
                    counts = expected.setdefault(group_of(row, dimension), Counter())
                    counts[NAMES[row.status]] += 1
                found = outcomes(session, dimension, types=types, source_id=source_id)
                assert found == {key: Outcomes(**counts) for key, counts in expected.items()}


def test_acceptance_is_of_the_decided() -> None:
    some = Outcomes(accepted=6, edited=2, rejected=1, conflict=1, pending=90)
    assert (some.decided, some.acceptance, some.as_written) == (10, 0.8, 0.6)
    assert Outcomes(pending=3).acceptance is None
    assert Outcomes(pending=3).as_written is None


@one_database
def test_over_all_types_it_is_the_acceptance_of_the_overview(starter_engine: Engine) -> None:
    with reading(starter_engine) as session:
        found = outcomes(session, Dimension.TYPE).values()
        total = funnel(session).total
    usable = sum(group.accepted + group.edited for group in found)
    assert usable == total.accepted
    assert sum(group.decided for group in found) == total.decided
    assert sum(group.pending for group in found) == total.pending
    assert sum(group.edited for group in found) == 1280


def reject(session: Session, variant: Variant, reviewer: int, reason: str) -> None:
    card = actions.shown(session.get_one(Variant, variant.id), at=now())
    actions.reject(session, card, reviewer_id=reviewer, reason=reason)


def reasons(session: Session, dimension: Dimension = Dimension.TYPE) -> list[ReasonCount]:
    return sorted(reject_reasons(session, dimension))


def test_a_reason_counts_until_its_verdict_is_replaced(engine: Engine) -> None:
    with writing(engine) as session:
        family = add_family(session)
        ada, ben = person(session), person(session, "Ben")
        reject(session, family["verbal"], ada, "wrong_type")
        reject(session, family["verbal"], ben, "wrong_type")  # the same reason twice: one variant
        reject(session, family["word"], ada, "wrong_scope")
        reject(session, family["word"], ben, "not_a_hedge")  # two reasons for one variant
        reject(session, family["lexical"], ada, "wrong_scope")
        reject(session, family["lexical"], ada, "meaning_changed")  # a change of mind
        reject(session, family["affixal"], ada, "ungrammatical")
        actions.undo(session, reviewer_id=ada)
        reject(session, family["phrase"], ada, "ungrammatical")
        card = actions.shown(session.get_one(Variant, family["phrase"].id), at=now())
        actions.accept(session, card, reviewer_id=ben)  # a conflict is not a rejection
    with reading(engine) as session:
        assert reasons(session) == [
            (("lexical",), "meaning_changed", 1),
            (("verbal",), "wrong_type", 1),
            (("word",), "not_a_hedge", 1),
            (("word",), "wrong_scope", 1),
        ]
        assert reasons(session, Dimension.CUE) == [
            (("probably",), "not_a_hedge", 1),
            (("probably",), "wrong_scope", 1),
        ]
        assert sum(row.number for row in reasons(session, Dimension.GENRE)) == 4
        assert {row.group for row in reasons(session, Dimension.ORIGIN)} == {("", "", None)}
        assert reject_reasons(session, Dimension.TYPE, types=("verbal",)) == [
            (("verbal",), "wrong_type", 1)
        ]


@one_database
def test_undoing_a_change_of_mind_brings_the_first_reason_back(engine: Engine) -> None:
    with writing(engine) as session:
        family = add_family(session)
        ada = person(session)
        reject(session, family["verbal"], ada, "wrong_type")
        reject(session, family["verbal"], ada, "wrong_scope")
        assert [row.reason for row in reasons(session)] == ["wrong_scope"]
        actions.undo(session, reviewer_id=ada)
        assert [row.reason for row in reasons(session)] == ["wrong_type"]


@one_database
def test_a_verdict_from_before_a_correction_gives_no_reason(engine: Engine) -> None:
    with writing(engine) as session:
        family = add_family(session)
        ada, ben = person(session), person(session, "Ben")
        reject(session, family["verbal"], ada, "wrong_type")
        session.refresh(family["verbal"])
        session.execute(update(Variant).values(since_version=family["verbal"].version))
        reject(session, family["verbal"], ben, "wrong_scope")
    with reading(engine) as session:
        assert reasons(session) == [(("verbal",), "wrong_scope", 1)]


@one_database
def test_a_model_that_does_not_count_gives_no_reason(engine: Engine) -> None:
    with writing(engine) as session:
        family = add_family(session)
        judge = model(session)
        reject(session, family["verbal"], judge, "wrong_scope")
        assert reasons(session) == [(("verbal",), "wrong_scope", 1)]
        session.get_one(Reviewer, judge).counts = False
        session.flush()
        reject(session, family["verbal"], person(session), "wrong_type")
        assert reasons(session) == [(("verbal",), "wrong_type", 1)]
