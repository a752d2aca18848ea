"""The arguments for the library's trainers."""

from __future__ import annotations

from pathlib import Path

import pytest

from curation.encoders.loading import load_encoder
from training.benchmarks.tasks.nevir import DocumentPair
from training.finetune.progress import Progress
from training.ranking.request import RankingRequest
from training.ranking.trainers import BiEncoderTrainer, CrossEncoderPairTrainer, Fit

PAIRS = [
    DocumentPair(f"{number}-2", (f"q {number}", f"r {number}"), (f"d {number}", f"e {number}"), 0)
    for number in range(9)
]


@pytest.fixture
def fit(tmp_path: Path) -> Fit:
    request = RankingRequest(data="-", batch_size=6, epochs=1, max_length=20)
    return Fit(PAIRS, request, dict, tmp_path, "it", Progress())


def test_a_pair_gives_each_query_its_own_document() -> None:
    triples = BiEncoderTrainer.rows(PAIRS[:1])
    assert triples == {
        "query": ["q 0", "r 0"],
        "positive": ["d 0", "e 0"],
        "negative": ["e 0", "d 0"],
    }
    rows = CrossEncoderPairTrainer.rows(PAIRS[:1])
    assert list(zip(*rows.values(), strict=True)) == [
        ("q 0", "d 0", 1.0),
        ("q 0", "e 0", 0.0),
        ("r 0", "d 0", 0.0),
        ("r 0", "e 0", 1.0),
    ]


def test_no_batch_holds_both_queries_of_a_pair(tiny_encoder: Path, fit: Fit) -> None:
    trainer = BiEncoderTrainer(load_encoder(str(tiny_encoder)), fit)
    batches = list(trainer.get_train_dataloader().batch_sampler)
    assert sorted(row for batch in batches for row in batch) == list(range(18))
    for batch in batches:
        pairs = [row // 2 for row in batch]
        assert len(set(pairs)) == len(pairs)


def test_texts_are_cut_in_training_alone(tiny_encoder: Path, fit: Fit) -> None:
    model = load_encoder(str(tiny_encoder))
    whole = model.max_seq_length
    seen = list[int | None]()
    measured = fit._replace(measure=lambda: (seen.append(model.max_seq_length), {"nevir": 0.0})[1])
    trainer = BiEncoderTrainer(model, measured)
    assert model.max_seq_length == 20
    trainer.finish()
    assert seen == [whole, whole] and model.max_seq_length == whole


def test_a_model_is_trained_with_its_own_prompts(tiny_encoder: Path, fit: Fit) -> None:
    model = load_encoder(str(tiny_encoder))
    assert BiEncoderTrainer.prompts(model) is None
    model.prompts = {"query": "query: ", "passage": "passage: "}
    trainer = BiEncoderTrainer(model, fit)
    wanted = {"query": "query: ", "positive": "passage: ", "negative": "passage: "}
    assert trainer.data_collator.prompts == wanted
    row = {name: texts[0] for name, texts in BiEncoderTrainer.rows(PAIRS).items()}
    ids = trainer.data_collator([row])["positive_input_ids"][0]
    assert "passage" in model.tokenizer.decode(ids)
    model.default_prompt_name = "query"
    assert set(BiEncoderTrainer.prompts(model).values()) == {"query: "}
