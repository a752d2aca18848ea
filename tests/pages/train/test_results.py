"""Results on the Train page, from rows: of a training run, of its trade-off, and of studies."""

from typing import Any

import pytest
import yaml
from sqlalchemy import Engine, update
from sqlmodel import col
from streamlit.testing.v1 import AppTest

from db.engine import writing
from db.models import Run, RunState, Split, TypeVersion
from db.runs import create_run, get_run
from db.settings import load_settings
from pages.components.shared.shell.open_project import ask, tell
from pages.components.train import tradeoff_section
from pages.components.train.training_runs import RESULTS, RUNS, SECTION, STUDIES, TRAIN
from tests.curation.support.families import add_plain_family
from tests.pages.conftest import Wording, unsafe_texts
from tests.pages.looks import change, charts, newest, page_text
from tests.pages.train.conftest import (
    HOSTILE,
    add_encoders,
    finished_run,
    page,
    store_looks,
    stored_run,
)
from tests.support.old_recipes import OLD_RECIPES
from tests.training.support.trainings import perform
from training.encoder_run import tradeoff_save
from training.encoder_run.tradeoff import SHARES
from training.encoder_run.tradeoff_curve import KEPT, KIND, group_of
from training.evaluation.probes import own_probes
from training.recipe.presets import PRESETS, QUICK
from training.recipe.schema import Recipe
from training.studies.designs import Study
from training.studies.members import trials
from training.studies.study_run import RUN_STUDY, RunStudy, list_studies


def test_without_a_training_the_results_link_to_the_bundled_model_and_the_train_section(
    project: Engine, wording: Wording
) -> None:
    for section in (RESULTS, RUNS):
        app = page(section)
        wording(app, "train", f"{section} without a training")
        assert [link.proto.query_string for link in app.get("page_link")] == [
            "a=all-MiniLM-L6-v2&b=hedgerow-minilm"
        ] * (section == RESULTS)
        app.button("empty-results-go").click().run()
        assert app.button("train-click")


def test_a_finished_training_shows_figures_and_model(
    project: Engine, wording: Wording, no_token: None
) -> None:
    run_id = finished_run(project)
    store_looks(project, run_id)
    app = page()
    assert "92.5%" in page_text(app) and "50.0%" in page_text(app)
    assert HOSTILE in page_text(app) and "onerror" not in unsafe_texts(app)
    app.button(f"train-show-{run_id}").click().run()
    wording(app, "train", "the results of a training")
    assert app.query_params["run"] == str(run_id) and "onerror" not in unsafe_texts(app)
    assert not [one for one in (*app.header, *app.expander) if "onerror" in str(one)]
    ranked, retrieval, drift = app.table[0].value.to_dict("records")
    assert (ranked["Before"], ranked["After"]) == ("50.0%", "92.5%")
    assert (retrieval["Before"], drift["After"]) == ("0.800", "0.020")
    items = [row["Items"].partition(" ")[0] for row in (ranked, retrieval, drift)]
    assert items == ["1,234", "300", "200"] and charts(app) == 3 + 5
    model = load_settings().data_folder / f"runs/{run_id:05d}-train" / "model"
    assert f"SentenceTransformer({str(model)!r})" in app.code[0].value
    assert f"{model}." in page_text(app), "it is missing"
    assert any("27 of 9,000" in note.value for note in app.caption)
    assert app.dataframe[0].value["Change"].tolist() == [-0.1] * 3
    (link,) = app.get("page_link")
    assert link.page == "compare" and link.proto.query_string.startswith("a=")
    app.button(f"train-reuse-{run_id}").click().run()
    assert app.session_state[SECTION] == TRAIN and Recipe().to_yaml() in [
        a.value for a in app.text_area
    ]
    table = page(RUNS).dataframe[0].value
    metrics = ["Ranked", "Questions", "Drift", "STS", "Retrieval"]
    assert table.columns.tolist()[:7] == ["Run", "Recipe", *metrics]


