"""The metrics of a training run as a file: appended, and truncated when a run is resumed."""

import json
import math
from pathlib import Path

from training.finetune.metrics_file import MetricsFile


def rows(file: MetricsFile) -> list[tuple[int, str, float | None]]:
    lines = file.path.read_text(encoding="utf-8").splitlines()
    return [(row["step"], row["name"], row["value"]) for row in map(json.loads, lines)]


def test_a_resumed_training_drops_everything_after_its_checkpoint(tmp_path: Path) -> None:
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
    file = MetricsFile(tmp_path)
    for value in (0.5, math.nan):
        file.add(0, "drift", value)
    file.cut(0)
    assert rows(file) == [(0, "drift", None)]


def test_a_folder_that_is_gone_ends_no_training(tmp_path: Path) -> None:
    MetricsFile(tmp_path / "gone").add(1, "loss", 0.5)
