"""The queues: their orders, what comes first, their cards, an index for each; and leased cards."""

import os
import socket
import subprocess
import sys
from collections.abc import Collection
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor, wait
from multiprocessing import get_context
from typing import Any

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.engine import URL
from sqlalchemy.orm import Session

from curation.anchors.revisions import sources_in_use
from curation.corpora.corpus import CORPORA
from curation.decisions import leases
from curation.decisions.assignment_progress import assign
from curation.decisions.leases import Screen
from curation.decisions.notes import add_note
from curation.review import deciding
from curation.review.cards import card, family
from curation.review.queue import (
    Order,
    Queue,
    among,
    awaiting_a_person,
    count_left,
    next_variant,
    status_counts,
)
from curation.review.undo import late_decisions
from db.engine import create_engine, reading, writing
from db.models import Decision, Lease, Status, Variant
from tests.curation.review.desk import VERBAL, WORD, Desk, E, R, statements
from tests.support.databases import Fill, both_databases
from tests.support.factories import ANCHOR, TEXTS, add_anchor, add_variant, model, person

CORPUS = CORPORA["antonyms"].source
OWN, BUNDLED = [3, 4, 5], [1, 2]
"""The variants of ``queued``, of the user's source and of a corpus."""

INDEXED = {
    Order.OLDEST: ("id", [0, 1, 2]),
    Order.SUSPICIOUS: ("suspicion", [1, 2, 0]),
    Order.HARDEST: ("hardness", [0, 2, 1]),
    Order.RANDOM: ("random_key", [2, 0, 1]),
    Order.DOUBTFUL: ("doubt", [2, 1, 0]),
}
"""The column of each order, and how it sorts the user's variants."""


@pytest.fixture
def queued(engine: Engine, fill: Fill) -> Desk:
    """Three verbal variants whose orders differ, and two of a corpus that are before them in every
    order."""

    def made(session: Session) -> None:
        anchor = add_anchor(session)  # of the user's source
        for number in range(2):
            door = add_anchor(session, f"Door {number} is open.", source=CORPUS)
            variant = add_variant(session, door, text=f"Door {number} is shut.")
            variant.suspicion = variant.hardness = variant.doubt = 1.0
            variant.random_key = 0.0
        for number, (suspicion, hardness, key) in enumerate(
            [(0.1, 0.9, 0.5), (0.9, 0.1, 0.7), (0.5, 0.5, 0.2)]
        ):
            variant = add_variant(session, anchor, text=f"Text {number}.")
            variant.suspicion, variant.hardness, variant.random_key = suspicion, hardness, key
            variant.doubt = number * 0.25

    fill(engine, made)
    return Desk(engine)


def order_of(desk: Desk, order: Order = Order.OLDEST, **more: Any) -> list[int]:
    """The whole queue, by skipping one card after the other."""
    skipped: list[int] = []
    with reading(desk.engine) as session:
        while variant := next_variant(
            session, type_ids=["verbal", "word"], order=order, skipped=skipped, **more
        ):
            skipped.append(variant.id)
    return skipped


@both_databases
@pytest.mark.parametrize("order", Order)
def test_each_queue_has_every_order_with_own_anchors_before_those_of_a_corpus(
    queued: Desk, order: Order
) -> None:
    own = [OWN[position] for position in INDEXED[order][1]]
    corpus = queued.get(1).source_id
    assert list(queued.read(sources_in_use).items()) == [(1, "test"), (corpus, CORPUS)]
    for queue, values in (
        (Queue.PENDING, {}),
        (Queue.CONFLICT, {"status": Status.CONFLICT}),
        (Queue.MODEL_ONLY, {"status": Status.ACCEPTED, "model_only": True}),
        (Queue.SECOND_LOOK, {"status": Status.PENDING, "model_only": False, "second_look": True}),
    ):
        if values:
            queued.change(**values)
        found = order_of(queued, order, queue=queue)
        assert (found[:3], sorted(found[3:])) == (own, BUNDLED)
        assert order_of(queued, order, queue=queue, source_id=1) == own
        assert order_of(queued, order, queue=queue, source_id=corpus) == found[3:]
        left = {("verbal", 1): 3, ("verbal", corpus): 2}
        assert queued.read(count_left, queue) == left
        assert queued.read(among, range(1, 6), queue, source_id=1) == set(OWN)
        assert queued.read(among, range(1, 6), queue, type_ids=["word"]) == set()


