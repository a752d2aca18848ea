"""Progress, curves and cancellation of a training run, as one transformers callback.

This module loads PyTorch: import it inside the functions that train.
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import delete
from sqlmodel import col
from transformers import TrainerCallback  # noqa: TID253  (the base class)

from db.columns import now
from db.engine import writing
from db.errors import HedgerowError, RunCancelled
from db.models import RunMetric
from training.finetune.curves import EPOCH, LOSS, PACE, RATE

if TYPE_CHECKING:
    from transformers import TrainerControl, TrainerState

    from db.execution import RunContext


EVALUATION = "eval_"
"""The prefix of an evaluation metric's name in the library's trainers."""

NOT_FIGURES = ("_runtime", "_per_second", "epoch")
"""Suffixes of further metrics that the trainers add."""

TRAINING = "training"
"""The message of a step. Others before the first step, such as loading an encoder, have none."""

logger = logging.getLogger(__name__)


class Progress(TrainerCallback):
    """Reports a training's progress and stops it on request; this one reports to nobody.

    `training.finetune.trainer` calls its hooks, and so does any trainer of transformers or
    sentence-transformers that it is given to (``callbacks=[progress]``). The hooks only read the
    trainer's state and control, never its arguments. Once somebody asks to stop, such a trainer
    ends after the step, and its ``train()`` raises RunCancelled.
    """

    _stopped: RunCancelled | None = None

    def update(self, step: int, total: int, message: str) -> None:
        """Report the number of steps done; 0 while the training is being prepared."""

    def metric(self, step: int, name: str, value: float) -> None:
        """Report a point of a curve in `curves`, or of an evaluation metric."""

    def goes_on(self, step: int) -> None:
        """Start after this step. Later points of curves become invalid."""

    def secure(self) -> None:
        """Store everything reported so far, because a checkpoint will be written."""

    def check(self) -> None:
        """Raise db.errors.RunCancelled to stop the training; called several times a step."""

    def on_train_begin(self, args: Any, state: TrainerState, control: Any, **_: Any) -> None:
        """Start, possibly after the step of a checkpoint."""
        self._stopped = None
        self.goes_on(state.global_step)
        self.update(state.global_step, state.max_steps, TRAINING)

    def on_step_end(
        self, args: Any, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        """Report the step, and stop the trainer after it on request."""
        self.update(state.global_step, state.max_steps, TRAINING)
        self._before_a_checkpoint(control)
        try:
            self.check()
        except RunCancelled as stopped:
            self._stopped = stopped
            control.should_training_stop = True

    def on_log(
        self,
        args: Any,
        state: TrainerState,
        control: TrainerControl,
        *,
        logs: Mapping[str, float],
        **_: Any,
    ) -> None:
        """Report the curves of the steps. Other values in the log are not curves."""
        figures = {name: logs[name] for name in (LOSS, RATE, PACE) if name in logs}
        if figures:
            self._report(state.global_step, figures, control)
            done = f"step {state.global_step} of {state.max_steps}"
            logger.info("%s: %s", done, _in_words(figures))

    def on_evaluate(
        self,
        args: Any,
        state: TrainerState,
        control: TrainerControl,
        *,
        metrics: Mapping[str, float],
        **_: Any,
    ) -> None:
        """Report every figure of an evaluation as a point of its curve, and the epochs done."""
        figures = {
            _curve_of(name): value
            for name, value in metrics.items()
            if not name.endswith(NOT_FIGURES)
        }
        self._report(state.global_step, {EPOCH: state.epoch, **figures}, control)
        logger.info("step %s, validation: %s", state.global_step, _in_words(figures))

    def on_prediction_step(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Stop during a long evaluation, which does not check the trainer's control."""
        self.check()

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """After a checkpoint. A trainer that saves the best state only decides at the end."""
        self.secure()

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Raise RunCancelled if training was stopped, because its model is incomplete."""
        if self._stopped is not None:
            raise self._stopped

    def _report(self, step: int, figures: Mapping[str, float], control: TrainerControl) -> None:
        for name, value in figures.items():
            self.metric(step, name, value)
        self._before_a_checkpoint(control)

    def _before_a_checkpoint(self, control: TrainerControl) -> None:
        """Steps before a checkpoint are not reported again."""
        if control.should_save:
            self.secure()


class RunProgress(Progress):
    """Reports to a run's row and curves, as the first and longest stretch of the run."""

    def __init__(self, context: RunContext, *, measuring: int = 0) -> None:
        """Take the run that trains.

        Args:
            measuring: the duration of the evaluation after training, in steps.
        """
        self._context = context
        self._file = MetricsFile(context.folder)
        self._measuring = measuring
        self._steps = 0

    def update(self, step: int, total: int, message: str) -> None:
        """Write the number to the run's row."""
        self._steps = total
        at_work = message.capitalize()
        if step or message == TRAINING:
            at_work += f": step {min(step + 1, total)} of {total}"
        self._context.progress(step, total + self._measuring, f"{at_work}.")

    def metric(self, step: int, name: str, value: float) -> None:
        """Store the point for the charts, and in the file next to the run's log."""
        self._context.metric(step, name, value)
        self._file.add(step, name, value)

    def goes_on(self, step: int) -> None:
        """Drop later points: an earlier attempt may have got further than its checkpoint."""
        self._file.cut(step)
        mine = col(RunMetric.run_id) == self._context.run.id
        with writing(self._context.engine) as session:
            session.execute(delete(RunMetric).where(mine, col(RunMetric.step) > step))

    def secure(self) -> None:
        """Write to the database now instead of with the next heartbeat."""
        try:
            self._context.beat()
        except HedgerowError as error:  # the database is busy; the next heartbeat writes it
            logger.warning("before a checkpoint: %s", error)

    def check(self) -> None:
        """Raise RunCancelled if somebody asked to cancel or pause the run."""
        self._context.check()

    def measured(self, done: int, total: int) -> None:
        """Report the number of texts evaluated after training."""
        self._context.update(
            self._steps + round(self._measuring * done / max(total, 1)),
            self._steps + self._measuring,
            f"Evaluating before and after: text {done} of {total}.",
        )


