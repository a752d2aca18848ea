"""LoRA: few weights are trained, and the result is an ordinary encoder."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from curation.encoders.embeddings import encode_distinct
from curation.encoders.loading import load_encoder
from db.errors import HedgerowError
from tests.training.support.trainings import run, weights
from training.finetune.adapters import add_adapter, merge_adapter
from training.recipe.schema import Recipe


@pytest.fixture
def recipe(tiny_encoder: Path) -> Recipe:
    return Recipe(
        base_encoder=str(tiny_encoder),
        batch_size=6,
        learning_rate=1e-2,
        max_steps=4,
        epochs=20,
        lora_rank=2,
        retention=0,
    )


def test_a_new_adapter_changes_nothing_and_only_it_is_trained(tiny_encoder: Path) -> None:
    model = load_encoder(str(tiny_encoder), device="cpu")
    texts = ["The kettle is old.", "The kettle is not old."]
    before, names = encode_distinct(model, texts), set(model.state_dict())
    add_adapter(model, rank=2, seed=1)
    trained = {name for name, p in model.named_parameters() if p.requires_grad}
    assert trained and all("lora_" in name for name in trained)
    np.testing.assert_allclose(encode_distinct(model, texts), before, atol=1e-6)
    merge_adapter(model)
    assert set(model.state_dict()) == names
    assert all(p.requires_grad for p in model.parameters())


def test_the_saved_model_holds_the_sum_and_nothing_of_the_adapter(
    tmp_path: Path, recipe: Recipe
) -> None:
    from safetensors.numpy import load_file

    path = run(tmp_path / "run", recipe)
    assert list(path.rglob("adapter*")) == []
    base = load_file(Path(recipe.base_encoder) / "model.safetensors")
    tuned = load_file(path / "model.safetensors")
    assert base.keys() == tuned.keys()
    changed = {name for name in base if not np.array_equal(base[name], tuned[name])}
    assert changed and all(base[name].ndim == 2 for name in changed)
    name = next(name for name in changed if "query" in name)
    assert np.linalg.matrix_rank(tuned[name] - base[name], tol=1e-5) <= 2
    assert not np.allclose(
        *(
            encode_distinct(load_encoder(str(where), device="cpu"), ["The kettle is old."])
            for where in (path, Path(recipe.base_encoder))
        )
    )


def test_equal_recipes_give_equal_weights(tmp_path: Path, recipe: Recipe) -> None:
    first = weights(run(tmp_path / "a", recipe))
    assert first == weights(run(tmp_path / "b", recipe))
    assert first != weights(run(tmp_path / "c", recipe, seed=2))


def test_an_encoder_without_a_transformer_is_refused_in_a_sentence() -> None:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import BoW

    model = SentenceTransformer(modules=[BoW(["old", "new"])], device="cpu")
    with pytest.raises(HedgerowError, match="set lora_rank to none"):
        add_adapter(model, rank=2, seed=1)
