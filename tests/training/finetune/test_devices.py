"""Devices for training: bfloat16, and the lock that makes runs take turns in order."""

from __future__ import annotations

import os
import stat
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest

from db.errors import HedgerowError, RunCancelled
from training.finetune.compute import devices
from training.finetune.compute.devices import device_to_oneself, share_the_processor, uses_bf16
from training.finetune.compute.training_lock import in_line

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "WAIT_SECONDS", 0.01)


def test_waiting_processes_get_a_device_one_at_a_time_in_the_order_of_their_start(
    tmp_path: Path,
) -> None:
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
        with device_to_oneself(lambda: None, lock=str(tmp_path / "of another device")):
            assert served == []
    for thread in threads:
        thread.join(10)
    assert served == [1, 2, 3, 4]
    assert [path.name for path in tmp_path.glob("lock*")] == ["lock"]


def test_a_waiting_process_can_stop(tmp_path: Path) -> None:
    lock = str(tmp_path / "lock")

    def stop() -> None:
        raise RunCancelled

    with (
        device_to_oneself(stop, lock=lock),
        pytest.raises(RunCancelled),
        device_to_oneself(stop, lock=lock),
    ):
        raise AssertionError("it has the device")


def test_a_process_that_has_died_or_stops_waiting_leaves_the_queue(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    left = tmp_path / f"lock.turn-{NOON.timestamp():020.6f}-0badcafe"
    left.touch()
    with in_line(lock, NOON + timedelta(seconds=1)) as is_next:
        assert is_next(0) and not left.exists()
        with in_line(lock, NOON) as earlier:
            assert earlier(0) and not is_next(0)
        assert is_next(0)


def test_without_writable_files_every_process_is_next() -> None:
    nowhere = Path("/proc/nowhere/lock")
    with in_line(nowhere, NOON) as one, in_line(nowhere, NOON) as other:
        assert one(0) and other(0)


def test_without_a_name_the_lock_is_shared_by_everybody_with_the_same_gpus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    old = os.umask(0o077)
    try:
        with device_to_oneself(lambda: None):
            (file,) = folder.iterdir()
            assert stat.S_IMODE(file.stat().st_mode) == 0o666
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,../1")
        with device_to_oneself(lambda: None):
            names = {file.name for file in folder.iterdir()}
    finally:
        os.umask(old)
    assert names == {"hedgerow-training.lock", "hedgerow-training-0----1.lock"}


@pytest.mark.slow
@pytest.mark.parametrize("lock", ["/proc/hedgerow.lock", "/dev/null/x", ""])
def test_a_lock_that_cannot_be_written_is_reported(
    lock: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none() -> str:
        raise FileNotFoundError("No usable temporary directory found")

    monkeypatch.setattr("tempfile.gettempdir", none)
    with (
        pytest.raises(HedgerowError, match="HEDGEROW_TRAINING_LOCK") as caught,
        device_to_oneself(lambda: None, lock=lock),
    ):
        pass
    assert "\n" not in str(caught.value)


def test_bfloat16_is_used_if_the_device_has_instructions_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import torch

    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda **_: False)
    for device, has in (("cpu", True), ("cpu", False), ("cuda", False), ("mps", False)):
        monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda has=has: has)
        assert uses_bf16(SimpleNamespace(device=SimpleNamespace(type=device))) is has


def test_the_users_own_settings_of_the_processor_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_WAIT_POLICY", "ACTIVE")
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", "")
    monkeypatch.delenv("CUBLAS_WORKSPACE_CONFIG")
    share_the_processor()
    assert os.environ["OMP_WAIT_POLICY"] == "ACTIVE"
    assert os.environ["CUBLAS_WORKSPACE_CONFIG"] == ":4096:8"
