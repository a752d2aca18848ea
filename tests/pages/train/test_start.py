"""Starting an encoder's training on the Train page: its data, preset and recipe."""

import json
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine
from sqlalchemy.orm import Session
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import TextArea

from curation.anchors.revisions import sources_in_use
from curation.release.freezing import list_releases
from curation.release.selection import Selection, selection_of
from curation.review.deciding import accept, shown
from db import run_process
from db.columns import now
from db.engine import writing
from db.models import Run, RunState, Split
from db.run_process import log_file
from db.runs import create_run, get_run, list_runs
from db.settings import HUB_TOKEN, load_settings
from pages.components.shared import page_runs
from pages.components.shared.shell.open_project import ask, tell
from pages.components.train.recipe_editor import OWN, PRESET
from pages.components.train.training_runs import RESULTS, SECTION, STUDIES, TRAIN
from tests.cli.commands import complaint
from tests.curation.support.families import add_family, add_plain_family
from tests.pages.conftest import Wording, unsafe_texts
from tests.pages.looks import TIMEOUT, change, charts, newest, page_text
from tests.pages.train.conftest import (
    HOSTILE,
    add_metrics,
    finished_run,
    page,
    store_looks,
    stored_run,
)
from tests.support.factories import add_anchor, add_variant, freeze, person
from tests.support.servers.hub_server import TOKEN
from training.finetune.checkpoints import TrainingPosition
from training.hub.push_run import KIND, Subject, pushes
from training.model_card import write_card
from training.recipe.presets import PRESETS
from training.recipe.schema import SOURCE_SHARES, Recipe, parse_recipe
from training.retention.texts import bundled_texts, documents

QUICK = PRESETS["quick"].recipe


def box(app: AppTest) -> TextArea:
    """The recipe's text."""
    return next(area for area in app.text_area if (area.key or "").startswith("train-yaml"))


def recipe_of(app: AppTest) -> Recipe:
    return parse_recipe(box(app).value)


def field(app: AppTest, name: str) -> Any:
    """The widget that currently shows a key of the recipe."""
    widgets = [*app.number_input, *app.selectbox, *app.text_input]
    key = f"train-field-{name}"
    return next(w for w in widgets if re.fullmatch(rf"{key}(-\d+)?", w.key or ""))


def choice(app: AppTest) -> Any:
    """The widget that currently shows the preset."""
    return next(w for w in app.segmented_control if (w.key or "").startswith(PRESET))


def start(app: AppTest) -> dict[str, Any]:
    """Press the button. What was asked of the newest run."""
    app.button("train-click").click().run()
    assert not app.exception
    return dict(newest().parameters)


def links(app: AppTest) -> list[str]:
    return [link.page for link in app.get("page_link")]


def add_tiny_family(session: Session, *, source: str) -> None:
    """One accepted variant of an anchor from another source."""
    variant = add_variant(session, add_anchor(session, "The door is open.", source=source))
    accept(session, shown(variant, at=now()), reviewer_id=person(session))


def test_without_variants_to_train_on_the_page_says_what_to_do(
    app_engine: Engine, wording: Wording
) -> None:
    wording(page(), "train", "no variants")
    tell(add_variant, tell(add_anchor, "It rains."))
    app = page()
    wording(app, "train", "no accepted variants")
    assert links(app) == ["review"]
    tell(add_family, "It snows.", {"verbal": ["It does not snow."]}, split=Split.TRAIN)
    app = page()
    wording(app, "train", "negations only")
    assert not [button for button in app.button if button.key == "train-click"]


def test_one_click_makes_a_release_and_trains_with_the_preset_that_fits_or_another(
    project: Engine, started: list[int], wording: Wording
) -> None:
    app = page()
    wording(app, "train", "a project without a release")
    assert "27 accepted" in page_text(app) and "(18 triples" in page_text(app)
    assert (choice(app).value, recipe_of(app)) == ("quick", QUICK)
    asked = start(app)
    assert (asked["preset"], asked["recipe"]) == ("quick", QUICK.model_dump(mode="json"))
    assert len(ask(list_releases)) == 1
    wording(app, "train", "a run that waits")
    start(app)
    assert started == [1], "the same run is refused"
    choice(app).set_value("thorough").run()
    assert recipe_of(app) == PRESETS["thorough"].recipe
    assert "3 training runs of 3 steps with a batch size of 8, on 9" in page_text(app)
    app.number_input("train-seed-box").set_value(2)
    asked = start(app)
    assert (asked["preset"], asked["seed"]) == ("thorough", 2) and len(started) == 2
    app.button(f"cancel-{started[1]}").click().run()
    assert ask(get_run, started[1]).state == RunState.CANCELLED
    assert not ask(get_run, started[0]).cancel_requested


