"""The choice of a preset on the train page, and a recipe that differs from all presets."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import Engine
from streamlit.testing.v1 import AppTest

from db.engine import reading
from db.runs import list_runs
from pages.components.train.section_choice import SECTION, STUDIES, TRAIN
from pages.components.train.start.recipe_editor import OWN, PRESET
from tests.pages.train.support.states import page, page_text
from tests.pages.train.test_recipe_editor import box, field
from training.recipe import presets
from training.recipe.plan import KIND
from training.recipe.presets import PRESETS
from training.recipe.schema import Recipe
from training.recipe.yaml_text import parse_recipe


def choice(test: AppTest) -> Any:
    """The widget that currently shows the preset."""
    widgets = [w for w in test.segmented_control if (w.key or "").startswith(PRESET)]
    return widgets[0]


def test_the_preset_that_fits_is_chosen_and_says_why(project: Engine) -> None:
    test = page()
    assert choice(test).value == "quick"
    assert choice(test).options == ["Quick", "Standard", "Thorough", "Paper"]
    assert "Preset: quick, because the first release has 9 families to train on. " in page_text(
        test
    )
    assert parse_recipe(box(test).value) == PRESETS["quick"].recipe


def test_another_preset_changes_the_recipe_the_estimate_and_what_is_trained(
    project: Engine, started: list[int]
) -> None:
    test = page()
    assert "Trains all-MiniLM-L6-v2" in page_text(test)
    assert "3 steps with a batch size of 8, on 9" in page_text(test)
    choice(test).set_value("thorough").run()
    assert f"Preset: thorough. {PRESETS['thorough'].purpose}" in page_text(test)
    assert "3 training runs of 3 steps with a batch size of 8, on 9" in page_text(test)
    assert parse_recipe(box(test).value) == PRESETS["thorough"].recipe
    test.button("train-click").click().run()
    with reading(project) as session:
        (run,) = list_runs(session, kind=KIND)
    assert run.parameters["preset"] == "thorough"


def test_an_edited_recipe_becomes_your_own_and_stays_available(project: Engine) -> None:
    test = page()
    field(test, "epochs").set_value(3.5).run()
    own = box(test).value
    assert choice(test).value == OWN and choice(test).options[-1] == "Your own"
    assert "Your own recipe. It differs from every preset." in page_text(test)
    choice(test).set_value("standard").run()
    assert parse_recipe(box(test).value) == PRESETS["standard"].recipe
    assert choice(test).options[-1] == "Your own"
    choice(test).set_value(OWN).run()
    assert box(test).value == own
    field(test, "epochs").set_value(PRESETS["quick"].recipe.epochs).run()
    assert choice(test).value == "quick"


def test_a_text_that_is_not_a_recipe_counts_as_your_own(project: Engine) -> None:
    test = page()
    box(test).set_value("epoch: 3").run()
    assert choice(test).value == OWN
    choice(test).set_value("quick").run()
    assert parse_recipe(box(test).value) == PRESETS["quick"].recipe
    assert choice(test).options[-1] == "Your own"


def test_stale_choices_from_the_browser_change_nothing(project: Engine, started: list[int]) -> None:
    test = page()
    before = choice(test).key, choice(test).value
    box(test).set_value("epochs: 3\nbatch_size: 4").run()
    test.session_state[before[0]] = before[1]
    test.button("train-click").click().run()
    with reading(project) as session:
        (run,) = list_runs(session, kind=KIND)
    assert run.parameters["preset"] is None
    assert run.parameters["recipe"] == Recipe(epochs=3, batch_size=4).model_dump(mode="json")


def test_a_larger_release_gets_another_preset(
    project: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(presets, "STANDARD_FAMILIES", 9)
    test = page()
    assert choice(test).value == "standard"
    assert "Preset: standard, because the first release has 9 families to train on. " in page_text(
        test
    )


def test_studies_can_use_their_own_recipe(project: Engine, started: list[int]) -> None:
    test = page()
    test.button("train-click").click().run()  # makes a release
    choice(test).set_value("thorough").run()
    test.segmented_control(SECTION).set_value(STUDIES).run()
    assert "Uses the “thorough” preset" not in page_text(test)
    next(box for box in test.selectbox if box.label == "Recipe").set_value("standard").run()
    assert "Uses the “standard” preset, except for what the study varies." in page_text(test)
    test.segmented_control(SECTION).set_value(TRAIN).run()
    box(test).set_value("epochs: 3\nbatch_size: 4").run()
    test.segmented_control(SECTION).set_value(STUDIES).run()
    assert "Uses your edited recipe, except for what the study varies." in page_text(test)
