"""Waiting processes get a device in the order of their start, and dead ones block nobody."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from training.finetune.compute import devices
from training.finetune.compute.devices import device_to_oneself
from training.finetune.compute.training_lock import in_line

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def test_the_one_that_was_asked_for_first_is_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(devices, "WAIT_SECONDS", 0.02)
    lock, served = str(tmp_path / "lock"), []

    def train(number: int, waiting: threading.Event) -> None:
        since = NOON + timedelta(seconds=number)
        with device_to_oneself(waiting.set, lock=lock, since=since):
            served.append(number)

    threads = []
    with device_to_oneself(lambda: None, lock=lock):
        for number in (3, 1, 4, 2):
            waits = threading.Event()
            threads.append(threading.Thread(target=train, args=(number, waits)))
            threads[-1].start()
            assert waits.wait(5)
    for thread in threads:
        thread.join(10)
    assert served == [1, 2, 3, 4]
    assert [path.name for path in tmp_path.glob("lock*")] == ["lock"]


def test_a_dead_waiting_process_blocks_nobody(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    left = tmp_path / f"lock.turn-{NOON.timestamp():020.6f}-0badcafe"
    left.touch()
    with in_line(lock, NOON + timedelta(seconds=1)) as is_next:
        assert is_next(0)
        assert not left.exists()


def test_a_process_that_stops_waiting_leaves_the_queue(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    with in_line(lock, NOON + timedelta(seconds=1)) as is_next:
        with in_line(lock, NOON) as earlier:
            assert earlier(0) and not is_next(0)
        assert is_next(0)


def test_without_writable_files_every_process_is_next() -> None:
    nowhere = Path("/proc/nowhere/lock")
    with in_line(nowhere, NOON) as one, in_line(nowhere, NOON) as other:
        assert one(0) and other(0)