def _curve_of(figure: str) -> str:
    """The evaluation's loss keeps its prefix, because the training curve has the plain name."""
    name = figure.removeprefix(EVALUATION)
    return figure if name == LOSS else name


def _in_words(figures: Mapping[str, float]) -> str:
    """Metrics as a line of the log: 'loss 0.6931, learning_rate 2e-05'."""
    return ", ".join(f"{name} {value:.4g}" for name, value in figures.items())


# -- metrics file ---------------------------------------------------------------------------------
#
# The metrics of a training run in a file next to its log: `metrics.jsonl`, one object per line.
#
# Each line has `step` (training steps done, 0 for the base encoder), `name` (a curve of
# `training.finetune.curves` or a figure of `training.evaluation.held_out`), `value` (null if it is
# not a finite number) and `time` (ISO 8601, UTC).


METRICS_FILE = "metrics.jsonl"


class MetricsFile:
    """The file of one training run. If the disk is full, the run continues and the log says so."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / METRICS_FILE

    def add(self, step: int, name: str, value: float) -> None:
        """Append one value."""
        row = {
            "step": step,
            "name": name,
            "value": value if math.isfinite(value) else None,
            "time": now().isoformat(timespec="milliseconds"),
        }
        self._write([row], mode="a")

    def cut(self, step: int) -> None:
        """Remove the lines that an earlier attempt wrote for later steps, and duplicates."""
        if self.path.exists():
            rows = {(r["step"], r["name"]): r for r in _rows(self.path) if r["step"] <= step}
            self._write(rows.values(), mode="w")

    def _write(self, rows: Iterable[dict[str, Any]], *, mode: str) -> None:
        try:
            with self.path.open(mode, encoding="utf-8") as file:
                file.writelines(json.dumps(row) + "\n" for row in rows)
        except OSError as error:
            logger.warning("%s cannot be written: %s", self.path, error.strerror)


def _rows(path: Path) -> Iterable[dict[str, Any]]:
    """The complete lines: a killed process may have left half of one."""
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            yield json.loads(line)
        except ValueError:
            logger.warning("skipped an incomplete line in %s", path)
