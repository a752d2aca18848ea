"""The progress of training, recorded for a test. Importing this loads PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from db.errors import RunCancelled
from training.finetune.progress import Progress


class Recorder(Progress):
    """Records training's reports. May stop it, or do something at a step."""

    def __init__(
        self,
        *,
        cancel_at_check: int = 0,
        cut_after: int | None = None,
        end_after: int = 0,
        metrics: dict[str, dict[int, float]] | None = None,
        on_update: Callable[[int], None] | None = None,
    ):
        """Cancel at the n-th check or within the step after a step, or end after a step.

        Args:
            cancel_at_check: the number of the check.
            cut_after: the step.
            end_after: the step, in the middle of the schedule.
            metrics: what an interrupted attempt has recorded.
            on_update: called with each step.
        """
        self.cancel_at_check, self.cut_after, self.end_after = cancel_at_check, cut_after, end_after
        self.on_update = on_update
        self.checks = 0
        self.updates: list[tuple[int, int]] = []
        self.checks_before: list[int] = []
        self.metrics: dict[str, dict[int, float]] = {} if metrics is None else metrics

    def update(self, step: int, total: int, message: str) -> None:
        self.updates.append((step, total))
        self.checks_before.append(self.checks)
        if self.on_update:
            self.on_update(step)
        if step == self.cut_after:
            self.cancel_at_check = self.checks + 2

    def metric(self, step: int, name: str, value: float) -> None:
        self.metrics.setdefault(name, {})[step] = value

    def goes_on(self, step: int) -> None:
        for points in self.metrics.values():
            for later in [point for point in points if point > step]:
                del points[later]

    def check(self) -> None:
        self.checks += 1
        if self.checks == self.cancel_at_check:
            raise RunCancelled

    def on_step_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        super().on_step_end(args, state, control, **more)
        if state.global_step == self.end_after:
            control.should_training_stop = True
