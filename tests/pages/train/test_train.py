"""The train page in each of its states, from rows alone: no state needs an encoder on the page."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from sqlalchemy import Engine, select, update
from sqlmodel import Session, col
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import TextArea

from curation.release.freezing import create_release, list_releases
from db import run_process
from db.columns import now
from db.engine import reading, writing
from db.models import Encoder, Run, RunMetric, RunState, Split, Variant, VariantCosine
from db.run_folders import log_file
from db.runs import get_run, list_runs
from db.settings import load_settings
from pages.components.shared.charts import similarity_bars
from pages.components.shared.charts.palette import palette
from pages.components.shared.runs import background, progress_view
from pages.components.train.section_choice import RESULTS, RUNS, SECTION, TRAIN
from tests.cli.support.commands import ask, complaint
from tests.curation.support.families import add_family, add_plain_family
from tests.support.checkout import APP
from tests.support.checkpoints import checkpoint
from tests.support.databases import Fill
from tests.support.old_recipes import OLD_RECIPES
from training.evaluation.probe_sets import FIGURE_1_SET, ensure_bundled
from training.evaluation.probes import (
    add_own_probe,
    own_probes,
    save_probe_cosines,
)
from training.evaluation.similarity import (
    DistributionRow,
    ProbePair,
    ProbeRow,
    figure_1_rows,
    probe_rows,
)
from training.finetune.checkpoints import TrainingPosition
from training.recipe.plan import KIND
from training.recipe.schema import Recipe
from training.recipe.yaml_text import parse_recipe
from training.runs.figures import Part
from training.runs.trainings import request_training

DEFAULT = Recipe()
HOSTILE = '<img src=x onerror="alert(1)"> **bold** $x^2$ :red[text] [link](javascript:alert(1))'


@pytest.fixture
def engine(app_engine: Engine) -> Engine:
    """The one that the page has, too."""
    return app_engine


@pytest.fixture
def project(engine: Engine, fill: Fill) -> Engine:

    def made(session: Session) -> None:
        for number in range(9):
            add_plain_family(session, number, split=Split.TRAIN)

    fill(engine, made)
    return engine


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The runs whose processes were started; none really is."""
    numbers: list[int] = []
    monkeypatch.setattr(
        "pages.components.shared.runs.background.start_process",
        lambda settings, run, environment: numbers.append(run.id),
    )
    return numbers


def page(section: str = TRAIN) -> AppTest:
    test = AppTest.from_file(str(APP), default_timeout=60).run()
    test.session_state[SECTION] = section
    return test.switch_page("pages/train.py").run()


def told(test: AppTest) -> str:
    assert not test.exception
    return "\n".join(element.value for element in test.text)


def stored_run(
    engine: Engine,
    *,
    state: RunState,
    message: str = "",
    recipe: Recipe | None = None,
    seed: int = 1,
) -> int:
    with writing(engine) as session:
        run = request_training(
            session, release_number=None, recipe=recipe or Recipe(), seed=seed, requested_by=None
        )
        moment = now()
        run.state, run.message, run.attempt = state, message, 1
        run.started_at, run.heartbeat_at = moment - timedelta(minutes=2), moment
        run.lease_until = moment + timedelta(hours=1)
        return run.id


def test_without_anything_accepted_the_page_says_what_to_do(engine: Engine) -> None:
    test = page()
    assert "Nothing is accepted yet" in told(test)
    assert not [button for button in test.button if button.label == "Finetune"]


def test_with_one_side_alone_the_page_says_what_is_missing(engine: Engine) -> None:
    with writing(engine) as session:
        add_family(session, "It rains.", {"verbal": ["It does not rain."]}, split=Split.TRAIN)
    assert "both a negation and a hedge" in told(page())


def test_one_click_makes_a_release_and_starts_the_default_training(
    project: Engine, started: list[int]
) -> None:
    test = page()
    assert "a first release, made from the 27 accepted variants" in told(test)
    test.button("train-click").click().run()
    assert not test.exception
    with reading(project) as session:
        (run,) = list_runs(session, kind=KIND)
        assert run.parameters["recipe"] == DEFAULT.model_dump(mode="json")
        assert len(list_releases(session)) == 1
    assert started == [run.id]
    assert "Waiting for its process" in told(test)