def test_older_and_other_recipes_are_described(project: Engine, no_token: None) -> None:
    run_id = finished_run(project)
    mine = PRESETS[QUICK].recipe.model_copy(update={"batch_size": 16})
    asked = dict(newest().parameters)
    change(run_id, parameters=asked | {"preset": None, "recipe": mine.model_dump(mode="json")})
    assert page(RUNS).dataframe[0].value["Recipe"].tolist() == ["quick, but batch_size: 16"]
    assert "“quick”" in page_text(page(RESULTS)), "the nearest preset"
    result = {k: v for k, v in newest().result.items() if k not in ("held_out", "kept_step")}
    for version, recipe in OLD_RECIPES.items():
        kept = {key: asked[key] for key in ("release", "seed")}
        change(run_id, result=result, parameters=kept | {"recipe": recipe})
        app = page(RESULTS)
        rows = "32 triples" if version == 1 else f"{recipe['batch_size']} families"
        assert rows in page_text(app) and yaml.safe_load(app.code[-2].value) == recipe
        assert not [button for button in app.button if str(button.key).startswith("train-reuse")]
        assert f"run {run_id} has version {version}" in page_text(app)
        assert f"version: {version}" in page(RUNS).dataframe[0].value["Recipe"][0]


def test_a_link_leads_to_the_results_of_its_run(project: Engine) -> None:
    old = stored_run(project, state=RunState.FAILED, message="The first.")
    stored_run(project, state=RunState.FAILED, message="The second.")
    app = page(RESULTS, run=str(old))
    assert "The first." in page_text(app)
    app.selectbox(f"train-run-{old + 1}").set_value(old + 1).run()
    assert "The second." in page_text(app) and app.query_params["run"] == str(old + 1)


def test_your_own_probes_are_stored_at_once_and_errors_lose_nothing(project: Engine) -> None:
    app = page()

    def add(text: str) -> None:
        app.text_input("train-probe-text").set_value(text)
        next(button for button in app.button if button.label == "Add").click().run()

    def stored() -> list[int]:
        return [probe.id for probe in ask(own_probes)]

    app.text_input("train-probe-anchor").set_value("It rains.")
    add(" ")
    assert stored() == [] and app.text_input("train-probe-anchor").value == "It rains."
    add(HOSTILE)
    assert HOSTILE in page_text(app) and app.text_input("train-probe-anchor").value == ""
    (probe,) = stored()
    app.button(f"train-probe-{probe}").click().run()
    assert HOSTILE not in page_text(app) and stored() == []


# -- trade-off -------------------------------------------------------------------------


@pytest.fixture
def training(app_engine: Engine, no_token: None) -> int:
    """A finished training run with a folder and the two encoders' rows. Three families are held
    out."""
    for number in range(6):
        tell(add_plain_family, number, split=Split.TRAIN if number < 3 else Split.VALIDATION)
    recipe = Recipe(batch_size=2, interpolation=1)
    run_id = stored_run(app_engine, state=RunState.DONE, recipe=recipe)
    before, after = tell(add_encoders, f"a {HOSTILE}", f"b {HOSTILE}")
    folder = newest().folder
    (load_settings().data_folder / folder / "model").mkdir(parents=True)
    result = {"run": run_id, "model": f"{folder}/model", "release": 1, "triples": 6, "steps": 2}
    result |= {"seconds": 5.0, "before_encoder_id": before, "encoder_id": after}
    change(run_id, result=result)
    return run_id


def figures(share: float) -> dict[str, float]:
    return {
        "ranked": 0.4 + 0.4 * share,
        "families": 0.1 + share * (1.6 - share) / 2,
        "drift": 0.1 * share**3,
        "ranked:word>verbal": 0.5,
        "sts": 0.8 - 0.02 * share,
        "retrieval": 0.8 - 0.1 * share,
    }


def store_curve(engine: Engine, training: int) -> int:
    with writing(engine) as session:
        parameters = {"training": training, "shares": list(SHARES), "sts": "", "sts_name": ""}
        run = create_run(session, kind=KIND, parameters=parameters, group=group_of(training))
        run.state = RunState.DONE
        run.result = {
            "points": [{"share": share, "figures": figures(share)} for share in SHARES],
            "own_share": 1.0,
            "counts": {"families": 3, "drift": 3},
            "sts": f"my {HOSTILE}.tsv",
        }
        return run.id


def can_measure(app: AppTest, training: int) -> bool:
    return f"tradeoff-click-{training}" in [button.key for button in app.button]


