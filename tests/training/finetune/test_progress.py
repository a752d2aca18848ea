"""The callback in the library's own trainer, and the metrics file: progress, curves, cancelling."""

from __future__ import annotations

import json
import logging
import math
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from db.engine import reading
from db.errors import RunCancelled
from db.execution import RunContext, execute
from db.models import Run, RunState
from db.runs import create_run, get_run, metrics
from db.settings import Settings
from tests.training.support.trainings import FAMILIES, recorder, write
from training.data.sampling import as_triples

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


@pytest.fixture
def run_id(engine: Engine) -> int:
    return write(engine, create_run, kind=KIND, parameters={}).id


def found(engine: Engine, run_id: int) -> tuple[Run, dict[str, list[int]]]:
    """A run, and the steps of the points of its curves."""
    names = ("loss", "learning_rate", "epoch", "eval_loss", "cosine_accuracy", "step")
    with reading(engine) as session:
        curves = {name: metrics(session, run_id, name=name) for name in names}
        steps = {name: [step for step, _ in points] for name, points in curves.items() if points}
        return get_run(session, run_id), steps


@pytest.mark.slow
def test_a_library_trainer_reports_to_the_run_s_row_and_curves(
    engine: Engine, settings: Settings, tiny_encoder: Path, run_id: int
) -> None:
    from training.finetune.progress import RunProgress

    def work(context: RunContext) -> dict[str, Any]:
        library_trainer(tiny_encoder, context.folder / "t", RunProgress(context)).train()
        return {}

    execute(engine, settings, run_id, {KIND: work})
    run, curves = found(engine, run_id)
    assert (run.state, run.step, run.total) == (RunState.DONE, STEPS, STEPS)
    every, evaluated = list(range(1, STEPS + 1)), [2, 4, 6]
    assert curves == {
        "loss": every,
        "learning_rate": every,
        "epoch": evaluated,
        "eval_loss": evaluated,
        "cosine_accuracy": evaluated,
    }
    log = (settings.data_folder / run.folder / "log.txt").read_text()
    assert "step 6 of 6: loss " in log and "step 6, validation: eval_loss " in log


def test_a_library_trainer_stores_all_before_a_checkpoint_and_drops_later_points_when_it_resumes(
    tiny_encoder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    seen, stored = recorder(), {}
    checkpoint = tmp_path / "checkpoint-4"

    def secure() -> None:
        if not checkpoint.exists():
            stored.update({name: list(points) for name, points in seen.metrics.items()})

    seen.secure = secure
    saving = {"save_strategy": "steps", "save_steps": 4}
    with caplog.at_level(logging.INFO):
        library_trainer(tiny_encoder, tmp_path, seen, **saving, max_steps=5).train()
    assert checkpoint.exists()
    assert stored["loss"] == [1, 2, 3, 4] and stored["cosine_accuracy"] == stored["epoch"] == [2, 4]
    assert list(seen.metrics["loss"]) == [1, 2, 3, 4, 5]
    seen.updates.clear()
    seen.metrics["loss"][5] = -1.0
    again = library_trainer(tiny_encoder, tmp_path, seen, **saving)
    again.train(resume_from_checkpoint=str(checkpoint))
    assert seen.updates == [(4, 6), (5, 6), (6, 6)]
    assert list(seen.metrics["loss"]) == [1, 2, 3, 4, 5, 6] and seen.metrics["loss"][5] > 0


def test_a_cancel_ends_a_library_trainer_s_long_evaluation(
    tiny_encoder: Path, tmp_path: Path
) -> None:
    from tests.training.support.recorder import Recorder

    class Asked(Recorder):
        def on_evaluate(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            raise AssertionError("the evaluation must not end")

        def check(self) -> None:
            super().check()
            if self.updates[-1][0] == 2 and self.checks > 2:
                raise RunCancelled

    with pytest.raises(RunCancelled):
        library_trainer(tiny_encoder, tmp_path, Asked()).train()


def rows(file: Any) -> list[tuple[int, str, float | None]]:
    lines = file.path.read_text(encoding="utf-8").splitlines()
    return [(row["step"], row["name"], row["value"]) for row in map(json.loads, lines)]


def test_the_metrics_file_of_a_resumed_training_drops_everything_after_its_checkpoint(
    tmp_path: Path,
) -> None:
    from training.finetune.progress import MetricsFile

    file = MetricsFile(tmp_path)
    file.cut(0)  # on the first attempt, there is no file yet
    for step in (0, 10, 20):
        file.add(step, "loss", step / 10)
    with file.path.open("a") as killed:
        killed.write('{"step": 20, "na')
    file.cut(10)
    file.add(20, "loss", 7.0)
    assert rows(file) == [(0, "loss", 0.0), (10, "loss", 1.0), (20, "loss", 7.0)]


def test_a_figure_written_twice_is_kept_once_and_no_number_is_null(tmp_path: Path) -> None:
    from training.finetune.progress import MetricsFile

    file = MetricsFile(tmp_path)
    for value in (0.5, math.nan):
        file.add(0, "drift", value)
    file.cut(0)
    assert rows(file) == [(0, "drift", None)]
    MetricsFile(tmp_path / "gone").add(1, "loss", 0.5)  # it ends no training
