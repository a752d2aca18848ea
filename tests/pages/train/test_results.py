"""The results of a finished training run on the train page."""

from __future__ import annotations

import pytest
import yaml
from sqlalchemy import Engine
from streamlit.testing.v1 import AppTest

from db.engine import reading, writing
from db.models import RunState
from db.runs import get_run
from db.settings import load_settings
from pages.components.train.results import curve_charts
from pages.components.train.section_choice import RESULTS, RUNS, SECTION
from tests.pages.train.support.states import (
    HOSTILE,
    finished_run,
    page,
    page_text,
    store_looks,
    stored_run,
)
from tests.support.checkout import APP
from tests.support.old_recipes import OLD_RECIPES
from training.evaluation.probes import (
    own_probes,
)
from training.recipe.presets import PRESETS, QUICK
from training.runs.curves import ROLES, Band


def test_without_a_training_the_results_link_to_the_bundled_model(project: Engine) -> None:
    (link,) = page(RESULTS).get("page_link")
    assert link.proto.label == "See what training changes"
    assert link.proto.query_string == "a=all-MiniLM-L6-v2&b=hedgerow-minilm"


@pytest.mark.parametrize("section", [RESULTS, RUNS])
def test_without_a_training_the_results_link_to_the_train_section(
    project: Engine, section: str
) -> None:
    test = page(section)
    test.button("empty-results-go").click().run()
    assert test.button("train-click").label == "Finetune"


def test_a_finished_training_shows_figures_and_model(project: Engine) -> None:
    run_id = finished_run(project)
    store_looks(project, run_id)
    test = page()
    assert (
        "The model ranks 92.5% of the held-out triples correctly; its base encoder ranks 50.0%"
        in page_text(test)
    )
    test.button(f"train-show-{run_id}").click().run()
    text = page_text(test)
    assert [element.value for element in test.header] == [
        "On the validation split",
        "Figure 1",
        "Similarity of anchor and variant, by type",
        "Trade-off between negation and general ability",
        "Training curves",
        "The model",
        "The recipe",
    ]
    assert test.query_params["run"] == str(run_id)
    ranked, retrieval, drift = test.table[0].value.to_dict("records")
    assert (ranked["Before"], ranked["After"], ranked["Items"]) == (
        "50.0%",
        "92.5%",
        "1,234 triples",
    )
    assert (retrieval["Before"], retrieval["Items"]) == ("0.800", "300 questions")
    assert "MRR@10 on 300 bundled questions" in retrieval["What it means"]
    assert (drift["After"], drift["Items"]) == ("0.020", "200 sentences")
    assert len(test.get("vega_lite_chart")) == 3 + 5
    model = load_settings().data_folder / f"runs/{run_id:05d}-train" / "model"
    assert f"SentenceTransformer({str(model)!r})" in test.code[0].value
    assert f"The model is no longer at {model}." in text
    assert "Trained with the “standard” preset for 3 steps, keeping step 2 as the best" in text
    assert "on 18 triples of release 1 with seed 1" in text
    assert any("A random sample of 27 of 9,000" in note.value for note in test.caption)
    assert test.dataframe[0].value["Change"].tolist() == [-0.1] * 3
    (link,) = test.get("page_link")
    assert "Compare the two" in link.proto.label
    assert link.proto.query_string.startswith("a=")


@pytest.mark.parametrize("version", list(OLD_RECIPES))
def test_a_training_by_an_older_version_still_opens(project: Engine, version: int) -> None:
    run_id = finished_run(project)
    with writing(project) as session:
        run = get_run(session, run_id)
        run.result = {k: v for k, v in run.result.items() if k not in ("held_out", "kept_step")}
        kept = {key: run.parameters[key] for key in ("release", "seed")}
        run.parameters = kept | {"recipe": OLD_RECIPES[version]}
    test = page(RESULTS)
    assert "has no evaluation on held-out anchors" in page_text(test)
    recipe = OLD_RECIPES[version]
    rows = "32 triples" if version == 1 else f"{recipe['batch_size']} families"
    assert f"Trained for 3 steps, with a batch size of {rows}, on" in page_text(test)
    assert yaml.safe_load(test.code[-2].value) == recipe
    assert not [button for button in test.button if button.label.startswith("Use this")]
    assert f"The recipe of run {run_id} has version {version}, expected" in page_text(test)
    assert f"version: {version}" in page(RUNS).dataframe[0].value["Recipe"][0]


