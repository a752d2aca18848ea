"""Measuring language models in Python, with the rules of the command."""

from pathlib import Path

import pytest

import hedgerow
from tests.training.benchmarks.support.samples import NEVIR, write_lines


def test_a_language_model_is_measured_by_its_folder(small_llama: Path, tmp_path: Path) -> None:
    data = write_lines(tmp_path / "nevir.jsonl", NEVIR)
    with hedgerow.open(tmp_path / "project") as project:
        score = project.benchmark(small_llama, "nevir", data=data, prompts={"relevance": 1})
        assert (score.n, score.unanswered, score.asked["prompt"]) == (2, 0, "relevance")
        assert (score.asked["version"], score.asked["orders"]) == (1, 2)
        assert 0 <= score.asked["changed_share"] <= 100
        with pytest.raises(hedgerow.HedgerowError, match="from 1 to 1, found 2"):
            project.benchmark(small_llama, "nevir", data=data, prompts={"relevance": 2})
        with pytest.raises(hedgerow.HedgerowError, match="Expected a prompt of benchmarks"):
            project.benchmark(small_llama, "nevir", data=data, prompts={"hedge": 1})
