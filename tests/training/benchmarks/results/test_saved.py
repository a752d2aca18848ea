"""Results as files."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from db.errors import HedgerowError
from training.benchmarks.definition import Result
from training.benchmarks.results.saved import read_result, write_result
from training.benchmarks.tasks.own_families import FamilyText, Hedgerow, Kin


def result() -> Result:
    kin = [
        Kin(
            str(n),
            f"It is — {n}.",
            (FamilyText("word", "x\u2028y", "a"),),
            (FamilyText("verbal", "b"),),
        )
        for n in range(3)
    ]
    return Hedgerow(kin).evaluate([np.array(s) for s in ((0.9, 0.1), (0.1, 0.1), (np.nan, 0.2))])


def test_a_written_result_is_read_back(tmp_path: Path) -> None:
    written = result()
    write_result(written, tmp_path / "r.jsonl")
    read = read_result(tmp_path / "r.jsonl")
    assert read.summary == written.summary and read.kind == written.kind
    assert np.isnan(read.rows[2].scores[0]) and read.rows[2].scores[1] == 0.2
    assert read.rows[:2] == written.rows[:2]
    assert replace(read.rows[2], scores=()) == replace(written.rows[2], scores=())
    assert [path.name for path in tmp_path.glob("r*")] == ["r.jsonl"]


@pytest.mark.parametrize("content", ["", "{}", "[]\n[]", '{"benchmark": "x"}', "no"])
def test_a_file_that_holds_something_else(tmp_path: Path, content: str) -> None:
    (tmp_path / "r.jsonl").write_text(content, encoding="utf-8")
    with pytest.raises(HedgerowError, match="a stored result"):
        read_result(tmp_path / "r.jsonl")
    with pytest.raises(HedgerowError, match="Could not read"):
        read_result(tmp_path / "none.jsonl")
