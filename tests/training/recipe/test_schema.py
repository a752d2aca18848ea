"""Recipes: validation in one sentence, YAML and back, overrides, the content hash."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curation.encoders.model_folders import DEFAULT_ENCODER
from db.errors import HedgerowError
from training.recipe.schema import RECIPE_VERSION, Recipe
from training.recipe.yaml_text import parse_recipe

NAMES = st.lists(st.sampled_from(["word", "phrase", "verbal", "näme"]), max_size=3)


@st.composite
def recipes(draw: st.DrawFn) -> Recipe:
    batch_size = draw(st.integers(2, 512))
    file = draw(st.none() | st.sampled_from(["a: b.tsv", "c:\\d", "'é' #"]))
    watched = draw(st.none() | st.sampled_from(["ranked", "families", "questions", "sts"]))
    return Recipe(
        base_encoder=draw(st.sampled_from([DEFAULT_ENCODER, "owner/näme", "./a folder: x"])),
        pooling=draw(st.sampled_from(["as_base", "mean", "cls", "max"])),
        data=draw(st.sampled_from(["all", "negation", "hedging"])),
        without_types=draw(NAMES),
        providers=draw(NAMES),
        max_distance=draw(st.none() | st.integers(1, 500)),
        max_triples=draw(st.none() | st.integers(batch_size, 10**9)),
        loss=draw(st.sampled_from(["symmetric", "family", "triples"])),
        scale=draw(st.floats(0.1, 1000)),
        hedge_weight=draw(st.floats(0, 100)),
        negation_weight=draw(st.floats(0, 100)),
        order_weight=draw(st.floats(0, 100)),
        negation_margin=draw(st.floats(0, 1)),
        order_pushes_hedges=draw(st.booleans()),
        context=draw(st.floats(0, 1)),
        epochs=draw(st.floats(1e-6, 1000)),
        max_steps=draw(st.none() | st.integers(1, 10**9)),
        batch_size=batch_size,
        learning_rate=draw(st.floats(1e-12, 0.5)),
        warmup_ratio=draw(st.floats(0, 0.99)),
        weight_decay=draw(st.floats(0, 0.99)),
        max_seq_length=draw(st.none() | st.integers(8, 10**6)),
        precision=draw(st.sampled_from(["auto", "fp32", "bf16"])),
        distillation=draw(st.floats(-0.0, 1000)),
        distillation_every=draw(st.integers(1, 9)),
        likeness=draw(st.floats(0, 1000)),
        framed_anchors=draw(st.booleans()),
        distillation_file=file,
        interpolation=draw(st.floats(0.01, 1)),
        lora_rank=draw(st.none() | st.integers(1, 64)),
        freeze_word_embeddings=draw(st.booleans()),
        lazy_word_embeddings=draw(st.booleans()),
        measure_every=draw(st.floats(0.1, 10)),
        early_stopping=watched,
        patience=draw(st.integers(1, 9)),
        sts_file="sts.tsv" if watched == "sts" else file,
        checkpoint_every=draw(st.none() | st.integers(1, 999)),
    )


@settings(deadline=None, max_examples=50)  # a busy machine is no fault of the recipe
@given(recipe=recipes())
def test_yaml_out_and_in_gives_the_same_recipe(recipe: Recipe) -> None:
    again = parse_recipe(recipe.to_yaml())
    assert again == recipe
    assert again.hash == recipe.hash


@settings(deadline=None, max_examples=50)
@given(first=recipes(), second=recipes())
def test_hashes_are_equal_exactly_for_equal_recipes(first: Recipe, second: Recipe) -> None:
    assert (first.hash == second.hash) == (first == second)
    assert Recipe(**first.model_dump()).hash == first.hash


OTHER: dict[str, Any] = {
    "base_encoder": "owner/other",
    "pooling": "cls",
    "data": "negation",
    "without_types": ["x"],
    "providers": ["x"],
    "max_distance": 77,
    "max_triples": 9999,
    "loss": "family",
    "scale": 31,
    "hedge_weight": 0.31,
    "negation_weight": 0.32,
    "order_weight": 0.33,
    "context": 0.34,
    "epochs": 7.5,
    "max_steps": 9,
    "batch_size": 7,
    "learning_rate": 1e-6,
    "warmup_ratio": 0.35,
    "weight_decay": 0.2,
    "max_seq_length": 99,
    "precision": "bf16",
    "distillation": 0.37,
    "distillation_file": "x",
    "interpolation": 0.38,
    "lora_rank": 3,
    "measure_every": 0.39,
    "freeze_word_embeddings": True,
    "order_margin": 0.36,
    "opposites": 9,
    "distillation_texts": 37,
    "distillation_edits": False,
    "distillation_wordings": 5,
    "dropout": 0.1,
    "soup": 7,
    "negation_margin": 0.21,
    "order_pushes_hedges": False,
    "distillation_every": 3,
    "likeness": 0.38,
    "framed_anchors": False,
    "stances": 9,
    "lazy_word_embeddings": False,
    "early_stopping": "families",
    "patience": 7,
    "sts_file": "x",
    "checkpoint_every": 77,
}
"""A value for every field that is not its default."""


def test_every_field_changes_the_hash() -> None:
    assert set(OTHER) == set(Recipe.model_fields) - {"version"}
    hashes = {Recipe(**{name: value}).hash for name, value in OTHER.items()}
    assert len(hashes | {Recipe().hash}) == len(OTHER) + 1


@pytest.mark.parametrize(
    ("changes", "made"),
    [
        ({}, True),
        ({"opposites": 0}, False),
        ({"loss": "triples"}, False),
        ({"data": "hedging"}, False),
        ({"data": "negation"}, True),
        ({"providers": ["rules"]}, True),
        ({"providers": ["openai"]}, False),
    ],
)
def test_opposites_are_made_where_rules_may_write(changes: dict[str, Any], made: bool) -> None:
    assert Recipe(**{"opposites": 2, **changes}).makes_opposites == made


def test_a_recipe_does_not_change():
    with pytest.raises(Exception, match="frozen"):
        Recipe().epochs = 3


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"learing_rate": 1e-5}, r"no key 'learing_rate'; the nearest one is 'learning_rate'"),
        ({"batchsize": 8}, "the nearest one is 'batch_size'"),
        ({"learning_rate": 0}, "learning_rate should be greater than 0, found 0"),
        ({"learning_rate": "fast"}, "learning_rate should be a valid number.*found 'fast'"),
        ({"epochs": float("inf")}, "epochs should be a finite number"),
        ({"epochs": True}, "epochs expected a number.*found True"),
        ({"batch_size": 1}, "batch_size should be greater than or equal to 2"),
        ({"batch_size": 8.5}, "batch_size should be a valid integer"),
        ({"loss": "cosine"}, "loss should be 'family', 'symmetric' or 'triples', found 'cosine'"),
        ({"precision": "fp8"}, "precision should be 'auto', 'fp32' or 'bf16'"),
        ({"early_stopping": "sts"}, "early_stopping by 'sts' needs sentence pairs; give sts_file"),
        ({"early_stopping": "ranked", "measure_every": None}, "give measure_every"),
        ({"early_stopping": "drift"}, "early_stopping should be 'ranked'"),
        ({"interpolation": 0}, "interpolation should be greater than 0"),
        ({"sts_file": ""}, "sts_file should have at least 1 character"),
        ({"without_types": 5}, "without_types should be a valid tuple"),
        ({"base_encoder": "  "}, "base_encoder should have at least 1 character"),
        (
            {"version": RECIPE_VERSION + 1},
            f"version {RECIPE_VERSION + 1}, expected {RECIPE_VERSION}; a newer version needs a "
            "newer Hedgerow",
        ),
        ({"version": None}, f"version None, expected {RECIPE_VERSION}"),
        ({"version": 7}, f"version 7, expected {RECIPE_VERSION}; an older Hedgerow wrote it, so"),
        ({"max_triples": 7, "batch_size": 8}, r"max_triples \(7\) must be at least batch_size"),
        ({"scale": -1, "warmup_ratio": 1}, "scale .*; warmup_ratio should be less than 1"),
        ({"epochs": "x" * 5000}, "epochs"),
    ],
)
def test_a_wrong_value_is_told_in_one_short_sentence(values, sentence):
    with pytest.raises(HedgerowError, match=sentence) as caught:
        Recipe(**values)
    message = str(caught.value)
    assert "\n" not in message and len(message) < 300
    with pytest.raises(HedgerowError, match=sentence):
        Recipe.model_validate(values)


def test_overrides_are_read_as_their_fields_want_them():
    recipe = Recipe(max_steps=5).with_overrides(
        ["learning_rate=1e-5", " batch_size = 8 ", "max_steps=none", "base_encoder=a=b"]
    )
    assert recipe == Recipe(learning_rate=1e-5, batch_size=8, max_steps=None, base_encoder="a=b")


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("word,phrase", ("phrase", "word")),
        (" phrase , word,word,", ("phrase", "word")),
        ("word", ("word",)),
        ("", ()),
        ("none", ()),
    ],
)
@pytest.mark.parametrize("key", ["without_types", "providers"])
def test_lists_of_names_are_one_word(key: str, word: str, expected: tuple[str, ...]) -> None:
    recipe = Recipe(without_types=["verbal"], providers=["rules"])
    assert getattr(recipe.with_overrides([f"{key}={word}"]), key) == expected


@pytest.mark.parametrize("key", ["max_steps", "early_stopping", "sts_file", "lora_rank"])
def test_none_is_no_limit_no_file_no_figure(key: str) -> None:
    assert getattr(Recipe(**{key: OTHER[key]}).with_overrides([f"{key}=None"]), key) is None


@settings(deadline=None, max_examples=50)
@given(first=recipes(), second=recipes())
def test_overrides_can_make_any_recipe_of_any_other(first: Recipe, second: Recipe) -> None:
    def word(value: object) -> str:
        if isinstance(value, tuple):
            return ",".join(value)
        return "none" if value is None else str(value)

    assert first.with_overrides([f"{key}={word(value)}" for key, value in second]) == second


def test_the_last_override_of_a_key_holds():
    assert Recipe().with_overrides(["epochs=2", "epochs=3"]).epochs == 3


def test_no_override_changes_nothing():
    assert Recipe(epochs=0.5).with_overrides([]) == Recipe(epochs=0.5)


@pytest.mark.parametrize(
    ("assignment", "sentence"),
    [
        ("epochs", "Expected key=value"),
        ("=3", "Expected key=value"),
        ("epoch=3", "the nearest one is 'epochs'"),
        ("epochs=", "epochs should be a valid number"),
        ("epochs=none", "epochs should be a valid number"),
        ("max_triples=3", "at least batch_size"),
    ],
)
def test_a_wrong_override_is_refused(assignment, sentence):
    with pytest.raises(HedgerowError, match=sentence):
        Recipe().with_overrides([assignment])


@pytest.mark.parametrize(
    ("epochs", "max_steps", "expected"),
    [(1, None, 8), (0.5, None, 4), (0.3, None, 3), (2.5, None, 20), (1, 3, 3), (0.25, 100, 2)],
)
def test_epochs_may_be_fractions_and_max_steps_ends_earlier(epochs, max_steps, expected):
    recipe = Recipe(epochs=epochs, max_steps=max_steps, batch_size=6)
    assert recipe.steps(48) == expected