def box(test: AppTest) -> TextArea:
    """The recipe's text."""
    return next(area for area in test.text_area if area.label == "Recipe (YAML)")


def field(test: AppTest, name: str) -> Any:
    """The widget that shows a key of the recipe now."""
    widgets = [*test.number_input, *test.selectbox, *test.text_input]
    key = f"train-field-{name}"
    return next(w for w in widgets if re.fullmatch(rf"{key}(-\d+)?", w.key or ""))


def test_a_wrong_recipe_is_told_in_one_sentence_and_not_lost(
    project: Engine, started: list[int]
) -> None:
    test = page()
    box(test).set_value("epoch: 3").run()
    assert "The recipe has no key 'epoch'" in told(test)
    assert "fields above rest" in told(test)
    assert field(test, "epochs").disabled
    test.button("train-click").click().run()
    # Beside the button, above the box, and in the error box.
    assert told(test).count("no key 'epoch'") == 3
    assert box(test).value == "epoch: 3"
    assert started == []
    box(test).set_value("epochs: 3\nbatch_size: 4").run()
    test.button("train-click").click().run()
    with reading(project) as session:
        (run,) = list_runs(session, kind=KIND)
    assert run.parameters["recipe"] == Recipe(epochs=3, batch_size=4).model_dump(mode="json")


def test_a_base_that_is_no_encoder_is_told_and_stores_no_run(
    project: Engine, started: list[int], tmp_path: Path
) -> None:
    base = checkpoint("BertForSequenceClassification", tmp_path / "base")
    test = page()
    box(test).set_value(f"base_encoder: {base}\nbatch_size: 4").run()
    test.button("train-click").click().run()
    assert "found BertForSequenceClassification: a cross-encoder" in told(test)
    assert started == []
    with reading(project) as session:
        assert list_runs(session, kind=KIND) == []


def test_fields_and_yaml_are_one_recipe(project: Engine) -> None:
    test = page()
    box(test).set_value("epochs: 3\nbatch_size: 4\nlora_rank: 8").run()
    assert field(test, "epochs").value == 3.0
    assert field(test, "lora_rank").value == 8
    field(test, "epochs").set_value(5.0).run()
    field(test, "data").set_value("negation").run()
    field(test, "lora_rank").set_value(None).run()
    field(test, "early_stopping").set_value("families").run()
    wanted = Recipe(epochs=5, batch_size=4, data="negation", early_stopping="families")
    assert parse_recipe(box(test).value) == wanted
    assert not test.exception


def test_what_a_browser_still_showed_is_nobodys_change(project: Engine, started: list[int]) -> None:
    """The button is clicked before the browser knows that the text has changed the fields."""
    test = page()
    before = field(test, "epochs").key, field(test, "epochs").value
    box(test).set_value("epochs: 6\nbatch_size: 4").run()
    test.session_state[before[0]] = before[1]
    test.button("train-click").click().run()
    with reading(project) as session:
        (run,) = list_runs(session, kind=KIND)
    assert run.parameters["recipe"] == Recipe(epochs=6, batch_size=4).model_dump(mode="json")


