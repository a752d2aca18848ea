"""Training runs that are in progress or ended early."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest
from sqlalchemy import Engine, update
from sqlmodel import col

from db.engine import reading, writing
from db.models import Run, RunMetric, RunState
from db.run_folders import log_file
from db.runs import get_run, list_runs
from db.settings import load_settings
from pages.components.train.section_choice import RESULTS
from tests.pages.train.support.states import (
    HOSTILE,
    finished_run,
    page,
    page_text,
    store_looks,
    stored_run,
)
from training.finetune.checkpoints import TrainingPosition
from training.recipe.plan import KIND


def test_a_running_training_shows_its_progress_and_can_be_cancelled(project: Engine) -> None:
    run_id = stored_run(project, state=RunState.RUNNING, message=f"Training: {HOSTILE}")
    with writing(project) as session:
        session.execute(update(Run).where(col(Run.id) == run_id).values(step=40, total=100))
        for step, loss in ((1, 1.2), (2, 0.9)):
            session.add(RunMetric(run_id=run_id, name="loss", step=step, value=loss))
        log = log_file(load_settings(), get_run(session, run_id))
    log.parent.mkdir(parents=True)
    log.write_text(f"first\n{HOSTILE}\n", encoding="utf-8")
    test = page()
    assert any("first evaluation is after one epoch" in note.value for note in test.caption)
    assert f"Training: {HOSTILE} · about 3 min left" in page_text(test)
    assert HOSTILE in test.code[0].value
    assert len(test.get("vega_lite_chart")) == 1
    store_looks(project, run_id)
    test.run()
    assert len(test.get("vega_lite_chart")) == 6
    test.button(f"cancel-{run_id}").click().run()
    with reading(project) as session:
        assert get_run(session, run_id).cancel_requested
    assert test.button(f"cancel-{run_id}").disabled


def test_a_failed_training_says_why_and_can_be_restarted(
    project: Engine, started: list[int]
) -> None:
    run_id = stored_run(project, state=RunState.FAILED, message=f"No such encoder {HOSTILE}.")
    test = page()
    sentence = f"Run {run_id} failed: No such encoder {HOSTILE}."
    assert sentence in page_text(test)
    test.button(f"train-show-{run_id}").click().run()
    assert sentence in page_text(test)
    assert any("before its first evaluation" in note.value for note in test.caption)
    test.button(f"again-{run_id}").click().run()
    assert started == [run_id]
    assert "Waiting for the run to start" in page_text(test)
    with reading(project) as session:
        assert [run.state for run in list_runs(session, kind=KIND)] == [RunState.QUEUED]


def test_an_interrupted_training_continues_from_its_checkpoint(
    project: Engine, started: list[int]
) -> None:
    run_id = stored_run(project, state=RunState.CANCELLED)
    store_looks(project, run_id)
    with reading(project) as session:
        folder = load_settings().data_folder / get_run(session, run_id).folder / "checkpoint-20"
    folder.mkdir(parents=True)
    place = {"of": "it", "files": {}, "place": asdict(TrainingPosition())}
    (folder / "place.json").write_text(json.dumps(place), encoding="utf-8")
    assert "was cancelled and has no result. You can continue it from step 20." in page_text(page())
    test = page(RESULTS)
    assert len(test.get("vega_lite_chart")) == 5  # its curves
    button = test.button(f"again-{run_id}")
    assert button.label == "Continue from step 20"
    button.click().run()
    assert started == [run_id]


@pytest.mark.parametrize(
    ("state", "sentence"),
    [
        (RunState.CANCELLED, "was cancelled and has no result"),
        (RunState.INTERRUPTED, "was interrupted: its process ended"),
    ],
)
def test_an_interrupted_training_is_reported(
    project: Engine, state: RunState, sentence: str
) -> None:
    stored_run(project, state=state)
    assert sentence in page_text(page())


def test_each_followed_training_is_mentioned_when_it_ends(project: Engine) -> None:
    old = finished_run(project)
    runs = [stored_run(project, state=RunState.RUNNING, seed=seed) for seed in (2, 3)]
    test = page()
    assert f"Run {old} is done" not in page_text(test)
    with writing(project) as session:
        ended = col(Run.id).in_(runs)
        session.execute(update(Run).where(ended).values(state=RunState.FAILED, message="No."))
    test.run()
    for run_id in runs:
        assert f"Run {run_id} failed: No." in page_text(test)
    test.button(f"train-show-{runs[0]}").click().run()
    assert test.selectbox(f"train-run-{runs[1]}").value == runs[0]
