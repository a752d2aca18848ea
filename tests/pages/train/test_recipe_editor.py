"""The recipe on the train page: fields, text and files show the same recipe."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from sqlalchemy import Engine
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import TextArea

from db.engine import reading, writing
from db.models import Split
from db.runs import list_runs
from db.settings import load_settings
from pages.components.train.section_choice import RESULTS, SECTION, TRAIN
from tests.curation.support.families import add_plain_family
from tests.pages.train.support.states import HOSTILE, page, page_text
from training.recipe.plan import KIND
from training.recipe.presets import PRESETS
from training.recipe.schema import SOURCE_SHARES, Recipe
from training.recipe.yaml_text import parse_recipe


def box(test: AppTest) -> TextArea:
    """The recipe's text."""
    return next(area for area in test.text_area if area.label == "Recipe (YAML)")


def field(test: AppTest, name: str) -> Any:
    """The widget that currently shows a key of the recipe."""
    widgets = [*test.number_input, *test.selectbox, *test.text_input]
    key = f"train-field-{name}"
    return next(w for w in widgets if re.fullmatch(rf"{key}(-\d+)?", w.key or ""))


def upload(test: AppTest, key: str, content: bytes) -> None:
    test.file_uploader(key).set_value(("some.txt", content, "text/plain")).run()


def test_a_wrong_recipe_is_reported_in_one_sentence_and_kept(
    project: Engine, started: list[int]
) -> None:
    test = page()
    box(test).set_value("epoch: 3").run()
    assert "The recipe has no key 'epoch'" in page_text(test)
    assert "fields above have no effect" in page_text(test)
    assert field(test, "epochs").disabled
    assert test.button("train-click").disabled
    assert page_text(test).count("no key 'epoch'") == 2  # next to the button, and above the box
    assert box(test).value == "epoch: 3"
    box(test).set_value("epochs: 3\nbatch_size: 4").run()
    test.button("train-click").click().run()
    with reading(project) as session:
        (run,) = list_runs(session, kind=KIND)
    assert run.parameters["recipe"] == Recipe(epochs=3, batch_size=4).model_dump(mode="json")


def test_fields_and_yaml_edit_the_same_recipe(project: Engine) -> None:
    test = page()
    box(test).set_value("epochs: 3\nbatch_size: 4\nlora_rank: 8").run()
    assert field(test, "epochs").value == 3.0
    assert field(test, "lora_rank").value == 8
    field(test, "epochs").set_value(5.0).run()
    field(test, "data").set_value("negation").run()
    field(test, "lora_rank").set_value(None).run()
    field(test, "early_stopping").set_value("families").run()
    wanted = Recipe(
        epochs=5, batch_size=4, data="negation", lora_rank=None, early_stopping="families"
    )
    assert parse_recipe(box(test).value) == wanted
    assert not test.exception


def test_shares_of_sources_without_triples_are_reported(project: Engine) -> None:
    def reported(test: AppTest) -> list[str]:
        return [
            caption.value
            for caption in test.caption
            if "their shares have no effect" in caption.value
        ]

    test = page()
    (sentence,) = reported(test)
    assert all(source in sentence for source in SOURCE_SHARES)
    box(test).set_value("sources: {}").run()
    assert not reported(test)


def test_stale_values_from_the_browser_change_nothing(project: Engine, started: list[int]) -> None:
    """The button is clicked before the browser knows that the text has changed the fields."""
    test = page()
    before = field(test, "epochs").key, field(test, "epochs").value
    box(test).set_value("epochs: 6\nbatch_size: 4").run()
    test.session_state[before[0]] = before[1]
    test.button("train-click").click().run()
    with reading(project) as session:
        (run,) = list_runs(session, kind=KIND)
    assert run.parameters["recipe"] == Recipe(epochs=6, batch_size=4).model_dump(mode="json")


