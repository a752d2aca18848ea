"""Whatever people and models do, and however the assignment changes, the kept columns and the
queues match their definitions."""

import random
import threading
from collections.abc import Callable
from contextlib import suppress

import pytest
from sqlalchemy import Engine, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.anchors.changes import correct_anchor
from curation.content_uids import HOLDOUT_SALT, OVERLAP_SALT, SPLIT_SALT
from curation.review import actions
from curation.review.assignment.plan import Plan, current_plan
from curation.review.assignment.planning import assign
from curation.review.assignment.progress import progress
from curation.review.assignment.quotas import set_quota, work_done, workload
from curation.review.bulk import RULE, apply_rule, parse_rule
from curation.review.decisions import counts_still
from curation.review.history import PastDecision, history, not_retracted
from curation.review.opinions.model_verdicts import apply_switch, plan_switch
from curation.review.people import by_id
from curation.review.queue import Order, Queue, among, count_left, next_variant
from curation.review.settling import contested
from curation.review.shown_card import ShownCard, shown
from curation.upkeep.kept_values import CHECKS
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import Anchor, Decision, Reviewer, ReviewerKind, Status, Variant
from db.settings import Settings
from tests.curation.review.desk import VERBAL, WORD, A, Desk, E, R
from tests.support.databases import both_databases
from tests.support.factories import TEXTS, add_family, add_opinion, judge, model, person

PEOPLE = ("Ada", "Bert", "Cleo", "Dora")
DECISIONS = "accept reject edit retype undo".split() * 4
OTHERS = "family rule correct cue retire model opinion switch merge separate plan".split()


class History:
    """Random actions, some of which are refused.

    Attributes:
        plans: whether several people may be assigned to a variant.
    """

    def __init__(self, engine: Engine, seed: int, *, plans: bool) -> None:
        self.desk, self.dice = Desk(engine), random.Random(seed)
        self.kinds = [kind for kind in (*DECISIONS, *OTHERS) if plans or kind != "plan"]
        with writing(engine) as session:
            for text in ("The bridge is safe.", "The road is safe."):
                add_family(session, text)
            self.people = [person(session, name) for name in PEOPLE]
            self.judges = [judge(session), judge(session, "another")]
            self.models = [model(session), model(session, "another")]
            if plans:
                assign(session, reviewers=self.dice.choice([2, 3]), share=1)

    def step(self) -> None:
        kind = self.dice.choice(self.kinds)
        if kind == "switch":
            self.switch()
            return
        with suppress(HedgerowError), writing(self.desk.engine) as session:
            self.act(session, kind)
        self.desk.standings()  # which are checked

    def switch(self) -> None:
        """Variants on which people have decided stay as they are."""
        before, decided = self.desk.standings(), self.desk.read(decided_by_people)
        switched = self.dice.choice(self.judges + self.models)
        with writing(self.desk.engine) as session:
            counts = not session.get_one(Reviewer, switched).counts
            apply_switch(session, plan_switch(session, switched, counts=counts))
        after = self.desk.standings()
        assert {key: after[key] for key in decided} == {key: before[key] for key in decided}

    def card(self, session: Session, variant: Variant) -> ShownCard:
        """Sometimes an outdated card, and often one that settles a conflict."""
        settles = bool(contested(session, [variant])) and self.dice.random() < 0.7
        card = shown(variant, settles=settles, blind=self.dice.random() < 0.5)
        old = self.dice.random() < 0.2
        return card._replace(version=self.dice.randint(1, variant.version)) if old else card

    def act(self, session: Session, kind: str) -> None:
        dice = self.dice
        variant = dice.choice(session.execute(select(Variant)).scalars().all())
        card = self.card(session, variant)
        who, other = dice.sample(self.people, 2)
        mine: dict[str, int] = {"reviewer_id": who}
        text = dice.choice(["One wording.", "Another wording.", variant.text + "!"])
        type_id, cue = dice.choice(["verbal", "word"]), dice.choice(["seems", "maybe"])
        rule = parse_rule(dice.choice(["source = test", "source != test"]))
        share = dice.choice([0, 0.4, 0.8, 1])
        do: dict[str, Callable[[], object]] = {
            "accept": lambda: actions.accept(session, card, **mine),
            "model": lambda: actions.accept(session, card, reviewer_id=dice.choice(self.models)),
            "reject": lambda: actions.reject(session, card, **mine, reason="wrong_scope"),
            "edit": lambda: actions.edit(session, card, **mine, text=text),
            "retype": lambda: actions.edit(session, card, **mine, type_id=type_id),
            "cue": lambda: actions.edit(session, card, **mine, cue=cue),
            "undo": lambda: actions.undo(session, **mine),
            "family": lambda: actions.reject_family(session, card, **mine),
            "rule": lambda: apply_rule(session, rule, verdict=A, **mine, types=["word"]),
            "correct": lambda: correct(session, variant.anchor_id, who),
            "retire": lambda: setattr(variant, "retired", not variant.retired),
            "opinion": lambda: self.give_opinion(session, variant),
            "merge": lambda: by_id.merge(session, person=who, into=other),
            "separate": lambda: by_id.separate(session, dice.choice(self.people)),
            "plan": lambda: assign(session, reviewers=dice.choice([2, 3]), share=share),
        }
        do[kind]()

    def give_opinion(self, session: Session, variant: Variant) -> None:
        """One of a judge that does not count changes nothing."""
        who, verdict = self.dice.choice(self.judges), self.dice.choice([A, R, E])
        before = variant.version, variant.status
        add_opinion(session, variant, verdict, reviewer_id=who, certainty=self.dice.random())
        session.expire_all()
        if not session.get_one(Reviewer, who).counts:
            assert (variant.version, variant.status) == before


