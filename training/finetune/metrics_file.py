"""The metrics of a training run in a file next to its log: `metrics.jsonl`, one object per line.

Each line has `step` (training steps done, 0 for the base encoder), `name` (a curve of
`training.finetune.curve_names` or a figure of `training.evaluation.held_out`), `value` (null if it
is not a finite number) and `time` (ISO 8601, UTC).
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from db.columns import now

NAME = "metrics.jsonl"

logger = logging.getLogger(__name__)


class MetricsFile:
    """The file of one training run. If the disk is full, the run continues and the log says so."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / NAME

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
