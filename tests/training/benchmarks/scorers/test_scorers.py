"""Every architecture behind the same interface, each with a tiny model of random weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from curation.encoders.loading import load_encoder, load_model
from db.errors import HedgerowError
from tests.training.benchmarks.support.samples import NEVIR, semantoneg_rows, write_lines
from training.benchmarks.definition import Question
from training.benchmarks.results.measure import measure
from training.benchmarks.scorers.architecture import architecture_of, load_scorer
from training.benchmarks.scorers.embedding_models import BiEncoder, Cross, Sparse
from training.benchmarks.scorers.interface import Scorer
from training.benchmarks.scorers.late_interaction import LateInteraction
from training.benchmarks.scorers.lexical import Random, TfIdf
from training.benchmarks.tasks.nevir import NevIR
from training.benchmarks.tasks.semantoneg import SemAntoNeg

PAIRS = [
    ("Which bridge was shut?", "The old bridge was not open in winter."),
    ("Which bridge was shut?", "The old bridge was open. It is long."),
    ("It is cold.", "It is not warm."),
]


class Counted:
    """Counts the texts that a model has to encode."""

    def __init__(self, model: Any, monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
        self.texts: list[str] = []
        for name in names:
            monkeypatch.setattr(model, name, self._counting(getattr(model, name)))

    def _counting(self, encode: Any) -> Any:
        def counted(texts: list[str], *args: Any, **more: Any) -> Any:
            self.texts += texts
            return encode(texts, *args, **more)

        return counted


def cosine(one: np.ndarray, two: np.ndarray) -> float:
    return float(one @ two / np.linalg.norm(one) / np.linalg.norm(two))


def test_a_bi_encoders_scores_are_cosines(tiny_encoder: Path) -> None:
    scorer = load_scorer(str(tiny_encoder))
    assert isinstance(scorer, BiEncoder)
    scores = scorer.score(PAIRS, asks="relevance")
    first, second = (scorer.model.encode([pair[side] for pair in PAIRS]) for side in (0, 1))
    assert scores == pytest.approx(
        [cosine(a, b) for a, b in zip(first, second, strict=True)], abs=1e-5
    )


def test_each_distinct_text_is_encoded_once(
    tiny_encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nevir = NevIR.read(write_lines(tmp_path / "n.jsonl", NEVIR))
    suite = SemAntoNeg.read(write_lines(tmp_path / "s.jsonl", semantoneg_rows()))
    scorer = BiEncoder(load_encoder(str(tiny_encoder)))
    counted = Counted(scorer.model, monkeypatch, "encode")
    result = measure(nevir, scorer)
    assert sorted(counted.texts) == sorted(nevir.texts()), "the documents' cosines cost nothing"
    assert 0 < result.figures["documents"] <= 1
    counted.texts.clear()
    measure(suite, scorer)
    assert sorted(counted.texts) == sorted(suite.texts())


def test_queries_and_documents_get_the_models_own_prompts(tiny_encoder: Path) -> None:
    scorer = BiEncoder(load_encoder(str(tiny_encoder)))
    plain = scorer.score(PAIRS, asks="relevance")
    scorer.model.prompts = {"query": "search query: ", "passage": "a passage: "}
    asked = scorer.score(PAIRS, asks="relevance")
    by_hand = [("search query: " + a, "a passage: " + b) for a, b in PAIRS]
    assert asked == pytest.approx(scorer.score(by_hand, asks="similarity"), abs=1e-6)
    assert asked != pytest.approx(plain, abs=1e-6)
    assert scorer.score(PAIRS, asks="similarity") == pytest.approx(plain, abs=1e-6)


def test_a_cross_encoders_scores_are_its_numbers_before_squashing(tiny_cross: Path) -> None:
    import torch

    scorer = load_scorer(str(tiny_cross))
    assert isinstance(scorer, Cross)
    scores = scorer.score(PAIRS, asks="relevance")
    squashed = scorer.model.predict(PAIRS)
    assert torch.sigmoid(torch.tensor(scores)).numpy() == pytest.approx(squashed, abs=1e-5)


def test_a_model_for_inference_is_asked_for_entailment(tiny_nli: Path) -> None:
    scorer = load_scorer(str(tiny_nli), "cross-encoder")
    assert isinstance(scorer, Cross)
    scores = scorer.score(PAIRS, asks="similarity")
    likely = scorer.model.predict(PAIRS, apply_softmax=True)[:, 1]
    assert 1 / (1 + np.exp(-scores)) == pytest.approx(likely, abs=1e-5)


def test_a_classifier_of_something_else_is_refused(tiny_nli: Path) -> None:
    model = load_model(str(tiny_nli), "CrossEncoder")
    model.config.id2label = {0: "sad", 1: "glad", 2: "mixed"}
    with pytest.raises(HedgerowError, match="found the classes sad, glad, mixed"):
        Cross(model)


def test_sparse_scores_are_dot_products_of_documents_and_cosines_of_sentences(
    tiny_splade: Path,
) -> None:
    scorer = load_scorer(str(tiny_splade), "sparse")
    assert isinstance(scorer, Sparse)
    first, second = (
        scorer.model.encode([pair[side] for pair in PAIRS], convert_to_sparse_tensor=False).numpy()
        for side in (0, 1)
    )
    products = [float(a @ b) for a, b in zip(first, second, strict=True)]
    assert scorer.score(PAIRS, asks="relevance") == pytest.approx(products, rel=1e-5)
    cosines = [cosine(a, b) for a, b in zip(first, second, strict=True)]
    assert scorer.score(PAIRS, asks="similarity") == pytest.approx(cosines, rel=1e-5)


def test_late_interaction_and_the_tokens_behind_its_score(tiny_colbert: Path) -> None:
    scorer = load_scorer(str(tiny_colbert))
    assert isinstance(scorer, LateInteraction)
    scores = scorer.score(PAIRS, asks="relevance")
    for pair, score in zip(PAIRS, scores, strict=True):
        tokens = scorer.tokens(*pair)
        assert tokens.score == pytest.approx(score, rel=1e-4)
        assert tokens.similarity.shape == (len(tokens.query), len(tokens.document))
        best = tokens.similarity[np.arange(len(tokens.query)), tokens.best]
        assert best.sum() == pytest.approx(score, rel=1e-4)
    tokens = scorer.tokens(*PAIRS[1])
    assert "." not in tokens.document and "?" in tokens.query
    assert tokens.document[:4] == ("[CLS]", "the", "old", "bridge")


def test_word_counts() -> None:
    scores = TfIdf().score([*PAIRS, ("!", "It."), ("It is cold", "It is cold!")], asks="similarity")
    assert scores[0] == pytest.approx(scores[1], abs=0.2) and 0 < scores[2] < 1
    assert scores[3] == 0.0 and scores[4] == pytest.approx(1.0)
    assert TfIdf().score([("!", "?")], asks="similarity").tolist() == [0.0]


def test_chance_depends_on_the_pair_and_the_seed_alone() -> None:
    scores = Random(1).score(PAIRS, asks="relevance")
    assert Random(1).score(PAIRS[::-1], asks="similarity").tolist() == scores[::-1].tolist()
    assert set(Random(2).score(PAIRS, asks="relevance")).isdisjoint(scores)
    many = Random(3).score([(str(n), "x") for n in range(4_000)], asks="relevance")
    assert 0.48 < many.mean() < 0.52 and many.min() >= 0 and many.max() < 1


@pytest.mark.parametrize("scorer", [TfIdf(), Random(5)], ids=lambda scorer: scorer.architecture)
def test_repeated_questions_get_the_same_scores(scorer: Scorer) -> None:
    questions = [
        Question("It is cold.", ("It is warm.", "It is cool.")),
        Question("No.", ("Yes.",)),
    ]
    first, second, third = scorer.answer([*questions, questions[0]], asks="similarity")
    assert first.tolist() == third.tolist() and first.shape == (2,) and second.shape == (1,)


def test_the_architecture_comes_from_a_models_files(
    tiny_encoder: Path, tiny_cross: Path, tiny_colbert: Path, tiny_splade: Path
) -> None:
    found = [architecture_of(p) for p in (tiny_encoder, tiny_cross, tiny_colbert, tiny_splade)]
    assert found == ["bi-encoder", "cross-encoder", "late-interaction", "bi-encoder"]


@pytest.mark.parametrize("wanted", ["cross-encoder", "sparse", "late-interaction"])
def test_a_bi_encoder_is_not_given_random_layers_of_another_architecture(
    tiny_encoder: Path, wanted: str
) -> None:
    with pytest.raises(HedgerowError, match=f"Expected a {wanted} in .*, found a bi-encoder"):
        load_scorer(str(tiny_encoder), wanted)


def test_weights_in_a_pickle_are_refused_whatever_the_architecture(
    tiny_cross: Path, tmp_path: Path
) -> None:
    (tmp_path / "config.json").write_text((tiny_cross / "config.json").read_text())
    (tmp_path / "pytorch_model.bin").write_bytes(b"cos\nsystem\n")
    with pytest.raises(HedgerowError, match="safetensors"):
        load_scorer(str(tmp_path))
    with pytest.raises(HedgerowError, match="an architecture .bi-encoder, cross-encoder"):
        load_scorer(str(tmp_path), "magic")


def test_scores_that_are_not_numbers_are_refused(tiny_cross: Path) -> None:
    scorer = Cross(load_model(str(tiny_cross), "CrossEncoder"))
    scorer.model.predict = lambda pairs, **_: np.full(len(pairs), np.nan)
    with pytest.raises(HedgerowError, match="not finite numbers"):
        scorer.score(PAIRS, asks="relevance")


def test_progress_reaches_its_end_and_may_stop_the_work(tiny_cross: Path) -> None:
    seen: list[tuple[int, int]] = []
    scorer = load_scorer(str(tiny_cross))
    scorer.score(PAIRS, asks="relevance", on_progress=lambda n, all_: seen.append((n, all_)))
    assert seen == [(3, 3)]

    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        scorer.score(PAIRS, asks="relevance", on_progress=stop)
