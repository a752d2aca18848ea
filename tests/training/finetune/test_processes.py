"""Training processes: killed at any time, taking turns on one machine, several for one run."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import Engine, select
from sqlmodel import col

from curation.encoders.loading import load_encoder
from db.engine import reading, writing
from db.models import Run, RunMetric, RunState, Split
from db.runs import get_run, request_cancel
from db.settings import Settings
from tests.curation.support.families import add_plain_family
from tests.support.forking import ROOT, Forker, is_alive, kill
from tests.training.support.together import QUICK, RECIPES, SHARED, one_step, start_together
from tests.training.support.trainings import ask, change_recipe, tiny_recipe, train, weights
from training.finetune import checkpoints
from training.finetune.compute import devices
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
def calm_encoder(tiny_encoder: Path, home: Path) -> Path:
    """The tiny encoder without dropout."""
    folder = home / "encoder"
    shutil.copytree(tiny_encoder, folder)
    config = json.loads((folder / "config.json").read_text())
    config |= {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    (folder / "config.json").write_text(json.dumps(config))
    return folder


@pytest.fixture
def long_recipe(tiny_encoder: Path) -> Recipe:
    """A recipe for a run of some seconds."""
    changes = ["epochs=1000", "max_steps=40", "early_stopping=ranked", "lora_rank=64"]
    return tiny_recipe(tiny_encoder).with_overrides(changes)


def found(engine: Engine, run_id: int) -> Run:
    with reading(engine) as session:
        return get_run(session, run_id)


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
    query = select(col(RunMetric.name), col(RunMetric.step), col(RunMetric.value)).where(
        col(RunMetric.run_id) == run_id
    )
    with reading(engine) as session:
        points = [tuple(row) for row in session.execute(query)]
    return sorted((n, s, 0.0 if n == "characters_per_second" else v) for n, s, v in points)


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


@pytest.mark.slow
def test_trainings_of_one_machine_take_turns(
    project: Engine, home: Path, recipe: Recipe, long_recipe: Recipe, forker: Forker
) -> None:
    endless = long_recipe.with_overrides(["max_steps=none"])
    runs = [ask(project, endless), ask(project, recipe), ask(project, recipe, seed=2)]
    first = forker.start(project.url, home, runs[0], QUICK)
    wait_until(lambda: found(project, runs[0]).step > 0, home)
    second, third = (forker.start(project.url, home, key, QUICK) for key in runs[1:])
    for key in runs[1:]:
        wait_until(lambda: "Waiting for other" in found(project, key).message, home)  # noqa: B023
    with writing(project) as session:
        request_cancel(session, runs[2])
    wait_for(third, home)
    assert found(project, runs[2]).state == RunState.CANCELLED
    assert found(project, runs[1]).state == RunState.RUNNING and is_alive(second)
    kill(first)
    wait_for(second, home)
    assert found(project, runs[1]).state == RunState.DONE, printed(home)


@pytest.mark.slow
def test_a_step_on_several_processes_has_the_loss_and_the_gradients_of_one(
    engine: Engine, home: Path, calm_encoder: Path, forker: Forker
) -> None:
    import torch

    call = "tests.training.support.together:take_steps"
    for process in start_together(forker, engine, home, 0, size=2, call=call):
        wait_for(process, home)
    for rank in range(2):
        for changes, shared in zip(RECIPES, torch.load(home / f"steps-{rank}.pt"), strict=True):
            alone = one_step(calm_encoder, changes)
            assert shared.keys() == alone.keys() and len(alone) > 4
            for name, value in alone.items():
                torch.testing.assert_close(shared[name], value, rtol=1e-4, atol=1e-5)


@pytest.fixture
def shared_recipe(calm_encoder: Path, long_recipe: Recipe) -> Recipe:
    changes = [f"base_encoder={calm_encoder}", "max_steps=12", "retention=1"]
    return long_recipe.with_overrides(changes)


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
        with writing(project) as session:
            request_cancel(session, run_id)
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
