"""Training processes: killed at any time, taking turns on one machine, several for one run."""

from __future__ import annotations

import json
import os
import random
import shutil
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from sqlalchemy import Engine, select
from sqlmodel import col

from curation.encoders.loading import load_encoder
from db.engine import reading, writing
from db.errors import HedgerowError, RunCancelled
from db.models import Run, RunMetric, RunState, Split
from db.runs import get_run, request_cancel
from db.settings import Settings
from tests.curation.support.families import add_plain_family
from tests.support.forking import ROOT, Forker, is_alive, kill
from tests.training.support.together import QUICK, SHARED, start_together
from tests.training.support.trainings import (
    ask,
    change_recipe,
    read,
    tiny_recipe,
    train,
    weights,
    write,
)
from training.finetune import checkpoints
from training.finetune.compute import devices
from training.finetune.compute.devices import (
    device_to_oneself,
    in_line,
    share_the_processor,
    uses_bf16,
)
from training.recipe.schema import Recipe

PRELOADED = (
    "torch",
    "sentence_transformers",
    "transformers.models.bert.modeling_bert",
    "datasets",
    "peft",
    "training.__main__",
    "tests.training.support.together",
)
SECONDS = 60


@pytest.fixture(scope="module")
def forker() -> Iterator[Forker]:
    forker = Forker(*PRELOADED)
    yield forker
    forker.close()


@pytest.fixture
def project(project: Engine) -> Engine:
    """The project with families, for queries during training."""
    with writing(project) as session:
        for number in range(20, 24):
            add_plain_family(session, number, split=Split.VALIDATION)
    return project


@pytest.fixture
def long_recipe(tiny_encoder: Path) -> Recipe:
    """A recipe for a run of some seconds."""
    changes = ["epochs=1000", "max_steps=20", "early_stopping=ranked", "lora_rank=64"]
    return tiny_recipe(tiny_encoder).with_overrides(changes)


def found(engine: Engine, run_id: int) -> Run:
    return read(engine, get_run, run_id)


def wait_until(true: Callable[[], bool], home: Path) -> None:
    until = time.monotonic() + SECONDS
    while not true():
        assert time.monotonic() < until, printed(home)
        time.sleep(0.02)


def printed(home: Path) -> str:
    out = home / "out.txt"
    return out.read_text() if out.exists() else ""


def curves(engine: Engine, run_id: int) -> list[tuple[str, int, float]]:
    """Every point of the run's curves, but for the pace only the steps of its points."""
    with reading(engine) as session:
        rows = session.execute(select(RunMetric).where(col(RunMetric.run_id) == run_id)).scalars()
        return sorted(
            (row.name, row.step, 0.0 if row.name == "characters_per_second" else row.value)
            for row in rows
        )


@pytest.mark.slow
@pytest.mark.parametrize("kills", [1, pytest.param(5, marks=pytest.mark.soak("kills"))])
def test_a_training_killed_at_any_time_ends_as_an_undisturbed_one(
    project: Engine, home: Path, long_recipe: Recipe, settings: Settings, forker: Forker, kills: int
) -> None:
    calm = ask(project, long_recipe)
    wait_for(forker.start(project.url, home, calm, QUICK), home)
    expected = found(project, calm)
    assert expected.state == RunState.DONE, printed(home)
    broken = ask(project, long_recipe)  # the same run, which is refused while it is in progress
    folder = settings.data_folder / found(project, broken).folder
    sampled, reached = random.Random(3), 0
    for _ in range(kills):
        process = forker.start(project.url, home, broken, QUICK)
        wait_until(lambda: checkpoints.step_reached(folder) > reached, home)  # noqa: B023
        time.sleep(sampled.uniform(0.0, 0.3))
        if not is_alive(process):
            break
        kill(process)
        assert found(project, broken).state == RunState.INTERRUPTED
        reached = checkpoints.step_reached(folder)
        if (folder / "model").exists():  # complete at the end
            load_encoder(str(folder / "model"), device="cpu")
    wait_for(forker.start(project.url, home, broken, QUICK), home)
    run = found(project, broken)
    assert run.state == RunState.DONE, printed(home)
    data = settings.data_folder
    assert weights(data / run.result["model"]) == weights(data / expected.result["model"])
    assert curves(project, broken) == curves(project, calm)
    assert {child.name for child in folder.iterdir()} == {"model", "log.txt", "metrics.jsonl"}
    assert "continuing after step" in (folder / "log.txt").read_text()


