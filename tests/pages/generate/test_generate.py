"""The Generate page in each of its states. Its runs are executed in the test."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, select
from streamlit.testing.v1 import AppTest

from curation.generation import run as generation
from curation.generation.costs.prices import price_of
from curation.generation.prompts import prompt_versions
from curation.generation.request import KIND, Price
from curation.generation.run import checked_request, request_generation
from db.engine import reading, writing
from db.errors import HedgerowError
from db.execution import execute
from db.models import RunState, Variant
from db.runs import get_run, list_runs
from db.settings import load_settings
from pages.components.shared.runs import background
from pages.components.shared.shell import open_project
from tests.pages.conftest import OpenPage, unsafe_texts
from tests.support.factories import add_anchor
from tests.support.generating import Serve
from tests.support.hostile import TEXTS
from tests.support.servers.chat_server import texts_for


@pytest.fixture(autouse=True)
def unmeasured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measuring is tested elsewhere, because it loads an encoder."""
    monkeypatch.setattr("curation.diagnostics.measuring.work", lambda context: {})


@pytest.fixture
def ten(with_source: Engine) -> Engine:
    """Ten anchors without variants."""
    with writing(with_source) as session:
        for number in range(10):
            add_anchor(session, f"The bridge number {number} is safe.")
    return with_source


def page_text(app: AppTest) -> str:
    assert not app.exception
    return "\n".join(element.value for element in app.text)


def sent(app: AppTest) -> str:
    """Everything that is sent to the browser."""
    return "\n".join(str(getattr(node, "proto", "")) for node in (*app.main, *app.sidebar))


def carry_out(engine: Engine, number: int) -> None:
    """Do the work of the run's process."""
    try:
        execute(engine, load_settings(), number, {generation.KIND: generation.work})
    except HedgerowError:  # the row says whether it paused or failed
        return


def named(app: AppTest, address: str, model: str = "gpt-4o-mini") -> AppTest:
    app.selectbox("generate-model").set_value(model)
    return app.text_input("generate-address").set_value(address).run()


def test_without_anchors_it_says_where_to_get_some(open_page: OpenPage) -> None:
    app = open_page("generate")
    assert "no anchors yet" in page_text(app)
    assert [link.page for link in app.get("page_link")] == ["anchors", "overview"]
    assert not app.get("number_input")


def test_without_results_a_button_leads_to_the_set_up(ten: Engine, open_page: OpenPage) -> None:
    app = open_page("generate")
    app.session_state["step"] = "Results"
    app.run()
    app.button(key="generate-set-up").click().run()
    assert app.session_state["step"] == "Set up"
    assert app.text_input(key="generate-search")


def test_openai_needs_a_key_and_your_own_server_does_not(ten: Engine, open_page: OpenPage) -> None:
    app = open_page("generate")
    assert "Choose a model" in page_text(app)
    app = named(app, "")
    assert "needs an API key" in page_text(app)
    assert app.button("generate-start").disabled and app.button("generate-try").disabled
    app = named(app, "http://127.0.0.1:9/v1")
    assert "needs an API key" not in page_text(app)
    assert "10 anchors, 20 calls: 10 for negations, 10 for hedges." in page_text(app)
    assert "not known yet" in page_text(app)
    assert not app.button("generate-start").disabled


def test_a_trial_estimates_the_cost_of_the_run(
    ten: Engine, open_page: OpenPage, started: list[int], serve_chat: Serve
) -> None:
    address, _ = serve_chat()
    app = named(open_page("generate"), address)
    app.button("generate-try").click().run()
    assert "Waiting for the run to start" in page_text(app)
    assert not [box for box in app.button if box.key == "generate-start"]
    carry_out(ten, started[0])
    app.run()
    assert "Trial" in [title.value for title in app.header]
    assert "7 anchors, 14 calls" in page_text(app)
    assert "estimated from 6 answered calls" in page_text(app)
    assert "Expected cost: $0.0" in page_text(app)
    assert "By verbal it is not so that" in "".join(part.body for part in app.get("html"))
    assert '"verbal"' in "\n".join(block.value for block in app.code)
    with reading(ten) as session:
        assert get_run(session, started[1]).kind == "diagnose", "nobody waits for that"
    app.button("generate-start").click().run()
    carry_out(ten, started[2])
    app.run()
    assert "Nothing to generate" in page_text(app)
    assert "Choose a model" not in page_text(app)
    with reading(ten) as session:
        assert len(session.execute(select(Variant)).all()) == 60


