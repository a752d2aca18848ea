"""Runs on the Generate page (set up, tried, paused, resumed and read), and their prompts. The runs
are executed in the test."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, select
from streamlit.testing.v1 import AppTest

from curation.content_uids import anchor_uid
from curation.generation import run as generation
from curation.generation.prices import price_of
from curation.generation.prompts import prompt_versions
from curation.generation.request import KIND, Price
from curation.generation.run import checked_request, request_generation
from curation.review import deciding
from curation.review.deciding import shown
from curation.splits import split_of
from db.engine import reading, writing
from db.errors import HedgerowError
from db.execution import execute
from db.models import RunState, Variant
from db.runs import create_run, get_run
from db.settings import load_settings
from pages.components.shared import page_runs
from pages.components.shared.shell import open_project
from pages.components.shared.shell.open_project import ask, tell
from tests.pages.conftest import OpenPage, Wording, unsafe_texts
from tests.pages.looks import newest, opened, page_text, use
from tests.support.factories import add_anchor, add_family, add_variant, person
from tests.support.generating import Serve
from tests.support.hostile import TEXTS
from tests.support.servers.chat_server import texts_for, with_thoughts

NOWHERE = "http://127.0.0.1:9/v1"
TEXTS_FOR = "tests.support.servers.chat_server"


@pytest.fixture(autouse=True)
def unmeasured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measuring is tested elsewhere, because it loads an encoder."""
    monkeypatch.setattr("curation.diagnostics.measuring.work", lambda context: {})


@pytest.fixture
def ten(with_source: Engine) -> Engine:
    """Ten anchors without variants."""
    for number in range(10):
        tell(add_anchor, f"The bridge number {number} is safe.")
    return with_source


def sent(app: AppTest) -> str:
    """Everything that is sent to the browser."""
    return "\n".join(str(getattr(node, "proto", "")) for node in (*app.main, *app.sidebar))


def carry_out(engine: Engine, number: int, app: AppTest | None = None) -> None:
    """Do the work of the run's process, and have the page show it."""
    with suppress(HedgerowError):  # the row says whether it paused or failed
        execute(engine, load_settings(), number, {generation.KIND: generation.work})
    if app:
        app.run()


def named(app: AppTest, address: str, model: str = "gpt-4o-mini") -> AppTest:
    app.selectbox("generate-model").set_value(model)
    return app.text_input("generate-address").set_value(address).run()


def at(app: AppTest, section: str) -> AppTest:
    return app.segmented_control("step").set_value(section).run()


def can_start(app: AppTest) -> bool:
    (start,) = {app.button(key).disabled for key in ("generate-start", "generate-try")}
    return not start


def variants(engine: Engine) -> list[Variant]:
    with reading(engine) as session:
        return list(session.execute(select(Variant)).scalars())


def test_without_anchors_it_says_where_to_get_some(open_page: OpenPage, wording: Wording) -> None:
    app = open_page("generate")
    wording(app, "generate", "no anchors")
    assert app.get("page_link")[0].page == "anchors" and not app.get("number_input")


def test_a_run_is_set_up_with_a_key_or_a_server_and_a_price_that_is_kept(
    ten: Engine, open_page: OpenPage, wording: Wording
) -> None:
    app = at(open_page("generate"), "Results")
    wording(app, "generate", "no results")
    app.button(key="generate-set-up").click().run()
    assert app.session_state["step"] == "Set up"
    wording(named(app, ""), "generate", "a model without its key")
    assert not can_start(app)
    wording(named(app, NOWHERE), "generate", "a model on the user's server")
    assert "10 anchors, 20 calls: 10 for negations, 10 for hedges." in page_text(app)
    assert can_start(app)
    boxes = {box.label: box for box in app.number_input}
    assert boxes["US$ per million input tokens"].value == 0.15
    boxes["US$ per million output tokens"].set_value(9.0).run()
    next(button for button in app.button if button.label == "Save this price").click().run()
    assert not app.exception and ask(price_of, "gpt-4o-mini") == Price(prompt=0.15, completion=9.0)
    app.button("generate-start").click().run()
    assert newest(KIND).parameters["price"]["completion"] == 9.0


