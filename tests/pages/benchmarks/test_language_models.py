"""Language models on the benchmarks page: chat models, prompts, lm_eval tasks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import Engine, select
from sqlmodel import col
from streamlit.testing.v1 import AppTest

from db.engine import reading, writing
from db.models import BenchmarkResult, RunState
from db.runs import list_runs
from db.settings import load_settings
from pages.components.benchmarks.names import ITEMS, PROMPTS, SCORES
from tests.pages.benchmarks.support.page import (
    HOSTILE,
    content,
    frame_of,
    frames_of,
    page,
    page_text,
    uploaded,
)
from tests.support.benchmark_results import add_result
from tests.support.harness_tasks import save_own_tasks
from tests.training.benchmarks.support.samples import semantoneg_rows, write_lines
from training.benchmarks.definition import Result
from training.benchmarks.runs.request import KIND
from training.benchmarks.tasks.semantoneg import SemAntoNeg


@pytest.fixture
def chat(app_engine: Engine) -> AppTest:
    """The page with six items and a chat model on the user's server, with a price."""
    test = uploaded(page(), "semantoneg", content())
    test.multiselect("bench-models").set_value([]).run()
    test.toggle("bench-chat").set_value(True).run()
    test.text_input("generate-address").set_value("http://127.0.0.1:9/v1").run()
    test.selectbox("generate-model").set_value("gpt-4o-mini").run()
    assert not test.exception
    return test


def asked(result: Result, **more: Any) -> Result:
    """The result, as if it were from a language model."""
    how = {"prompt": "paraphrase_choice", "version": 2, "orders": 3, "prompts": 18}
    return replace(result, asked=how | {"first_share": 61.1, "changed_share": 50.0} | more)


def test_the_questions_and_costs_of_a_chat_model_are_shown_before_the_run(
    chat: AppTest, app_engine: Engine, started: list[int]
) -> None:
    tokens = "about 940 input and 90 output tokens"
    assert f"gpt-4o-mini gets 18 prompts ({tokens}), and costs" in page_text(chat)
    assert "with one-word answers" in page_text(chat) and "pauses" not in page_text(chat)
    chat.number_input("generate-money").set_value(0.001).run()
    assert "The run pauses if it reaches $0.0010." in page_text(chat)
    chat.number_input("generate-calls").set_value(5).run()
    chat.button("bench-start").click().run()
    with reading(app_engine) as session:
        (run,) = list_runs(session, kind=KIND)
    assert run.parameters["budget"] == {"calls": 5, "money": 0.001}
    assert run.parameters["models"][0]["price"]["prompt"] > 0


def test_a_run_at_its_cap_continues_with_a_higher_one(
    chat: AppTest, app_engine: Engine, started: list[int]
) -> None:
    chat.button("bench-start").click().run()
    with writing(app_engine) as session:
        run = session.merge(list_runs(session, kind=KIND)[0])
        run.state, run.message = RunState.PAUSED, "Paused at the budget: 5 calls."
        number = run.id
    test = page()
    assert "Paused at the budget: 5 calls. All answers are stored" in page_text(test)
    test.number_input(f"generate-money-{number}").set_value(25.0).run()
    test.button(f"again-{number}").click().run()
    assert not test.exception and started == [number, number]
    with reading(app_engine) as session:
        assert list_runs(session, kind=KIND)[0].parameters["budget"]["money"] == 25.0


