"""Whatever people and models do, and however the assignment changes, the kept columns and the
queues match their definitions."""

import random
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress

import pytest
from sqlalchemy import Engine, insert, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.decisions import people as changes
from curation.decisions.assignment import Plan, current_plan
from curation.decisions.assignment_progress import assign, progress
from curation.decisions.history import PastDecision, history, not_retracted
from curation.decisions.quotas import set_quota, work_done, workload
from curation.decisions.shown_card import ShownCard, shown
from curation.decisions.storing import counts_still
from curation.diagnostics.measures import Flag
from curation.diagnostics.model_verdicts import apply_switch, plan_switch
from curation.editing.anchors import correct_anchor
from curation.encoders.model_folders import DEFAULT_ENCODER
from curation.encoders.registered import register_encoder
from curation.review import deciding
from curation.review.adjudication import contested
from curation.review.queue import Order, Queue, among, count_left, next_variant, status_counts
from curation.review.rules import (
    RULE,
    Applied,
    FlagSet,
    Matches,
    MeasureClause,
    apply_rule,
    find_matches,
    parse_rule,
)
from curation.splits import OVERLAP_SALT, PENDING_SALT, SPLIT_SALT
from curation.upkeep.kept_values import CHECKS
from db.columns import now
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import (
    Anchor,
    Decision,
    Diagnostic,
    Reviewer,
    ReviewerKind,
    Status,
    Variant,
    VariantCosine,
    Verdict,
)
from db.settings import Settings
from tests.curation.review.desk import VERBAL, WORD, A, Desk, E, R, refused
from tests.support.databases import both_databases
from tests.support.dying import small_pieces
from tests.support.factories import (
    TEXTS,
    add_anchor,
    add_family,
    add_opinion,
    engine_of,
    judge,
    model,
    person,
)

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
                assign(engine_of(session), reviewers=self.dice.choice([2, 3]), share=1)

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
            "accept": lambda: deciding.accept(session, card, **mine),
            "model": lambda: deciding.accept(session, card, reviewer_id=dice.choice(self.models)),
            "reject": lambda: deciding.reject(session, card, **mine, reason="wrong_scope"),
            "edit": lambda: deciding.edit(session, card, **mine, text=text),
            "retype": lambda: deciding.edit(session, card, **mine, type_id=type_id),
            "cue": lambda: deciding.edit(session, card, **mine, cue=cue),
            "undo": lambda: deciding.undo(session, **mine),
            "family": lambda: deciding.reject_family(session, card, **mine),
            "rule": lambda: apply_rule(engine_of(session), rule, verdict=A, **mine, types=["word"]),
            "correct": lambda: correct(session, variant.anchor_id, who),
            "retire": lambda: setattr(variant, "retired", not variant.retired),
            "opinion": lambda: self.give_opinion(session, variant),
            "merge": lambda: changes.merge(engine_of(session), person=who, into=other),
            "separate": lambda: changes.separate(engine_of(session), dice.choice(self.people)),
            "plan": lambda: assign(engine_of(session), reviewers=dice.choice([2, 3]), share=share),
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
        assign(engine_of(session), reviewers=3, share=0.6)
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
            card = deciding.shown(session.get_one(Variant, VERBAL))
            deciding.accept(session, card, reviewer_id=ada)
            has_decided.set()
            assert ends.wait(30)

    decision = threading.Thread(target=decide)
    changing = threading.Thread(
        target=assign, args=[desk.engine], kwargs={"reviewers": 2, "share": 1}
    )
    decision.start()
    assert has_decided.wait(30)
    changing.start()
    changing.join(0.5)
    assert changing.is_alive()  # it waits for the decision
    ends.set()
    decision.join()
    changing.join()
    assert desk.read(current_plan) == Plan(2, 1.0)
    assert desk.standings()[VERBAL].verdicts_by == f",{ada},"
    assert (asked(desk, "Bert"), asked(desk, "Ada")) == ({VERBAL, WORD}, {WORD})


@pytest.mark.slow
@both_databases
def test_merged_people_are_one(desk: Desk) -> None:
    assign(desk.engine, reviewers=2, share=1)
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
        assign(desk.engine, reviewers=2, share=share)
        begun.append({key for key, one in desk.standings().items() if one.verdicts_by})
    assert begun[0] < begun[1] < begun[2] < begun[3] == set(range(1, 29))


