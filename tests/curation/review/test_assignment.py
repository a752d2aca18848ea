"""Changing the assignment while people decide, and the effect of merging people."""

import threading

from curation.content_uids import HOLDOUT_SALT, OVERLAP_SALT, SPLIT_SALT
from curation.review import actions
from curation.review.assignment.plan import Plan, current_plan
from curation.review.assignment.planning import assign
from curation.review.queue import Queue, among
from curation.upkeep.kept_values import CHECKS
from db.engine import writing
from db.models import Variant
from db.settings import Settings
from tests.curation.review.desk import VERBAL, WORD, A, Desk
from tests.support.databases import both_databases


def asked(desk: Desk, who: str) -> set[int]:
    """Which of the two variants are pending for a person."""
    return desk.read(among, [VERBAL, WORD], Queue.PENDING, reviewer_id=desk.who(who))


@both_databases
def test_a_decision_stored_while_the_assignment_changes_goes_by_the_new_one(desk: Desk) -> None:
    ada = desk.who("Ada")
    has_decided, ends = threading.Event(), threading.Event()

    def decide() -> None:
        with writing(desk.engine) as session:
            card = actions.shown(session.get_one(Variant, VERBAL))
            actions.accept(session, card, reviewer_id=ada)
            has_decided.set()
            assert ends.wait(30)

    deciding = threading.Thread(target=decide)
    changing = threading.Thread(
        target=desk.write, args=[assign], kwargs={"reviewers": 2, "share": 1}
    )
    deciding.start()
    assert has_decided.wait(30)
    changing.start()
    changing.join(0.5)
    assert changing.is_alive()  # it waits for the decision
    ends.set()
    deciding.join()
    changing.join()
    assert desk.read(current_plan) == Plan(2, 1.0)
    assert desk.standings()[VERBAL].verdicts_by == f",{ada},"
    assert (asked(desk, "Bert"), asked(desk, "Ada")) == ({VERBAL, WORD}, {WORD})


@both_databases
def test_merged_people_are_one(desk: Desk) -> None:
    desk.write(assign, reviewers=2, share=1)
    for variant_id, who in ((VERBAL, "Ada"), (VERBAL, "Adah"), (WORD, "Adah")):
        desk.decide(who, variant_id)
    people = ("Ada", "Adah", "Bert")
    before = [{WORD}, set(), {WORD}]
    assert [asked(desk, who) for who in people] == before
    desk.merge("Adah", into="Ada")
    assert [asked(desk, who) for who in people] == [set(), set(), {VERBAL, WORD}]
    desk.standings()
    desk.separate("Adah")
    assert [asked(desk, who) for who in people] == before
    desk.standings()


def test_the_check_finds_and_repairs_a_wrong_value(desk: Desk) -> None:
    with writing(desk.engine) as session:
        session.get_one(Variant, VERBAL).verdicts_by = ",1,"
    check = next(check for check in CHECKS if check.id == "status")
    found = desk.read(check.find, Settings(database_url=""))
    assert found.number == 1 and check.repair is not None
    desk.write(check.repair, found)
    assert desk.read(check.find, Settings(database_url="")).number == 0
    assert desk.standings()[VERBAL].verdicts_by == ""


@both_databases
def test_a_share_of_the_variants_only_grows(desk: Desk) -> None:
    for variant_id in range(1, 8):
        desk.decide("Ada", variant_id)
    desk.families(3)
    for variant_id in range(8, 29):
        desk.decide("Ada", variant_id, A)
    begun: list[set[int]] = []
    for share in (0.2, 0.5, 0.8, 1):
        desk.write(assign, reviewers=2, share=share)
        begun.append({key for key, one in desk.standings().items() if one.verdicts_by})
    assert begun[0] < begun[1] < begun[2] < begun[3] == set(range(1, 29))


def test_the_assignment_is_independent_of_the_other_hashes() -> None:
    assert len({OVERLAP_SALT, SPLIT_SALT, HOLDOUT_SALT}) == 3
    uids = [f"{number:016x}" for number in range(4000)]
    chosen = {uid for uid in uids if Plan(2, 0.2).wanted(uid) == 2}
    assert 0.17 < len(chosen) / len(uids) < 0.23
    assert chosen < {uid for uid in uids if Plan(3, 0.5).wanted(uid) == 3}
    assert not any(Plan(2, 0.0).wanted(uid) > 1 for uid in uids)