# -- indexes -----------------------------------------------------------------------------------


@both_databases
@pytest.mark.parametrize("order", Order)
def test_an_index_serves_each_order_and_what_others_have_begun(desk: Desk, order: Order) -> None:
    assign(desk.engine, reviewers=2, share=1)
    desk.decide("Ada", VERBAL)
    if desk.engine.name == "postgresql":  # plan as for a new table
        with writing(desk.engine) as session:
            variant, values = "'variant'::regclass", "reltuples = -1, relpages = 0"
            session.execute(text(f"DELETE FROM pg_statistic WHERE starelid = {variant}"))
            session.execute(text(f"UPDATE pg_class SET {values} WHERE oid = {variant}"))
    column, _ = INDEXED[order]
    for queue, kept in ((Queue.PENDING, "queue"), (Queue.MODEL_ONLY, "model_only")):
        plan = plan_of(desk, queue, order)
        name = f"ix_variant_{kept}_{column}"
        assert name in plan or (order is Order.OLDEST and "ix_variant_status" in plan), plan
        if queue is Queue.PENDING:
            assert f"ix_variant_begun_{column}" in plan, plan
        # The heads of the types and sources are sorted, but no variants are.
        assert plan.count("Sort Key") + plan.count("TEMP B-TREE FOR ORDER BY") <= 1, plan
        assert "Seq Scan on variant" not in plan and "SCAN variant " not in f"{plan} ", plan


def plan_of(desk: Desk, queue: Queue, order: Order) -> str:
    """The database's plan for finding the next variant."""
    bert = desk.who("Bert")
    with statements(desk.engine) as made:
        desk.read(next_variant, type_ids=["verbal"], queue=queue, order=order, reviewer_id=bert)
    statement, parameters = made[-1]
    with reading(desk.engine) as session:
        connection, explain = session.connection(), "EXPLAIN QUERY PLAN"
        if desk.engine.name == "postgresql":
            explain = "EXPLAIN"
            for way in ("seqscan", "bitmapscan", "sort"):  # which suit the few rows of a test
                connection.exec_driver_sql(f"SET LOCAL enable_{way} = off")
        rows = connection.exec_driver_sql(f"{explain} {statement}", parameters)
        return " | ".join(str(row[-1]) for row in rows)


# -- what is in a queue ------------------------------------------------------------------------


@both_databases
def test_each_of_a_team_is_given_own_anchors_while_there_are_any(queued: Desk) -> None:
    given = []
    for window in ("one", "two", "three", "four"):
        who = queued.who(window)
        with writing(queued.engine) as session:

            def first(skipped: Any, session: Session = session) -> int | None:
                variant = next_variant(session, type_ids=["verbal"], skipped=skipped)
                return variant.id if variant else None

            screen = Screen(who, window)
            given.append(screen.put_next(session, first, lambda _: True))
    assert given == [*OWN, BUNDLED[0]]


@both_databases
def test_decisions_move_variants_from_queue_to_queue(desk: Desk) -> None:
    """Of models, then of people, and their undos."""

    def queues() -> dict[Queue, list[int]]:
        return {queue: found for queue in Queue if (found := order_of(desk, queue=queue))}

    llm = desk.write(model)
    desk.change(WORD, retired=True)
    assert queues() == {Queue.PENDING: [VERBAL]}
    desk.change(WORD, retired=False)
    assert queues() == {Queue.PENDING: [VERBAL, WORD]}
    desk.decide(llm, VERBAL)
    desk.decide(llm, WORD)
    assert queues() == {Queue.MODEL_ONLY: [VERBAL, WORD]}
    assert desk.read(awaiting_a_person, [VERBAL, WORD]) == {VERBAL, WORD}
    done = desk.decide("Ada", VERBAL)
    assert [change.model_only for change in done.changes] == [-1]
    assert queues() == {Queue.MODEL_ONLY: [WORD]}
    assert desk.read(awaiting_a_person, [VERBAL, WORD]) == {WORD}
    desk.decide("Bert", VERBAL, R)
    assert queues() == {Queue.MODEL_ONLY: [WORD], Queue.CONFLICT: [VERBAL]}
    desk.undo("Bert")
    desk.undo("Ada")
    desk.change(WORD, retired=True)
    assert queues() == {Queue.MODEL_ONLY: [VERBAL]}
    assert desk.read(awaiting_a_person, [VERBAL, WORD]) == {VERBAL}
    counts = desk.read(status_counts)
    assert counts["verbal"] == dict.fromkeys(Status, 0) | {Status.ACCEPTED: 1}
    assert "word" not in counts and desk.read(status_counts, 99) == {}


