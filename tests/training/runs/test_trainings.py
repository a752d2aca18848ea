"""Training runs: their models and metrics, interruptions, and cancelling."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sqlalchemy import Engine, select, update
from sqlmodel import col

from db import execution
from db.engine import reading, writing
from db.errors import HedgerowError
from db.execution import RunContext
from db.models import Encoder, ProbeCosine, RunMetric, RunState, VariantCosine
from db.runs import get_run, metrics, request_cancel, requeue
from db.settings import Settings
from tests.support.databases import both_databases
from tests.training.support.trainings import ask, change_recipe, count, train
from training.evaluation import before_after
from training.evaluation.probe_sets import BUNDLED
from training.evaluation.probes import add_own_probe, remove_own_probe
from training.finetune.compute import devices
from training.recipe.schema import Recipe
from training.runs.figures import distributions, figure_1, loss_curve, own_figure


def test_a_run_says_its_step_and_all_steps_from_the_first_one_on(
    project: Engine, recipe: Recipe, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    messages: list[str] = []
    real = RunContext.progress

    def listening(context: RunContext, step: int, total: int, message: str) -> None:
        messages.append(message)
        real(context, step, total, message)

    monkeypatch.setattr(RunContext, "progress", listening)
    train(project, settings, ask(project, recipe))
    steps = [message for message in messages if "step" in message]
    assert "Loading the encoder." in messages
    assert steps == [
        "Training: step 1 of 3.",
        "Training: step 2 of 3.",
        "Training: step 3 of 3.",
        "Training: step 3 of 3.",
    ]


@both_databases
def test_a_training_ends_with_a_model_its_encoder_and_figures(
    project: Engine, recipe: Recipe, settings: Settings
) -> None:
    with writing(project) as session:
        add_own_probe(session, anchor="The door is open.", text="The door is ajar.")
    run = train(project, settings, ask(project, recipe))
    assert run.state == RunState.DONE
    assert run.result["model"] == "runs/00001-train/model"
    assert (settings.data_folder / run.result["model"] / "modules.json").is_file()
    assert run.result["sampled"] == {
        "trained on": {"measured": 27, "of": 27},
        "held out": {"measured": 3, "of": 3},
        "not in the release": {"measured": 2, "of": 2},
    }
    assert (run.result["triples"], run.result["steps"]) == (18, 3)
    assert run.step == run.total
    with reading(project) as session:
        encoder = session.get_one(Encoder, run.result["encoder_id"])
        assert (encoder.path, encoder.run_id) == (run.result["model"], run.id)
        assert encoder.base_id == run.result["before_encoder_id"] != encoder.id
        assert [point.step for point in loss_curve(session, run)] == [1, 2, 3]
        assert {(row.series, row.published) for row in figure_1(session, run)} == {
            ("paper: all-mpnet-base-v2", True),
            ("paper: HedgeMPNet", True),
            ("before", False),
            ("after", False),
        }
        assert [row.text for row in own_figure(session, run)] == ["The door is ajar."] * 2


def test_known_measurements_of_the_base_encoder_are_not_repeated(
    project: Engine, recipe: Recipe, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoded: list[int] = []
    real = before_after.pair_cosines

    def counting(model: object, pairs: list[tuple[str, str]], **options: object) -> object:
        encoded.append(len(pairs))
        return real(model, pairs, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(before_after, "pair_cosines", counting)
    train(project, settings, ask(project, recipe))
    train(project, settings, ask(project, recipe, seed=2))
    probes = sum(map(len, BUNDLED.values()))
    assert encoded == [32 + probes, 32 + probes, 32 + probes]  # after, before, after


def test_equal_trainings_share_one_encoder(
    project: Engine, recipe: Recipe, settings: Settings
) -> None:
    first = train(project, settings, ask(project, recipe))
    second = train(project, settings, ask(project, recipe))
    assert first.result["encoder_id"] == second.result["encoder_id"]
    with reading(project) as session:
        assert count(session, Encoder) == 2
        assert figure_1(session, second) == figure_1(session, first) != []


def interrupted_after(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Interrupt the next run after a call of `name`, a function of trainings."""
    from training.runs import trainings

    real: Callable[..., object] = getattr(trainings, name)

    def broken(*args: object, **options: object) -> object:
        real(*args, **options)
        raise OSError("the disk has gone")

    monkeypatch.setattr(trainings, name, broken)


