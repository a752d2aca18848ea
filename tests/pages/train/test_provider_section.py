"""Finetuning at a provider on the Train page. The page itself sends nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from sqlalchemy import Engine
from streamlit.testing.v1 import AppTest

from curation.generation.providers.chat.addresses import KEY_VARIABLE
from curation.release.freezing import create_release
from db.engine import reading, writing
from db.models import Run, RunMetric, RunState
from db.runs import get_run, list_runs
from db.settings import Settings, load_settings
from pages.components.shared.runs import background
from pages.components.train import kind_choice
from pages.components.train.language import section_choice
from tests.pages.conftest import unsafe_texts
from tests.pages.train.support.states import HOSTILE, page_text
from tests.support.checkout import APP
from tests.support.generating import Serve
from training.llm.provider.job_file import Job, keep_job
from training.llm.provider.request import KIND, ProviderRequest, request_finetuning

KEY = "sk-typed-in-by-somebody"


@pytest.fixture
def released(project: Engine) -> Engine:
    """A release with 36 question pairs for training."""
    with writing(project) as session:
        create_release(session)
    return project


@pytest.fixture
def environments(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, str]]:
    """The environments of the processes that the page starts, without the settings."""
    found: list[dict[str, str]] = []

    def start(settings: Settings, run: Run, environment: Mapping[str, str] | None = None) -> None:
        found.append(dict(environment or {}))

    monkeypatch.setattr(background, "start_process", start)
    return found


def page() -> AppTest:
    test = AppTest.from_file(str(APP), default_timeout=60).run()
    test.session_state[kind_choice.SIDE] = kind_choice.LANGUAGE
    test.session_state[section_choice.SECTION] = section_choice.PROVIDER
    return test.switch_page("pages/train.py").run()


def store(engine: Engine, state: RunState, **how: Any) -> int:
    """A run in this state, with a curve and, if it is done, a model."""
    with writing(engine) as session:
        request = ProviderRequest(**{"model": HOSTILE[:200]} | how)
        run = request_finetuning(session, load_settings(), request, requested_by=None)
        run.state, run.message = state, f"The job is {HOSTILE}"
        for step in range(1, 4):
            session.add(RunMetric(run_id=run.id, name="loss", step=step, value=1 / step))
        session.add(RunMetric(run_id=run.id, name="eval_loss", step=3, value=0.4))
        if state is RunState.DONE:
            run.result = {
                "job": "ftjob-1",
                "fine_tuned_model": f"ft:{HOSTILE}",
                "base": HOSTILE,
                "base_url": "",
                "release": 1,
                "arm": "both",
                "train": 36,
                "validation": 4,
                "tokens": 1234,
                "cost": 0.5,
                "epochs": 3,
            }
        return run.id


def test_without_a_release_it_says_what_to_do(app_engine: Engine) -> None:
    test = page()
    assert "there is none yet" in page_text(test)
    assert not [button for button in test.button if button.key == "llm-provider-start"]


def test_a_click_stores_the_values_shown_and_only_the_process_gets_the_key(
    released: Engine, environments: list[dict[str, str]]
) -> None:
    test = page()
    assert "Enter a model" in page_text(test)
    test.selectbox("generate-model").set_value("gpt-4o-mini").run()
    assert "It trains on 36 question pairs of release 1" in page_text(test)
    assert "for each epoch, by the price list of" in page_text(test)
    assert test.button("llm-provider-start").disabled, "OpenAI needs a key"
    test.text_input("generate-key-llm").set_value(KEY).run()
    test.number_input("llm-provider-epochs").set_value(2).run()
    assert "for 2 epochs" in page_text(test)
    test.button("llm-provider-start").click().run()
    with reading(released) as session:
        (run,) = list_runs(session, kind=KIND)
    assert run.parameters["model"] == "gpt-4o-mini" and run.parameters["epochs"] == 2
    assert (run.parameters["release"], run.parameters["seed"]) == (1, None)
    assert environments == [{KEY_VARIABLE: KEY}] and KEY not in str(run.parameters)
    assert f"Run {run.id}: finetune gpt-4o-mini on release 1" in page_text(test)
    assert not test.exception


def test_an_arm_that_the_release_cannot_fill_is_reported_before_the_click(released: Engine) -> None:
    test = page()
    test.selectbox("generate-model").set_value("gpt-4o-mini").run()
    test.selectbox("llm-provider-arm").set_value("hedging").run()
    assert "an original contradiction" in page_text(test)


def test_the_result_is_shown_and_can_be_chosen_as_a_chat_model(released: Engine) -> None:
    store(released, RunState.DONE)
    store(released, RunState.DONE, seed=2)
    test = page()
    assert f"ft:{HOSTILE}" in [element.value for element in test.code]
    assert "36 question pairs for 3 epochs (1,234 tokens" in page_text(test)
    assert "Loss on 4 validation questions: 0.4000" in page_text(test)
    assert len(test.get("vega_lite_chart")) == 1
    assert test.dataframe[0].value["US$"].tolist() == [0.5, 0.5]
    assert f"ft:{HOSTILE}" in test.selectbox("generate-model").options
    assert HOSTILE not in unsafe_texts(test)


def test_a_paused_run_can_be_resumed_with_its_key(
    released: Engine, environments: list[dict[str, str]]
) -> None:
    run_id = store(released, RunState.PAUSED, model="small", base_url="http://127.0.0.1:9/v1")
    test = page()
    assert "keeps running until you cancel it" not in page_text(test), "nothing was started there"
    test.text_input(f"generate-key-llm-{run_id}").set_value(KEY).run()
    test.button(f"again-{run_id}").click().run()
    assert [found[KEY_VARIABLE] for found in environments] == [KEY]
    with reading(released) as session:
        assert get_run(session, run_id).state is RunState.QUEUED


def test_cancelling_a_paused_run_cancels_its_job_with_the_typed_key(
    released: Engine, serve_chat: Serve
) -> None:
    address, server = serve_chat(key=KEY)
    job = {"id": "ftjob-7", "status": "running", "training_file": "file-1"}
    server.finetuning.jobs["ftjob-7"] = job
    run_id = store(released, RunState.PAUSED, model="small", base_url=address)
    with reading(released) as session:
        folder = load_settings().data_folder / get_run(session, run_id).folder
    folder.mkdir(parents=True, exist_ok=True)
    keep_job(folder, Job(label="x", training_file="file-1", started=True, job="ftjob-7"))
    test = page()
    assert "keeps running until you cancel it" in page_text(test)
    test.button(f"llm-provider-cancel-{run_id}").click().run()
    assert "may still be running at the provider" in page_text(test), "no key was typed in yet"
    with writing(released) as session:
        session.get_one(Run, run_id).state = RunState.PAUSED
    test = page()
    test.text_input(f"generate-key-llm-{run_id}").set_value(KEY).run()
    test.button(f"llm-provider-cancel-{run_id}").click().run()
    assert job["status"] == "cancelled" and not test.exception