@both_databases
def test_second_looks_have_a_queue_of_their_own(desk: Desk) -> None:
    desk.decide("Ada", VERBAL)
    assert desk.read(count_left, Queue.SECOND_LOOK) == {}
    desk.correct(VERBAL)
    assert desk.read(count_left, Queue.SECOND_LOOK) == {("verbal", 1): 1}
    assert order_of(desk, queue=Queue.SECOND_LOOK) == [VERBAL]
    found = desk.read(card, VERBAL)
    assert (found.made_for, found.anchor) == (ANCHOR, "The bridges are safe.")


# -- cards -------------------------------------------------------------------------------------


def test_a_card_counts_its_notes_and_says_what_is_not_measured_yet(desk: Desk) -> None:
    for remark in ("Odd.", "Is it?"):
        desk.write(add_note, VERBAL, reviewer_id=desk.who("Ada"), text=remark)
    found = desk.read(card, VERBAL)
    assert (found.anchor, found.genre, found.source) == (ANCHOR, "test", "test")
    assert (found.levenshtein, found.cosine, found.notes) == (None, None, 2)
    assert desk.read(card, WORD).notes == 0


def test_a_family_has_the_taxonomys_order_with_replaced_texts_last(desk: Desk) -> None:
    desk.decide("Ada", VERBAL, E, text="It isn't safe.")
    cards = desk.read(family, 1)
    assert [c.variant.type_id for c in cards] == [*TEXTS, "verbal"]
    assert cards[-1].variant.status == Status.SUPERSEDED
    assert cards[0].variant.text == "It isn't safe."


CARDS = [7 * number + 1 for number in range(12)]
"""Verbal variants in a twelve."""

FIRST, SECOND, THIRD, *_ = CARDS


def take(desk: Desk, *variant_ids: int, window: str = "one") -> set[int]:
    return desk.write(Screen(desk.who("Ada"), window).put, variant_ids)


def others(desk: Desk, window: str = "mine") -> set[int]:
    """The variants on the screens of other windows."""
    return set(desk.read(leases.on_other_screens, window))


@both_databases
def test_a_window_shows_a_card_that_no_other_shows(twelve: Desk) -> None:
    assert take(twelve, FIRST, SECOND) == {FIRST, SECOND}
    assert take(twelve, SECOND, THIRD, window="two") == {THIRD}
    found = twelve.read(leases.on_other_screens, "two")
    assert set(found) == {FIRST, SECOND}
    assert {holder.name for holder in found.values()} == {"Ada"}
    assert others(twelve, "one") == {THIRD}
    take(twelve, SECOND)  # the next card takes the place of the last
    assert others(twelve, "two") == {SECOND}
    take(twelve)
    assert others(twelve, "two") == set()


@both_databases
def test_an_expired_lease_means_nothing_and_a_renewed_one_lasts(twelve: Desk) -> None:
    take(twelve, FIRST)
    twelve.let_leases_expire()
    assert others(twelve, "two") == set()
    assert take(twelve, FIRST, window="two") == {FIRST}
    assert take(twelve, FIRST) == set()
    twelve.let_leases_expire()
    assert take(twelve, FIRST, window="two") == {FIRST}
    assert others(twelve, "one") == {FIRST}


def test_a_released_card_is_free(twelve: Desk) -> None:
    take(twelve, FIRST)
    take(twelve, SECOND, window="two")
    twelve.write(leases.release, ["one"])
    assert others(twelve) == {SECOND}
    twelve.let_leases_expire()
    twelve.write(leases.release, [])
    assert twelve.rows(Lease) == []