def test_the_assignment_is_independent_of_the_other_hashes() -> None:
    assert len({OVERLAP_SALT, SPLIT_SALT, PENDING_SALT}) == 3
    uids = [f"{number:016x}" for number in range(4000)]
    chosen = {uid for uid in uids if Plan(2, 0.2).wanted(uid) == 2}
    assert 0.17 < len(chosen) / len(uids) < 0.23
    assert chosen < {uid for uid in uids if Plan(3, 0.5).wanted(uid) == 3}
    assert not any(Plan(2, 0.0).wanted(uid) > 1 for uid in uids)


def test_clauses_are_joined_by_and_in_any_spacing_and_case() -> None:
    rule = parse_rule("  flag=content_dropped AND cosine<0.8 and Levenshtein >= 60 ")
    assert rule.clauses == (
        FlagSet(Flag.CONTENT_DROPPED, present=True),
        MeasureClause("cosine", "<", 0.8),
        MeasureClause("levenshtein", ">=", 60),
    )
    assert rule.needs_cosine and not parse_rule("no flags").needs_cosine
    assert parse_rule("no flags").clauses == (FlagSet(Flag(sum(Flag)), present=False),)


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("", "found 0"),
        ("levenshtein > 60" + " and no flags" * 50, "500"),
        ("levenshtein", "'levenshtein'"),
        ("levenshtein > 60 or no flags", "'levenshtein > 60 or no flags'"),
        ("levenshtein > 60 and", "'levenshtein > 60 and'"),
        ("length > 60", "'length'"),
        ("cosine < 0.8.1", "'0.8.1'"),
        ("cosine < nan", "'nan'"),
        ("levenshtein > 1e9", "'1e9'"),
        ("flag = nice", "content_dropped.*'nice'"),
        ("flag > unchanged", "flag = NAME"),
        ("__import__('os').system('true') > 1", "found"),
        ("levenshtein > (select 1)", "found"),
        ("cosine < 80", "at least"),  # a number that the measure never reaches
        ("content_kept > 1.5", "at least"),
        ("levenshtein > -1", "at least"),
        ("cosine > -1.01", "at least"),
    ],
)
def test_anything_else_is_refused(text: str, fact: str) -> None:
    with refused(fact):
        parse_rule(text)


# -- matching ----------------------------------------------------------------------------------


def add_variants(session: Session, count: int) -> list[int]:
    """Pending variants of one anchor, alternating between types."""
    row = {"anchor_id": add_anchor(session, "It holds.").id, "anchor_revision": 1}
    rows = [
        {
            **row,
            "uid": f"{i:016x}",
            "type_id": ("verbal", "word")[i % 2],
            "text": f"It is not {i}.",
            "created_at": now(),
        }
        for i in range(count)
    ]
    session.execute(insert(Variant), rows)
    return list(session.execute(select(col(Variant.id)).order_by(col(Variant.id))).scalars())


def measure(session: Session, ids: Iterable[int], *, levenshtein: int = 0, flags: int = 0) -> None:
    row = {"levenshtein": levenshtein, "length_ratio": 1.0, "content_kept": 1.0, "flags": flags}
    rows = [{**row, "variant_id": variant_id, "created_at": now()} for variant_id in ids]
    session.execute(insert(Diagnostic), rows)


@pytest.fixture
def six(engine: Engine) -> Desk:
    """Six variants without measures, with the ids 1 to 6."""
    desk = Desk(engine)
    assert desk.write(add_variants, 6) == [1, 2, 3, 4, 5, 6]
    return desk


@pytest.fixture
def measured(six: Desk) -> Desk:
    six.write(measure, range(1, 7))
    return six


def matches(desk: Desk, rule: str, **more: object) -> Matches:
    return desk.read(find_matches, parse_rule(rule), **more)


def apply(desk: Desk, rule: str, verdict: Verdict = A, **more: object) -> Applied:
    ann = desk.who("Ann")
    return apply_rule(desk.engine, parse_rule(rule), verdict=verdict, reviewer_id=ann, **more)


def statuses(desk: Desk) -> list[Status]:
    return [one.status for one in desk.standings().values()]


