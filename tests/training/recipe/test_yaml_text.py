"""Recipes as YAML text and in files: equal after reading, or refused in one sentence."""

from pathlib import Path

import pytest

from db.errors import HedgerowError
from training.recipe.schema import Recipe
from training.recipe.yaml_text import LARGEST, parse_recipe, read_recipe

WRONG = [
    ("", "Expected 'key: value' lines"),
    ("- 1", "Expected 'key: value' lines"),
    ("1: 2", "Expected 'key: value' lines"),
    ("epochs: 1\nscale: [", "not valid YAML at line 2"),
    ("{[a]: b}", "not valid YAML at line 1"),
    ("epochs: yes", "epochs expected a number"),
    ("epoch: 1", "did you mean 'epochs'"),
    ("base_encoder: [a]", "base_encoder should be a valid string"),
    ("base_encoder: &a [*a]", "has the alias"),
    ("epochs: !!python/object/apply:os.getcwd []", "not valid YAML"),
    ("epochs: 2026-99-99", "not valid YAML"),
    ("epochs: " + 5000 * "9", "not valid YAML"),
    ("[" * 600, "not valid YAML"),
    ("epochs: 1\nscale: 20\nepochs: 2", "has the key 'epochs' twice, on line 3"),
    ('base_encoder: "a\\0b"', "a null character in 'base_encoder'"),
]


@pytest.mark.parametrize(("content", "sentence"), WRONG)
def test_a_text_that_is_not_a_recipe_is_refused(
    tmp_path: Path, content: str, sentence: str
) -> None:
    path = tmp_path / "recipe.yaml"
    path.write_text(content, encoding="utf-8")
    for read in (lambda: parse_recipe(content), lambda: read_recipe(path)):
        with pytest.raises(HedgerowError, match=sentence) as caught:
            read()
        assert "\n" not in str(caught.value) and len(str(caught.value)) < 300


def test_aliases_that_would_make_a_million_values_are_refused_at_once() -> None:
    names = "abcdefghi"
    lines = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    for name, before in zip(names[1:], names, strict=False):
        lines.append(f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]")
    with pytest.raises(HedgerowError, match=r"has the alias '\*a'; expected plain values"):
        parse_recipe("\n".join(lines))


def test_a_text_that_is_too_long_for_a_recipe_is_refused(tmp_path: Path) -> None:
    with pytest.raises(HedgerowError, match="The recipe is too long"):
        parse_recipe("#" * (LARGEST + 1))
    (tmp_path / "recipe.yaml").write_text("#" * (LARGEST + 1), encoding="utf-8")
    with pytest.raises(HedgerowError, match="too large for a recipe"):
        read_recipe(tmp_path / "recipe.yaml")


def test_an_unreadable_file_gives_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(HedgerowError, match="No such file"):
        read_recipe(tmp_path / "nowhere.yaml")
    (tmp_path / "latin.yaml").write_bytes("base_encoder: näme".encode("latin-1"))
    with pytest.raises(HedgerowError, match="UTF-8"):
        read_recipe(tmp_path / "latin.yaml")


def test_an_error_in_a_recipe_names_its_file(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("- 1", encoding="utf-8")
    with pytest.raises(HedgerowError, match=r"in the recipe '.*mine\.yaml'"):
        read_recipe(tmp_path / "mine.yaml")


def test_keys_left_out_have_their_defaults(tmp_path: Path) -> None:
    (tmp_path / "recipe.yaml").write_text("\ufefflearning_rate: 1e-6\n", encoding="utf-8")
    expected = Recipe(learning_rate=1e-6)
    assert read_recipe(tmp_path / "recipe.yaml") == expected == parse_recipe("learning_rate: 1e-6")


@pytest.mark.parametrize("value", ["{word: 0.5, verbal: 0}", "word:0.5, verbal:0"])
def test_weights_are_a_mapping_or_a_line(value: str) -> None:
    assert parse_recipe(f"types: {value}").types == {"verbal": 0.0, "word": 0.5}


def test_an_empty_mapping_may_be_left_empty() -> None:
    assert parse_recipe("sources:\nmax_steps:").sources == {}


def test_a_file_of_another_version_is_refused(tmp_path: Path) -> None:
    (tmp_path / "old.yaml").write_text("version: 1\nmax_triples: 500\n", encoding="utf-8")
    with pytest.raises(HedgerowError, match="The recipe has version 1, expected"):
        read_recipe(tmp_path / "old.yaml")
