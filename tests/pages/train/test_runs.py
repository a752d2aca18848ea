"""Training runs that are in progress or ended early, and pushes of their models."""

import json
from dataclasses import asdict

import pytest
from sqlalchemy import Engine
from streamlit.testing.v1 import AppTest

from db.engine import writing
from db.models import Run, RunState
from db.run_folders import log_file
from db.runs import create_run, get_run
from db.settings import HUB_TOKEN, load_settings
from pages.components.shared.shell.open_project import ask
from pages.components.train.section_choice import RESULTS
from tests.pages.conftest import TIMEOUT, Wording
from tests.pages.opening import change, newest, page_text
from tests.pages.train.conftest import (
    HOSTILE,
    add_metrics,
    charts,
    finished_run,
    page,
    store_looks,
    stored_run,
)
from tests.support.servers.hub_server import TOKEN
from training.finetune.checkpoints import TrainingPosition
from training.hub.model_card import write_card
from training.hub.push_run import KIND, Subject, pushes

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
    from pages.components.train.results import publish_model

    error_messages.guard_callbacks()
    error_messages.show_callback_errors()
    run = ask(get_run, 1)
    publish_model.show(run)


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
