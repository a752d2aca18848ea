"""The callback in the library's own trainer: progress, curves and cancelling reach the run."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, select
from sqlmodel import col

from db.engine import reading, writing
from db.errors import RunCancelled, RunEnded
from db.execution import RunContext, execute
from db.models import Run, RunMetric, RunState
from db.runs import create_run, get_run, request_cancel
from db.settings import Settings
from tests.training.support.recorder import Recorder
from tests.training.support.trainings import FAMILIES
from training.data.sampling import as_triples
from training.finetune.progress import Progress, RunProgress

KIND = "library training"
STEPS = 6


def library_trainer(encoder: Path, folder: Path, *callbacks: Any, **arguments: Any) -> Any:
    """sentence-transformers' own trainer on flat triples, with an evaluation every second step."""
    from datasets import Dataset
    from sentence_transformers import (
        SentenceTransformer,
        SentenceTransformerTrainer,
        SentenceTransformerTrainingArguments,
    )
    from sentence_transformers.sentence_transformer.evaluation import TripletEvaluator
    from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss

    texts = [[member.text for member in triple] for triple in as_triples(FAMILIES)]
    columns = dict(zip(("anchor", "positive", "negative"), zip(*texts, strict=True), strict=True))
    data = Dataset.from_dict({name: list(found) for name, found in columns.items()})
    model = SentenceTransformer(str(encoder), device="cpu")
    how: dict[str, Any] = {
        "max_steps": STEPS,
        "per_device_train_batch_size": 4,
        "logging_steps": 1,
        "eval_strategy": "steps",
        "eval_steps": 2,
        "save_strategy": "no",
        "report_to": "none",
        "disable_tqdm": True,
        "use_cpu": True,
        "seed": 1,
    }
    return SentenceTransformerTrainer(
        model=model,
        args=SentenceTransformerTrainingArguments(output_dir=str(folder), **(how | arguments)),
        train_dataset=data,
        eval_dataset=data.select(range(4)),
        loss=MultipleNegativesRankingLoss(model),
        evaluator=TripletEvaluator(*(list(found)[:4] for found in columns.values())),
        callbacks=list(callbacks),
    )


def stored(engine: Engine) -> int:
    with writing(engine) as session:
        run = create_run(session, kind=KIND, parameters={})
        session.flush()
        assert run.id is not None
        return run.id


def found(engine: Engine, run_id: int) -> Run:
    with reading(engine) as session:
        return get_run(session, run_id)


def curves(engine: Engine, run_id: int) -> dict[str, list[int]]:
    """The steps of each curve's points."""
    query = (
        select(col(RunMetric.name), col(RunMetric.step))
        .where(col(RunMetric.run_id) == run_id)
        .order_by(col(RunMetric.step))
    )
    steps: dict[str, list[int]] = {}
    with reading(engine) as session:
        for name, step in session.execute(query):
            steps.setdefault(name, []).append(step)
    return steps


@pytest.mark.slow
def test_a_library_trainer_reports_to_the_run_s_row_and_curves(
    engine: Engine, settings: Settings, tiny_encoder: Path
) -> None:
    run_id = stored(engine)

    def work(context: RunContext) -> dict[str, Any]:
        library_trainer(tiny_encoder, context.folder / "t", RunProgress(context)).train()
        return {}

    execute(engine, settings, run_id, {KIND: work})
    run = found(engine, run_id)
    assert (run.state, run.step, run.total) == (RunState.DONE, STEPS, STEPS)
    every, evaluated = list(range(1, STEPS + 1)), [2, 4, 6]
    assert curves(engine, run_id) == {
        "loss": every,
        "learning_rate": every,
        "epoch": evaluated,
        "eval_loss": evaluated,
        "cosine_accuracy": evaluated,
    }
    log = (settings.data_folder / run.folder / "log.txt").read_text()
    assert "step 6 of 6: loss " in log
    assert "step 6, validation: eval_loss " in log


def test_a_cancel_stops_a_library_trainer_after_its_step(
    engine: Engine, settings: Settings, tiny_encoder: Path
) -> None:
    run_id = stored(engine)
    trained: list[int] = []

    class Canceller(Progress):
        """Somebody cancels the run during its third step."""

        def __init__(self, context: RunContext) -> None:
            self.context = context

        def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            trained.append(state.global_step + 1)
            if state.global_step + 1 == 3:
                with writing(engine) as session:
                    request_cancel(session, run_id)
                self.context.beat()

    def work(context: RunContext) -> dict[str, Any]:
        folder = context.folder / "t"
        library_trainer(tiny_encoder, folder, Canceller(context), RunProgress(context)).train()
        raise AssertionError("a training that was cancelled must not go on to be saved")

    with pytest.raises(RunEnded):
        execute(engine, settings, run_id, {KIND: work})
    assert found(engine, run_id).state == RunState.CANCELLED
    assert trained == [1, 2, 3]
    assert curves(engine, run_id)["loss"] == [1, 2, 3]


def test_a_library_trainer_that_resumes_drops_the_points_after_its_checkpoint(
    tiny_encoder: Path, tmp_path: Path
) -> None:
    seen = Recorder()
    saving = {"save_strategy": "steps", "save_steps": 4}
    library_trainer(tiny_encoder, tmp_path, seen, **saving, max_steps=5).train()
    assert list(seen.metrics["loss"]) == [1, 2, 3, 4, 5]
    seen.updates.clear()
    seen.metrics["loss"][5] = -1.0
    again = library_trainer(tiny_encoder, tmp_path, seen, **saving)
    again.train(resume_from_checkpoint=str(tmp_path / "checkpoint-4"))
    assert seen.updates == [(4, 6), (5, 6), (6, 6)]
    assert list(seen.metrics["loss"]) == [1, 2, 3, 4, 5, 6]
    assert seen.metrics["loss"][5] > 0


def test_all_that_was_reported_is_stored_before_a_checkpoint(
    tiny_encoder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A run that continues from the checkpoint does not report the earlier steps again."""
    checkpoint = tmp_path / "checkpoint-4"

    class Storing(Recorder):
        def __init__(self) -> None:
            super().__init__()
            self.stored: dict[str, list[int]] = {}

        def secure(self) -> None:
            if not checkpoint.exists():
                self.stored = {name: list(points) for name, points in self.metrics.items()}

    seen = Storing()
    with caplog.at_level(logging.INFO):
        how = {"save_strategy": "steps", "save_steps": 4, "max_steps": 4}
        library_trainer(tiny_encoder, tmp_path, seen, **how).train()
    assert checkpoint.exists()
    assert seen.stored == {name: list(points) for name, points in seen.metrics.items()}
    assert set(seen.stored) >= {"loss", "cosine_accuracy", "epoch"}


def test_a_cancel_ends_a_library_trainer_s_long_evaluation(
    tiny_encoder: Path, tmp_path: Path
) -> None:
    class Asked(Recorder):
        def on_evaluate(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            raise AssertionError("the evaluation must not end")

        def check(self) -> None:
            super().check()
            if self.updates[-1][0] == 2 and self.checks > 2:
                raise RunCancelled

    with pytest.raises(RunCancelled):
        library_trainer(tiny_encoder, tmp_path, Asked()).train()