def test_a_trial_estimates_the_cost_of_the_run(
    ten: Engine, open_page: OpenPage, started: list[int], serve_chat: Serve, wording: Wording
) -> None:
    address, _ = serve_chat()
    app = named(open_page("generate"), address).button("generate-try").click().run()
    assert not [box for box in app.button if box.key == "generate-start"], "it is running"
    carry_out(ten, started[0], app)
    wording(app, "generate", "after a trial")
    assert "7 anchors, 14 calls" in page_text(app)
    assert "estimated from 6 answered calls" in page_text(app) and "$0.0" in page_text(app)
    assert "By verbal it is not so that" in "".join(part.body for part in app.get("html"))
    assert '"verbal"' in "\n".join(block.value for block in app.code)
    assert ask(get_run, started[1]).kind == "diagnose", "nobody waits for that"
    app.button("generate-start").click().run()
    carry_out(ten, started[2], app)
    wording(app, "generate", "nothing left to generate")
    assert not can_start(app) and len(variants(ten)) == 60


def test_a_run_paused_at_its_budget_continues_with_a_higher_one(
    ten: Engine, open_page: OpenPage, started: list[int], serve_chat: Serve, wording: Wording
) -> None:
    address, server = serve_chat()
    app = use(named(open_page("generate"), address), {"generate-calls": 5}, press="generate-start")
    carry_out(ten, 1, app)
    assert ask(get_run, 1).state == RunState.PAUSED
    use(app, {"generate-calls-1": 500}, press="generate-resume-1")
    assert started == [1, 1]
    run = ask(get_run, 1)
    assert run.state == RunState.QUEUED and run.parameters["budget"]["calls"] == 500
    assert run.parameters["model"] == "gpt-4o-mini"
    carry_out(ten, 1, app)
    assert not can_start(app), "nothing is left"
    assert set(server.asked.values()) == {1}
    wording(at(app, "Results"), "generate", "results")
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
    ten: Engine, open_page: OpenPage, started: list[int]
) -> None:
    app = named(open_page("generate"), NOWHERE).button("generate-start").click().run()
    app.button("cancel-1").click().run()
    assert ask(get_run, 1).state == RunState.CANCELLED
    assert ", 20 " in page_text(at(app, "Results")), "calls were not made"
    app.button("generate-resume-1").click().run()
    assert started == [1, 1]


def test_problems_are_counted_with_their_raw_texts_and_retried_alone(
    ten: Engine,
    open_page: OpenPage,
    started: list[int],
    serve_chat: Serve,
    monkeypatch: pytest.MonkeyPatch,
    wording: Wording,
) -> None:
    hostile, plain = TEXTS["image error"], json.dumps

    def dumps(value: Any, **how: Any) -> str:
        """Like ``json.dumps``, except for an answer's texts: a model that writes something else."""
        return hostile if value == {"verbal": ""} else plain(value, **how)

    monkeypatch.setattr(f"{TEXTS_FOR}.texts_for", lambda prompt: {"verbal": ""})
    monkeypatch.setattr(f"{TEXTS_FOR}.json.dumps", dumps)
    address, _ = serve_chat()
    app = use(
        named(open_page("generate"), address), {"generate-attempts": 1}, press="generate-start"
    )
    carry_out(ten, 1, app)
    at(app, "Results")
    assert "0 calls answered, 20 failed." in page_text(app) and "unreadable 20" in page_text(app)
    wording(app, "generate", "results with problems")
    app.pills("generate-problem-1").set_value("unreadable").run()
    assert hostile in app.code[0].value and hostile not in unsafe_texts(app)
    app.button("generate-retry").click().run()
    assert "10 anchors, 20 calls" in page_text(app)


def test_missing_types_and_costs_that_are_estimates_are_shown(
    ten: Engine,
    open_page: OpenPage,
    started: list[int],
    serve_chat: Serve,
    monkeypatch: pytest.MonkeyPatch,
    wording: Wording,
) -> None:
    def without_absolute(prompt: str) -> dict[str, str]:
        return {key: text for key, text in texts_for(prompt).items() if key != "absolute"}

    monkeypatch.setattr(f"{TEXTS_FOR}.answer_to", without_absolute)
    address, server = serve_chat()
    server.reports, server.says = lambda usage: None, with_thoughts
    app = use(
        named(open_page("generate"), address), {"generate-attempts": 1}, press="generate-start"
    )
    carry_out(ten, 1, app)
    assert "20 calls answered, 0 failed, 10 variants missing" in page_text(app)
    wording(at(app, "Results"), "generate", "results with estimates")
    assert "Absolute negator 10" in page_text(app)
    assert "Removed from answers: reasoning 20, " in page_text(app).replace("Markdown 20, ", "")
    app.pills("generate-problem-1").set_value("reasoning removed").run()
    assert "no wait" in app.code[0].value, "the raw answer is one click away"