def test_a_typed_price_is_kept_for_the_model(ten: Engine, open_page: OpenPage) -> None:
    app = named(open_page("generate"), "http://127.0.0.1:9/v1")
    boxes = {box.label: box for box in app.number_input}
    assert boxes["US$ per million input tokens"].value == 0.15
    boxes["US$ per million output tokens"].set_value(9.0).run()
    next(button for button in app.button if button.label == "Save this price").click().run()
    assert not app.exception
    with reading(ten) as session:
        assert price_of(session, "gpt-4o-mini") == Price(prompt=0.15, completion=9.0)
    app.button("generate-start").click().run()
    with reading(ten) as session:
        assert list_runs(session, kind=KIND)[0].parameters["price"]["completion"] == 9.0


def test_a_run_paused_at_its_budget_continues_with_a_higher_one(
    ten: Engine, open_page: OpenPage, started: list[int], serve_chat: Serve
) -> None:
    address, server = serve_chat()
    app = named(open_page("generate"), address)
    app.number_input("generate-calls").set_value(5).run()
    app.button("generate-start").click().run()
    carry_out(ten, started[0])
    app.run()
    assert "Paused at the budget" in page_text(app)
    app.number_input(f"generate-calls-{started[0]}").set_value(500).run()
    app.button(f"generate-resume-{started[0]}").click().run()
    assert started == [1, 1]
    with reading(ten) as session:
        run = get_run(session, 1)
        assert run.state == RunState.QUEUED and run.parameters["budget"]["calls"] == 500
        assert run.parameters["model"] == "gpt-4o-mini"
    carry_out(ten, 1)
    app.run()
    assert "Nothing to generate" in page_text(app)
    assert set(server.asked.values()) == {1}
    app.segmented_control("step").set_value("Results").run()
    assert "20 calls answered, 0 failed." in page_text(app)
    costs = app.dataframe[0].value
    assert costs["Variants"].tolist() == [10] * 6
    assert costs["Per variant"].tolist() == pytest.approx((costs["Cost"] / 10).tolist())
    cues = app.dataframe[1].value
    assert set(cues["Type"]) == {"Hedge: single word", "Hedge: phrase"}
    assert cues["Calls"].sum() == 20 and "of 134 (" in page_text(app)
    app.selectbox("generate-result").set_value("all").run()
    assert app.dataframe[1].value["Calls"].sum() == 20


def test_a_cancelled_run_is_resumed_from_the_results(
    ten: Engine, open_page: OpenPage, started: list[int], serve_chat: Serve
) -> None:
    address, _ = serve_chat()
    app = named(open_page("generate"), address)
    app.button("generate-start").click().run()
    app.button("cancel-1").click().run()
    assert "Run 1 was cancelled" in page_text(app)
    app.segmented_control("step").set_value("Results").run()
    assert "20 not made" in page_text(app)
    app.button("generate-resume-1").click().run()
    assert started == [1, 1]


