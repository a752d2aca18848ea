"""The figures of an encoder in the recipe search and in the final evaluation."""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.metrics import roc_auc_score

from curation.encoders.embeddings import encode_distinct, pair_cosines
from training.benchmarks.definition import Benchmark
from training.benchmarks.scorers.embedding_models import BiEncoder
from training.benchmarks.scorers.interface import measure
from training.benchmarks.tasks.common_forms import M3Counterfactual
from training.benchmarks.tasks.excluir import ExcluIR
from training.benchmarks.tasks.nevir import NevIR
from training.benchmarks.tasks.semantoneg import SemAntoNeg
from training.evaluation.general_ability import (
    mean_reciprocal_rank,
    read_sts,
    retrieval_items,
    spearman,
)

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

TESTS: dict[str, tuple[type[Benchmark[Any]], str]] = {
    "passages": (NevIR, "nevir.jsonl"),
    "exclusion": (ExcluIR, "excluir"),
    "modality": (M3Counterfactual, "m3.jsonl"),
    "SemAntoNeg": (SemAntoNeg, "semantoneg_sample.jsonl"),
}
"""Name of a figure → the benchmark, and the place of its data in a folder."""


def on_folders(folders: Sequence[Path], model: SentenceTransformer) -> dict[str, float]:
    """Every figure for which the folders have data, and retrieval on bundled data, in points.

    Args:
        folders: folders with data of `TESTS`, `sts/*.tsv` (a score and two sentences per line),
            `answers/*.csv` in the format of TREC-QA, and `contradiction/*.tsv` in that of SICK.
    """
    found = dict(_figures(folders, model))
    found["retrieval"] = mean_reciprocal_rank(model, retrieval_items())
    return {name: round(100 * value, 1) for name, value in found.items()}


def _figures(folders: Sequence[Path], model: SentenceTransformer) -> Iterator[tuple[str, float]]:
    for folder in folders:
        for name, (benchmark, place) in TESTS.items():
            if (folder / place).exists():
                yield name, on_benchmark(benchmark.read(folder / place), model)
        if sts := sorted((folder / "sts").glob("*.tsv")):
            yield "STS", float(np.mean([on_sts(path, model) for path in sts]))
        for path in (folder / "answers").glob("*.csv"):
            yield "answers", on_answers(path, model)
        for path in (folder / "contradiction").glob("*.tsv"):
            yield "contradictions", on_contradictions(path, model)


def on_benchmark(benchmark: Benchmark[Any], model: SentenceTransformer) -> float:
    """The score on a benchmark, in [-1, 1]."""
    return measure(benchmark, BiEncoder(model)).score / 100


def on_sts(path: Path, model: SentenceTransformer) -> float:
    """Spearman's correlation between human scores and cosines, in [-1, 1]."""
    pairs = read_sts(path)
    return spearman(pairs, pair_cosines(model, [(pair.first, pair.second) for pair in pairs]))


def on_answers(path: Path, model: SentenceTransformer) -> float:
    """Mean average precision, in [0, 1], when the answers to a question are ranked by cosine.

    Only questions with both right and wrong answers count. The columns are qtext, label and atext.
    """
    candidates: dict[str, list[tuple[str, bool]]] = defaultdict(list)
    for row in _rows(path, ","):
        candidates[row["qtext"]].append((row["atext"], row["label"] == "1"))
    texts = [text for found in candidates.values() for text, _ in found]
    distinct = list(dict.fromkeys([*candidates, *texts]))
    rows = dict(zip(distinct, encode_distinct(model, distinct), strict=True))
    precisions = []
    for question, found in candidates.items():
        if len({right for _, right in found}) == 2:
            ranked = sorted(found, key=lambda entry: -float(rows[question] @ rows[entry[0]]))
            places = [place for place, (_, right) in enumerate(ranked, start=1) if right]
            precisions.append(np.mean([n / place for n, place in enumerate(places, start=1)]))
    return float(np.mean(precisions))


def on_contradictions(path: Path, model: SentenceTransformer) -> float:
    """The area under the ROC curve, in [0, 1], when cosines distinguish entailments from
    contradictions."""
    kept = [row for row in _rows(path, "\t") if row["entailment_judgment"] != "NEUTRAL"]
    cosines = pair_cosines(model, [(row["sentence_A"], row["sentence_B"]) for row in kept])
    return float(roc_auc_score([r["entailment_judgment"] == "ENTAILMENT" for r in kept], cosines))


def _rows(path: Path, delimiter: str) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter=delimiter))
