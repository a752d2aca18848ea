"""Leased cards: other windows skip them, and the messages about late decisions."""

import os
import socket
import subprocess
import sys
from collections.abc import Collection
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor, wait
from datetime import UTC, datetime
from multiprocessing import get_context

import pytest
from sqlalchemy import Engine, select, update
from sqlalchemy.engine import URL
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.review import actions, leases
from curation.review.actions import ShownCard, shown
from curation.review.late_decisions import late_decisions
from curation.review.queue import Queue, among, next_variant
from db.engine import create_engine, reading, writing
from db.models import Decision, Lease, Variant
from tests.support.databases import Fill, both_databases
from tests.support.factories import add_family, person

pytestmark = both_databases

CARDS = 12
"""Verbal variants in a queue."""


@pytest.fixture
def ids(engine: Engine, fill: Fill) -> list[int]:

    def made(session: Session) -> list[int]:
        families = [add_family(session, f"The bridge {n} is safe.") for n in range(CARDS)]
        person(session)
        return [family["verbal"].id for family in families]

    return fill(engine, made)


def take(session: Session, *variant_ids: int, window: str = "one") -> set[int]:
    return leases.take(session, variant_ids, window=window, reviewer_id=person(session))


def expire(session: Session) -> None:
    session.execute(update(Lease).values(until=datetime(2020, 1, 1, tzinfo=UTC)))


def test_a_window_shows_a_card_that_no_other_shows(engine: Engine, ids: list[int]) -> None:
    with writing(engine) as session:
        assert take(session, *ids[:2]) == set(ids[:2])
        assert take(session, *ids[1:3], window="two") == {ids[2]}
        others = leases.on_other_screens(session, "two")
        assert set(others) == set(ids[:2])
        assert {holder.name for holder in others.values()} == {"Ada"}
        assert leases.on_other_screens(session, "one").keys() == {ids[2]}


def test_the_next_card_takes_the_place_of_the_last(engine: Engine, ids: list[int]) -> None:
    with writing(engine) as session:
        take(session, ids[0])
        take(session, ids[1])
        assert set(leases.on_other_screens(session, "two")) == {ids[1]}
        take(session)
        assert leases.on_other_screens(session, "two") == {}


def test_an_expired_lease_means_nothing_and_a_renewed_one_lasts(
    engine: Engine, ids: list[int]
) -> None:
    with writing(engine) as session:
        take(session, ids[0])
        expire(session)
        assert leases.on_other_screens(session, "two") == {}
        assert take(session, ids[0], window="two") == {ids[0]}
        assert take(session, ids[0]) == set()
        expire(session)
        assert take(session, ids[0], window="two") == {ids[0]}
        assert leases.on_other_screens(session, "one").keys() == {ids[0]}


def test_a_released_card_is_free(engine: Engine, ids: list[int]) -> None:
    with writing(engine) as session:
        take(session, ids[0])
        take(session, ids[1], window="two")
        leases.release(session, ["one"])
        assert set(leases.on_other_screens(session, "three")) == {ids[1]}
        expire(session)
        leases.release(session, [])
        assert session.execute(select(Lease)).first() is None


def test_a_closing_window_gives_back_a_card_that_another_window_has_just_tried_to_take(
    engine: Engine, ids: list[int]
) -> None:
    """On PostgreSQL, trying to take a leased card locks its lease. SQLite has one writer."""
    with writing(engine) as session:
        take(session, ids[0])

    def release() -> None:
        with writing(engine) as session:
            leases.release(session, ["one"])

    with ThreadPoolExecutor(1) as pool:
        with writing(engine) as session:
            assert take(session, ids[0], window="two") == set()
            released = pool.submit(release)
            wait([released], timeout=0.5)
            assert not released.done()
        released.result()
    with reading(engine) as session:
        assert leases.on_other_screens(session, "three") == {}


def test_a_family_is_all_variants_of_an_anchor(engine: Engine, ids: list[int]) -> None:
    with reading(engine) as session:
        anchor = session.get_one(Variant, ids[1]).anchor_id
        query = select(col(Variant.id)).where(col(Variant.anchor_id) == anchor)
        assert leases.families_of(session, [ids[1]]) == set(session.execute(query).scalars())


def decide_all(url: URL, window: str) -> list[int]:
    """Go through the queue like a window. Returns the variants that it showed."""
    engine = create_engine(url)
    seen: list[int] = []
    card: ShownCard | None = None
    with writing(engine) as session:
        reviewer = person(session)
    while True:
        with writing(engine) as session:
            if card is not None:
                actions.accept(session, card, reviewer_id=reviewer)
            card = _next(session, window, reviewer)
        if card is None:
            engine.dispose()
            return seen
        seen.append(card.variant_id)


def _next(session: Session, window: str, reviewer: int) -> ShownCard | None:
    def find(passed: Collection[int]) -> int | None:
        variant = next_variant(session, type_ids=["verbal"], skipped=passed)
        return None if variant is None else variant.id

    found, _ = leases.take_next(
        session,
        find,
        lambda key: bool(among(session, [key], Queue.PENDING)),
        window=window,
        reviewer_id=reviewer,
    )
    return None if found is None else shown(session.get_one(Variant, found))


@pytest.mark.slow
def test_windows_that_go_through_a_queue_at_once_decide_no_card_twice(
    engine: Engine, ids: list[int]
) -> None:
    """For a server, threads replace processes. SQLite's locks are per process."""
    pool: Executor = ThreadPoolExecutor(3)
    if engine.name == "sqlite":
        pool = ProcessPoolExecutor(2, mp_context=get_context("spawn"))
    url = engine.url
    with pool:
        asked = [pool.submit(decide_all, url, f"window {n}") for n in range(3)]
        seen = [number for one in asked for number in one.result()]
    assert sorted(seen) == ids
    with reading(engine) as session:
        decided = list(session.execute(select(col(Decision.variant_id))).scalars())
    assert sorted(decided) == ids


def test_the_first_to_decide_learns_of_a_late_decision(engine: Engine, ids: list[int]) -> None:
    with writing(engine) as session:
        first, second = (shown(session.get_one(Variant, ids[0])) for _ in range(2))
        actions.accept(session, first, reviewer_id=person(session))
        actions.reject(session, second, reviewer_id=person(session, "Bert"), reason="wrong_scope")
        later = shown(session.get_one(Variant, ids[0]))
        actions.accept(session, later, reviewer_id=person(session, "Cleo"))
        (late,) = late_decisions(session, [first.action_id])
        assert (late.reviewer, late.reason) == ("Bert", "wrong_scope")
        assert late_decisions(session, [second.action_id, later.action_id]) == []
        assert late_decisions(session, []) == []


@pytest.mark.parametrize("same_number", [True, False], ids=["in a container", "elsewhere"])
def test_the_cards_of_a_server_that_crashed_are_free_again(
    engine: Engine, ids: list[int], monkeypatch: pytest.MonkeyPatch, same_number: bool
) -> None:
    """Leases of a server that still runs, here or on another host, are kept."""
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    crashed = f"a/before/{os.getpid() if same_number else ended.pid}/{socket.gethostname()}"
    windows = [crashed, f"b/other/{os.getppid()}/{socket.gethostname()}", "c/other/1/elsewhere"]
    with writing(engine) as session:
        for variant_id, window in zip(ids, [*windows, leases.new_window()], strict=False):
            take(session, variant_id, window=window)
        closed = leases.closed_windows(session)
        assert closed == {crashed}
        leases.release(session, closed)
        assert set(leases.on_other_screens(session, "mine")) == set(ids[1:4])