def test_an_interrupted_training_restarts_and_leaves_one_encoder(
    project: Engine, recipe: Recipe, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = ask(project, recipe)
    with monkeypatch.context() as patch:
        interrupted_after(patch, "measure_before_and_after")
        with pytest.raises(HedgerowError, match="the disk has gone"):
            train(project, settings, run_id)
    with writing(project) as session:
        run = get_run(session, run_id)
        assert (run.state, run.message) == (RunState.FAILED, "OSError: the disk has gone")
        # as if the first attempt had gone further than the second
        session.add(RunMetric(run_id=run_id, name="loss", step=99, value=0.1))
        session.execute(
            update(Encoder)
            .where(col(Encoder.run_id) == run_id)
            .values(fingerprint="of weights that are no longer there")
        )
        requeue(session, run_id)
    run = train(project, settings, run_id)
    assert (run.state, run.attempt) == (RunState.DONE, 2)
    with reading(project) as session:
        assert count(session, Encoder) == 2
        assert [point.step for point in loss_curve(session, run)] == [1, 2, 3]
        encoders = session.execute(select(col(VariantCosine.encoder_id)).distinct()).scalars()
        assert set(encoders) == {run.result["encoder_id"], run.result["before_encoder_id"]}


def test_a_training_that_was_interrupted_while_it_measured_is_not_trained_again(
    project: Engine, recipe: Recipe, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("training.finetune.trainer.CHECKPOINT_EVERY", 1)
    run_id = ask(project, recipe)
    with monkeypatch.context() as patch:
        interrupted_after(patch, "measure_before_and_after")
        with pytest.raises(HedgerowError, match="the disk has gone"):
            train(project, settings, run_id)
    with reading(project) as session:
        first = metrics(session, run_id, name="characters_per_second")
    run = train(project, settings, run_id)
    folder = settings.data_folder / run.folder
    assert "continuing after step 3" in (folder / "log.txt").read_text("utf-8")
    with reading(project) as session:
        assert metrics(session, run_id, name="characters_per_second") == first != []
    assert {child.name for child in folder.iterdir()} == {"model", "log.txt", "metrics.jsonl"}


def test_figures_that_could_not_be_stored_before_a_checkpoint_are_stored_later(
    project: Engine, recipe: Recipe, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A busy database neither stops training nor leaves a gap in its curves."""
    monkeypatch.setattr(execution, "HEARTBEAT_SECONDS", 60)
    real, failed = RunContext._stored, []

    def busy(context: RunContext, *what: object) -> object:
        if len(failed) < 2:
            failed.append(what)
            raise HedgerowError("The database was busy.")
        return real(context, *what)  # type: ignore[arg-type]

    monkeypatch.setattr(RunContext, "_stored", busy)
    monkeypatch.setattr("training.finetune.trainer.CHECKPOINT_EVERY", 1)
    run = train(project, settings, ask(project, recipe))
    assert run.state == RunState.DONE and len(failed) == 2
    with reading(project) as session:
        assert [step for step, _ in metrics(session, run.id, name="loss")] == [1, 2, 3]
    assert "before a checkpoint: The database was busy." in (
        settings.data_folder / run.folder / "log.txt"
    ).read_text("utf-8")


def test_a_training_waits_for_another_and_can_be_cancelled_meanwhile(
    project: Engine, recipe: Recipe, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = ask(project, recipe)
    monkeypatch.setattr(execution, "HEARTBEAT_SECONDS", 0.01)
    monkeypatch.setattr(devices, "WAIT_SECONDS", 0.01)
    real = RunContext.update

    def cancelling(context: RunContext, step: int, total: int, message: str) -> None:
        assert message == "Waiting for other work on this machine to finish."
        real(context, step, total, message)
        with writing(project) as session:
            request_cancel(session, run_id)

    monkeypatch.setattr(RunContext, "update", cancelling)
    with (
        devices.device_to_oneself(lambda: None, lock=settings.training_lock),
        pytest.raises(HedgerowError, match="was cancelled"),
    ):
        train(project, settings, run_id)


def test_cancelling_within_the_measuring_stores_nothing_of_the_new_encoder(
    project: Engine, recipe: Recipe, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = ask(project, recipe)
    monkeypatch.setattr(execution, "HEARTBEAT_SECONDS", 0.01)
    real = before_after.pair_cosines

    def cancelling(model: object, pairs: object, **options: object) -> object:
        with writing(project) as session:
            request_cancel(session, run_id)
        while True:  # until the heartbeat notices it
            real(model, pairs, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(before_after, "pair_cosines", cancelling)
    with pytest.raises(HedgerowError, match="was cancelled"):
        train(project, settings, run_id)
    with reading(project) as session:
        run = get_run(session, run_id)
        assert (run.state, run.result) == (RunState.CANCELLED, {})
        assert count(session, Encoder) == 1
        assert count(session, VariantCosine) == count(session, ProbeCosine) == 0
        assert figure_1(session, run) == distributions(session, run) == []


def test_cancelling_within_a_step_ends_the_training(
    project: Engine, recipe: Recipe, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    endless = recipe.model_copy(update={"max_steps": None, "epochs": 50.0})
    run_id = ask(project, endless)
    monkeypatch.setattr(execution, "HEARTBEAT_SECONDS", 0.01)
    real = RunContext.metric

    def cancelling(context: RunContext, step: int, name: str, value: float) -> None:
        real(context, step, name, value)
        with writing(project) as session:
            request_cancel(session, run_id)

    monkeypatch.setattr(RunContext, "metric", cancelling)
    with pytest.raises(HedgerowError, match="was cancelled"):
        train(project, settings, run_id)
    with reading(project) as session:
        run = get_run(session, run_id)
        assert 0 < run.step < run.total / 2
    assert not (settings.data_folder / run.folder / "model").exists()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"base_encoder": "./nowhere"}, "no model folder"),
        ({"batch_size": 64}, "lower batch_size"),
    ],
)
def test_a_failed_training_says_why_in_one_sentence(
    project: Engine, recipe: Recipe, settings: Settings, change: dict[str, object], sentence: str
) -> None:
    run_id = ask(project, recipe)
    change_recipe(project, run_id, **change)  # everything was in order at the time of the request
    with pytest.raises(HedgerowError, match=sentence):
        train(project, settings, run_id)
    with reading(project) as session:
        run = get_run(session, run_id)
        assert run.state == RunState.FAILED and "\n" not in run.message
        assert run.message in (settings.data_folder / run.folder / "log.txt").read_text("utf-8")


def test_only_interrupted_runs_are_restarted(
    project: Engine, recipe: Recipe, settings: Settings
) -> None:
    done = train(project, settings, ask(project, recipe))
    waiting, cancelled = (ask(project, recipe, seed=seed) for seed in (2, 3))
    with writing(project) as session:
        request_cancel(session, cancelled)
        for key in (done.id, waiting):
            with pytest.raises(HedgerowError, match="cannot be started again"):
                requeue(session, key)
        requeue(session, cancelled)


@both_databases
def test_a_probe_removed_while_it_is_measured_does_not_hurt(
    project: Engine, recipe: Recipe, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    with writing(project) as session:
        stored = add_own_probe(session, anchor="It rains.", text="It pours.")
    real = before_after.pair_cosines

    def removing(model: object, pairs: object, **options: object) -> object:
        with writing(project) as session:
            remove_own_probe(session, stored.id)
        return real(model, pairs, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(before_after, "pair_cosines", removing)
    run = train(project, settings, ask(project, recipe))
    with reading(project) as session:
        assert own_figure(session, run) == [] and len(figure_1(session, run)) == 12
