"""The batches that the trainer is given: no text twice, lengths alike, an epoch full."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from curation.encoders import load_encoder
from tests.training.trainings import TRIPLES
from training import finetune
from training.recipe import Recipe


@pytest.fixture
def recipe(tiny_encoder: Path) -> Recipe:
    return Recipe(base_encoder=str(tiny_encoder), batch_size=6)


def batches_of(rows, recipe, folder: Path, *, epoch: int = 0) -> list[list[int]]:
    """The batches of row numbers that the trainer would make of an epoch."""
    model = load_encoder(recipe.base_encoder, device="cpu")
    trainer = finetune._trainer(model, rows, recipe=recipe, seed=0, folder=folder, total=8)
    loader = trainer.get_train_dataloader()
    loader.set_epoch(epoch)
    return list(loader.batch_sampler)


def test_no_batch_holds_a_text_twice(tmp_path, recipe):
    """Else a triple's positive would be another triple's negative (in-batch negatives)."""
    rows = sorted(TRIPLES)
    batches = batches_of(rows, recipe, tmp_path)
    assert len(batches) == 8
    for batch in batches:
        texts = Counter(text for index in batch for text in rows[index])
        assert len(batch) == 6
        assert max(texts.values()) == 1


def test_an_epoch_is_full_even_where_a_few_anchors_have_most_triples(tmp_path, recipe):
    many = [(TRIPLES[0][0], f"positive {i}", f"negative {i}") for i in range(40)]
    rows = sorted([*many, *TRIPLES])
    assert len(batches_of(rows, recipe, tmp_path)) == len(rows) // 6


def test_batches_hold_triples_of_about_one_length_and_differ_between_epochs(tmp_path, recipe):
    rows = [
        (f"A{i} " + "x" * (i % 97), f"P{i} " + "x" * (i % 97), f"N{i} " + "x" * (i % 97))
        for i in range(480)
    ]
    first, second = (batches_of(rows, recipe, tmp_path, epoch=epoch) for epoch in (0, 1))
    spread = [max(index % 97 for index in batch) - min(i % 97 for i in batch) for batch in first]
    assert np.mean(spread) < 97 / 4  # of random batches: about 70
    assert first != second
    assert sorted(index for batch in first for index in batch) == list(range(480))
