"""The queues: their orders, what comes first, and that each of them uses an index."""

import itertools
from collections.abc import Collection
from typing import Any

import pytest
from sqlalchemy import Engine, Select, bindparam, literal, select, text
from sqlalchemy.orm import Session

from curation.anchors.changes import correct_anchor
from curation.anchors.sources import sources_in_use
from curation.corpora.corpus import CORPORA
from curation.review import actions, leases
from curation.review.actions import shown
from curation.review.assignment.begun import groups
from curation.review.cards import card
from curation.review.notes import add_note
from curation.review.queue import (
    Order,
    Queue,
    _begun_head,
    _head,
    among,
    awaiting_a_person,
    count_left,
    next_variant,
    status_counts,
)
from db.engine import reading, writing
from db.models import Status, Variant, Verdict
from tests.support.databases import both_databases
from tests.support.factories import (
    ANCHOR,
    add_anchor,
    add_family,
    add_variant,
    model,
    person,
)

pytestmark = both_databases

CORPUS = CORPORA["antonyms"].source


@pytest.fixture
def ids(engine: Engine) -> list[int]:
    """Three verbal variants whose orders differ."""
    with writing(engine) as session:
        anchor = add_anchor(session)
        found = []
        for number, (suspicion, hardness, key) in enumerate(
            [(0.1, 0.9, 0.5), (0.9, 0.1, 0.7), (0.5, 0.5, 0.2)]
        ):
            variant = add_variant(session, anchor, text=f"Text {number}.")
            variant.suspicion, variant.hardness, variant.random_key = suspicion, hardness, key
            variant.doubt = number * 0.25
            found.append(variant.id)
        return found


def order_of(session: Session, order: Order, **more: Any) -> list[int]:
    """The whole queue, by skipping one card after the other."""
    skipped: list[int] = []
    while variant := next_variant(
        session, type_ids=["verbal", "word"], order=order, skipped=skipped, **more
    ):
        skipped.append(variant.id)
    return skipped


def test_each_order(engine: Engine, ids: list[int]) -> None:
    with reading(engine) as session:
        found = {order: order_of(session, order) for order in Order}
    assert {order: [ids.index(key) for key in keys] for order, keys in found.items()} == {
        Order.OLDEST: [0, 1, 2],
        Order.SUSPICIOUS: [1, 2, 0],
        Order.HARDEST: [0, 2, 1],
        Order.RANDOM: [2, 0, 1],
        Order.DOUBTFUL: [2, 1, 0],
    }


def test_decided_retired_and_other_types_are_left_out(engine: Engine, ids: list[int]) -> None:
    with writing(engine) as session:
        session.get_one(Variant, ids[0]).retired = True
        card_ = shown(session.get_one(Variant, ids[1]))
        actions.accept(session, card_, reviewer_id=person(session))
    with reading(engine) as session:
        assert order_of(session, Order.OLDEST) == [ids[2]]
        assert next_variant(session, type_ids=["word"]) is None


def test_an_index_serves_each_order(engine: Engine) -> None:
    forget_statistics(engine)
    for queue, order in itertools.product([Queue.PENDING, Queue.MODEL_ONLY], Order):
        check_that_an_index_serves(engine, queue, order)


def forget_statistics(engine: Engine) -> None:
    """Plan as for a new table, because the few rows of an earlier test may have been counted."""
    if engine.name == "postgresql":
        with writing(engine) as session:
            variant = "'variant'::regclass"
            session.execute(text(f"DELETE FROM pg_statistic WHERE starelid = {variant}"))
            values = "reltuples = -1, relpages = 0"
            session.execute(text(f"UPDATE pg_class SET {values} WHERE oid = {variant}"))


def check_that_an_index_serves(engine: Engine, queue: Queue, order: Order) -> None:
    query = _head(engine.name, queue, order, kind=literal("verbal"), source=literal(1))
    plan = plan_of(engine, query)
    if engine.name == "sqlite":
        assert "type_id=? AND source_id=?" in plan
    kept = "queue" if queue is Queue.PENDING else "model_only"
    name = f"ix_variant_{kept}_{order_column(order)}"
    assert name in plan or (order is Order.OLDEST and "ix_variant_status" in plan), name
    assert "TEMP B-TREE" not in plan and "Sort" not in plan, name


def plan_of(engine: Engine, query: Select[Any]) -> str:
    """The database's plan for a query."""
    with reading(engine) as session:
        sql = str(query.compile(session.connection(), compile_kwargs={"literal_binds": True}))
        if engine.name == "sqlite":
            rows = session.execute(text(f"EXPLAIN QUERY PLAN {sql}"))
            return " ".join(str(row) for row in rows)
        # Otherwise it would read the few rows of a test one by one.
        for way in ("seqscan", "bitmapscan", "sort"):
            session.execute(text(f"SET LOCAL enable_{way} = off"))
        return " ".join(session.execute(text(f"EXPLAIN {sql}")).scalars())


