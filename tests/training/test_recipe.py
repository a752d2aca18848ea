"""Recipes: validation in one sentence, YAML in and out, overrides, the content hash."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curation.encoders import DEFAULT_ENCODER
from db.errors import HedgerowError
from training.recipe import LARGEST_FILE, Recipe


@st.composite
def recipes(draw: st.DrawFn) -> Recipe:
    batch_size = draw(st.integers(2, 512))
    return Recipe(
        base_encoder=draw(st.sampled_from([DEFAULT_ENCODER, "owner/näme", "./a folder: x"])),
        scale=draw(st.floats(0.1, 1000)),
        epochs=draw(st.floats(1e-6, 1000)),
        max_steps=draw(st.none() | st.integers(1, 10**9)),
        max_triples=draw(st.none() | st.integers(batch_size, 10**9)),
        batch_size=batch_size,
        learning_rate=draw(st.floats(1e-12, 0.5)),
        warmup_ratio=draw(st.floats(0, 0.99)),
        weight_decay=draw(st.floats(0, 0.99)),
        max_seq_length=draw(st.none() | st.integers(8, 10**6)),
        precision=draw(st.sampled_from(["fp32", "bf16"])),
    )


def read(path: Path, content: str) -> Recipe:
    path.write_text(content, encoding="utf-8")
    return Recipe.from_yaml(path)


@pytest.fixture(scope="module")
def yaml_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("recipe") / "recipe.yaml"


@settings(deadline=None)  # a busy machine is no fault of the recipe
@given(recipe=recipes())
def test_yaml_out_and_in_gives_the_same_recipe(recipe: Recipe, yaml_file: Path):
    again = read(yaml_file, recipe.to_yaml())
    assert again == recipe
    assert again.hash == recipe.hash


@settings(deadline=None)
@given(first=recipes(), second=recipes())
def test_hashes_are_equal_exactly_for_equal_recipes(first: Recipe, second: Recipe):
    assert (first.hash == second.hash) == (first == second)
    assert Recipe(**first.model_dump()).hash == first.hash


def test_every_field_changes_the_hash():
    other: dict[str, Any] = {
        "base_encoder": "owner/other",
        "scale": 30,
        "epochs": 7,
        "max_steps": 9,
        "max_triples": 999,
        "batch_size": 7,
        "learning_rate": 1e-6,
        "warmup_ratio": 0.33,
        "weight_decay": 0.2,
        "max_seq_length": 99,
        "precision": "bf16",
    }
    one_of_a_kind = {"version", "loss"}
    assert set(other) | one_of_a_kind == set(Recipe.model_fields)
    hashes = {Recipe(**{name: value}).hash for name, value in other.items()}
    assert len(hashes | {Recipe().hash}) == len(other) + 1


def test_keys_left_out_have_their_defaults(yaml_file):
    assert read(yaml_file, "learning_rate: 1e-5") == Recipe(learning_rate=1e-5)


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
        ({"loss": "cosine"}, "loss should be 'triples', found 'cosine'"),
        ({"precision": "fp8"}, "precision should be 'fp32' or 'bf16'"),
        ({"base_encoder": "  "}, "base_encoder should have at least 1 character"),
        ({"version": 2}, "version 2, expected 1"),
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


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "Expected 'key: value' lines"),
        ("- 1", "Expected 'key: value' lines"),
        ("1: 2", "Expected 'key: value' lines"),
        ("epochs: 1\nscale: [", "not YAML at line 2"),
        ("epochs: yes", "epochs"),
        ("nonsense: 1", "no key 'nonsense'"),
        ("epochs: !!python/object/apply:os.getcwd []", "not YAML"),
        ("#" * (LARGEST_FILE + 1), "too large"),
    ],
)
def test_a_file_that_is_no_recipe_is_refused(yaml_file, content, sentence):
    with pytest.raises(HedgerowError, match=sentence) as caught:
        read(yaml_file, content)
    assert "\n" not in str(caught.value)


def test_an_unreadable_file_is_told_in_one_sentence(tmp_path):
    with pytest.raises(HedgerowError, match="No such file"):
        Recipe.from_yaml(tmp_path / "nowhere.yaml")
    (tmp_path / "latin.yaml").write_bytes("base_encoder: näme".encode("latin-1"))
    with pytest.raises(HedgerowError, match="UTF-8"):
        Recipe.from_yaml(tmp_path / "latin.yaml")


def test_overrides_are_read_as_their_fields_want_them():
    recipe = Recipe(max_steps=5).with_overrides(
        ["learning_rate=1e-5", " batch_size = 8 ", "max_steps=none", "base_encoder=a=b"]
    )
    assert recipe == Recipe(learning_rate=1e-5, batch_size=8, max_steps=None, base_encoder="a=b")


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