def test_problems_are_counted_with_their_raw_texts_and_retried_alone(
    ten: Engine,
    open_page: OpenPage,
    started: list[int],
    serve_chat: Serve,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hostile = TEXTS["image error"]
    monkeypatch.setattr(
        "tests.support.servers.chat_server.texts_for", lambda prompt: {"verbal": ""}
    )
    monkeypatch.setattr("tests.support.servers.chat_server.json.dumps", _dumps_with(hostile))
    address, _ = serve_chat()
    app = named(open_page("generate"), address)
    app.number_input("generate-attempts").set_value(1).run()
    app.button("generate-start").click().run()
    carry_out(ten, 1)
    app.run()
    app.segmented_control("step").set_value("Results").run()
    assert "0 calls answered, 20 failed." in page_text(app)
    assert "Problems, including incomplete answers: unreadable 20." in page_text(app)
    app.pills("generate-problem-1").set_value("unreadable").run()
    assert hostile in app.code[0].value
    assert hostile not in unsafe_texts(app)
    app.button("generate-retry").click().run()
    assert "10 anchors, 20 calls" in page_text(app)


def test_missing_types_and_costs_that_are_estimates_are_shown(
    ten: Engine,
    open_page: OpenPage,
    started: list[int],
    serve_chat: Serve,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def without_absolute(prompt: str) -> dict[str, str]:
        return {key: text for key, text in texts_for(prompt).items() if key != "absolute"}

    monkeypatch.setattr("tests.support.servers.chat_server.answer_to", without_absolute)
    address, server = serve_chat()
    server.reports = lambda usage: None
    app = named(open_page("generate"), address)
    app.number_input("generate-attempts").set_value(1).run()
    app.button("generate-start").click().run()
    carry_out(ten, 1)
    app.run()
    assert (
        "Run 1 is done: 20 calls answered, 0 failed, 10 variants missing from answers."
        in page_text(app)
    )
    app.segmented_control("step").set_value("Results").run()
    assert "Missing from answers: Absolute" in page_text(app)
    assert "(estimated: the server reports no usable token counts)" in page_text(app)
    assert any("Some costs are estimates" in item.value for item in app.caption)


def test_a_run_paused_by_a_rate_limit_is_resumed_on_the_page(
    ten: Engine,
    open_page: OpenPage,
    started: list[int],
    serve_chat: Serve,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("curation.generation.providers.chat.retries.FIRST_WAIT", 0.001)
    address, server = serve_chat(retry_after=0.001)
    server.always = lambda prompt: "rate limit"
    app = named(open_page("generate"), address)
    app.button("generate-start").click().run()
    carry_out(ten, 1)
    app.run()
    assert "Paused: the server refused" in page_text(app)
    server.always = lambda prompt: ""
    app.button("generate-resume-1").click().run()
    assert started == [1, 1]
    carry_out(ten, 1)
    app.run()
    assert "Nothing to generate" in page_text(app)


def _dumps_with(text: str) -> Callable[..., str]:
    """Like ``json.dumps``, except for an answer's texts: a model that writes something else."""
    plain = json.dumps

    def dumps(value: Any, **how: Any) -> str:
        return text if value == {"verbal": ""} else plain(value, **how)

    return dumps


def test_a_copy_of_a_prompt_becomes_its_next_version(ten: Engine, open_page: OpenPage) -> None:
    app = open_page("generate")
    app.segmented_control("step").set_value("Prompts").run()
    assert "The bridge number" in app.code[0].value and "1. " in app.code[0].value
    first = app.code[0].value
    app.button("generate-another").click().run()
    assert app.code[0].value != first
    box = app.text_area[0]
    draft = box.value + '\nKeep it short, as {"a": "this"}.'
    box.set_value(draft).run()
    assert 'Keep it short, as {"a": "this"}.' in app.code[0].value
    app.button("generate-save-prompt").click().run()
    assert "Saved as version 2." in page_text(app)
    with reading(ten) as session:
        newest, older = prompt_versions(session, "negation")
        assert newest.template == draft and newest.parent_id == older.id


def test_a_draft_without_a_placeholder_is_kept_but_not_saved(
    ten: Engine, open_page: OpenPage
) -> None:
    app = open_page("generate")
    app.segmented_control("step").set_value("Prompts").run()
    app.text_area[0].set_value("Negate it: {text}").run()
    app.button("generate-save-prompt").click().run()
    assert "Expected {types} once" in page_text(app)
    assert app.text_area[0].value == "Negate it: {text}"
    with reading(ten) as session:
        assert len(prompt_versions(session, "negation")) == 1


def test_hostile_names_of_models_and_anchors_are_shown_as_text(
    with_source: Engine, open_page: OpenPage, started: list[int], serve_chat: Serve
) -> None:
    address, _ = serve_chat()
    with writing(with_source) as session:
        for text in TEXTS.values():
            add_anchor(session, text)
        values = {"model": TEXTS["script"][:200], "base_url": address}
        values |= {"selection": {"limit": 3}}
        run = request_generation(session, checked_request(values))
    carry_out(with_source, run.id)
    app = open_page("generate")
    page_text(app)
    for section in ("Prompts", "Results"):
        app.segmented_control("step").set_value(section).run()
        page_text(app)
        long = (text for text in TEXTS.values() if len(text) > 8)
        assert not [text for text in long if text in unsafe_texts(app)]


def test_only_the_runs_process_gets_a_typed_key(
    ten: Engine, open_page: OpenPage, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "sk-typed-9c2e"
    handed: list[dict[str, str]] = []
    monkeypatch.setattr(
        background, "start_process", lambda settings, run, environment: handed.append(environment)
    )
    app = named(open_page("generate"), "")
    app.text_input("generate-key").set_value(key).run()
    assert "API key: entered for this session" in page_text(app)
    assert "needs an API key" not in page_text(app)
    app.button("generate-start").click().run()
    assert handed == [{"HEDGEROW_OPENAI_API_KEY": key}]
    assert key not in sent(app)
    assert not [
        file for file in home.rglob("*") if file.is_file() and key.encode() in file.read_bytes()
    ]
    app.button("cancel-1").click().run()
    app = named(app, "http://127.0.0.1:9/v1")
    assert "entered for this session" not in page_text(app), (
        "it is for the address it was typed for"
    )
    app.button("generate-start").click().run()
    assert handed[1:] == [{}]
    app.button("cancel-2").click().run()
    app = named(app, "")
    app.button("generate-key-forget").click().run()
    assert "needs an API key" in page_text(app)


def test_an_environment_key_is_reported_as_set_but_not_shown(
    ten: Engine, open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEDGEROW_OPENAI_API_KEY", "sk-environment-1f")
    monkeypatch.setenv("HEDGEROW_OPENAI_BASE_URL", "https://ada:hunter2@llm.example/v1")
    open_project.settings.clear()
    app = named(open_page("generate"), "")
    assert "API key: set in the environment" in page_text(app)
    assert app.text_input("generate-address").placeholder == "https://llm.example/v1"
    assert "hunter2" not in sent(app) and "sk-environment" not in sent(app)
    assert not app.button("generate-start").disabled
    app = named(app, "http://127.0.0.1:9/v1")
    assert "is for https://llm.example/v1; it is not sent to another address" in page_text(app)
    assert "hunter2" not in sent(app)
    assert app.text_input("generate-key").value == ""


def test_rules_write_without_a_key_or_a_model(
    ten: Engine, open_page: OpenPage, started: list[int]
) -> None:
    app = open_page("generate")
    app.segmented_control(key="generate-provider").set_value("rules").run()
    assert "costs nothing" in page_text(app) and not app.button("generate-start").disabled
    app.button("generate-start").click().run()
    carry_out(ten, started[0])
    assert "Nothing to generate" in page_text(app.run())
    with reading(ten) as session:
        rows = list(session.execute(select(Variant)).scalars())
    assert len(rows) == 60 and {row.provider for row in rows} == {"rules"}
    assert "The bridge number 3 is unsafe." in {row.text for row in rows}


def test_rules_write_frames_for_the_types_that_are_chosen(
    ten: Engine, open_page: OpenPage, started: list[int]
) -> None:
    app = open_page("generate")
    app.segmented_control(key="generate-provider").set_value("rules").run()
    app.multiselect(key="generate-types").set_value(["free_hedge"]).run()
    app.button("generate-start").click().run()
    carry_out(ten, started[0])
    with reading(ten) as session:
        rows = list(session.execute(select(Variant)).scalars())
    assert {row.type_id for row in rows} == {"free_hedge"} and len(rows) == 10
    frames = {row.cue for row in rows}
    app.run().segmented_control("step").set_value("Results").run()
    assert f"Cues used: {len(frames)} (Free hedge)." in page_text(app)
