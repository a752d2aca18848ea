"""Retrieval for every architecture, and the metrics of an epoch."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from tests.training.ranking.support.finetunings import ENTRIES, lines
from training.benchmarks.results.measure import measure
from training.benchmarks.scorers.architecture import load_scorer
from training.benchmarks.scorers.lexical import Random
from training.benchmarks.tasks.nevir import NevIR
from training.evaluation.retrieval import retrieval_items
from training.ranking.figures import (
    DOCUMENTS,
    HIGH,
    LOW,
    NEVIR,
    QUANTILES,
    RankingFigures,
    quantile,
)
from training.ranking.reranking import (
    CANDIDATES,
    RERANKING,
    WHAT_IT_IS,
    reciprocal_rank,
    with_candidates,
)


def test_each_question_has_ten_candidates_its_passage_first() -> None:
    items = retrieval_items()
    found = with_candidates(items)
    assert len(found) == 300
    for item, question in zip(items, found, strict=True):
        assert question.text == item.question
        assert question.candidates[: 1 + len(item.near_misses)] == (
            item.passage,
            *item.near_misses,
        )
        assert len(set(question.candidates)) == len(question.candidates) == CANDIDATES


def test_the_candidates_are_those_with_most_words_in_common() -> None:
    items = retrieval_items()
    shared = [
        len(set(question.text.lower().split()) & set(passage.lower().split()))
        for question in with_candidates(items)
        for passage in question.candidates[3:]
    ]
    any_ = [
        len(set(item.question.lower().split()) & set(other.passage.lower().split()))
        for item, other in pairwise(items)
    ]
    assert np.mean(shared) > 1.5 * np.mean(any_)


def test_a_passage_ranks_below_all_that_score_the_same() -> None:
    scores = [np.array(row) for row in ([3.0, 1.0, 2.0], [1.0, 1.0, 0.0], [0.0, 1.0, 2.0])]
    assert reciprocal_rank(scores) == pytest.approx((1 + 1 / 2 + 1 / 3) / 3)


def test_a_random_model_scores_the_stated_chance() -> None:
    scores = Random(7).answer(with_candidates(retrieval_items()), asks="relevance")
    assert reciprocal_rank(scores) == pytest.approx(0.29, abs=0.04)
    assert "0.29" in WHAT_IT_IS


def test_an_encoders_documents_are_measured_as_in_the_benchmark(
    tiny_encoder: Path, tmp_path: Path
) -> None:
    path = tmp_path / "pairs.jsonl"
    path.write_bytes(lines(ENTRIES))
    nevir = NevIR.read(path)
    result = measure(nevir, load_scorer(str(tiny_encoder)))
    found = RankingFigures(nevir.items).of(load_scorer(str(tiny_encoder)))
    assert found[NEVIR] == result.score / 100
    assert {name: found[name] for name in result.figures} == pytest.approx(dict(result.figures))
    box = [found[quantile(percent)] for percent in QUANTILES]
    assert box == sorted(box) and box[0] < found[DOCUMENTS] < box[-1]
    assert 0 < found[RERANKING] <= 1


def test_other_architectures_have_no_figures_of_documents(tiny_cross: Path, tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl"
    path.write_bytes(lines(ENTRIES[:2]))
    found = RankingFigures(NevIR.read(path).items).of(load_scorer(str(tiny_cross)))
    assert set(found) == {NEVIR, LOW, HIGH, RERANKING}
