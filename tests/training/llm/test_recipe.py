"""The recipe for finetuning a language model: the paper's values, and one sentence for wrong
values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from db.errors import HedgerowError
from training.llm.recipe import LanguageRecipe
from training.llm.recipe_text import chosen_recipe, parse_language_recipe


def test_the_defaults_are_those_of_the_papers_table_4() -> None:
    recipe = LanguageRecipe()
    assert (recipe.epochs, recipe.rank, recipe.alpha, recipe.dropout) == (20, 16, 16, 0)
    layers = "q_proj k_proj v_proj o_proj gate_proj up_proj down_proj".split()
    assert list(recipe.targets) == layers


def test_a_recipe_survives_yaml_and_assignments(tmp_path: Path) -> None:
    recipe = LanguageRecipe(epochs=2, modules_to_save="embed_tokens, lm_head", four_bit=True)
    assert parse_language_recipe(recipe.to_yaml()) == recipe
    assert parse_language_recipe("") == LanguageRecipe()
    file = tmp_path / "recipe.yaml"
    file.write_text("rank: 8\narm: hedging\n")
    found = chosen_recipe(file, ["targets=q_proj,v_proj", "max_pairs=none"], arm="negation")
    assert (found.rank, found.arm, found.targets) == (8, "negation", ("q_proj", "v_proj"))
    assert found.hash != recipe.hash


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"ranks": 4}, "The recipe has no key 'ranks'; did you mean 'rank'?"),
        ({"arm": "all"}, "arm should be 'both', 'paper', 'negation' or 'hedging', found 'all'"),
        ({"epochs": 0}, "epochs should be greater than 0, found 0"),
        ({"targets": ""}, "targets expected names of layers, or all-linear alone"),
        ({"targets": "all-linear,q_proj"}, "or all-linear alone"),
        ({"modules_to_save": "lm head; rm"}, "modules_to_save expected names of modules"),
        ({"version": 9}, "has version 9, expected 1"),
    ],
)
def test_a_wrong_value_gives_one_sentence(values: dict[str, Any], sentence: str) -> None:
    with pytest.raises(HedgerowError) as raised:
        LanguageRecipe(**values)
    assert sentence in str(raised.value)


def test_steps_count_whole_batches_and_accumulated_ones() -> None:
    recipe = LanguageRecipe(epochs=1.5, batch_size=8, gradient_accumulation=2, max_pairs=100)
    assert recipe.sampled(1_000) == 100 and recipe.sampled(60) == 60
    assert recipe.steps(100) == 11  # 13 batches, 7 steps per epoch