@both_databases
def test_comparisons_can_be_strict_and_flags_are_distinguished(six: Desk) -> None:
    six.write(measure, [1], levenshtein=59, flags=Flag.CONTENT_DROPPED)
    both = Flag.CONTENT_DROPPED | Flag.OVER_THRESHOLD
    six.write(measure, [2, 3], levenshtein=60, flags=both)
    six.write(measure, [4, 5, 6], levenshtein=61)
    signs = ("<", "<=", ">", ">=", "=", "!=")
    found = {sign: matches(six, f"levenshtein {sign} 60").total for sign in signs}
    assert found == {"<": 1, "<=": 3, ">": 3, ">=": 5, "=": 2, "!=": 4}
    for rule, total in (
        ("flag = content_dropped", 3),
        ("flag = content_dropped and flag != over_threshold", 1),
        ("flag = content_dropped and flag = over_threshold", 2),
        ("no flags", 3),
    ):
        assert matches(six, rule).total == total


@both_databases
def test_unmeasured_variants_never_match_and_are_counted(six: Desk) -> None:
    six.write(measure, [1, 2, 3, 4])
    with writing(six.engine) as session:
        active = register_encoder(session, name=DEFAULT_ENCODER, hash_="1" * 64)
        other = register_encoder(session, name="other", hash_="2" * 64)
        for encoder, variant_id in ((active, 1), (active, 2), (other, 3)):
            key = {"encoder_id": encoder.id or 0, "variant_id": variant_id}
            session.add(VariantCosine(**key, cosine=0.5))
    for rule, total, unmeasured in (
        ("levenshtein < 9 and flag != unchanged", 4, 2),
        ("cosine < 0.8", 2, 4),
        ("cosine >= 0.8", 0, 4),
    ):
        found = matches(six, rule)
        assert (found.total, found.unmeasured) == (total, unmeasured)


def test_only_pending_variants_in_use_match_and_those_of_a_type_if_asked_for(
    measured: Desk,
) -> None:
    measured.change(1, status=Status.ACCEPTED)
    measured.change(2, retired=True)
    assert matches(measured, "no flags").by_type == {"verbal": 2, "word": 2}
    assert matches(measured, "no flags", types=("verbal",)).by_type == {"verbal": 2}
    with refused("verbal.*'verbl'"):
        matches(measured, "no flags", types=("verbl",))


# -- applying ----------------------------------------------------------------------------------


@both_databases
def test_all_decisions_share_one_action_and_one_undo(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_pieces(monkeypatch, 7)
    desk, rule = Desk(engine), "levenshtein > 60"
    ids = desk.write(add_variants, 30)
    desk.write(measure, ids[:20], levenshtein=70)
    desk.write(measure, ids[20:])
    counted = matches(desk, rule)
    found, action_id = apply(desk, rule, R, reason="content_dropped")
    assert found == counted and found.total == 20
    assert statuses(desk) == [Status.REJECTED] * 20 + [Status.PENDING] * 10
    rows = {(row.action_id, row.reason, row.note) for row in desk.rows(Decision)}
    assert rows == {(action_id, "content_dropped", f"Rule: {rule}")}
    assert desk.undone("Ann").decisions == 20
    assert statuses(desk) == [Status.PENDING] * 30


def test_a_second_application_finds_nothing_left(measured: Desk) -> None:
    first, second = apply(measured, "no flags"), apply(measured, "no flags")
    assert statuses(measured) == [Status.ACCEPTED] * 6
    assert (first.matches.total, second.matches.total, second.action_id) == (6, 0, None)


def test_a_reason_that_is_unknown_or_not_for_every_type_that_matches_changes_nothing(
    measured: Desk,
) -> None:
    with refused("'ugly'"):
        apply(measured, "no flags", R, reason="ugly")
    hedges = {"reason": "not_a_hedge"}
    with refused("for hedges"):
        matches(measured, "no flags", **hedges)
    for types in ((), ("verbal",)):
        with refused("for hedges"):
            apply(measured, "no flags", R, types=types, **hedges)
    assert measured.rows(Decision) == []
    done = apply(measured, "no flags", R, types=("word",), **hedges)
    assert done.matches.by_type == {"word": 3}


@pytest.mark.slow
@both_databases
@pytest.mark.parametrize(
    "count", [1_200, pytest.param(12_000, marks=pytest.mark.soak("histories"))]
)
def test_more_than_one_statement_holds_are_decided_and_undone_at_once(
    engine: Engine, count: int
) -> None:
    desk = Desk(engine)
    desk.write(measure, desk.write(add_variants, count), levenshtein=70)
    assert apply(desk, "levenshtein > 60").matches.total == count
    assert desk.read(status_counts)["word"][Status.ACCEPTED] == count / 2
    assert desk.undone("Ann").decisions == count
    assert desk.read(status_counts)["word"][Status.PENDING] == count / 2