def test_a_recipe_is_described_by_its_differences_from_the_nearest_preset(project: Engine) -> None:
    run_id = finished_run(project)
    mine = PRESETS[QUICK].recipe.model_copy(update={"batch_size": 16})
    with writing(project) as session:
        run = get_run(session, run_id)
        run.parameters = {**run.parameters, "preset": None, "recipe": mine.model_dump(mode="json")}
    assert "Differences from the “quick” preset:" in page_text(page(RESULTS))
    assert page(RUNS).dataframe[0].value["Recipe"].tolist() == ["quick, but batch_size: 16"]


def test_hostile_texts_of_a_finished_training_reach_no_markdown(project: Engine) -> None:
    finished_run(project)
    assert HOSTILE in page_text(page())
    for test in (page(), page(RESULTS)):
        rendered = [*test.markdown, *test.caption, *test.title, *test.header]
        assert not [element for element in rendered if "onerror" in element.value]
        assert not [expander for expander in test.expander if "onerror" in expander.label]


def test_a_link_leads_to_the_results_of_its_run(project: Engine) -> None:
    old = stored_run(project, state=RunState.FAILED, message="The first.")
    stored_run(project, state=RunState.FAILED, message="The second.")
    test = AppTest.from_file(str(APP), default_timeout=60)
    test.run()
    test.query_params["run"] = str(old)
    test.session_state[SECTION] = RESULTS
    test.switch_page("pages/train.py").run()
    assert "The first." in page_text(test)
    (choice,) = [box for box in test.selectbox if box.label == "Run"]
    choice.set_value(old + 1).run()
    assert "The second." in page_text(test)
    assert test.query_params["run"] == str(old + 1)


def test_your_own_probes_are_stored_at_once_and_errors_lose_nothing(project: Engine) -> None:
    test = page()
    test.text_input("train-probe-anchor").set_value("It rains.")
    test.text_input("train-probe-text").set_value(" ")
    add = next(button for button in test.button if button.label == "Add")
    add.click().run()
    assert "second sentence of the pair is empty" in page_text(test)
    assert test.text_input("train-probe-anchor").value == "It rains."
    test.text_input("train-probe-text").set_value(HOSTILE)
    next(button for button in test.button if button.label == "Add").click().run()
    assert HOSTILE in page_text(test)
    assert test.text_input("train-probe-anchor").value == ""
    with reading(project) as session:
        (stored,) = own_probes(session)
    test.button(f"train-probe-{stored.id}").click().run()
    assert HOSTILE not in page_text(test)
    with reading(project) as session:
        assert own_probes(session) == []


def test_the_table_of_runs_has_the_recipe_and_all_scores_before_anything_else(
    project: Engine,
) -> None:
    finished_run(project)
    columns = page(RUNS).dataframe[0].value.columns.tolist()
    assert columns[:7] == [
        "Run",
        "Recipe",
        "Ranked",
        "Questions",
        "Drift",
        "STS",
        "Retrieval",
    ]


def test_four_roles_have_four_line_styles_and_each_band_can_be_shown_alone() -> None:
    bands = [
        Band(epoch, epoch, name, 0.5, 0.4, 0.6) for name in ROLES.values() for epoch in range(2)
    ]
    spec = curve_charts.cosines(bands, dark=False).to_dict()
    area, *edges = spec["layer"][:3]
    dashes = area["encoding"]["strokeDash"]["scale"]["range"]
    assert len({tuple(dash) for dash in dashes}) == len(ROLES) == 4
    (picked,) = spec["params"]
    assert picked["bind"] == "legend"
    for layer in (area, *edges):
        (condition,) = layer["encoding"]["opacity"]["condition"]
        assert condition["param"] == picked["name"]


def test_the_bands_of_a_run_in_progress_only_change_their_data() -> None:
    specs = [
        curve_charts.cosines(
            [Band(epoch, epoch, "negations", 0.5, 0.4, 0.6) for epoch in range(epochs)],
            dark=False,
        ).to_dict()
        for epochs in (2, 3)
    ]
    for spec in specs:
        spec.pop("data", None)
        for layer in spec["layer"]:
            layer.pop("data", None)
    assert specs[0] == specs[1]