def test_a_base_that_is_not_an_encoder_and_a_process_that_cannot_start_leave_no_run_waiting(
    project: Engine, started: list[int], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    config = {"architectures": ["BertForSequenceClassification"], "model_type": "bert"}
    (tmp_path / "config.json").write_text(json.dumps(config))
    app = page()
    box(app).set_value(f"base_encoder: {tmp_path}\nbatch_size: 4").run()
    app.button("train-click").click().run()
    assert "BertForSequenceClassification" in page_text(app) and started == []
    assert ask(list_runs) == []
    monkeypatch.setattr(page_runs, "start_process", run_process.start_process)
    monkeypatch.setattr("db.run_process.sys.executable", str(tmp_path / "nowhere" / "python"))
    box(app).set_value("batch_size: 4").run()
    start(app)
    assert [run.state for run in ask(list_runs)] == [RunState.CANCELLED]


def test_the_page_and_the_command_refuse_a_recipe_in_the_same_words(
    project: Engine, tmp_path: Path
) -> None:
    tell(freeze)
    app = page()
    for wrong in ({"batch_size": 64}, {"types": {"verbal": 0.0, "lexical": 0.0}}):
        recipe = Recipe(batch_size=4).model_copy(update=wrong).to_yaml()
        (tmp_path / "recipe.yaml").write_text(recipe)
        refusal = complaint("train", "--recipe", str(tmp_path / "recipe.yaml"), "--queue")
        box(app).set_value(recipe).run()
        assert refusal in page_text(app) and app.button("train-click").disabled


def test_the_first_release_takes_all_sources_and_a_later_one_could_have_more(
    project: Engine, started: list[int], wording: Wording
) -> None:
    tell(add_tiny_family, source="Other")
    app = page()
    assert "28 accepted" in page_text(app) and links(app) == ["release"]
    start(app)
    (release,) = ask(list_releases)
    assert (release.summary["variants"], selection_of(release).sources) == (28, ())
    assert not links(page())
    tell(add_plain_family, 50, split=Split.TRAIN)
    app = page()
    wording(app, "train", "a release with fewer variants")
    assert " 28 " in page_text(app) and " 31." in page_text(app) and links(app) == ["release"]


def test_a_release_of_some_sources_is_named_and_compared_with_their_variants(
    project: Engine,
) -> None:
    with writing(project) as session:
        add_tiny_family(session, source=HOSTILE)
        first = next(name for name in sources_in_use(session).values() if name != HOSTILE)
        freeze(session, selection=Selection((first,)))
    app = page()
    assert f"only {first}:" in page_text(app)
    assert not links(app)  # the other source has more, but this release leaves it out
    tell(add_plain_family, 50, split=Split.TRAIN)
    assert " 30." in page_text(page())


def test_fields_and_text_edit_the_same_recipe_and_refuse_what_is_wrong(
    project: Engine, started: list[int]
) -> None:
    app = page()
    for name, one in Recipe.model_fields.items():
        assert one.description and f"{name}: " in page_text(app)
        assert one.description.replace("\n", " ") in page_text(app)
    box(app).set_value("epoch: 3").run()
    assert page_text(app).count("'epoch'") == 2  # next to the button, and above the box
    assert field(app, "epochs").disabled and app.button("train-click").disabled
    assert (box(app).value, choice(app).value) == ("epoch: 3", OWN)
    box(app).set_value("epochs: 3\nbatch_size: 4\nlora_rank: 8").run()
    assert (field(app, "epochs").value, field(app, "lora_rank").value) == (3.0, 8)
    wanted = {"epochs": 5.0, "data": "negation", "lora_rank": None, "early_stopping": "families"}
    for name, value in wanted.items():
        field(app, name).set_value(value).run()
    assert recipe_of(app) == Recipe(batch_size=4, **wanted)  # type: ignore[arg-type]
    box(app).set_value("batch_size: 4\nmax_triples: 6").run()
    field(app, "batch_size").set_value(9).run()
    assert "max_triples (6)" in page_text(app) and "(9)" in page_text(app)
    assert field(app, "batch_size").value == 4
    assert recipe_of(app) == Recipe(batch_size=4, max_triples=6)
    field(app, "epochs").set_value(6.0).run()
    before = Recipe().epochs
    field(app, "epochs").set_value(before).run()
    assert recipe_of(app).epochs == before, "a field returns at once to its earlier value"


def test_an_edited_recipe_becomes_your_own_and_stays_available(
    project: Engine, started: list[int]
) -> None:
    app = page()
    start(app)  # makes a release, which studies need
    field(app, "epochs").set_value(3.5).run()
    own = box(app).value
    assert choice(app).value == OWN
    app.segmented_control(SECTION).set_value(RESULTS).run()
    assert not app.text_area
    app.segmented_control(SECTION).set_value(TRAIN).run()
    assert field(app, "epochs").value == 3.5
    choice(app).set_value("standard").run()
    assert recipe_of(app) == PRESETS["standard"].recipe
    choice(app).set_value(OWN).run()
    assert box(app).value == own
    next(button for button in app.button if button.label == "Reset to the preset").click().run()
    assert choice(app).value == "standard", "the one that was chosen last"
    box(app).set_value("epoch: 3").run()
    choice(app).set_value("quick").run()
    assert recipe_of(app) == QUICK and len(choice(app).options) == len(PRESETS) + 1
    app.segmented_control(SECTION).set_value(STUDIES).run()
    app.selectbox("study-recipe-0").set_value("standard").run()
    assert "“standard”" in page_text(app)
    app.segmented_control(SECTION).set_value(TRAIN).run()
    box(app).set_value("epochs: 3\nbatch_size: 4").run()
    app.segmented_control(SECTION).set_value(STUDIES).run()
    assert "“standard”" not in page_text(app), "the edited recipe was chosen later"


def test_stale_values_from_the_browser_change_nothing(project: Engine, started: list[int]) -> None:
    """The button is clicked before the browser knows that the text has changed the fields."""
    app = page()
    before = [(one.key, one.value) for one in (field(app, "epochs"), choice(app))]
    box(app).set_value("epochs: 6\nbatch_size: 4").run()
    for key, value in before:
        app.session_state[key] = value
    asked = start(app)
    assert asked["preset"] is None
    assert asked["recipe"] == Recipe(epochs=6, batch_size=4).model_dump(mode="json")


def test_variants_and_sources_left_out_by_the_recipe_are_counted(
    project: Engine, started: list[int]
) -> None:
    app = page()
    (about_shares,) = [
        caption.value
        for caption in app.caption
        if all(source in caption.value for source in SOURCE_SHARES)
    ]
    box(app).set_value("sources: {}").run()
    assert about_shares not in [caption.value for caption in app.caption]
    box(app).set_value("batch_size: 4\ntypes: {verbal: 0}").run()
    assert "(9 triples, from 18 triples" in page_text(app)
    box(app).set_value("batch_size: 4\ntypes: {verbal: 0, lexical: 0}").run()
    assert app.button("train-click").disabled
    for number in range(50, 58):
        tell(add_plain_family, number, split=Split.TRAIN, source=HOSTILE)
    app = page()
    assert field(app, "source:A corpus").value == 1.0
    field(app, "batch_size").set_value(4).run()
    hostile = field(app, re.escape(f"source:{HOSTILE}"))
    assert "onerror" not in hostile.label
    hostile.set_value(0.5).run()
    wanted = Recipe().sources | {HOSTILE: 0.5}
    assert recipe_of(app).sources == wanted and "on 13 families, the part of 17" in page_text(app)
    field(app, "source:A corpus").set_value(0.0).run()
    assert "on 4 families, the part of 8" in page_text(app)
    assert start(app)["recipe"]["sources"] == wanted | {"A corpus": 0.0}


def test_a_file_is_stored_by_its_content_and_named_in_the_recipe(project: Engine) -> None:
    def upload(content: bytes) -> None:
        given = ("some.txt", content, "text/plain")
        app.file_uploader("train-file-sts_file").set_value(given).run()

    app = page()
    upload(b"4\tA dog.\tA hound.\n1\tA dog.\tRain.\n3\tA\tB\n")
    assert "3 sentence pairs" in page_text(app)
    path = recipe_of(app).sts_file
    assert path is not None and Path(path).parent.parent == load_settings().data_folder
    app.button("train-file-drop-sts_file").click().run()
    assert recipe_of(app).sts_file is None
    upload(b"nonsense")
    assert "some.txt: " in page_text(app) and str(load_settings().data_folder) not in page_text(app)
    assert recipe_of(app).sts_file is None


def test_bundled_texts_are_listed_as_plain_texts_once_the_expander_is_open(project: Engine) -> None:
    app = page()
    assert not app.dataframe
    app.session_state["train-bundled-texts"] = True
    app.run()
    assert f"{len(bundled_texts()):,}" in page_text(app)
    table = next(frame.value for frame in app.dataframe if "Group" in frame.value)
    assert list(table.itertuples(index=False, name=None)) == list(bundled_texts())
    assert documents()[0].passage not in unsafe_texts(app)
    assert [button.label for button in app.get("download_button")].count("CSV") == 1


SUBJECT = Subject(run=1)


def test_a_running_training_shows_its_progress_and_can_be_cancelled(
    project: Engine, wording: Wording
) -> None:
    run_id = stored_run(project, state=RunState.RUNNING, message=f"Training: {HOSTILE}")
    change(run_id, step=40, total=100)
    with writing(project) as session:
        for step, loss in ((1, 1.2), (2, 0.9)):
            add_metrics(session, run_id, step, {"loss": loss})
        log = log_file(load_settings(), get_run(session, run_id))
    log.parent.mkdir(parents=True)
    log.write_text(f"first\n{HOSTILE}\n", encoding="utf-8")
    app = page()
    wording(app, "train", "a running training")
    assert f"Training: {HOSTILE} · about 3 min" in page_text(app) and HOSTILE in app.code[0].value
    assert charts(app) == 1
    store_looks(project, run_id)
    app.run()
    assert charts(app) == 6
    app.button(f"cancel-{run_id}").click().run()
    assert ask(get_run, run_id).cancel_requested and app.button(f"cancel-{run_id}").disabled


def test_a_failed_training_says_why_and_can_be_restarted(
    project: Engine, started: list[int]
) -> None:
    run_id = stored_run(project, state=RunState.FAILED, message=f"No such encoder {HOSTILE}.")
    app = page()
    sentence = f"Run {run_id} failed: No such encoder {HOSTILE}."
    assert sentence in page_text(app)
    app.button(f"train-show-{run_id}").click().run()
    assert sentence in page_text(app)
    app.button(f"again-{run_id}").click().run()
    assert started == [run_id] and newest().state == RunState.QUEUED


def test_an_interrupted_training_continues_from_its_checkpoint(
    project: Engine, started: list[int], wording: Wording
) -> None:
    run_id = stored_run(project, state=RunState.INTERRUPTED)
    store_looks(project, run_id)
    folder = load_settings().data_folder / newest().folder / "checkpoint-20"
    folder.mkdir(parents=True)
    place = {"of": "it", "files": {}, "place": asdict(TrainingPosition())}
    (folder / "place.json").write_text(json.dumps(place), encoding="utf-8")
    wording(page(), "train", "an interrupted training")
    app = page(RESULTS)
    assert charts(app) == 5  # its curves
    button = app.button(f"again-{run_id}")
    assert " 20" in button.label, "the step"
    button.click().run()
    assert started == [run_id]


def test_each_followed_training_is_mentioned_when_it_ends(project: Engine) -> None:
    old = finished_run(project)
    runs = [stored_run(project, state=RunState.RUNNING, seed=seed) for seed in (2, 3)]
    app = page()
    assert f"Run {old} is done" not in page_text(app)
    for run_id in runs:
        change(run_id, state=RunState.FAILED, message="No.")
    app.run()
    for run_id in runs:
        assert f"Run {run_id} failed: No." in page_text(app)
    app.button(f"train-show-{runs[0]}").click().run()
    assert app.selectbox(f"train-run-{runs[1]}").value == runs[0]


# -- publishing ------------------------------------------------------------------------


@pytest.fixture
def trained(app_engine: Engine, no_token: None) -> Engine:
    """The row of a finished training run, and its model's card."""
    with writing(app_engine) as session:
        run = create_run(session, kind="train", parameters={"release": 1})
        run.state = RunState.DONE
        run.result = {"model": f"{run.folder}/model", "encoder_id": 0, "triples": 1, "steps": 1}
        folder = load_settings().data_folder / run.result["model"]
    folder.mkdir(parents=True)
    write_card(folder, f"# A card\n{HOSTILE}\n")
    return app_engine


def _push_box() -> None:
    from db.runs import get_run
    from pages.components.shared.shell import error_messages
    from pages.components.shared.shell.open_project import ask
    from pages.components.train import summary_section

    error_messages.guard_callbacks()
    error_messages.show_callback_errors()
    run = ask(get_run, 1)
    summary_section.publish(run)


def push_box() -> AppTest:
    return AppTest.from_function(_push_box, default_timeout=TIMEOUT).run()


def key(name: str) -> str:
    return f"push-{name}-{SUBJECT.group}"


def push_to(app: AppTest, repo: str) -> AppTest:
    app.text_input(key("repo")).set_value(repo).run()
    return app.button(key("start")).click().run()


def with_token(app: AppTest) -> AppTest:
    return app.text_input(f"hub-token-{SUBJECT.group}").set_value(f" {TOKEN} ").run()


def stored() -> list[Run]:
    return ask(pushes, SUBJECT)


def test_one_click_pushes_privately_with_the_typed_token(
    trained: Engine, environments: list[dict[str, str]], wording: Wording
) -> None:
    app = push_box()
    wording(app, "publish_model", "no token")
    assert HOSTILE in app.code[0].value, "the card"
    assert not [element for element in app.markdown if "onerror" in element.value]
    app = with_token(app).button(f"hub-forget-{SUBJECT.group}").click().run()
    wording(push_to(app, "ada/encoder"), "publish_model", "a forgotten token")
    wording(push_to(with_token(app), "encoder"), "publish_model", "a wrong name")
    assert app.text_input(key("repo")).value == "encoder" and stored() == [] and environments == []
    app = push_to(app, "ada/encoder")
    (run,) = stored()
    assert (run.kind, run.state) == (KIND, RunState.QUEUED)
    assert run.parameters == {"run": 1, "release": None, "repo": "ada/encoder", "private": True}
    assert environments == [{HUB_TOKEN: TOKEN}]
    assert TOKEN not in str(run.model_dump()) + str(app.main) and "ada/encoder" in page_text(app)


def test_a_push_ends_and_can_be_repeated_with_a_token_from_the_environment(
    trained: Engine,
    environments: list[dict[str, str]],
    monkeypatch: pytest.MonkeyPatch,
    wording: Wording,
) -> None:
    monkeypatch.setenv(HUB_TOKEN, TOKEN)
    app = push_box().toggle(key("private")).set_value(False).run()
    push_to(app, "ada/encoder")
    (run,) = stored()
    assert run.parameters["private"] is False and environments == [{}]
    change(run.id, state=RunState.FAILED, message=f"The Hub is away {HOSTILE}.")
    app = with_token(push_box())
    assert f"The Hub is away {HOSTILE}." in page_text(app)
    app.button(f"again-{run.id}").click().run()
    assert [run.state for run in stored()] == [RunState.QUEUED]
    assert environments == [{}, {HUB_TOKEN: TOKEN}]
    address = "https://huggingface.co/ada/encoder"
    made = {"repo": "ada/encoder", "private": False, "url": address, "commit": "c0ffee" * 6}
    change(run.id, state=RunState.DONE, result=made)
    app = push_box()
    wording(app, "publish_model", "a pushed model")
    (link,) = app.get("link_button")
    assert link.proto.url == address and app.text_input(key("repo")).value == "ada/encoder"
    assert app.toggle(key("private")).value is False
