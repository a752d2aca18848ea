"""Leased cards: other windows skip them, and late decisions are found."""

import os
import socket
import subprocess
import sys
from collections.abc import Collection
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor, wait
from multiprocessing import get_context

import pytest
from sqlalchemy.engine import URL
from sqlalchemy.orm import Session

from curation.review import actions, leases
from curation.review.late_decisions import late_decisions
from curation.review.queue import Queue, among, next_variant
from db.engine import create_engine, writing
from db.models import Decision, Lease, Variant
from tests.curation.review.desk import Desk, R
from tests.support.databases import both_databases
from tests.support.factories import person

CARDS = [7 * number + 1 for number in range(12)]
"""Verbal variants in a twelve."""

FIRST, SECOND, THIRD, *_ = CARDS


def take(desk: Desk, *variant_ids: int, window: str = "one") -> set[int]:
    return desk.write(leases.take, variant_ids, window=window, reviewer_id=desk.who("Ada"))


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
            taken = leases.take(session, [FIRST], window="two", reviewer_id=twelve.who("Ada"))
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
    card: actions.ShownCard | None = None
    with writing(engine) as session:
        reviewer = person(session)
    while card is not None or not seen:
        with writing(engine) as session:
            if card is not None:
                actions.accept(session, card, reviewer_id=reviewer)
            card = _next(session, window, reviewer)
        if card is None:
            break
        seen.append(card.variant_id)
    engine.dispose()
    return seen


def _next(session: Session, window: str, reviewer: int) -> actions.ShownCard | None:
    def find(passed: Collection[int]) -> int | None:
        variant = next_variant(session, type_ids=["verbal"], skipped=passed)
        return None if variant is None else variant.id

    def is_left(key: int) -> bool:
        return bool(among(session, [key], Queue.PENDING))

    who = {"window": window, "reviewer_id": reviewer}
    found = leases.take_next(session, find, is_left, **who).variant_id
    return None if found is None else actions.shown(session.get_one(Variant, found))


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
    assert twelve.read(leases.closed_windows) == {crashed}
    twelve.write(leases.release_closed, ())
    assert others(twelve) == set(CARDS[1:4])
