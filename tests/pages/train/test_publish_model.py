"""Publishing from the page: the card, the token, and push runs, without a process."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from sqlalchemy import Engine
from streamlit.testing.v1 import AppTest

from db.engine import reading, writing
from db.models import Run, RunState
from db.runs import create_run, get_run
from db.settings import HUB_TOKEN, Settings, load_settings
from pages.components.shared.runs import background
from pages.components.shared.shell import open_project
from tests.pages.conftest import TIMEOUT
from tests.support.servers.hub_server import TOKEN
from training.hub.model_card import write_card
from training.hub.push_run import KIND, Subject, pushes

SUBJECT = Subject(run=1)
HOSTILE = '<img src=x onerror="alert(1)"> **bold** [link](javascript:alert(1))'
Environments = list[Mapping[str, str] | None]


@pytest.fixture(autouse=True)
def no_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine of the tests may have a login."""
    from huggingface_hub import constants

    monkeypatch.delenv(HUB_TOKEN, raising=False)
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "no-token"))


@pytest.fixture
def environments(monkeypatch: pytest.MonkeyPatch) -> Environments:
    """The environment of each process that the app starts, without the settings."""
    found: Environments = []

    def start_process(
        settings: Settings, run: Run, environment: Mapping[str, str] | None = None
    ) -> None:
        found.append(environment)

    monkeypatch.setattr(background, "start_process", start_process)
    return found


@pytest.fixture
def engine(home: Path) -> Engine:
    """The row of a finished training run, and its model's card."""
    engine = open_project.engine()
    with writing(engine) as session:
        run = create_run(session, kind="train", parameters={"release": 1})
        run.state = RunState.DONE
        run.result = {"model": f"{run.folder}/model", "encoder_id": 0, "triples": 1, "steps": 1}
        folder = load_settings().data_folder / run.result["model"]
    folder.mkdir(parents=True)
    write_card(folder, f"# A card\n{HOSTILE}\n")
    return engine


def _page() -> None:
    from db.engine import reading
    from db.runs import get_run
    from pages.components.shared.shell import error_messages, open_project
    from pages.components.train.results import publish_model

    error_messages.guard_callbacks()
    error_messages.show_callback_errors()
    with reading(open_project.engine()) as session:
        run = get_run(session, 1)
    publish_model.show(run)


def page() -> AppTest:
    return AppTest.from_function(_page, default_timeout=TIMEOUT).run()


def page_text(test: AppTest) -> str:
    assert not test.exception
    return "\n".join(element.value for element in test.text)


def key(name: str) -> str:
    return f"push-{name}-{SUBJECT.group}"


def push_to(test: AppTest, repo: str) -> AppTest:
    test.text_input(key("repo")).set_value(repo).run()
    return test.button(key("start")).click().run()


def with_token(test: AppTest) -> AppTest:
    return test.text_input(f"hub-token-{SUBJECT.group}").set_value(f" {TOKEN} ").run()


def stored(engine: Engine) -> list[Run]:
    with reading(engine) as session:
        return pushes(session, SUBJECT)


def test_one_click_pushes_privately_with_the_typed_token(
    engine: Engine, environments: Environments
) -> None:
    test = with_token(page())
    assert "entered for this session" in page_text(test)
    test = push_to(test, "ada/encoder")
    (run,) = stored(engine)
    assert (run.kind, run.state) == (KIND, RunState.QUEUED)
    assert run.parameters == {"run": 1, "release": None, "repo": "ada/encoder", "private": True}
    assert environments == [{HUB_TOKEN: TOKEN}]
    assert TOKEN not in str(run.model_dump()) + str(test.main)
    assert "Push the model to ada/encoder" in page_text(test)


def test_a_token_is_forgotten_when_asked(engine: Engine, environments: Environments) -> None:
    test = with_token(page())
    test = test.button(f"hub-forget-{SUBJECT.group}").click().run()
    test = push_to(test, "ada/encoder")
    assert "Expected an access token for the Hub" in page_text(test)
    assert stored(engine) == [] and environments == []


def test_a_token_in_the_environment_is_mentioned_and_need_not_be_typed(
    engine: Engine, environments: Environments, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(HUB_TOKEN, TOKEN)
    test = page()
    assert f"set in the environment ({HUB_TOKEN})" in page_text(test)
    test.toggle(key("private")).set_value(False).run()
    push_to(test, "ada/encoder")
    (run,) = stored(engine)
    assert run.parameters["private"] is False and environments == [{}]


def test_a_wrong_name_is_reported_in_one_sentence_and_kept(
    engine: Engine, environments: Environments
) -> None:
    test = push_to(with_token(page()), "encoder")
    assert "Expected a repository as owner/name" in page_text(test)
    assert test.text_input(key("repo")).value == "encoder"
    assert stored(engine) == [] and environments == []


def ended(engine: Engine, state: RunState, **values: object) -> None:
    """A push that has ended in this state."""
    with writing(engine) as session:
        run = create_run(
            session,
            kind=KIND,
            group=SUBJECT.group,
            parameters={"run": 1, "repo": "ada/encoder", "private": False},
        )
        run = get_run(session, run.id)
        run.state = state
        for name, value in values.items():
            setattr(run, name, value)


def test_a_pushed_model_can_be_opened_and_pushed_again(engine: Engine) -> None:
    address = "https://huggingface.co/ada/encoder"
    made = {"repo": "ada/encoder", "private": False, "url": address, "commit": "c0ffee" * 6}
    ended(engine, RunState.DONE, result=made)
    test = page()
    assert "Pushed to ada/encoder (public)" in page_text(test)
    (link,) = test.get("link_button")
    assert link.proto.url == address
    assert test.text_input(key("repo")).value == "ada/encoder"
    assert test.toggle(key("private")).value is False


def test_a_failed_push_says_why_and_can_be_restarted_with_the_token(
    engine: Engine, environments: Environments
) -> None:
    ended(engine, RunState.FAILED, message=f"The Hub is away {HOSTILE}.")
    test = with_token(page())
    assert f"failed: The Hub is away {HOSTILE}." in page_text(test)
    test.button("again-2").click().run()
    assert [run.state for run in stored(engine)] == [RunState.QUEUED]
    assert environments == [{HUB_TOKEN: TOKEN}]


def test_the_card_is_shown_unchanged(engine: Engine) -> None:
    test = page()
    assert HOSTILE in test.code[0].value
    assert not [element for element in test.markdown if "onerror" in element.value]
