"""Recipes: validation in one sentence, YAML and back, changes, and the content hash."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curation.corpora.corpus import CORPORA
from curation.encoders.model_folders import DEFAULT_ENCODER
from db.errors import HedgerowError
from training.recipe.schema import RECIPE_VERSION, Recipe
from training.recipe.weights import weights_in
from training.recipe.yaml_text import parse_recipe

SOURCES = st.sampled_from(["word", "näme", "my file.csv", "a, b: c", ":", "ten:1"])
WEIGHTS = st.dictionaries(SOURCES, st.just(1) | st.floats(0, 1), max_size=3)


@st.composite
def recipes(draw: st.DrawFn) -> Recipe:
    batch_size = draw(st.integers(2, 512))
    loss = draw(st.sampled_from(["symmetric", "family", "triples"]))
    file = draw(st.none() | st.sampled_from(["a: b.tsv", "c:\\d", "'é' #"]))
    watched = draw(st.none() | st.sampled_from(["ranked", "families", "questions", "sts"]))
    return Recipe(
        base_encoder=draw(st.sampled_from([DEFAULT_ENCODER, "owner/näme", "./a folder: x"])),
        pooling=draw(st.sampled_from(["as_base", "mean", "cls", "max"])),
        data=draw(st.sampled_from(["all", "paper", "negation", "hedging"])),
        sources=draw(WEIGHTS),
        types=draw(st.just({}) if loss == "triples" else WEIGHTS),
        max_triples=draw(st.none() | st.integers(batch_size, 10**9)),
        loss=loss,
        scale=draw(st.floats(0.1, 1000)),
        order_weight=draw(st.floats(0, 100)),
        negation_margin=draw(st.floats(0, 1)),
        epochs=draw(st.floats(1e-6, 1000)),
        max_steps=draw(st.none() | st.integers(1, 10**9)),
        batch_size=batch_size,
        learning_rate=draw(st.floats(1e-12, 0.5)),
        max_seq_length=draw(st.none() | st.integers(8, 10**6)),
        retention=draw(st.floats(-0.0, 1000)),
        retention_file=file,
        interpolation=draw(st.floats(0.01, 1)),
        lora_rank=draw(st.none() | st.integers(1, 64)),
        early_stopping=watched,
        sts_file="sts.tsv" if watched == "sts" else file,
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
    "sources": {"x": 0.5},
    "types": {"x": 0.5},
    "max_triples": 9999,
    "loss": "family",
    "scale": 31,
    "order_weight": 0.33,
    "epochs": 7.5,
    "max_steps": 9,
    "batch_size": 7,
    "learning_rate": 1e-6,
    "query_prompt": "query:",
    "document_prompt": "passage:",
    "max_seq_length": 99,
    "retention": 0.37,
    "retention_file": "x",
    "interpolation": 0.38,
    "lora_rank": 3,
    "dropout": 0.1,
    "soup": 7,
    "negation_margin": 0.21,
    "early_stopping": "families",
    "sts_file": "x",
}
"""A value for every field that is not its default."""

MOST_SETTINGS = 25
"""Values that nobody would change are constants."""


def test_a_recipe_has_few_settings() -> None:
    assert len(set(Recipe.model_fields) - {"version"}) <= MOST_SETTINGS


def test_every_field_changes_the_hash() -> None:
    assert set(OTHER) == set(Recipe.model_fields) - {"version"}
    hashes = {Recipe(**{name: value}).hash for name, value in OTHER.items()}
    assert len(hashes | {Recipe().hash}) == len(OTHER) + 1


def test_a_recipe_does_not_change():
    with pytest.raises(Exception, match="frozen"):
        Recipe().epochs = 3


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"learing_rate": 1e-5}, r"no key 'learing_rate'; did you mean 'learning_rate'"),
        ({"batchsize": 8}, "did you mean 'batch_size'"),
        ({"learning_rate": 0}, "learning_rate should be greater than 0, found 0"),
        ({"learning_rate": "fast"}, "learning_rate should be a valid number.*found 'fast'"),
        ({"epochs": float("inf")}, "epochs should be a finite number"),
        ({"epochs": True}, "epochs expected a number.*found True"),
        ({"batch_size": 1}, "batch_size should be greater than or equal to 2"),
        ({"batch_size": 8.5}, "batch_size should be a valid integer"),
        ({"loss": "cosine"}, "loss should be 'family', 'symmetric' or 'triples', found 'cosine'"),
        ({"pooling": "sum"}, "pooling should be 'as_base', 'mean', 'cls' or 'max'"),
        ({"early_stopping": "sts"}, "early_stopping by 'sts' needs sentence pairs; set sts_file"),
        ({"early_stopping": "drift"}, "early_stopping should be 'ranked'"),
        ({"interpolation": 0}, "interpolation should be greater than 0"),
        ({"sts_file": ""}, "sts_file should have at least 1 character"),
        ({"types": 5}, "types should be a valid dictionary"),
        ({"types": ["word"]}, "types should be a valid dictionary"),
        ({"types": {"word": 2}}, "types of 'word' should be less than or equal to 1, found 2"),
        ({"types": {"word": "often"}}, "types of 'word' should be a valid number"),
        ({"sources": {"Mine": -0.1}}, "sources of 'Mine' should be greater than or equal to 0"),
        ({"sources": {"Mine": float("nan")}}, "sources of 'Mine' should be"),
        ({"sources": {"Mine": True}}, "sources expected a number from 0 to 1 for each name"),
        ({"sources": {"a\0b": 0.5}}, "sources expected names without a null character"),
        ({"sources": {"a\ud800b": 0.5}}, "sources.* should be a valid string"),
        ({"sources": {1: 0.5}}, "sources.* should be a valid string"),
        ({"types": {"word": 0.5}, "loss": "triples"}, "must be 0 or 1; change them, or choose"),
        ({"base_encoder": "  "}, "base_encoder should have at least 1 character"),
        (
            {"version": RECIPE_VERSION + 1},
            f"version {RECIPE_VERSION + 1}, expected {RECIPE_VERSION}; a newer version needs a "
            "newer Hedgerow",
        ),
        ({"version": None}, f"version None, expected {RECIPE_VERSION}"),
        ({"version": 7}, f"version 7, expected {RECIPE_VERSION}; an older Hedgerow wrote it, so"),
        ({"max_triples": 7, "batch_size": 8}, r"max_triples \(7\) must be at least batch_size"),
        ({"scale": -1, "dropout": 1}, "scale .*; dropout should be less than 1"),
        ({"epochs": "x" * 5000}, "epochs"),
    ],
)
def test_a_wrong_value_gives_one_short_sentence(values, sentence):
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
        ("word:0.5,verbal:0", {"verbal": 0.0, "word": 0.5}),
        (" word : 0.5 , phrase:1, ", {"word": 0.5}),
        ("", {}),
        ("none", {}),
    ],
)
@pytest.mark.parametrize("key", ["sources", "types"])
def test_weights_of_names_are_one_word(key: str, word: str, expected: dict[str, float]) -> None:
    recipe = Recipe(types={"lexical": 0})
    assert getattr(recipe.with_overrides([f"{key}={word}"]), key) == expected


@given(st.text(alphabet=":, a0.5", max_size=200))
def test_any_line_of_weights_is_read_or_refused(line: str) -> None:
    try:
        found = weights_in(line)
    except ValueError:
        return
    assert (not found) == (not line.strip())


def test_a_long_line_of_weights_is_refused_at_once() -> None:
    for line in (" " * 60_000 + "a", "a:" * 30_000, "a :" * 20_000 + " " * 5_000):
        with pytest.raises(HedgerowError, match="The recipe is not valid: sources"):
            Recipe(sources=line)


def test_a_weight_of_one_is_the_same_as_none() -> None:
    plain, weighted = Recipe(sources={}), Recipe(sources={"Mine": 1}, types={"word": 1.0})
    assert plain == weighted and plain.hash == weighted.hash
    one, other = {"a": 0.5, "b": 0}, {"b": -0.0, "a": 0.5, "c": 1}
    assert Recipe(sources=one).hash == Recipe(sources=other).hash
    assert Recipe(sources=one).to_yaml() == Recipe(sources=other).to_yaml()


def test_the_bundled_corpora_are_sampled_by_a_share_unless_the_recipe_says_otherwise() -> None:
    assert set(Recipe().sources) == {CORPORA[name].source for name in ("antonyms", "claims")}
    assert all(0 < share < 0.5 for share in Recipe().sources.values())
    assert Recipe().with_overrides(["sources=none"]).sources == {}


@pytest.mark.parametrize("key", ["max_steps", "early_stopping", "sts_file", "lora_rank"])
def test_none_means_no_limit_no_file_no_metric(key: str) -> None:
    assert getattr(Recipe(**{key: OTHER[key]}).with_overrides([f"{key}=None"]), key) is None


@settings(deadline=None, max_examples=50)
@given(first=recipes(), second=recipes())
def test_overrides_can_make_any_recipe_of_any_other(first: Recipe, second: Recipe) -> None:
    def word(value: object) -> str:
        if isinstance(value, dict):
            return ",".join(f"{name}:{weight}" for name, weight in value.items())
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
        ("epoch=3", "did you mean 'epochs'"),
        ("epochs=", "epochs should be a valid number"),
        ("epochs=none", "epochs should be a valid number"),
        ("types=word", "types expected name:weight, separated by commas, such as word:0.5"),
        ("types=word:", "types of 'word' should be a valid number"),
        ("types=word:0.5,word:1", "types expected each name once, found 'word' twice"),
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
