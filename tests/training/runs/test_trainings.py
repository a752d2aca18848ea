"""Training runs: their models, metrics and figures, interruptions, and cancelling."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import Engine, func, select, update
from sqlmodel import col

from db import execution
from db.engine import reading, writing
from db.errors import HedgerowError
from db.execution import WAITING, RunContext
from db.models import Encoder, ProbeCosine, RunMetric, RunState, Variant, VariantCosine
from db.runs import get_run, metrics, request_cancel, requeue
from db.settings import Settings
from tests.support.databases import both_databases
from tests.training.support.trainings import ask, change_recipe, count, read, train, write
from training.encoder_run import training_run
from training.evaluation import probes
from training.evaluation.figures import Part, distributions, figure_1, loss_curve, own_figure
from training.evaluation.probe_sets import BUNDLED
from training.evaluation.probes import add_own_probe, remove_own_probe
from training.finetune.compute import devices
from training.recipe.schema import Recipe

pytestmark = pytest.mark.slow
CHECKPOINT_EVERY = "training.finetune.trainer.CHECKPOINT_EVERY"


@both_databases
def test_a_training_ends_with_a_model_its_encoder_and_figures(
    project: Engine, recipe: Recipe, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if somebody removes a pair of sentences while it is measured."""
    with writing(project) as session:
        add_own_probe(session, anchor="The door is open.", text="The door is ajar.")
        gone = add_own_probe(session, anchor="It rains.", text="It pours.").id
    messages: list[str] = []
    progress, pair_cosines = RunContext.progress, probes.pair_cosines

    def listening(context: RunContext, step: int, total: int, message: str) -> None:
        messages.append(message)
        progress(context, step, total, message)

    def removing(model: object, pairs: object, **options: object) -> object:
        write(project, remove_own_probe, gone)
        return pair_cosines(model, pairs, **options)

    monkeypatch.setattr(RunContext, "progress", listening)
    monkeypatch.setattr(probes, "pair_cosines", removing)
    run = train(project, settings, ask(project, recipe))
    steps = [message for message in messages if "step" in message]
    assert [step.split("step ")[1] for step in steps] == ["1 of 3.", "2 of 3.", *["3 of 3."] * 2]
    assert run.state == RunState.DONE and run.step == run.total
    assert run.result["model"] == "runs/00001-train/model"
    assert (settings.data_folder / run.result["model"] / "modules.json").is_file()
    assert run.result["sampled"] == {
        "trained on": {"measured": 27, "of": 27},
        "held out": {"measured": 3, "of": 3},
        "not in the release": {"measured": 2, "of": 2},
    }
    assert (run.result["triples"], run.result["steps"]) == (18, 3)
    with reading(project) as session:
        encoder = session.get_one(Encoder, run.result["encoder_id"])
        assert (encoder.path, encoder.run_id) == (run.result["model"], run.id)
        assert encoder.base_id == run.result["before_encoder_id"] != encoder.id
        assert [point.step for point in loss_curve(session, run)] == [1, 2, 3]
        shown = figure_1(session, run)
        assert [row.text for row in own_figure(session, run)] == ["The door is ajar."] * 2
        rows = distributions(session, run)
        stored = session.execute(select(col(VariantCosine.cosine))).scalars().all()
    assert len(shown) == 12
    assert {row.series for row in shown if not row.published} == {"before", "after"}
    counts = {part: sum(row.part == part for row in rows) for part in Part}
    assert counts == {Part.TRAINED: 2 * 27, Part.HELD_OUT: 2 * 3, Part.UNSEEN: 2 * 2}
    unseen = [(row.type, row.series) for row in rows if row.part == Part.UNSEEN]
    assert sorted(unseen) == [(t, s) for t in ("verbal", "word") for s in ("after", "before")]
    assert sorted(row.cosine for row in rows) == pytest.approx(sorted(stored))
    before, after = ([r.cosine for r in rows if r.series == s] for s in ("before", "after"))
    assert before != after


