"""Measuring a model with a benchmark."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from training.benchmarks.definition import Benchmark, Result
from training.benchmarks.scorers.interface import Progress, Scorer


def measure(
    benchmark: Benchmark[Any], scorer: Scorer, *, on_progress: Progress | None = None
) -> Result:
    """Let the model answer all questions, and evaluate the answers.

    Raises:
        HedgerowError: the model gives no usable numbers, or the server of a chat model none at all.
    """
    give = scorer.choose if benchmark.paraphrases else scorer.answer
    scores = give(benchmark.questions(), asks=benchmark.asks, on_progress=on_progress)
    asked = scorer.report()
    asides = benchmark.asides() if scorer.compares_any else []
    aside = scorer.answer(asides, asks="similarity") if asides else []
    result = benchmark.evaluate(scores, np.concatenate(aside) if aside else ())
    return replace(result, asked=asked)
