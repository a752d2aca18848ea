"""The papers' numbers, and their benchmarks in the catalogue."""

import json

import pytest

from db.errors import HedgerowError
from training.benchmarks.catalogue import (
    BENCHMARKS,
    NEGATION_AVERAGE,
    benchmark,
)
from training.benchmarks.results.published import GENERAL, LANGUAGE, NEGATION, SEMANTONEG, published
from training.benchmarks.tasks.general import TaskScore, average

MISPRINTED = {
    ("hedgetriple_table_2", "Only negation"),
    ("hedgetriple_table_2", "Only hedging"),
    ("hedgetriple_table_3", "Llama-3-8B-Instruct"),
    ("hedgetriple_table_3", "Only negation"),
    ("hedgetriple_table_3", "Only hedging"),
}
"""Averages that do not match the lines above them."""

MPNET = "sentence-transformers/all-mpnet-base-v2"


def by_model(table: str) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for number in published():
        if number.table == table:
            found.setdefault(number.model, {})[number.benchmark] = number.score
    return found


def test_every_number_is_of_something_and_marked() -> None:
    ids = {entry.id for entry in BENCHMARKS}
    for number in published():
        kind = number.benchmark.partition(":")[0]
        assert number.benchmark in ids or kind in (NEGATION, GENERAL, LANGUAGE)
        assert number.published and number.paper and number.title and number.label
        assert -100 <= number.score <= 100
    assert len(published()) == 283


@pytest.mark.parametrize(
    "table", ["hedgetriple_table_1", "hedgetriple_table_2", "hedgetriple_table_3"]
)
def test_the_negation_average_is_the_papers(table: str) -> None:
    for model, scores in by_model(table).items():
        mean = sum(scores[name] for name in NEGATION_AVERAGE) / len(NEGATION_AVERAGE)
        follows = mean == pytest.approx(scores[NEGATION], abs=0.011)
        assert follows == ((table, model) not in MISPRINTED)


@pytest.mark.parametrize("table", ["hedgetriple_table_1", "hedgetriple_table_2"])
def test_the_general_average_is_the_papers(table: str) -> None:
    """It is the mean of the seven kinds of tasks, not of the data sets."""
    for scores in by_model(table).values():
        lines = [
            TaskScore(name, name, score)
            for name, score in scores.items()
            if name.startswith(f"{GENERAL}:")
        ]
        assert len(lines) == 7
        assert average(lines) == pytest.approx(scores[GENERAL], abs=0.03), "its lines are rounded"


def test_semantonegs_table_8_is_whole() -> None:
    scores = json.loads(SEMANTONEG.read_text(encoding="utf-8"))["scores"]
    assert len(scores) == 123
    given = {name: score for name, score in scores.items() if score is not None}
    shown = {n.model: n.score for n in published() if n.benchmark == "semantoneg"}
    assert shown == given and len(given) == 114
    # As in Tables 1 and 3 to 7 of the paper.
    for name, score in {
        "all-MiniLM-L6-v2": 1.9,
        "all-mpnet-base-v2": 31.9,
        "sentence-t5-xl": 81.2,
        "paraphrase-multilingual-mpnet-base-v2": 79.9,
        "distilbert-multilingual-nli-stsb-quora-ranking": 47.1,
        "bert-base-nli-mean-tokens": 83.3,
        "roberta-large-nli-mean-tokens": 93.6,
        "stsb-distilroberta-base-v2": 58.7,
        "paraphrase-MiniLM-L3-v2": 0.0,
    }.items():
        assert given[name] == score
    for name in ("sentence-t5-xxl", "clip-ViT-L-14", "average_word_embeddings_komninos"):
        assert scores[name] is None
    hubs = {n.model: n.hub for n in published() if n.benchmark == "semantoneg"}
    assert hubs["all-mpnet-base-v2"] == MPNET


def test_the_catalogue() -> None:
    assert len({entry.id for entry in BENCHMARKS}) == len(BENCHMARKS) == 6
    assert benchmark("nevir").title == "NevIR"
    for entry in BENCHMARKS:
        assert entry.measures.endswith("?") and entry.paper and entry.metric and entry.expects
    with pytest.raises(HedgerowError, match="a benchmark .nevir, excluir, cannot, m3"):
        benchmark("glue")