def test_one_click_measures_a_model_that_is_there_with_a_file_that_is_right(
    training: int,
    app_engine: Engine,
    started: list[int],
    monkeypatch: pytest.MonkeyPatch,
    wording: Wording,
) -> None:
    app = page(RESULTS)
    wording(app, "train", "results without a trade-off")
    real = tradeoff_section.StsFile
    with monkeypatch.context() as given:
        wrong = real("mine.tsv", b"no\nscores\n")
        given.setattr(tradeoff_section, "_given", lambda training: wrong)
        app.button(f"tradeoff-click-{training}").click().run()
    assert "mine.tsv: " in page_text(app) and started == []
    app.button(f"tradeoff-click-{training}").click().run()
    run = newest(KIND)
    assert (run.parameters["training"], run.parameters["shares"]) == (training, list(SHARES))
    assert started == [run.id] and not can_measure(app, training)
    change(run.id, state=RunState.CANCELLED)
    assert can_measure(app.run(), training)
    model = load_settings().data_folder / newest().folder / "model"
    model.rmdir()
    assert str(model.relative_to(load_settings().data_folder)) in page_text(app.run())
    assert not can_measure(app, training)


@pytest.mark.slow
def test_each_share_has_its_figures_and_the_chosen_one_is_saved_as_a_run_and_then_named(
    training: int, app_engine: Engine, started: list[int], wording: Wording
) -> None:
    curve_run = store_curve(app_engine, training)
    app = page(RESULTS)

    def chosen(share: float) -> Any:
        app.select_slider(f"tradeoff-share-{curve_run}").set_value(share).run()
        return app.button(f"tradeoff-save-{training}")

    slider = app.select_slider(f"tradeoff-share-{curve_run}")
    assert [float(option) for option in slider.options] == list(SHARES)
    assert 0 < float(slider.value) < 1  # the suggested point
    wording(app, "train", "a trade-off")
    assert chosen(0.0).disabled and chosen(1.0).disabled, "nothing new to save"
    chosen(0.3)
    (table,) = (t.value for t in app.table if any("Chosen" in str(c) for c in t.value.columns))
    (row,) = (row for row in table.itertuples(index=False) if "3 anchors" in row)
    assert list(row)[1:4] == ["10.0%", f"{0.1 + 0.3 * 1.3 / 2:.1%}", "40.0%"]
    assert f"my {HOSTILE}.tsv" in page_text(app) and HOSTILE not in unsafe_texts(app)
    app.segmented_control(f"tradeoff-x-{curve_run}").set_value(KEPT).run()
    assert not app.exception
    chosen(0.7).click().run()
    run = newest(tradeoff_save.KIND)
    assert (run.parameters, started) == ({"training": training, "share": 0.7}, [run.id])
    name = f"run 1 at 0.7 {HOSTILE}"
    (encoder,) = tell(add_encoders, name)
    saved = {"share": 0.7, "model": f"{run.folder}/model", "encoder_id": encoder, "name": name}
    change(run.id, state=RunState.DONE, result=saved)
    (load_settings().data_folder / run.folder / "model").mkdir(parents=True)
    app.run()
    assert f"'{name}'" in page_text(app) and HOSTILE not in unsafe_texts(app)
    assert app.button(f"tradeoff-save-{training}").disabled
    assert f"hedgerow push {run.id} --repo" in page_text(app)
    assert any(f"{run.folder}/model" in code.value for code in app.code)


# -- studies and runs ------------------------------------------------------------------

BASE = Recipe(batch_size=2)


@pytest.fixture
def renamed(released: Engine) -> Engine:
    """A release, and a hostile name for one of its types."""
    with writing(released) as session:
        hostile = update(TypeVersion).where(col(TypeVersion.type_id) == "verbal")
        session.execute(hostile.values(label=HOSTILE))
    return released


def result(place: int) -> dict[str, object]:
    before = {"ranked": 0.5, "questions": 0.0, "drift": 0.0, "retrieval": 0.8}
    after = {"ranked": 0.9 - place / 10, "questions": 0.8, "drift": 0.05, "retrieval": 0.75}
    return {
        "triples": 24 // 2**place,
        "steps": 3,
        "seconds": 90.0,
        "held_out": {"before": before, "after": after, "of": {"ranked": 20, "retrieval": 300}},
    }


def stored(engine: Engine, study: Study, *, state: RunState = RunState.DONE) -> list[int]:
    """A study whose first runs are done, and whose last one has failed. Its run, then theirs."""
    request = RunStudy(name=study, recipe=BASE, seed=1)
    number = perform(engine, RUN_STUDY, request).id
    with writing(engine) as session:
        run = get_run(session, number)
        run.state = state
        *done, last = (trial.run for trial in trials(session, run))
        for place, child in enumerate(done):
            child.state, child.result = RunState.DONE, result(place)
        last.state, last.message = RunState.FAILED, f"It diverged {HOSTILE}."
        return [run.id, *(child.id for child in (*done, last))]