def test_a_field_returns_at_once_to_its_value_from_before_the_edit(
    project: Engine,
) -> None:
    test = page()
    before = field(test, "epochs").value
    box(test).set_value("epochs: 6\nbatch_size: 4").run()
    field(test, "epochs").set_value(before).run()
    assert parse_recipe(box(test).value) == Recipe(epochs=before, batch_size=4)


def test_a_field_that_the_recipe_refuses_changes_nothing(project: Engine) -> None:
    test = page()
    box(test).set_value("batch_size: 4\nmax_triples: 6").run()
    field(test, "batch_size").set_value(9).run()
    assert "max_triples (6) must be at least batch_size (9)" in page_text(test)
    assert field(test, "batch_size").value == 4
    assert parse_recipe(box(test).value) == Recipe(batch_size=4, max_triples=6)


def test_edits_survive_a_visit_to_another_section(project: Engine) -> None:
    test = page()
    field(test, "epochs").set_value(6.5).run()
    test.segmented_control(SECTION).set_value(RESULTS).run()
    assert "No training run has finished yet" in page_text(test)
    test.segmented_control(SECTION).set_value(TRAIN).run()
    assert field(test, "epochs").value == 6.5
    next(button for button in test.button if button.label == "Reset to the preset").click().run()
    assert field(test, "epochs").value == PRESETS["quick"].recipe.epochs


def test_every_key_of_the_recipe_is_explained(project: Engine) -> None:
    shown = page_text(page())
    for name, field_ in Recipe.model_fields.items():
        assert field_.description and f"{name}: " in shown
        assert field_.description.replace("\n", " ") in shown


def test_variants_left_out_by_the_recipe_are_counted(project: Engine, started: list[int]) -> None:
    test = page()
    assert "(18 triples in the training split)" in page_text(test)
    box(test).set_value("batch_size: 4\ntypes: {verbal: 0}").run()
    assert "(9 triples, from 18 triples in the training split)" in page_text(test)
    box(test).set_value("batch_size: 4\ntypes: {verbal: 0, lexical: 0}").run()
    assert "leaves none" in page_text(test)
    assert test.button("train-click").disabled


def test_several_sources_have_a_field_each_for_their_share(
    project: Engine, started: list[int]
) -> None:
    test = page()
    assert "Share of each source" not in page_text(test)
    with writing(project) as session:
        for number in range(50, 58):
            add_plain_family(session, number, split=Split.TRAIN, source=HOSTILE)
    test = page()
    assert "Share of each source's families per epoch" in page_text(test)
    assert field(test, "source:A corpus").value == 1.0
    field(test, "batch_size").set_value(4).run()
    hostile = field(test, re.escape(f"source:{HOSTILE}"))
    assert hostile.label == "Share of source 2"
    hostile.set_value(0.5).run()
    wanted = Recipe().sources | {HOSTILE: 0.5}
    assert parse_recipe(box(test).value).sources == wanted
    assert "on 13 families, the part of 17 families that one epoch uses" in page_text(test)
    field(test, "source:A corpus").set_value(0.0).run()
    assert "on 4 families, the part of 8 families that one epoch uses" in page_text(test)
    test.button("train-click").click().run()
    with reading(project) as session:
        (run,) = list_runs(session, kind=KIND)
    assert run.parameters["recipe"]["sources"] == wanted | {"A corpus": 0.0}


def test_a_file_is_stored_by_its_content_and_named_in_the_recipe(project: Engine) -> None:
    test = page()
    upload(test, "train-file-sts_file", b"4\tA dog.\tA hound.\n1\tA dog.\tRain.\n3\tA\tB\n")
    assert "STS file: 3 sentence pairs" in page_text(test)
    path = parse_recipe(box(test).value).sts_file
    assert path is not None and Path(path).parent.parent == load_settings().data_folder
    test.button("train-file-drop-sts_file").click().run()
    assert parse_recipe(box(test).value).sts_file is None
    upload(test, "train-file-sts_file", b"nonsense")
    assert "some.txt: Expected" in page_text(test)
    assert str(load_settings().data_folder) not in page_text(test)
    assert parse_recipe(box(test).value).sts_file is None