def test_language_models_can_be_measured_with_your_own_tasks(
    app_engine: Engine, started: list[int], small_llama: Path, tmp_path: Path
) -> None:
    test = page()
    test.multiselect("bench-models").set_value([str(small_llama)]).run()
    test.multiselect("bench-language-tasks").set_value(["gsm8k"]).run()
    assert "GSM8K (5-shot, CoT): 1,319 math problems" in page_text(test)
    test.text_input("bench-tasks-folder").set_value(str(tmp_path / "none")).run()
    assert "Expected a folder with lm_eval tasks (YAML files), found none" in page_text(test)
    folder = save_own_tasks(tmp_path / "tasks")
    test.text_input("bench-tasks-folder").set_value(str(folder)).run()
    own = test.multiselect(f"bench-own-tasks-{folder}")
    assert own.value == ["opposites", "sums"]
    own.set_value(["sums"]).run()
    assert "Runs 1 model on 2 tasks of lm_eval." in page_text(test)
    test.button("bench-start").click().run()
    assert not test.exception
    with reading(app_engine) as session:
        (run,) = list_runs(session, kind=KIND)
    assert run.parameters["language_tasks"] == ["gsm8k", "sums"]
    assert run.parameters["tasks_folder"] == str(folder)
    assert "GSM8K (5-shot, CoT), sums with" in page_text(test)


def test_order_and_missing_answers_of_language_models_are_shown(
    measured: Engine, tmp_path: Path
) -> None:
    assert not frames_of(page(SCORES), "First chosen (%)"), "encoders are asked nothing"
    data = SemAntoNeg.read(write_lines(tmp_path / "sample.jsonl", semantoneg_rows()))
    scores = [[np.nan] * 3 if n < 2 else [0.1, 0.2, 0.9] for n in range(len(data.items))]
    result = asked(data.evaluate([np.array(row) for row in scores]))
    with writing(measured) as session:
        folder, kind = load_settings().data_folder, "chat"
        add_result(session, folder, HOSTILE, result, architecture=kind, scoring="both orders")
        row = session.execute(select(BenchmarkResult).order_by(col(BenchmarkResult.id).desc()))
        newest = row.scalars().first()
        assert newest is not None
        newest.summary = {**newest.summary, "edited": {"relevance": 3}}
    table = frame_of(page(SCORES), "Model", "First chosen (%)").iloc[0]
    assert table["Model"] == f"{HOSTILE} (chat, both orders, relevance prompt 3)"
    assert table["Prompt"] == "Three sentences, version 2"
    assert (table["First chosen (%)"], table["Order-dependent (%)"]) == (61.1, 50.0)
    assert (table["Unanswered"], table["Unanswered (%)"]) == (2, 33.3)
    items = page(ITEMS)
    items.selectbox("a").set_value(table["Model"]).run()
    shown = page_text(items)
    assert "61.1% of the answers are 1 (33% means no position bias)" in shown
    assert "no usable answer to 2 of 6 items (33.3%). These do not count as correct" in shown


def test_prompts_can_be_edited_and_chosen_for_a_run(app_engine: Engine, started: list[int]) -> None:
    test = page(PROMPTS)
    assert "NevIR and ExcluIR: the model chooses a document. Both orders" in page_text(test)
    assert "Document 2: The museum never opens on Monday." in test.code[0].value
    template = next(box for box in test.text_area if "template" in str(box.key))
    template.set_value(f"{HOSTILE} {{first}} {{second}}").run()
    assert "Expected {query} once in the prompt, found it 0 times" in page_text(test)
    key = template.key
    test.text_area(key).set_value(f"{HOSTILE} {{first}} {{second}} {{query}}").run()
    assert test.code[0].value.startswith(HOSTILE)
    test.button("bench-save-prompt").click().run()
    assert "Saved as version 2." in page_text(test) and not test.exception
    test = uploaded(page(), "semantoneg", content())
    test.selectbox("bench-version-of-relevance").set_value(1).run()
    test.toggle("bench-chat").set_value(True).run()
    test.text_input("generate-address").set_value("http://127.0.0.1:9/v1").run()
    test.selectbox("generate-model").set_value("gpt-4o-mini").run()
    test.button("bench-start").click().run()
    assert not test.exception
    with reading(app_engine) as session:
        (run,) = list_runs(session, kind=KIND)
    assert run.parameters["asked_with"] == {
        "relevance": 1,
        "similarity": 1,
        "paraphrase_choice": 1,
    }