def test_one_click_stores_a_study_with_the_chosen_recipe_and_starts_its_process(
    renamed: Engine, started: list[int], wording: Wording
) -> None:
    app = page(STUDIES)
    wording(app, "train", "studies")
    assert app.button("study-start-writers").disabled, "no variant is written by rules"
    assert "onerror" not in unsafe_texts(app)
    app.selectbox("study-recipe-0").set_value("thorough").run()
    assert page_text(app).count("“thorough”") > 1
    app.session_state["train_recipe"] = BASE.to_yaml()
    app.run()
    assert "“thorough”" not in page_text(app)
    app.selectbox("study-recipe-1").set_value("paper").run()
    assert "“paper”" in page_text(app)
    app.session_state["train_recipe"] = BASE.to_yaml()
    app.run()
    app.button("study-start-types").click().run()
    (run,) = ask(list_studies)
    members = ask(trials, run)
    assert started == [run.id]
    assert f"run {run.id}" in page_text(app) and app.button("study-start-triples").disabled
    assert f"Without {HOSTILE}: waiting (run {members[1].run.id})" in page_text(app)
    assert "onerror" not in unsafe_texts(app)
    app = page(TRAIN)
    assert f"Run {run.id}" in page_text(app), "one line"
    assert f"cancel-{run.id}" not in [button.key for button in app.button]
    app.button("train-show-study").click().run()
    assert app.session_state[SECTION] == STUDIES


def test_without_a_release_studies_link_to_creating_one(project: Engine, wording: Wording) -> None:
    app = page(STUDIES)
    wording(app, "train", "studies without a release")
    assert "release" in [link.page for link in app.get("page_link")]


def test_a_study_shows_chart_table_and_what_failed(renamed: Engine, wording: Wording) -> None:
    _, *members = stored(renamed, Study.TYPES)
    app = page(STUDIES)
    wording(app, "train", "a finished study")
    assert charts(app) == 1
    table = app.dataframe[0].value
    arms = ["base encoder", "All types", f"Without {HOSTILE}", "Without Lexical negation"]
    assert list(table["Condition"]) == arms
    assert list(table["State"])[1:] == ["done", "done", "failed"]
    assert list(table["Ranked"])[:3] == [0.5, 0.9, pytest.approx(0.8)]
    assert list(table["Retrieval"])[:3] == [0.8, 0.75, 0.75]
    assert any("n = 20" in note.value for note in app.caption)
    (failed,) = [line for line in page_text(app).splitlines() if "It diverged" in line]
    assert HOSTILE in failed and f"Run {members[-1]} " in failed
    assert "onerror" not in unsafe_texts(app)


def test_a_stopped_study_can_be_restarted(renamed: Engine, started: list[int]) -> None:
    run_id, *_ = stored(renamed, Study.TRIPLES, state=RunState.CANCELLED)
    app = page(STUDIES)
    assert charts(app) == 2
    app.button(f"again-{run_id}").click().run()
    assert not app.exception and started == [run_id]


def test_the_runs_are_listed_and_compared(renamed: Engine, wording: Wording) -> None:
    stored(renamed, Study.TYPES)
    with writing(renamed) as session:
        asked = {"release": 1, "seed": 2, "recipe": {"base_encoder": HOSTILE, "epochs": 12}}
        session.add(Run(kind="train", state=RunState.DONE, result=result(0), parameters=asked))
    app = page(RUNS)
    wording(app, "train", "runs")
    overview, recipes, figures, effort = (frame.value for frame in app.dataframe)
    assert len(overview) == 3
    assert overview["Recipe"][0] == f"standard, but base_encoder: {HOSTILE}, epochs: 12"
    newest, second = recipes.columns[-2:]
    line = recipes.set_index("Key").loc["epochs"]
    assert line[newest] == "≠ 12" and not line[second].startswith("≠")
    assert "loss" not in list(recipes["Key"])
    assert figures.set_index("Metric").loc["triples ranked correctly, after", newest] == 0.9
    assert effort.set_index("Training").loc["steps", newest] == 3
    assert "onerror" not in unsafe_texts(app)
    app.multiselect[0].set_value([]).run()
    assert len(app.dataframe) == 1 and not app.exception