def test_a_field_is_set_back_at_once_to_what_it_was_before_the_text_was_edited(
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
    assert "max_triples (6) must be at least batch_size (9)" in told(test)
    assert field(test, "batch_size").value == 4
    assert parse_recipe(box(test).value) == Recipe(batch_size=4, max_triples=6)


def test_what_was_edited_outlives_a_look_at_another_section(project: Engine) -> None:
    test = page()
    field(test, "epochs").set_value(6.5).run()
    test.segmented_control(SECTION).set_value(RESULTS).run()
    assert "No training has ended yet" in told(test)
    test.segmented_control(SECTION).set_value(TRAIN).run()
    assert field(test, "epochs").value == 6.5
    next(button for button in test.button if button.label == "Back to the defaults").click().run()
    assert field(test, "epochs").value == Recipe().epochs


def test_every_key_of_the_recipe_is_explained(project: Engine) -> None:
    (table,) = [frame.value for frame in page().dataframe if "Meaning" in frame.value]
    assert table["Key"].tolist() == list(Recipe.model_fields)
    assert all(table["Meaning"])


def test_what_the_recipe_leaves_out_is_counted(project: Engine, started: list[int]) -> None:
    test = page()
    assert "(18 triples)" in told(test)
    box(test).set_value("batch_size: 4\nwithout_types: [verbal]").run()
    assert "(9 triples left of 18 triples)" in told(test)
    box(test).set_value("batch_size: 4\nproviders: [nobody]").run()
    assert "found 'nobody'; there are 'openai'" in told(test)
    test.button("train-click").click().run()
    assert started == []


def test_a_file_is_kept_by_its_content_and_named_in_the_recipe(project: Engine) -> None:
    test = page()
    upload(test, "train-file-sts_file", b"4\tA dog.\tA hound.\n1\tA dog.\tRain.\n3\tA\tB\n")
    assert "STS file: 3 sentence pairs" in told(test)
    path = parse_recipe(box(test).value).sts_file
    assert path is not None and Path(path).parent.parent == load_settings().data_folder
    test.button("train-file-drop-sts_file").click().run()
    assert parse_recipe(box(test).value).sts_file is None
    upload(test, "train-file-sts_file", b"nonsense")
    assert "some.txt: Expected" in told(test)
    assert str(load_settings().data_folder) not in told(test)
    assert parse_recipe(box(test).value).sts_file is None


def upload(test: AppTest, key: str, content: bytes) -> None:
    test.file_uploader(key).set_value(("some.txt", content, "text/plain")).run()


def test_where_no_process_can_be_started_no_run_is_left_waiting(
    project: Engine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(background, "start_process", run_process.start_process)
    monkeypatch.setattr("db.run_process.sys.executable", str(tmp_path / "nowhere" / "python"))
    test = page()
    test.button("train-click").click().run()
    assert "cannot be started" in told(test)
    with reading(project) as session:
        assert [run.state for run in list_runs(session)] == [RunState.CANCELLED]


def test_another_training_waits_for_its_turn_and_the_same_is_refused(
    project: Engine, started: list[int]
) -> None:
    first = stored_run(project, state=RunState.RUNNING, recipe=DEFAULT)
    test = page()
    assert "It waits until the training under way has ended." in told(test)
    test.number_input("train-seed-box").set_value(1)
    test.button("train-click").click().run()
    assert f"Run {first} is training just that already" in told(test)
    test.number_input("train-seed-box").set_value(2)
    test.button("train-click").click().run()
    assert len(started) == 1
    assert "the others follow in the order they were asked for" in told(test)
    test.button(f"cancel-{started[0]}").click().run()
    assert not test.exception
    with reading(project) as session:
        assert get_run(session, started[0]).state == RunState.CANCELLED
        assert not get_run(session, first).cancel_requested


@pytest.mark.parametrize(
    ("key", "value", "sentence"),
    [
        ("batch_size", 64, "Expected at least as many anchors with both sides as a batch has"),
        ("without_types", ("verbal", "lexical"), "a recipe that leaves anchors"),
        ("providers", ("nobody",), "found 'nobody'"),
    ],
)
def test_the_page_and_the_command_refuse_a_recipe_in_the_same_words(
    project: Engine, started: list[int], tmp_path: Path, key: str, value: object, sentence: str
) -> None:
    ask("release", "create")
    recipe = Recipe(batch_size=4).model_copy(update={key: value}).to_yaml()
    (tmp_path / "recipe.yaml").write_text(recipe)
    refusal = complaint("train", "--recipe", str(tmp_path / "recipe.yaml"), "--queue")
    assert sentence in refusal
    test = page()
    test.text_area("train-yaml").set_value(recipe).run()
    assert f"The recipe below can't be used yet. {refusal}" in told(test)
    test.button("train-click").click().run()
    assert refusal in told(test).splitlines()
    assert started == []


def test_a_running_training_shows_where_it_is_and_can_be_cancelled(project: Engine) -> None:
    run_id = stored_run(project, state=RunState.RUNNING, message=f"Training: {HOSTILE}")
    with writing(project) as session:
        session.execute(update(Run).where(col(Run.id) == run_id).values(step=40, total=100))
        for step, loss in ((1, 1.2), (2, 0.9)):
            session.add(RunMetric(run_id=run_id, name="loss", step=step, value=loss))
        log = log_file(load_settings(), get_run(session, run_id))
    log.parent.mkdir(parents=True)
    log.write_text(f"first\n{HOSTILE}\n", encoding="utf-8")
    test = page()
    assert any("first look at the held-out part" in note.value for note in test.caption)
    assert f"Training: {HOSTILE} · about 3 min left" in told(test)
    assert HOSTILE in test.code[0].value
    assert len(test.get("vega_lite_chart")) == 1
    store_looks(project, run_id)
    test.run()
    assert len(test.get("vega_lite_chart")) == 6
    test.button(f"cancel-{run_id}").click().run()
    with reading(project) as session:
        assert get_run(session, run_id).cancel_requested
    assert test.button(f"cancel-{run_id}").disabled


def store_looks(engine: Engine, run_id: int) -> None:
    """Two looks at the held-out part."""
    figures = {
        "ranked": 0.5,
        "families": 0.2,
        "questions": 0.3,
        "ranked:word>verbal": 0.5,
        "drift": 0.0,
        "sts": 0.8,
        "cosine:negation": 0.9,
        "cosine:negation:sd": 0.1,
        "cosine:hedge": 0.9,
    }
    with writing(engine) as session:
        for step in (0, 20):
            for name, value in figures.items():
                session.add(RunMetric(run_id=run_id, name=name, step=step, value=value))
            session.add(RunMetric(run_id=run_id, name="epoch", step=step, value=step / 20))


def test_a_failed_training_says_why_and_can_be_started_again(
    project: Engine, started: list[int]
) -> None:
    run_id = stored_run(project, state=RunState.FAILED, message=f"No such encoder {HOSTILE}.")
    test = page()
    sentence = f"Run {run_id} failed: No such encoder {HOSTILE}."
    assert sentence in told(test)
    test.button(f"train-show-{run_id}").click().run()
    assert sentence in told(test)
    assert any("before anything was measured" in note.value for note in test.caption)
    test.button(f"again-{run_id}").click().run()
    assert started == [run_id]
    assert "Waiting for its process" in told(test)
    with reading(project) as session:
        assert [run.state for run in list_runs(session, kind=KIND)] == [RunState.QUEUED]


def test_a_cut_off_training_continues_from_its_checkpoint(
    project: Engine, started: list[int]
) -> None:
    run_id = stored_run(project, state=RunState.CANCELLED)
    store_looks(project, run_id)
    with reading(project) as session:
        folder = load_settings().data_folder / get_run(session, run_id).folder / "checkpoint"
    folder.mkdir(parents=True)
    place = {"of": "it", "files": {}, "place": TrainingPosition(step=20)._asdict()}
    (folder / "place.json").write_text(json.dumps(place), encoding="utf-8")
    assert "was cancelled; it left no result. It can go on from step 20." in told(page())
    test = page(RESULTS)
    assert len(test.get("vega_lite_chart")) == 5  # its curves
    button = test.button(f"again-{run_id}")
    assert button.label == "Continue from step 20"
    button.click().run()
    assert started == [run_id]


@pytest.mark.parametrize(
    ("state", "sentence"),
    [
        (RunState.CANCELLED, "was cancelled; it left no result"),
        (RunState.INTERRUPTED, "was interrupted: its process ended"),
    ],
)
def test_what_was_cut_off_is_told(project: Engine, state: RunState, sentence: str) -> None:
    stored_run(project, state=state)
    assert sentence in told(page())


HELD_OUT = {
    "before": {"ranked": 0.5, "drift": 0.0},
    "after": {"ranked": 0.925, "drift": 0.02},
    "of": {"ranked": 1234, "drift": 200},
}


def finished_run(engine: Engine) -> int:
    """A finished training with its figures, as rows."""
    run_id = stored_run(engine, state=RunState.DONE, message="Done.")
    with writing(engine) as session:
        ids = []
        for name in ("before", "after"):
            encoder = Encoder(name=name, fingerprint=name)
            session.add(encoder)
            session.flush()
            ids.append(encoder.id)
        add_own_probe(session, anchor=HOSTILE, text=HOSTILE + " too")
        probes = [
            stored.id for stored in ensure_bundled(session, FIGURE_1_SET) + own_probes(session)
        ]
        variants = session.execute(select(col(Variant.id))).scalars().all()
        for place, key in enumerate(ids):
            save_probe_cosines(session, dict.fromkeys(probes, 0.9 - 0.2 * place), encoder_id=key)
            for number, variant in enumerate(variants):
                cosine = 0.9 - 0.02 * number - 0.1 * place
                session.add(VariantCosine(encoder_id=key, variant_id=variant, cosine=cosine))
        run = get_run(session, run_id)
        run.result = {
            "run": run_id,
            "model": f"{run.folder}/model",
            "release": 1,
            "triples": 18,
            "steps": 3,
            "kept_step": 2,
            "seconds": 61.0,
            "held_out": HELD_OUT,
            "before_encoder_id": ids[0],
            "encoder_id": ids[1],
            "sampled": {part.value: {"measured": 27, "of": 9_000} for part in Part},
        }
    return run_id


def test_a_finished_training_shows_figures_and_model(project: Engine) -> None:
    run_id = finished_run(project)
    store_looks(project, run_id)
    test = page()
    assert "it ranks 92.5% right; its base encoder 50.0%" in told(test)
    test.button(f"train-show-{run_id}").click().run()
    text = told(test)
    assert [element.value for element in test.header] == [
        "On the held-out part",
        "Figure 1",
        "Anchor and variant, by type",
        "The trade-off",
        "While it trained",
        "The model",
        "The recipe",
    ]
    assert test.query_params["run"] == str(run_id)
    ranked, drift = test.table[0].value.to_dict("records")
    assert (ranked["Before"], ranked["After"], ranked["Of"]) == ("50.0%", "92.5%", "1,234 triples")
    assert (drift["After"], drift["Of"]) == ("0.020", "200 sentences")
    assert len(test.get("vega_lite_chart")) == 3 + 5
    model = load_settings().data_folder / f"runs/{run_id:05d}-train" / "model"
    assert f"SentenceTransformer({str(model)!r})" in test.code[0].value
    assert f"The model is not at {model} any more." in text
    assert "Trained in 3 steps, of which step 2 was the best and is kept" in text
    assert "on 18 triples of release 1 with seed 1" in text
    assert any("A random 27 of this part's 9,000" in note.value for note in test.caption)
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
        run.parameters = {**run.parameters, "recipe": OLD_RECIPES[version]}
    test = page(RESULTS)
    assert "measured nothing on held-out anchors" in told(test)
    rows = {1: "32 triples", 7: "4 families"}[version]
    assert f"Trained in 3 steps, with {rows} each" in told(test)
    assert yaml.safe_load(test.code[-2].value) == OLD_RECIPES[version]
    assert not [button for button in test.button if button.label.startswith("Use this")]
    assert f"The recipe of run {run_id} has version {version}, expected" in told(test)
    assert f"version: {version}" in page(RUNS).dataframe[0].value["Recipe"][0]


def test_hostile_texts_of_a_finished_training_reach_no_markdown(project: Engine) -> None:
    finished_run(project)
    assert HOSTILE in told(page())
    for test in (page(), page(RESULTS)):
        rendered = [*test.markdown, *test.caption, *test.title, *test.header]
        assert not [element for element in rendered if "onerror" in element.value]
        assert not [expander for expander in test.expander if "onerror" in expander.label]


def test_when_followed_trainings_end_each_is_mentioned(project: Engine) -> None:
    old = finished_run(project)
    runs = [stored_run(project, state=RunState.RUNNING, seed=seed) for seed in (2, 3)]
    test = page()
    assert f"Run {old} is done" not in told(test)
    with writing(project) as session:
        ended = col(Run.id).in_(runs)
        session.execute(update(Run).where(ended).values(state=RunState.FAILED, message="No."))
    test.run()
    for run_id in runs:
        assert f"Run {run_id} failed: No." in told(test)
    test.button(f"train-show-{runs[0]}").click().run()
    assert test.selectbox(f"train-run-{runs[1]}").value == runs[0]


def test_a_link_leads_to_the_results_of_its_run(project: Engine) -> None:
    old = stored_run(project, state=RunState.FAILED, message="The first.")
    stored_run(project, state=RunState.FAILED, message="The second.")
    test = AppTest.from_file(str(APP), default_timeout=60)
    test.run()
    test.query_params["run"] = str(old)
    test.session_state[SECTION] = RESULTS
    test.switch_page("pages/train.py").run()
    assert "The first." in told(test)
    (choice,) = [box for box in test.selectbox if box.label == "Results of"]
    choice.set_value(old + 1).run()
    assert "The second." in told(test)
    assert test.query_params["run"] == str(old + 1)


def test_own_probes_are_stored_at_once_and_a_problem_loses_nothing(project: Engine) -> None:
    test = page()
    test.text_input("train-probe-anchor").set_value("It rains.")
    test.text_input("train-probe-text").set_value(" ")
    add = next(button for button in test.button if button.label == "Add")
    add.click().run()
    assert "second sentence of the pair is empty" in told(test)
    assert test.text_input("train-probe-anchor").value == "It rains."
    test.text_input("train-probe-text").set_value(HOSTILE)
    next(button for button in test.button if button.label == "Add").click().run()
    assert HOSTILE in told(test)
    assert test.text_input("train-probe-anchor").value == ""
    with reading(project) as session:
        (stored,) = own_probes(session)
    test.button(f"train-probe-{stored.id}").click().run()
    assert HOSTILE not in told(test)
    with reading(project) as session:
        assert own_probes(session) == []


def test_more_accepted_since_the_release_is_pointed_out(project: Engine) -> None:
    with writing(project) as session:
        create_release(session)
    assert not page().get("page_link")
    with writing(project) as session:
        add_plain_family(session, 50, split=Split.TRAIN)
    (link,) = page().get("page_link")
    assert "30 variants are accepted now, 27 are in release 1" in link.proto.label


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(3, "less than a minute"), (80, "about 1 min"), (900, "about 15 min"), (9000, "2.5 hours")],
)
def test_times_are_told_as_exactly_as_they_are_known(seconds: float, words: str) -> None:
    assert words in progress_view.duration(seconds)


