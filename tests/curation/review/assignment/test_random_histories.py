"""Under an assignment, the stored columns and the queues always match their definitions."""

import random

import pytest
from sqlalchemy import Engine, select
from sqlalchemy.orm import Session

from curation.anchors.changes import correct_anchor
from curation.review import actions
from curation.review.assignment.plan import Plan, current_plan
from curation.review.assignment.planning import assign
from curation.review.assignment.progress import progress
from curation.review.assignment.quotas import set_quota, work_done, workload
from curation.review.bulk import RULE, apply_rule, parse_rule
from curation.review.decisions import compute_standing
from curation.review.history import PastDecision, history
from curation.review.people.merging import merge, separate
from curation.review.queue import Order, Queue, among, count_left, next_variant
from curation.review.settling import contested
from curation.review.shown_card import shown
from curation.review.status import Standing
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import Anchor, Reviewer, ReviewerKind, Status, Variant, Verdict
from tests.support.databases import both_databases
from tests.support.factories import TEXTS, add_family, model, person

pytestmark = both_databases

PEOPLE = ("Ada", "Bert", "Cleo", "Dora")
KINDS = [
    *["accept", "reject", "edit", "retype", "undo"] * 4,
    *["family", "rule", "correct", "settle", "plan", "merge", "separate", "retire", "model"],
]


def act(session: Session, dice: random.Random) -> None:
    """An action of a person, which may be refused."""
    variant = dice.choice(session.execute(select(Variant)).scalars().all())
    card = shown(variant)
    who, other = (person(session, name) for name in dice.sample(PEOPLE, 2))
    kind = dice.choice(KINDS)
    if kind == "accept":
        actions.accept(session, card, reviewer_id=who)
    elif kind == "reject":
        actions.reject(session, card, reviewer_id=who, reason="wrong_scope")
    elif kind == "edit":
        text = dice.choice(["One wording.", "Another wording.", variant.text + "!"])
        actions.edit(session, card, reviewer_id=who, text=text)
    elif kind == "retype":
        actions.edit(session, card, reviewer_id=who, type_id=dice.choice(["verbal", "word"]))
    elif kind == "undo":
        actions.undo(session, reviewer_id=who)
    elif kind == "family":
        actions.reject_family(session, card, reviewer_id=who)
    elif kind == "rule":
        rule = parse_rule(dice.choice(["source = test", "source != test"]))
        apply_rule(session, rule, verdict=Verdict.ACCEPT, reviewer_id=who, types=["word"])
    elif kind == "correct":
        _correct(session, variant.anchor_id, who)
    elif kind == "settle" and contested(session, [variant]):
        actions.accept(session, card._replace(settles=True), reviewer_id=who)
    elif kind == "plan":
        assign(session, reviewers=dice.choice([2, 3]), share=dice.choice([0, 0.4, 0.8, 1]))
    elif kind == "merge":
        merge(session, *(session.get_one(Reviewer, key) for key in (who, other)))
    elif kind == "separate":
        merged = [one for one in session.execute(select(Reviewer)).scalars() if one.merged_into_id]
        if merged:
            separate(session, dice.choice(merged))
    elif kind == "retire":
        variant.retired = not variant.retired
    elif kind == "model":
        actions.accept(session, card, reviewer_id=model(session))


def _correct(session: Session, anchor_id: int, who: int) -> None:
    revision = session.get_one(Anchor, anchor_id).revision
    wording = f"Wording {anchor_id} {revision + 1}."
    correct_anchor(session, anchor_id, wording, reviewer_id=who, expected_revision=revision)


def people_of(session: Session, variant: Variant) -> list[PastDecision]:
    """The people's decisions on a variant that count."""
    kinds = dict(session.execute(select(Reviewer.id, Reviewer.kind)).all())
    past = history(session, variant.id)
    return [d for d in past if d.is_valid and kinds[d.reviewer_id] is ReviewerKind.PERSON]


def waits_for(session: Session, variant: Variant, who: int, plan: Plan) -> bool:
    """By definition: whether this variant is pending for a person."""
    if variant.retired:
        return False
    if variant.status is Status.PENDING:
        return True
    given = people_of(session, variant)
    have = {decision.reviewer_id for decision in given}
    return (
        variant.author_id is None
        and 0 < len(have) < plan.wanted(variant.uid)
        and not any(d.settles or d.note.startswith(RULE) for d in given)
        and who not in have
    )