def wait_for(process: int, home: Path) -> None:
    wait_until(lambda: not is_alive(process), home)


@pytest.fixture
def shared_recipe(tiny_encoder: Path, long_recipe: Recipe, home: Path) -> Recipe:
    """Without dropout."""
    folder = shutil.copytree(tiny_encoder, home / "encoder")
    config = json.loads((folder / "config.json").read_text())
    config |= {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    (folder / "config.json").write_text(json.dumps(config))
    return long_recipe.with_overrides([f"base_encoder={folder}", "max_steps=12", "retention=1"])


def assert_nearly_equal(one: Path, other: Path) -> None:
    from safetensors.numpy import load_file

    first, second = (load_file(path / "model.safetensors") for path in (one, other))
    assert first.keys() == second.keys()
    for name, value in first.items():
        np.testing.assert_allclose(value, second[name], rtol=1e-3, atol=2e-5)


@pytest.mark.slow
def test_a_training_on_two_processes_ends_as_on_one_also_when_it_was_killed(
    project: Engine,
    home: Path,
    shared_recipe: Recipe,
    settings: Settings,
    forker: Forker,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(devices, "uses_bf16", lambda _: False)
    for path, value in SHARED.items():
        monkeypatch.setattr(path, value)
    alone = train(project, settings, ask(project, shared_recipe))
    shared = ask(project, shared_recipe)
    folder = settings.data_folder / found(project, shared).folder
    leader, helper = start_together(forker, project, home, shared)
    wait_until(lambda: checkpoints.step_reached(folder) > 0, home)
    kill(leader)
    wait_for(helper, home)
    assert "Another process of this training run has ended" in printed(home)
    for process in start_together(forker, project, home, shared):
        wait_for(process, home)
    run = found(project, shared)
    assert run.state == RunState.DONE, printed(home)
    assert run.result["kept_step"] == alone.result["kept_step"]
    assert_nearly_equal(
        settings.data_folder / alone.result["model"], settings.data_folder / run.result["model"]
    )
    assert "continuing after step" in (folder / "log.txt").read_text()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("end", "state", "fact"),
    [
        ("cancelled", RunState.CANCELLED, "Cancelled"),
        ("helper killed", RunState.FAILED, "Another process"),
        pytest.param(
            *("leader fails", RunState.FAILED, "batch_size"),
            marks=pytest.mark.soak("processes"),
        ),
    ],
)
def test_the_end_of_one_process_ends_all(
    project: Engine,
    home: Path,
    long_recipe: Recipe,
    forker: Forker,
    end: str,
    state: RunState,
    fact: str,
) -> None:
    run_id = ask(project, long_recipe.with_overrides(["max_steps=none"]))
    if end == "leader fails":
        change_recipe(project, run_id, batch_size=64)
    leader, helper = start_together(forker, project, home, run_id)
    if end != "leader fails":
        wait_until(lambda: found(project, run_id).step > 0, home)
    if end == "cancelled":
        write(project, request_cancel, run_id)
    elif end == "helper killed":
        kill(helper)
    wait_for(leader, home)
    wait_for(helper, home)
    run = found(project, run_id)
    assert run.state == state and fact in run.message and "\n" not in run.message


@pytest.mark.soak("processes")
def test_torchrun_trains_a_queued_run(
    project: Engine, home: Path, shared_recipe: Recipe, settings: Settings
) -> None:
    run_id = ask(project, shared_recipe.with_overrides(["max_steps=3"]))
    launched = "-m torch.distributed.run --nproc-per-node 2 -m training".split()
    command = [sys.executable, *launched, str(run_id)]
    environment = settings.process_environment() | {"PYTHONPATH": str(ROOT)}
    result = subprocess.run(
        command, env=environment, cwd=home, capture_output=True, text=True, timeout=300, check=False
    )
    assert result.returncode == 0, result.stderr
    run = found(project, run_id)
    assert run.state == RunState.DONE
    assert str(settings.data_folder / run.result["model"]) in result.stdout


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
        with device_to_oneself(lambda _: waiting.set(), lock=lock, since=since):
            served.append(number)

    threads = []
    with device_to_oneself(lambda _: None, lock=lock):
        for number in (3, 1, 4, 2):
            waits = threading.Event()
            threads.append(threading.Thread(target=train, args=(number, waits)))
            threads[-1].start()
            assert waits.wait(5)
        with device_to_oneself(lambda _: None, lock=str(tmp_path / "of another device")):
            assert served == []
    for thread in threads:
        thread.join(10)
    assert served == [1, 2, 3, 4] and [path.name for path in tmp_path.glob("lock*")] == ["lock"]


def test_a_waiting_process_can_stop(tmp_path: Path) -> None:
    lock = str(tmp_path / "lock")

    def stop(_: str) -> None:
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


@pytest.fixture
def locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of locks without a name."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    monkeypatch.setattr(devices, "_GPUS", tmp_path / "gpus")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    return folder


def test_without_a_name_the_lock_is_shared_by_everybody_on_the_machine(locks: Path) -> None:
    old = os.umask(0o077)
    try:
        with device_to_oneself(lambda _: None):
            (file,) = locks.iterdir()
            assert stat.S_IMODE(file.stat().st_mode) == 0o666
    finally:
        os.umask(old)
    assert file.name == "hedgerow-training.lock"


def test_as_many_runs_as_gpus_train_at_once_each_on_its_own(
    locks: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(_: str) -> None:
        raise RunCancelled

    for number in range(2):
        (tmp_path / f"gpus/0000:0{number}").mkdir(parents=True)
    assert devices.visible_gpus() == ["0", "1"]
    with device_to_oneself(stop):
        assert os.environ["CUDA_VISIBLE_DEVICES"] == "0"
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES")  # as in another process
        with device_to_oneself(stop):
            assert os.environ["CUDA_VISIBLE_DEVICES"] == "1"
            monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
            with pytest.raises(RunCancelled), device_to_oneself(stop):
                raise AssertionError("there is a third one")
            monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    assert "CUDA_VISIBLE_DEVICES" not in os.environ
    monkeypatch.setenv("WORLD_SIZE", "2")  # torchrun uses both
    with device_to_oneself(stop):
        assert "CUDA_VISIBLE_DEVICES" not in os.environ
        monkeypatch.delenv("WORLD_SIZE")
        with pytest.raises(RunCancelled), device_to_oneself(stop):
            raise AssertionError("one is free")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")
    assert devices.visible_gpus() == []


def test_whoever_waits_is_told_for_whom_and_how_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(devices, "NOTED_SECONDS", -1)
    lock, told = str(tmp_path / "lock"), []
    run = SimpleNamespace(id=7, kind="train", group="", created_at=NOON)
    context = SimpleNamespace(
        run=run,
        listener=None,
        settings=SimpleNamespace(home="/home/ada/denial", training_lock=lock),
    )

    def stop(holder: str) -> None:
        told.append(holder)
        raise RunCancelled

    def ask() -> None:
        with pytest.raises(RunCancelled), device_to_oneself(stop, lock=lock):
            pass

    with devices.own_device(context):  # type: ignore[arg-type]
        ask()
        later = time.time() + 600
        monkeypatch.setattr("training.finetune.compute.devices.time.time", lambda: later)
        context.listener(25, 100, "")  # type: ignore[misc]
        ask()
    began = "Run 7 (train) in /home/ada/denial began"
    assert told[0] == f"{began} less than a minute ago."
    assert told[1].startswith(began) and told[1].endswith("more.")
    assert list(tmp_path.glob("*.held")) == []


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
        device_to_oneself(lambda _: None, lock=lock),
    ):
        pass
    assert "\n" not in str(caught.value)


@pytest.mark.slow
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
