"""Presets: which one fits a release, and which one equals a recipe."""

from __future__ import annotations

import pytest

from curation.corpora import source_names
from db.errors import HedgerowError
from training.recipe.plan import Amount, TrainingPlan
from training.recipe.presets import (
    PAPER,
    PRESETS,
    QUICK,
    STANDARD,
    STANDARD_FAMILIES,
    THOROUGH,
    Preset,
    changes,
    fitting,
    named,
    nearest,
    preset_of,
    reason,
    recipe_for,
)
from training.recipe.schema import Recipe

STARTER = Amount(triples=11_949, anchors=1_016, texts=8_067, letters=91)
ANTONYMS = Amount(triples=22_000, anchors=10_813, texts=43_000, letters=57)


def plan_with(release: int | None = 3, **amounts: Amount) -> TrainingPlan:
    return TrainingPlan(release, 70, amounts)


def test_each_preset_says_what_it_is_for() -> None:
    assert list(PRESETS) == [QUICK, STANDARD, THOROUGH, PAPER]
    for preset_id, preset in PRESETS.items():
        assert (preset.id, preset.label.lower()) == (preset_id, preset_id)
        assert preset.purpose.startswith("Use it ") and preset.purpose.endswith(".")


def test_the_defaults_of_a_recipe_are_the_preset_standard() -> None:
    assert PRESETS[STANDARD].recipe == Recipe()
    assert PRESETS[THOROUGH].recipe == Recipe(soup=3)
    assert PRESETS[THOROUGH].recipe.trainings == 3


@pytest.mark.parametrize(
    ("anchors", "expected"),
    [(1_016, QUICK), (STANDARD_FAMILIES - 1, QUICK), (STANDARD_FAMILIES, STANDARD)],
)
def test_the_number_of_families_decides_which_one_fits(anchors: int, expected: str) -> None:
    assert fitting(plan_with(Mine=STARTER._replace(anchors=anchors))).id == expected


def test_the_larger_corpora_are_enough_for_standard() -> None:
    assert fitting(plan_with(Starter=STARTER)).id == QUICK
    both = TrainingPlan(3, 70, {"Starter": STARTER, source_names.ANTONYMS: ANTONYMS})
    assert fitting(both).id == STANDARD
    assert reason(both) == "release 3 has 11,829 families"


def test_the_reason_names_the_release_and_its_families() -> None:
    assert reason(plan_with(Mine=STARTER)) == "release 3 has 1,016 families"
    one = plan_with(None, Mine=STARTER._replace(anchors=1))
    assert reason(one) == "the first release has 1 family"


@pytest.mark.parametrize(("anchors", "batch"), [(5, 5), (1, 2), (0, 2), (8, 8), (900, 8)])
def test_a_tiny_release_has_batches_that_an_epoch_can_fill(anchors: int, batch: int) -> None:
    tiny = plan_with(Mine=STARTER._replace(anchors=anchors) if anchors else STARTER)
    if not anchors:
        tiny = plan_with()
    for preset in PRESETS.values():
        found = recipe_for(preset, tiny)
        assert found.batch_size == (64 if preset.id == PAPER and anchors == 900 else batch)
        assert found == preset.recipe.model_copy(update={"batch_size": found.batch_size})
        assert preset_of(found, tiny) == preset


def test_a_recipe_that_differs_from_every_preset_has_no_preset() -> None:
    whole = plan_with(Starter=STARTER)
    assert preset_of(PRESETS[QUICK].recipe, whole) == PRESETS[QUICK]
    assert preset_of(Recipe(epochs=5), whole) is None
    smaller = recipe_for(PRESETS[QUICK], plan_with(Mine=STARTER._replace(anchors=5)))
    assert preset_of(smaller, whole) is None


def test_a_name_that_is_not_a_preset_is_refused_with_one_sentence() -> None:
    assert named(THOROUGH) == PRESETS[THOROUGH]
    with pytest.raises(
        HedgerowError, match=r"a preset \(quick, standard, thorough, paper\), found 'fast'"
    ):
        named("fast")


@pytest.mark.parametrize("preset", PRESETS.values(), ids=lambda preset: preset.id)
def test_the_nearest_preset_is_the_one_with_the_fewest_other_keys(preset: Preset) -> None:
    values = preset.recipe.model_dump(mode="json")
    assert nearest([values]) == preset
    assert changes(values, preset) == {}
    other = values | {"batch_size": 16}
    assert nearest([other]) == preset
    assert changes(other, preset) == {"batch_size": 16}
    assert nearest([other, values | {"epochs": 9.0}]) == preset


def test_between_two_presets_a_recipe_is_compared_with_standard() -> None:
    between = Recipe(max_steps=PRESETS[QUICK].recipe.max_steps).model_dump(mode="json")
    assert nearest([between]) == PRESETS[STANDARD]
    assert changes(between, PRESETS[STANDARD]) == {"max_steps": 260}


def test_a_key_of_an_older_version_is_reported() -> None:
    old = {"gone": 1} | PRESETS[QUICK].recipe.model_dump(mode="json")
    assert changes(old, nearest([old])) == {"gone": 1}
