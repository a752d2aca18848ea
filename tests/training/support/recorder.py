"""The progress of training, recorded for a test. Importing this loads PyTorch."""

from __future__ import annotations

from collections.abc import Callable

from db.errors import RunCancelled
from training.finetune.progress import Progress


class Recorder(Progress):
    """Records training's reports. May stop it at a given check, or do something at a step."""

    def __init__(self, *, cancel_at_check: int = 0, on_update: Callable[[int], None] | None = None):
        self.cancel_at_check = cancel_at_check
        self.on_update = on_update
        self.checks = 0
        self.updates: list[tuple[int, int]] = []
        self.metrics: dict[str, dict[int, float]] = {}

    def update(self, step: int, total: int, message: str) -> None:
        self.updates.append((step, total))
        if self.on_update:
            self.on_update(step)

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