def correct(session: Session, anchor_id: int, who: int) -> None:
    now = session.get_one(Anchor, anchor_id).revision
    wording = f"Wording {anchor_id} {now + 1}."
    correct_anchor(session, anchor_id, wording, reviewer_id=who, expected_revision=now)


def decided_by_people(session: Session) -> set[int]:
    """The variants with a person's valid verdict."""
    query = (
        select(col(Decision.variant_id))
        .join(Reviewer, col(Reviewer.id) == Decision.reviewer_id)
        .join(Variant, col(Variant.id) == Decision.variant_id)
        .where(col(Reviewer.kind) == ReviewerKind.PERSON, not_retracted(), counts_still())
    )
    return set(session.execute(query).scalars())


def people_of(session: Session, variant: Variant) -> list[PastDecision]:
    """The people's decisions on a variant that count."""
    kinds = dict(session.execute(select(Reviewer.id, Reviewer.kind)).all())
    past = history(session, variant.id)
    return [d for d in past if d.is_valid and kinds[d.reviewer_id] is ReviewerKind.PERSON]


def waits_for(session: Session, variant: Variant, who: int, plan: Plan) -> bool:
    """By definition: whether this variant is pending for a person."""
    if variant.retired or variant.status is Status.PENDING:
        return not variant.retired
    given = people_of(session, variant)
    have = {decision.reviewer_id for decision in given}
    return (
        variant.author_id is None
        and 0 < len(have) < plan.wanted(variant.uid)
        and not any(d.settles or d.note.startswith(RULE) for d in given)
        and who not in have
    )


def check_queues(session: Session, order: Order) -> None:
    variants = session.execute(select(Variant)).scalars().all()
    ids = [variant.id for variant in variants]
    plan = current_plan(session)
    for name in PEOPLE:
        who = person(session, name)
        wanted = {v.id for v in variants if waits_for(session, v, who, plan)}
        assert among(session, ids, Queue.PENDING, reviewer_id=who) == wanted
        assert sum(count_left(session, Queue.PENDING, who).values()) == len(wanted)
        found: list[int] = []
        while variant := next_variant(
            session, type_ids=list(TEXTS), order=order, skipped=found, reviewer_id=who
        ):
            found.append(variant.id)
        assert (len(found), set(found)) == (len(wanted), wanted)
    unfinished = {v.id for v in variants if v.verdicts_by}
    conflicts = {v.id for v in variants if v.status is Status.CONFLICT and not v.retired}
    assert among(session, ids, Queue.CONFLICT) == conflicts - unfinished
    begun = sum(bool(v.verdicts_by) and not v.retired for v in variants)
    done = progress(session, plan)
    assert sum(done.total[1:-1]) == begun if done.by_type else begun == 0


def check_history(engine: Engine, seed: int, *, plans: bool, steps: int = 40) -> None:
    made = History(engine, seed, plans=plans)
    for number in range(steps):
        made.step()
        if number % 8 == 7:
            made.desk.read(check_queues, made.dice.choice(list(Order)))


@pytest.mark.slow
@both_databases
def test_kept_columns_and_queues_follow_the_decisions(engine: Engine) -> None:
    check_history(engine, 1, plans=True)


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "plans"), [(2, False), (3, True), (4, False), (5, True)])
def test_they_do_in_more_histories(engine: Engine, seed: int, plans: bool) -> None:
    check_history(engine, seed, plans=plans, steps=56)


@pytest.mark.soak("histories")
@both_databases
@pytest.mark.parametrize("seed", range(6, 26))
def test_they_do_in_long_histories(engine: Engine, seed: int) -> None:
    check_history(engine, seed, plans=bool(seed % 2), steps=120)


@pytest.mark.slow
def test_every_queue_is_worked_off_and_every_variant_gets_its_verdicts(engine: Engine) -> None:
    """Five people, two of them with quotas, decide on what they get until nothing is left."""
    dice = random.Random(0)
    with writing(engine) as session:
        for text in ("The bridge is safe.", "The road is safe."):
            add_family(session, text)
        ids = [person(session, name) for name in (*PEOPLE, "Eve")]
        assign(session, reviewers=3, share=0.6)
        set_quota(session, ids[0], 5)
        set_quota(session, ids[1], 1, type_id="verbal")
    desk, at_work = Desk(engine), list(ids)
    while at_work:
        who = dice.choice(at_work)
        with reading(engine) as session:
            load = workload(session, who)
            closed = load.reached(TEXTS) if load else set()
            open_types = [type_id for type_id in TEXTS if type_id not in closed]
            variant = next_variant(session, type_ids=open_types, reviewer_id=who)
        if variant is None:
            at_work.remove(who)
        else:
            desk.decide(who, variant.id, dice.choice([A, R]))
    with reading(engine) as session:
        plan, done = current_plan(session), work_done(session)
        for variant in desk.rows(Variant):
            have = {decision.reviewer_id for decision in people_of(session, variant)}
            assert (len(have), variant.verdicts_by) == (plan.wanted(variant.uid), "")
    assert sum(number for (who, _), number in done.items() if who == ids[0]) == 5
    assert done.get((ids[1], "verbal"), 0) <= 1


# -- while the assignment or people change ------------------------------------------------------


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


@pytest.mark.slow
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
    desk.change(VERBAL, verdicts_by=",1,")
    check = next(check for check in CHECKS if check.id == "status")
    found = desk.read(check.find, Settings(database_url=""))
    assert found.number == 1 and check.repair is not None
    desk.write(check.repair, found)
    assert desk.read(check.find, Settings(database_url="")).number == 0
    assert desk.standings()[VERBAL].verdicts_by == ""


@pytest.mark.slow
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