@pytest.mark.parametrize("order", Order)
def test_an_index_serves_what_others_have_begun(engine: Engine, order: Order) -> None:
    forget_statistics(engine)
    kind, source, people = literal("verbal"), literal(1), literal(",3,")
    plan = plan_of(engine, _begun_head(order, kind=kind, source=source, people=people))
    name = f"ix_variant_begun_{order_column(order)}"
    assert name in plan, plan
    assert "TEMP B-TREE" not in plan and "Sort" not in plan, plan
    groups_of_people = plan_of(engine, select(groups(bindparam("who", 1))))
    assert "ix_variant_begun" in groups_of_people and "Seq Scan on variant" not in groups_of_people


@pytest.fixture
def bundled(engine: Engine, ids: list[int]) -> list[int]:
    """A user's source with the variants of ``ids``, and a corpus that is before them in every
    order.

    Returns:
        The corpus' variants.
    """
    with writing(engine) as session:
        found = []
        for number in range(2):
            anchor = add_anchor(session, f"Door {number} is open.", source=CORPUS)
            variant = add_variant(session, anchor, text=f"Door {number} is shut.")
            variant.suspicion = variant.hardness = variant.doubt = 1.0
            found.append(variant.id)
        for number in ids:  # newer than the corpus
            old = session.get_one(Variant, number)
            session.delete(old)
            session.flush()
            old_values = old.model_dump() | {"id": number + 100}
            session.add(Variant(**old_values))
        return found


@pytest.mark.parametrize("order", Order)
def test_own_anchors_come_before_those_of_a_corpus_in_every_order(
    engine: Engine, ids: list[int], bundled: list[int], order: Order
) -> None:
    own = {number + 100 for number in ids}
    with reading(engine) as session:
        found = order_of(session, order)
        assert (set(found[:3]), set(found[3:])) == (own, set(bundled))
        corpus, source = session.get_one(Variant, bundled[0]), session.get_one(Variant, min(own))
        assert order_of(session, order, source_id=corpus.source_id) == found[3:]
        assert order_of(session, order, source_id=source.source_id) == found[:3]


@pytest.mark.parametrize("order", [Order.OLDEST, Order.RANDOM, Order.DOUBTFUL])
@pytest.mark.parametrize("queue", [Queue.MODEL_ONLY, Queue.CONFLICT, Queue.SECOND_LOOK])
def test_own_anchors_come_first_in_every_queue(
    engine: Engine, ids: list[int], bundled: list[int], queue: Queue, order: Order
) -> None:
    own = [number + 100 for number in ids]
    with writing(engine) as session:
        for number in (*bundled, *own):
            variant = session.get_one(Variant, number)
            if queue is Queue.CONFLICT:
                variant.status = Status.CONFLICT
            else:
                variant.status = Status.ACCEPTED
                variant.model_only = queue is Queue.MODEL_ONLY
                variant.second_look = queue is Queue.SECOND_LOOK
    with reading(engine) as session:
        found = order_of(session, order, queue=queue)
    assert (set(found[:3]), set(found[3:])) == (set(own), set(bundled))


def test_each_of_a_team_is_given_own_anchors_while_there_are_any(
    engine: Engine, ids: list[int], bundled: list[int]
) -> None:
    own = {number + 100 for number in ids}
    given = []
    for window in ("one", "two", "three", "four"):
        with writing(engine) as session:

            def first(skipped: Collection[int], session: Session = session) -> int | None:
                variant = next_variant(session, type_ids=["verbal"], skipped=skipped)
                return variant.id if variant else None

            taken = leases.take_next(
                session, first, lambda _: True, window=window, reviewer_id=person(session, window)
            )
            given.append(taken.variant_id)
    assert set(given[:3]) == own and given[3] in bundled


def test_a_queue_counts_by_type_and_source(
    engine: Engine, ids: list[int], bundled: list[int]
) -> None:
    with reading(engine) as session:
        corpus = session.get_one(Variant, bundled[0]).source_id
        assert count_left(session, Queue.PENDING) == {("verbal", 1): 3, ("verbal", corpus): 2}
        assert sources_in_use(session) == {1: "test", corpus: CORPUS}
        assert list(sources_in_use(session)) == [1, corpus]
        assert status_counts(session, corpus)["verbal"][Status.PENDING] == 2
        assert among(session, bundled, Queue.PENDING, source_id=1) == set()