def check_kept(session: Session) -> None:
    variants = session.execute(select(Variant)).scalars().all()
    kept = {v.id: Standing(v.status, v.second_look, v.model_only, v.verdicts_by) for v in variants}
    assert kept == compute_standing(session, list(kept))


def check_queues(session: Session, order: Order) -> None:
    variants = session.execute(select(Variant)).scalars().all()
    ids = [variant.id for variant in variants]
    plan = current_plan(session)
    for name in PEOPLE:
        who = person(session, name)
        wanted = {v.id for v in variants if waits_for(session, v, who, plan)}
        assert among(session, ids, Queue.PENDING, reviewer_id=who) == wanted
        assert sum(count_left(session, Queue.PENDING, who).values()) == len(wanted)
        assert whole_queue(session, who, order) == wanted
    conflicts = {v.id for v in variants if v.status is Status.CONFLICT and not v.retired}
    unfinished = {v.id for v in variants if v.verdicts_by}
    assert among(session, ids, Queue.CONFLICT) == conflicts - unfinished
    check_progress(session, variants, plan)


def whole_queue(session: Session, who: int, order: Order) -> set[int]:
    found: list[int] = []
    while variant := next_variant(
        session, type_ids=list(TEXTS), order=order, skipped=found, reviewer_id=who
    ):
        found.append(variant.id)
    assert len(found) == len(set(found))
    return set(found)


def check_progress(session: Session, variants: list[Variant], plan: Plan) -> None:
    """The counted unfinished variants are those that somebody has begun."""
    found = progress(session, plan)
    begun = sum(bool(v.verdicts_by) and not v.retired for v in variants)
    assert sum(found.total[1:-1]) == begun if found.by_type else begun == 0


@pytest.mark.parametrize("seed", range(3))
def test_queues_and_kept_columns_follow_the_decisions(engine: Engine, seed: int) -> None:
    dice = random.Random(seed)
    with writing(engine) as session:
        for text in ("The bridge is safe.", "The road is safe."):
            add_family(session, text)
        for name in PEOPLE:
            person(session, name)
        assign(session, reviewers=dice.choice([2, 3]), share=dice.choice([0.5, 1]))
    for number in range(40):
        try:
            with writing(engine) as session:
                act(session, dice)
        except HedgerowError:
            pass
        with reading(engine) as session:
            check_kept(session)
            if number % 8 == 7:
                check_queues(session, dice.choice(list(Order)))


@pytest.mark.parametrize("seed", range(2))
def test_every_queue_is_worked_off_and_every_variant_gets_its_verdicts(
    engine: Engine, seed: int
) -> None:
    """Five people, two of them with quotas, decide on what they get until nothing is left."""
    dice = random.Random(seed)
    with writing(engine) as session:
        for text in ("The bridge is safe.", "The road is safe."):
            add_family(session, text)
        ids = [person(session, name) for name in (*PEOPLE, "Eve")]
        assign(session, reviewers=3, share=0.6)
        set_quota(session, ids[0], 5)
        set_quota(session, ids[1], 1, type_id="verbal")
    at_work = list(ids)
    while at_work:
        who = dice.choice(at_work)
        with writing(engine) as session:
            load = workload(session, who)
            closed = load.reached(TEXTS) if load else set()
            variant = next_variant(
                session, type_ids=[t for t in TEXTS if t not in closed], reviewer_id=who
            )
            if variant is None:
                at_work.remove(who)
                continue
            if dice.random() < 0.6:
                actions.accept(session, shown(variant), reviewer_id=who)
            else:
                actions.reject(session, shown(variant), reviewer_id=who, reason="wrong_scope")
    with reading(engine) as session:
        plan = current_plan(session)
        variants = session.execute(select(Variant)).scalars().all()
        assert not any(variant.verdicts_by for variant in variants)
        for variant in variants:
            have = {decision.reviewer_id for decision in people_of(session, variant)}
            assert len(have) == plan.wanted(variant.uid)
        done = work_done(session)
        assert sum(number for (who, _), number in done.items() if who == ids[0]) == 5
        assert done.get((ids[1], "verbal"), 0) <= 1
