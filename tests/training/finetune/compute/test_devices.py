"""Devices for training: bfloat16, and the lock that makes runs take turns."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from db.errors import HedgerowError, RunCancelled
from training.finetune.compute import devices
from training.finetune.compute.devices import device_to_oneself, share_the_processor, uses_bf16


def test_only_one_at_a_time_holds_the_device(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(devices, "WAIT_SECONDS", 0.01)
    lock = str(tmp_path / "lock")
    waited, entered = threading.Event(), threading.Event()

    def second() -> None:
        with device_to_oneself(waited.set, lock=lock):
            entered.set()

    with device_to_oneself(lambda: None, lock=lock):
        other = threading.Thread(target=second)
        other.start()
        assert waited.wait(5) and not entered.is_set()
        with device_to_oneself(lambda: None, lock=str(tmp_path / "of another device")):
            pass
    assert entered.wait(5)
    other.join()


def test_a_waiting_process_can_stop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "WAIT_SECONDS", 0.01)
    lock = str(tmp_path / "lock")

    def stop() -> None:
        raise RunCancelled

    with (
        device_to_oneself(stop, lock=lock),
        pytest.raises(RunCancelled),
        device_to_oneself(stop, lock=lock),
    ):
        pass


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
@pytest.mark.parametrize("lock", ["/proc/hedgerow.lock", "/proc/nowhere/lock", "/dev/null/x"])
def test_a_lock_that_cannot_be_written_gives_one_sentence(lock: str) -> None:
    with (
        pytest.raises(HedgerowError, match="cannot be written .*HEDGEROW_TRAINING_LOCK") as caught,
        device_to_oneself(lambda: None, lock=lock),
    ):
        pass
    assert "\n" not in str(caught.value)


def test_no_folder_for_temporary_files_gives_one_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def none() -> str:
        raise FileNotFoundError("No usable temporary directory found")

    monkeypatch.setattr("tempfile.gettempdir", none)
    with (
        pytest.raises(HedgerowError, match="HEDGEROW_TRAINING_LOCK"),
        device_to_oneself(lambda: None),
    ):
        pass


def test_a_processor_uses_bfloat16_if_it_has_instructions_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import torch

    model = SimpleNamespace(device=SimpleNamespace(type="cpu"))
    for has in (True, False):
        monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda has=has: has)
        assert uses_bf16(model) is has  # type: ignore[arg-type]


@pytest.mark.parametrize("device", ["cuda", "mps"])
def test_a_gpu_without_bfloat16_uses_none(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda **_: False)
    model = SimpleNamespace(device=SimpleNamespace(type=device))
    assert uses_bf16(model) is False  # type: ignore[arg-type]


def test_the_users_own_settings_of_the_processor_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_WAIT_POLICY", "ACTIVE")
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", "")
    monkeypatch.delenv("CUBLAS_WORKSPACE_CONFIG")
    share_the_processor()
    assert os.environ["OMP_WAIT_POLICY"] == "ACTIVE"
    assert os.environ["CUBLAS_WORKSPACE_CONFIG"] == ":4096:8"
