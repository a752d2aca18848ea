"""monoT5, compared with the output of transformers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.torch import load_file, save_file

from curation.encoders.loading import check_encoder
from db.errors import HedgerowError
from tests.support.checkpoints import checkpoint, monot5, packaged
from tests.training.benchmarks.support.samples import NEVIR, write_lines
from training.benchmarks.results.measure import measure
from training.benchmarks.scorers.architecture import architecture_of, load_scorer
from training.benchmarks.scorers.embedding_models import BiEncoder
from training.benchmarks.scorers.interface import Prompts
from training.benchmarks.scorers.monot5 import LONGEST, MonoT5
from training.benchmarks.tasks.nevir import NevIR

PAIRS = [
    ("is the soup cold?", "the soup was not cold."),
    ("is the soup cold?", "the soup was warm, and the bread was warm, too."),
    ("no", "the"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return monot5(tmp_path_factory.mktemp("monot5"))


@pytest.fixture(scope="module")
def scorer(folder: Path) -> MonoT5:
    found = load_scorer(str(folder))
    assert isinstance(found, MonoT5)
    return found


@pytest.fixture(scope="module")
def direct(folder: Path) -> Any:
    """The log probability of 'true' against 'false' as the first generated token of a text."""
    from transformers import AutoTokenizer, T5ForConditionalGeneration

    model = T5ForConditionalGeneration.from_pretrained(folder).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    answers = tokenizer.convert_tokens_to_ids(["▁false", "▁true"])

    def score(text: str) -> float:
        given = model.generate(
            **tokenizer(text, return_tensors="pt"),
            max_new_tokens=1,
            do_sample=False,
            output_logits=True,
            return_dict_in_generate=True,
        )
        return float(given.logits[0][0, answers].log_softmax(0)[1])

    return score


def test_scores_are_the_log_probability_of_true_against_false(scorer: MonoT5, direct: Any) -> None:
    expected = [direct(f"Query: {query} Document: {text} Relevant:") for query, text in PAIRS]
    assert np.ptp(expected) > 0.01, "the model distinguishes the pairs"
    for asks in ("relevance", "similarity"):
        assert scorer.score(PAIRS, asks=asks) == pytest.approx(expected, abs=1e-5)
    one = [float(scorer.score([pair], asks="relevance")[0]) for pair in PAIRS]
    assert one == pytest.approx(expected, abs=1e-5), "padding changes nothing"


def test_a_long_document_loses_its_end_and_not_the_question(scorer: MonoT5, direct: Any) -> None:
    query = "is the soup cold?"
    around = len(scorer.tokenizer(f"Query: {query} Document: Relevant:")["input_ids"])
    fits = " ".join(["not"] * (LONGEST - around))
    long = " ".join([fits, *["cold"] * 300])
    expected = direct(f"Query: {query} Document: {fits} Relevant:")
    found = scorer.score([(query, long), (query, fits)], asks="relevance")
    assert found == pytest.approx([expected, expected], abs=1e-5)


def test_a_large_difference_is_not_a_tie(scorer: MonoT5, monkeypatch: pytest.MonkeyPatch) -> None:
    logits = np.array([[-60.0, 60.0], [-50.0, 60.0], [60.0, -60.0]])
    monkeypatch.setattr(scorer, "_logits", lambda inputs: logits)
    first, second, third = scorer.score([("a", "b")] * 3, asks="relevance")
    assert 0 > first > second > third == pytest.approx(-120)


def test_prompts_come_before_query_and_document(folder: Path, direct: Any) -> None:
    scorer = load_scorer(str(folder), "monot5", prompts=Prompts("no ", "the "))
    (pair, *_) = PAIRS
    expected = direct(f"Query: no {pair[0]} Document: the {pair[1]} Relevant:")
    assert scorer.score([pair], asks="relevance") == pytest.approx([expected], abs=1e-5)
    plain = direct(f"Query: {pair[0]} Document: {pair[1]} Relevant:")
    assert scorer.score([pair], asks="similarity") == pytest.approx([plain], abs=1e-5)


def test_nevir_is_measured_with_it(scorer: MonoT5, tmp_path: Path) -> None:
    result = measure(NevIR.read(write_lines(tmp_path / "n.jsonl", NEVIR)), scorer)
    assert result.n == 2 and result.unanswered == 0 and not result.figures


def test_a_t5_is_an_encoder_only_if_its_files_say_so(folder: Path, tmp_path: Path) -> None:
    assert architecture_of(folder) == "monot5"
    with pytest.raises(HedgerowError, match="Expected a bi-encoder in .*, found a monot5; choose"):
        load_scorer(str(folder), "bi-encoder")
    with pytest.raises(HedgerowError, match="found T5ForConditionalGeneration: a sequence-to-seq"):
        check_encoder(str(folder))
    for encoder in (
        checkpoint("T5EncoderModel", tmp_path / "bare"),
        packaged("T5EncoderModel", tmp_path / "sentence-t5"),
    ):
        assert isinstance(load_scorer(str(encoder)), BiEncoder)
        with pytest.raises(HedgerowError, match="Expected a monot5 in .*, found a bi-encoder"):
            load_scorer(str(encoder), "monot5")


def test_weights_that_are_missing_are_not_made_up(tmp_path: Path) -> None:
    file = monot5(tmp_path) / "model.safetensors"
    weights = load_file(file)
    del weights["encoder.final_layer_norm.weight"]
    save_file(weights, file, metadata={"format": "pt"})
    with pytest.raises(HedgerowError, match="Expected all weights .*encoder.final_layer_norm"):
        load_scorer(str(tmp_path))


def test_a_tokenizer_without_the_answers_is_refused(tmp_path: Path) -> None:
    from transformers import T5Tokenizer

    letters = [(letter, -1.0) for letter in "trufals"]
    special = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), ("▁", -1.0)]
    monot5(tmp_path)
    T5Tokenizer(vocab=[*special, *letters], extra_ids=0).save_pretrained(tmp_path)
    with pytest.raises(HedgerowError, match="a token for each of false and true, like monoT5"):
        load_scorer(str(tmp_path))