def test_hostile_names_of_models_and_anchors_are_shown_as_text(
    with_source: Engine, open_page: OpenPage, serve_chat: Serve
) -> None:
    address, _ = serve_chat()
    with writing(with_source) as session:
        for text in TEXTS.values():
            add_anchor(session, text)
        values = {"model": TEXTS["script"][:200], "base_url": address}
        values |= {"selection": {"limit": 3}}
    run = request_generation(with_source, checked_request(values))
    carry_out(with_source, run.id)
    app = open_page("generate")
    for section in ("Set up", "Prompts", "Results"):
        at(app, section)
        assert not app.exception
        long = (text for text in TEXTS.values() if len(text) > 8)
        assert not [text for text in long if text in unsafe_texts(app)]


def test_only_the_runs_process_gets_a_typed_key(
    ten: Engine, open_page: OpenPage, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "sk-typed-9c2e"
    handed: list[dict[str, str]] = []
    monkeypatch.setattr(
        page_runs, "start_process", lambda settings, run, environment: handed.append(environment)
    )
    app = named(open_page("generate"), "").text_input("generate-key").set_value(key).run()
    assert can_start(app)
    app.button("generate-start").click().run()
    assert handed == [{"HEDGEROW_OPENAI_API_KEY": key}] and key not in sent(app)
    assert not [
        file for file in home.rglob("*") if file.is_file() and key.encode() in file.read_bytes()
    ]
    app.button("cancel-1").click().run()
    app = named(app, NOWHERE)
    assert app.text_input("generate-key").value == "", "it is for the address it was typed for"
    app.button("generate-start").click().run()
    assert handed[1:] == [{}]
    app.button("cancel-2").click().run()
    app = named(app, "").button("generate-key-forget").click().run()
    assert not can_start(app)


def test_an_environment_key_is_reported_as_set_but_not_shown(
    ten: Engine, open_page: OpenPage, monkeypatch: pytest.MonkeyPatch, wording: Wording
) -> None:
    monkeypatch.setenv("HEDGEROW_OPENAI_API_KEY", "sk-environment-1f")
    monkeypatch.setenv("HEDGEROW_OPENAI_BASE_URL", "https://ada:hunter2@llm.example/v1")
    open_project.settings.clear()
    app = named(open_page("generate"), "")
    wording(app, "generate", "a key in the environment")
    assert app.text_input("generate-address").placeholder == "https://llm.example/v1"
    assert "hunter2" not in sent(app) and "sk-environment" not in sent(app) and can_start(app)
    wording(named(app, NOWHERE), "generate", "a key in the environment for another address")
    assert "https://llm.example/v1" in page_text(app) and "hunter2" not in sent(app)
    assert app.text_input("generate-key").value == ""


@pytest.mark.parametrize("types", [[], ["free_hedge"]], ids=["all types", "frames"])
def test_rules_write_without_a_key_or_a_model(
    ten: Engine, open_page: OpenPage, started: list[int], types: list[str]
) -> None:
    app = use(
        open_page("generate"),
        {"generate-provider": "rules", "generate-types": types},
        press="generate-start",
    )
    carry_out(ten, started[0], app)
    written = variants(ten)
    assert len(written) == (10 if types else 60) and {row.provider for row in written} == {"rules"}
    if types:
        assert {row.type_id for row in written} == {"free_hedge"}
        frames = {row.cue for row in written}
        assert f" {len(frames)} (Free hedge)" in page_text(at(app, "Results"))
    else:
        assert "The bridge number 3 is unsafe." in {row.text for row in written}
        assert not can_start(app)


# -- prompts ---------------------------------------------------------------------------

HOSTILE = "<b>Never</b> **was** :smile: $it$ {types} safe."
PARAMETERS = {
    "provider": "openai",
    "model": "m",
    "base_url": "",
    "selection": {"limit": None},
    "roles": ["negation"],
}


@pytest.fixture
def reviewed(with_source: Engine) -> Engine:
    """Three training anchors. Their verbal negations are accepted, one with an edited text."""
    texts = (f"The bridge number {number} is safe." for number in range(100))
    training = [text for text in texts if split_of(anchor_uid(text)) == "train"][:3]
    with writing(with_source) as session:
        ada = person(session)
        for number, text in enumerate(training):
            card = shown(add_variant(session, add_anchor(session, text), text=f"Not {number}."))
            if number:
                deciding.accept(session, card, reviewer_id=ada)
            else:
                deciding.edit(session, card, reviewer_id=ada, text=HOSTILE)
    return with_source


def prompts(**state: object) -> AppTest:
    return opened("generate", {"step": "Prompts", **state})


def test_a_copy_of_a_prompt_becomes_its_next_version(with_source: Engine, wording: Wording) -> None:
    for number in (1, 2):
        tell(add_variant, tell(add_anchor, f"The bridge number {number} is safe."))
    app = prompts()
    wording(app, "generate", "prompts without accepted variants")
    first = app.code[0].value
    assert "The bridge number" in first and "1. " in first
    app.button("generate-another").click().run()
    assert app.code[0].value != first
    template = app.text_area[0].value
    app.text_area[0].set_value("Negate it: {text}").run()
    app.button("generate-save-prompt").click().run()
    assert "{types}" in page_text(app), "the placeholder is missing"
    assert app.text_area[0].value == "Negate it: {text}"
    assert len(ask(prompt_versions, "negation")) == 1
    draft = template + '\nKeep it short, as {"a": "this"}.'
    app.text_area[0].set_value(draft).run()
    assert 'Keep it short, as {"a": "this"}.' in app.code[0].value
    app.button("generate-save-prompt").click().run()
    assert not app.exception
    newest, older = ask(prompt_versions, "negation")
    assert (newest.version, newest.template, newest.parent_id) == (2, draft, older.id)


def test_the_judges_prompt_is_shown_filled_in_and_needs_its_placeholders(
    with_source: Engine,
) -> None:
    tell(add_family)
    app = prompts(**{"generate-prompt-of": "judge"})
    assert "Text: The bridge is safe.\nVariant: The bridge is not safe." in app.code[0].value
    app.text_area[0].set_value(app.text_area[0].value.replace("{variant}", "")).run()
    assert not app.code and not app.exception, "it cannot be filled in"


def test_a_version_with_examples_is_saved_filled_in_and_compared_by_its_acceptance(
    reviewed: Engine, wording: Wording
) -> None:
    app = prompts()
    wording(app, "generate", "prompts")
    save = app.button("generate-save-examples")
    app.number_input("generate-examples-number").set_value(1).run()
    assert "1 example" in app.button("generate-save-examples").label and "3 " in save.label
    use(app, {"generate-examples-number": 2}, press="generate-save-examples")
    newest = ask(prompt_versions, "negation")[0]
    assert newest.version == 2 and len(newest.examples) == 2
    assert newest.examples[0]["text"] == HOSTILE
    filled = app.code[0].value
    assert "Example: The bridge number" in filled
    app.button("generate-another").click().run()
    assert f'"verbal": {HOSTILE}' in filled + app.code[0].value
    assert "<b>" not in unsafe_texts(app) and "**was**" not in unsafe_texts(app)
    with writing(reviewed) as session:
        ada = person(session)
        run = create_run(session, kind="generate", parameters=PARAMETERS)
        run.state = RunState.DONE
        for prompt in prompt_versions(session, "negation"):
            for number in range(4):
                anchor = add_anchor(session, f"Road {prompt.version}.{number} is long.")
                variant = add_variant(session, anchor)
                variant.prompt_version_id, variant.model = prompt.id, "m"
                session.flush()
                if prompt.version == 2 or number == 0:
                    deciding.accept(session, shown(variant), reviewer_id=ada)
                else:
                    deciding.reject(session, shown(variant), reviewer_id=ada, reason="wrong_scope")
    app.segmented_control("step").set_value("Results").run()
    wording(app, "generate", "acceptance by prompt version")
    table = app.dataframe[0].value
    assert list(table["Prompt"]) == ["version 1", "version 2"]
    assert list(table["Examples"]) == [0, 2] and list(table["Accepted"]) == [1, 4]
    assert table["Acceptance"][0].startswith("25.0% (")
