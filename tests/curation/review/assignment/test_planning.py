"""Changing the assignment while people decide, and the effect of merging people."""

import threading

from sqlalchemy import Engine

from curation.content_uids import HOLDOUT_SALT, OVERLAP_SALT, SPLIT_SALT
from curation.review import actions
from curation.review.assignment.plan import Plan, current_plan
from curation.review.assignment.planning import assign
from curation.review.decisions import compute_standing
from curation.review.people.merging import merge, separate
from curation.review.queue import Queue, among
from curation.upkeep.kept_values import CHECKS
from db.engine import reading, writing
from db.models import Reviewer, Variant
from db.settings import Settings
from tests.support.databases import both_databases
from tests.support.factories import add_family, person

pytestmark = both_databases


def test_a_decision_stored_while_the_assignment_changes_goes_by_the_new_one(
    engine: Engine,
) -> None:
    with writing(engine) as session:
        variant_id = add_family(session)["verbal"].id
        ada, bert = person(session), person(session, "Bert")
    has_decided, ends = threading.Event(), threading.Event()

    def decide() -> None:
        with writing(engine) as session:
            card = actions.shown(session.get_one(Variant, variant_id))
            actions.accept(session, card, reviewer_id=ada)
            has_decided.set()
            assert ends.wait(30)

    def change() -> None:
        with writing(engine) as session:
            assign(session, reviewers=2, share=1)

    deciding, changing = threading.Thread(target=decide), threading.Thread(target=change)
    deciding.start()
    assert has_decided.wait(30)
    changing.start()
    changing.join(0.5)
    assert changing.is_alive()  # it waits for the decision
    ends.set()
    deciding.join()
    changing.join()
    with reading(engine) as session:
        assert current_plan(session) == Plan(2, 1.0)
        assert session.get_one(Variant, variant_id).verdicts_by == f",{ada},"
        assert compute_standing(session, [variant_id])[variant_id].verdicts_by == f",{ada},"
        assert among(session, [variant_id], Queue.PENDING, reviewer_id=bert) == {variant_id}
        assert among(session, [variant_id], Queue.PENDING, reviewer_id=ada) == set()


def test_merged_people_are_one(engine: Engine) -> None:
    with writing(engine) as session:
        assign(session, reviewers=2, share=1)
        family = add_family(session)
        ada, other, bert = (person(session, name) for name in ("Ada", "Adah", "Bert"))
        for type_id, who in (("verbal", ada), ("verbal", other), ("word", other)):
            session.refresh(family[type_id])
            actions.accept(session, actions.shown(family[type_id]), reviewer_id=who)
        ids = [family["verbal"].id, family["word"].id]

    def asked(who: int) -> list[bool]:
        with reading(engine) as session:
            found = among(session, ids, Queue.PENDING, reviewer_id=who)
            kept = {key: session.get_one(Variant, key).verdicts_by for key in ids}
            computed = compute_standing(session, ids)
            assert kept == {key: computed[key].verdicts_by for key in ids}
            return [key in found for key in ids]

    assert [asked(ada), asked(other), asked(bert)] == [[False, True], [False, False], [False, True]]
    with writing(engine) as session:
        merge(session, session.get_one(Reviewer, other), session.get_one(Reviewer, ada))
    assert [asked(ada), asked(other), asked(bert)] == [[False] * 2, [False] * 2, [True, True]]
    with writing(engine) as session:
        separate(session, session.get_one(Reviewer, other))
    assert [asked(ada), asked(other), asked(bert)] == [[False, True], [False, False], [False, True]]


def test_the_check_finds_and_repairs_a_wrong_value(engine: Engine) -> None:
    with writing(engine) as session:
        variant = add_family(session)["verbal"]
        variant.verdicts_by = ",1,"
    status = next(check for check in CHECKS if check.id == "status")
    assert status.repair is not None
    with writing(engine) as session:
        found = status.find(session, Settings(database_url=""))
        assert found.number == 1
        status.repair(session, found)
        assert status.find(session, Settings(database_url="")).number == 0


def test_the_assignment_is_independent_of_the_other_hashes() -> None:
    assert len({OVERLAP_SALT, SPLIT_SALT, HOLDOUT_SALT}) == 3
    uids = [f"{number:016x}" for number in range(4000)]
    chosen = [uid for uid in uids if Plan(2, 0.2).wanted(uid) == 2]
    assert 0.17 < len(chosen) / len(uids) < 0.23
    assert set(chosen) < {uid for uid in uids if Plan(3, 0.5).wanted(uid) == 3}
    assert not any(Plan(2, 0.0).wanted(uid) > 1 for uid in uids)
