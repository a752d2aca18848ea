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


@pytest.fixture
def grown(with_source: Engine) -> Iterator[Engine]:
    calls.clear()
    gate.clear()
    grow(with_source, 1)
    yield with_source
    gate.set()


@pytest.fixture
def large(grown: Engine, monkeypatch: pytest.MonkeyPatch) -> Engine:
    monkeypatch.setattr(count_cache, "AT_ONCE", 0)
    return grown


def grow(engine: Engine, number: int) -> None:
    with writing(engine) as session:
        add_family(session, f"Bridge {number} is safe.")


def settle() -> None:
    """Wait for the counts in progress."""
    for making in list(count_cache._store()._making.values()):
        making.exception(timeout=20)


def test_the_same_data_is_counted_only_once(grown: Engine) -> None:
    counts = CachedCounts()
    assert not counts.empty
    assert (counts.get(variants), counts.get(variants), CachedCounts().get(variants)) == (7, 7, 7)
    assert calls == [""] and counts.get(variants, label="other") == 7
    assert calls == ["", "other"]
    grow(grown, 2)
    assert CachedCounts().get(variants) == 14 and not counts.waiting


def test_a_project_without_variants_is_empty(app_engine: Engine) -> None:
    assert CachedCounts().empty


def test_a_large_project_is_counted_in_the_background(large: Engine) -> None:
    counts = CachedCounts()
    assert counts.get(held_up) is None and counts.waiting
    assert CachedCounts().get(held_up) is None  # not started a second time
    gate.set()
    settle()
    later = CachedCounts()
    assert (later.get(held_up), later.waiting, calls) == (7, False, [""])


def test_an_outdated_count_is_shown_until_the_new_one_is_ready(
    large: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    CachedCounts().get(variants)
    settle()
    grow(large, 2)
    assert CachedCounts().get(variants) == 7  # a minute old at most
    assert len(calls) == 1
    monkeypatch.setattr(count_cache, "FRESH_SECONDS", 0.0)
    counts = CachedCounts()
    assert (counts.get(variants), counts.waiting) == (7, True)
    settle()
    assert CachedCounts().get(variants) == 14


def test_after_your_own_change_no_outdated_count_is_shown(large: Engine) -> None:
    CachedCounts().get(variants)
    settle()
    grow(large, 2)
    count_cache.forget()
    assert CachedCounts().get(variants) is None
    settle()
    assert CachedCounts().get(variants) == 14
    # Nor is one kept that started before the change.
    CachedCounts().get(held_up)
    begun = list(count_cache._store()._making.values())
    count_cache.forget()
    gate.set()
    for making in begun:
        making.result(timeout=20)
    assert CachedCounts().get(held_up) is None


def test_the_page_reports_errors_of_the_count(large: Engine) -> None:
    CachedCounts().get(failing)
    settle()
    with pytest.raises(LookupError):
        CachedCounts().get(failing)
    assert CachedCounts().get(failing) is None  # and tried again


def test_the_least_recently_used_count_is_dropped_first(
    grown: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(count_cache, "KEPT", 2)
    counts = CachedCounts()
    for label in ("a", "b", "a", "c", "a", "b"):
        counts.get(variants, label=label)
    assert calls == ["a", "b", "c", "b"]