def test_the_distributions_of_many_values_match_those_of_few(
    finished: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    with reading(finished) as session:
        run = get_run(session, 1)
        few = distributions(session, run)
        monkeypatch.setattr("training.evaluation.figures.FEW", 0)
        assert distributions(session, run) == few != []


def test_each_part_is_measured_on_a_fixed_sample(
    project: Engine, recipe: Recipe, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    with writing(project) as session:
        session.execute(update(Variant).values(random_key=col(Variant.id) * 0.001))
    monkeypatch.setattr("training.evaluation.figures.SAMPLE", 5)
    run = train(project, settings, ask(project, recipe))
    assert run.result["sampled"]["trained on"] == {"measured": 5, "of": 27}
    with reading(project) as session:
        measured = session.execute(select(func.count(func.distinct(VariantCosine.variant_id))))
        assert measured.scalar_one() == 5 + 3 + 2
        rows = distributions(session, run)
    assert sum(row.part == Part.TRAINED for row in rows) == 2 * 5


def test_known_measurements_are_not_repeated_and_equal_trainings_share_one_encoder(
    finished: Engine, recipe: Recipe, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoded: list[int] = []
    real = probes.pair_cosines

    def counting(model: object, pairs: list[tuple[str, str]], **options: object) -> object:
        encoded.append(len(pairs))
        return real(model, pairs, **options)

    monkeypatch.setattr(probes, "pair_cosines", counting)
    train(finished, settings, ask(finished, recipe, seed=2))
    assert encoded == [35 + sum(map(len, BUNDLED.values()))]  # after; the base's are known
    again = train(finished, settings, ask(finished, recipe))
    with reading(finished) as session:
        first = get_run(session, 1)
        assert again.result["encoder_id"] == first.result["encoder_id"]
        assert count(session, Encoder) == 3
        assert figure_1(session, again) == figure_1(session, first) != []


def interrupted_after(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Interrupt the next run after a call of `name`, a function of trainings."""

    real: Callable[..., object] = getattr(training_run, name)

    def broken(*args: object, **options: object) -> object:
        real(*args, **options)
        raise OSError("the disk has gone")

    monkeypatch.setattr(training_run, name, broken)


@pytest.mark.parametrize("checkpoint_every", [1, 100])
def test_an_interrupted_training_restarts_and_leaves_one_encoder(
    project: Engine,
    recipe: Recipe,
    settings: Settings,
    checkpoint_every: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """From its checkpoint, if there is one: nothing is trained again."""
    monkeypatch.setattr(CHECKPOINT_EVERY, checkpoint_every)
    run_id = ask(project, recipe)
    with monkeypatch.context() as patch:
        interrupted_after(patch, "measure_before_and_after")
        with pytest.raises(HedgerowError, match="the disk has gone"):
            train(project, settings, run_id)
    with writing(project) as session:
        run = get_run(session, run_id)
        assert (run.state, run.message) == (RunState.FAILED, "OSError: the disk has gone")
        folder = settings.data_folder / run.folder
        assert "library_name" in (folder / "model" / "README.md").read_text("utf-8")
        first = metrics(session, run_id, name="characters_per_second")
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
        again = metrics(session, run_id, name="characters_per_second")
    assert (again == first) == (checkpoint_every == 1) and len(first) == 3
    log = (folder / "log.txt").read_text("utf-8")
    assert ("continuing after step 3" in log) == (checkpoint_every == 1)
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
        return real(context, *what)

    monkeypatch.setattr(RunContext, "_stored", busy)
    monkeypatch.setattr(CHECKPOINT_EVERY, 1)
    run = train(project, settings, ask(project, recipe))
    assert run.state == RunState.DONE and len(failed) == 2
    assert [step for step, _ in read(project, metrics, run.id, name="loss")] == [1, 2, 3]
    log = (settings.data_folder / run.folder / "log.txt").read_text("utf-8")
    assert "The database was busy." in log


@pytest.mark.parametrize(
    ("moment", "owner", "name"),
    [
        ("waiting", RunContext, "update"),
        ("training", RunContext, "metric"),
        ("measuring", probes, "pair_cosines"),
    ],
)
def test_cancelling_ends_a_training_at_any_moment_and_stores_no_figures(
    project: Engine,
    recipe: Recipe,
    settings: Settings,
    tmp_path: Path,
    moment: str,
    owner: object,
    name: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(execution, "HEARTBEAT_SECONDS", 0.01)
    monkeypatch.setattr(devices, "WAIT_SECONDS", 0.01)
    endless = recipe.with_overrides(["max_steps=none", "epochs=50"])
    run_id = ask(project, endless if moment == "training" else recipe)
    real = getattr(owner, name)

    def cancelling(*given: object, **how: object) -> object:
        assert moment != "waiting" or given[-1] == WAITING
        write(project, request_cancel, run_id)
        while moment == "measuring":  # until the heartbeat notices it
            real(*given, **how)
        return real(*given, **how)

    monkeypatch.setattr(owner, name, cancelling)
    lock = settings.training_lock if moment == "waiting" else str(tmp_path / "of another device")
    with (
        devices.device_to_oneself(lambda _: None, lock=lock),
        pytest.raises(HedgerowError, match="was cancelled"),
    ):
        train(project, settings, run_id)
    run = read(project, get_run, run_id)
    assert (run.state, run.result) == (RunState.CANCELLED, {})
    assert moment != "training" or 0 < run.step < run.total / 2
    assert (settings.data_folder / run.folder / "model").exists() == (moment == "measuring")
    with reading(project) as session:
        assert count(session, Encoder) <= 1
        assert count(session, VariantCosine) == count(session, ProbeCosine) == 0
        assert figure_1(session, run) == distributions(session, run) == []


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


def test_only_interrupted_runs_are_restarted(finished: Engine, recipe: Recipe) -> None:
    waiting, cancelled = (ask(finished, recipe, seed=seed) for seed in (2, 3))
    with writing(finished) as session:
        request_cancel(session, cancelled)
        for key in (1, waiting):
            with pytest.raises(HedgerowError, match=f"{key} "):
                requeue(session, key)
        requeue(session, cancelled)