def order_column(order: Order) -> str:
    return {
        Order.SUSPICIOUS: "suspicion",
        Order.HARDEST: "hardness",
        Order.RANDOM: "random_key",
        Order.DOUBTFUL: "doubt",
        Order.OLDEST: "id",
    }[order]


@pytest.mark.parametrize(
    ("order", "positions"), [(Order.OLDEST, [0, 1, 2]), (Order.SUSPICIOUS, [1, 2, 0])]
)
def test_each_queue_has_every_order(
    engine: Engine, ids: list[int], order: Order, positions: list[int]
) -> None:
    expected = [ids[i] for i in positions]

    def decide(reviewer: int, verdict: Verdict) -> None:
        with writing(engine) as session:
            for number in ids:
                card_ = shown(session.get_one(Variant, number))
                if verdict is Verdict.ACCEPT:
                    actions.accept(session, card_, reviewer_id=reviewer)
                else:
                    actions.reject(session, card_, reviewer_id=reviewer, reason="wrong_type")

    with writing(engine) as session:
        ada, bert, llm = person(session), person(session, "Bert"), model(session)
    decide(llm, Verdict.ACCEPT)
    with reading(engine) as session:
        assert order_of(session, order) == []
        assert order_of(session, order, queue=Queue.MODEL_ONLY) == expected
        assert count_left(session, Queue.MODEL_ONLY) == {("verbal", 1): 3}
    decide(ada, Verdict.ACCEPT)
    with reading(engine) as session:
        assert order_of(session, order, queue=Queue.MODEL_ONLY) == []
    decide(bert, Verdict.REJECT)
    with reading(engine) as session:
        assert order_of(session, order, queue=Queue.CONFLICT) == expected
        assert count_left(session, Queue.CONFLICT) == {("verbal", 1): 3}


def test_decisions_and_undos_of_people_update_the_model_only_queue(
    engine: Engine, ids: list[int]
) -> None:
    def left() -> list[int]:
        with reading(engine) as session:
            return order_of(session, Order.OLDEST, queue=Queue.MODEL_ONLY)

    with writing(engine) as session:
        ada, llm = person(session), model(session)
        for number in ids[:2]:
            actions.accept(session, shown(session.get_one(Variant, number)), reviewer_id=llm)
    assert left() == ids[:2]
    with writing(engine) as session:
        done = actions.accept(session, shown(session.get_one(Variant, ids[0])), reviewer_id=ada)
    assert [change.model_only for change in done.changes] == [-1]
    assert left() == [ids[1]]
    with writing(engine) as session:
        actions.undo(session, reviewer_id=ada)
    assert left() == ids[:2]
    with writing(engine) as session:
        session.get_one(Variant, ids[0]).retired = True
    assert left() == [ids[1]]


def test_second_looks_have_a_queue_of_their_own(engine: Engine) -> None:
    with writing(engine) as session:
        first = add_family(session)["verbal"]
        add_family(session, "The road is safe.", subject="road")
        actions.accept(session, shown(first), reviewer_id=person(session))
        assert count_left(session, Queue.SECOND_LOOK) == {}
        correct_anchor(
            session,
            first.anchor_id,
            "The bridges are safe.",
            reviewer_id=person(session),
            expected_revision=1,
        )
        assert count_left(session, Queue.SECOND_LOOK) == {("verbal", 1): 1}
        assert order_of(session, Order.OLDEST, queue=Queue.SECOND_LOOK) == [first.id]
        found = card(session, first.id)
        assert (found.made_for, found.anchor) == (ANCHOR, "The bridges are safe.")


def test_a_picked_variant_waits_until_a_person_has_decided(engine: Engine, ids: list[int]) -> None:
    with writing(engine) as session:
        for number, reviewer in ((0, model(session)), (1, person(session))):
            variant = session.get_one(Variant, ids[number])
            actions.accept(session, shown(variant), reviewer_id=reviewer)
        assert awaiting_a_person(session, ids) == {ids[0], ids[2]}
        actions.undo(session, reviewer_id=person(session))
        session.get_one(Variant, ids[2]).retired = True
        assert awaiting_a_person(session, ids) == {ids[0], ids[1]}


def test_a_card_counts_its_notes(engine: Engine, ids: list[int]) -> None:
    with writing(engine) as session:
        for text in ("Odd.", "Is it?"):
            add_note(session, ids[0], reviewer_id=person(session), text=text)
        assert [card(session, number).notes for number in ids] == [2, 0, 0]


def test_counts_are_by_type_and_status(engine: Engine, ids: list[int]) -> None:
    with reading(engine) as session:
        assert status_counts(session)["verbal"][Status.PENDING] == 3