def test_figure_1_draws_published_values_hollow_in_the_colours_of_before_and_after() -> None:
    rows = figure_1_rows(before=[0.8, 0.7, 0.9], after=[0.4, 0.5, 0.95])
    spec = similarity_bars.figure_1(rows, dark=False).to_dict()
    bars = spec["layer"][0]["encoding"]
    light = palette(dark=False)
    assert bars["stroke"]["scale"]["range"] == [light.before, light.after] * 2
    assert bars["fill"]["scale"]["range"] == ["transparent"] * 2 + [light.before, light.after]
    assert bars["fill"]["scale"]["domain"] == [
        "before (paper)",
        "after (paper)",
        "before",
        "after",
    ]


def test_long_sentences_that_begin_alike_keep_labels_of_their_own() -> None:
    start = "word " * 60
    probes = [ProbePair("a", start + end, "") for end in ("one", "two", "three")]
    rows: list[ProbeRow] = probe_rows(probes, before=[0.1] * 3, after=[0.2] * 3)
    values = similarity_bars.own_probes(rows, dark=True).to_dict()["data"]["values"]
    labels = {row["second"]: row["pair"] for row in values}
    assert len(set(labels.values())) == 3
    assert max(len(line) for label in labels.values() for line in label.split("\n")) < 40


def test_the_distribution_summary_gives_quantiles_in_the_order_of_the_types() -> None:
    rows = [
        DistributionRow(kind, "held out", series, value / 10)
        for kind in ("word", "verbal")
        for series in ("before", "after")
        for value in range(11)
    ]
    found = similarity_bars.summary(rows, labels=["verbal", "lexical", "word"])
    assert [(row.type, row.series) for row in found] == [
        ("verbal", "before"),
        ("verbal", "after"),
        ("word", "before"),
        ("word", "after"),
    ]
    assert found[0][2:] == pytest.approx((11, 0.1, 0.25, 0.5, 0.75, 0.9))