@both_databases
def test_a_closing_window_gives_back_a_card_that_another_window_has_just_tried_to_take(
    twelve: Desk,
) -> None:
    """On PostgreSQL, trying to take a leased card locks its lease. SQLite has one writer."""
    take(twelve, FIRST)
    with ThreadPoolExecutor(1) as pool:
        with writing(twelve.engine) as session:
            taken = Screen(twelve.who("Ada"), "two").put(session, [FIRST])
            released = pool.submit(twelve.write, leases.release, ["one"])
            wait([released], timeout=0.5)
            assert (taken, released.done()) == (set(), False)
        released.result()
    assert others(twelve) == set()


def test_a_family_is_all_variants_of_an_anchor(twelve: Desk) -> None:
    assert twelve.read(leases.families_of, [SECOND]) == set(range(SECOND, SECOND + 7))
    assert twelve.read(leases.families_of, []) == set()


def decide_all(url: URL, window: str) -> list[int]:
    """Go through the queue like a window. Returns the variants that it showed."""
    engine = create_engine(url)
    seen: list[int] = []
    card: deciding.ShownCard | None = None
    with writing(engine) as session:
        reviewer = person(session)
    while card is not None or not seen:
        with writing(engine) as session:
            if card is not None:
                deciding.accept(session, card, reviewer_id=reviewer)
            card = _next(session, window, reviewer)
        if card is None:
            break
        seen.append(card.variant_id)
    engine.dispose()
    return seen


def _next(session: Session, window: str, reviewer: int) -> deciding.ShownCard | None:
    def find(passed: Collection[int]) -> int | None:
        variant = next_variant(session, type_ids=["verbal"], skipped=passed)
        return None if variant is None else variant.id

    def is_left(key: int) -> bool:
        return bool(among(session, [key], Queue.PENDING))

    found = Screen(reviewer, window).put_next(session, find, is_left)
    return None if found is None else deciding.shown(session.get_one(Variant, found))


@pytest.mark.slow
@both_databases
def test_windows_that_go_through_a_queue_at_once_decide_no_card_twice(twelve: Desk) -> None:
    """For a server, threads replace processes. SQLite's locks are per process."""
    pool: Executor = ThreadPoolExecutor(3)
    if twelve.engine.name == "sqlite":
        pool = ProcessPoolExecutor(2, mp_context=get_context("spawn"))
    url = twelve.engine.url
    with pool:
        asked = [pool.submit(decide_all, url, f"window {n}") for n in range(3)]
        seen = sorted(number for one in asked for number in one.result())
    assert seen == CARDS == sorted(row.variant_id for row in twelve.rows(Decision))


@both_databases
def test_the_first_to_decide_learns_of_a_late_decision(twelve: Desk) -> None:
    first, second = twelve.card(FIRST), twelve.card(FIRST)
    twelve.decide("Ada", first)
    twelve.decide("Bert", second, R)
    later = twelve.card(FIRST)
    twelve.decide("Cleo", later)
    (late,) = twelve.read(late_decisions, [first.action_id])
    assert (late.reviewer, late.reason) == ("Bert", "wrong_scope")
    assert twelve.read(late_decisions, [second.action_id, later.action_id]) == []
    assert twelve.read(late_decisions, []) == []


@pytest.mark.parametrize("same_number", [True, False], ids=["in a container", "elsewhere"])
def test_the_cards_of_a_server_that_crashed_are_free_again(twelve: Desk, same_number: bool) -> None:
    """Leases of a server that still runs, here or on another host, are kept."""
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    crashed = f"a/before/{os.getpid() if same_number else ended.pid}/{socket.gethostname()}"
    running = [f"b/other/{os.getppid()}/{socket.gethostname()}", "c/other/1/elsewhere"]
    for variant_id, window in zip(CARDS, [crashed, *running, leases.new_window()], strict=False):
        take(twelve, variant_id, window=window)
    twelve.write(leases.release_closed, ())
    assert others(twelve) == set(CARDS[1:4])
