"""Counts are cached until the data changes. In a large project, they are computed in the
background."""

import threading
from collections.abc import Iterator

import pytest
from sqlalchemy import Engine, func, select
from sqlalchemy.orm import Session

from db.engine import writing
from db.models import Variant
from pages.components.shared.shell import count_cache
from pages.components.shared.shell.count_cache import CachedCounts
from tests.support.factories import add_family

calls: list[str] = []
gate = threading.Event()


def variants(session: Session, label: str = "") -> int:
    calls.append(label)
    return session.execute(select(func.count()).select_from(Variant)).scalar_one()


def held_up(session: Session) -> int:
    gate.wait(timeout=20)
    return variants(session)


def failing(session: Session) -> int:
    raise LookupError("no such count")


@pytest.fixture(autouse=True)
def no_calls() -> Iterator[None]:
    calls.clear()
    gate.clear()
    yield
    gate.set()


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(count_cache, "AT_ONCE", 0)


def grow(engine: Engine, number: int) -> None:
    with writing(engine) as session:
        add_family(session, f"Bridge {number} is safe.")


def settle() -> None:
    """Wait for the counts in progress."""
    for making in list(count_cache._store()._making.values()):
        making.exception(timeout=20)


def test_the_same_data_is_counted_only_once(with_source: Engine) -> None:
    assert CachedCounts().empty
    grow(with_source, 1)
    counts = CachedCounts()
    assert not counts.empty
    assert (counts.get(variants), counts.get(variants), CachedCounts().get(variants)) == (7, 7, 7)
    assert calls == [""]
    assert counts.get(variants, label="other") == 7
    assert calls == ["", "other"]
    grow(with_source, 2)
    assert CachedCounts().get(variants) == 14
    assert not counts.waiting


def test_a_large_project_is_counted_in_the_background(with_source: Engine, large: None) -> None:
    grow(with_source, 1)
    counts = CachedCounts()
    assert counts.get(held_up) is None
    assert counts.waiting
    assert CachedCounts().get(held_up) is None  # not started a second time
    gate.set()
    settle()
    later = CachedCounts()
    assert (later.get(held_up), later.waiting, calls) == (7, False, [""])


def test_an_outdated_count_is_shown_until_the_new_one_is_ready(
    with_source: Engine, large: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    grow(with_source, 1)
    CachedCounts().get(variants)
    settle()
    grow(with_source, 2)
    assert CachedCounts().get(variants) == 7  # a minute old at most
    assert len(calls) == 1
    monkeypatch.setattr(count_cache, "FRESH_SECONDS", 0.0)
    counts = CachedCounts()
    assert counts.get(variants) == 7
    assert counts.waiting
    settle()
    assert CachedCounts().get(variants) == 14


def test_after_your_own_change_no_outdated_count_is_shown(with_source: Engine, large: None) -> None:
    grow(with_source, 1)
    CachedCounts().get(variants)
    settle()
    grow(with_source, 2)
    count_cache.forget()
    assert CachedCounts().get(variants) is None
    settle()
    assert CachedCounts().get(variants) == 14


def test_a_count_started_before_a_change_is_not_kept(with_source: Engine, large: None) -> None:
    grow(with_source, 1)
    CachedCounts().get(held_up)
    begun = list(count_cache._store()._making.values())
    count_cache.forget()
    gate.set()
    for making in begun:
        making.result(timeout=20)
    assert CachedCounts().get(held_up) is None


def test_the_page_reports_errors_of_the_count(with_source: Engine, large: None) -> None:
    grow(with_source, 1)
    CachedCounts().get(failing)
    settle()
    with pytest.raises(LookupError, match="no such count"):
        CachedCounts().get(failing)
    assert CachedCounts().get(failing) is None  # and tried again


def test_the_least_recently_used_count_is_dropped_first(
    with_source: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(count_cache, "KEPT", 2)
    grow(with_source, 1)
    counts = CachedCounts()
    for label in ("a", "b", "a", "c", "a", "b"):
        counts.get(variants, label=label)
    assert calls == ["a", "b", "c", "b"]
