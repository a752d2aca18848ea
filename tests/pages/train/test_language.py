"""Language models on the Train page, from rows. The page itself trains nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import Engine
from streamlit.testing.v1 import AppTest

from curation.release.freezing import create_release
from db.engine import reading, writing
from db.models import RunMetric, RunState, Split
from db.runs import get_run, list_runs
from pages.components.train.kind_choice import LANGUAGE, SIDE
from pages.components.train.language.section_choice import ARMS, RESULTS, SECTION, TRAIN
from tests.curation.support.families import add_plain_family
from tests.pages.conftest import unsafe_texts
from tests.pages.train.support.states import HOSTILE, page_text
from tests.support.checkout import APP
from training.llm import study
from training.llm.request import KIND, request_language_finetuning
from training.studies import members


def page(section: str = TRAIN, **state: object) -> AppTest:
    test = AppTest.from_file(str(APP), default_timeout=60).run()
    for key, value in {SIDE: LANGUAGE, SECTION: section, **state}.items():
        test.session_state[key] = value
    return test.switch_page("pages/train.py").run()


@pytest.fixture
def released(app_engine: Engine) -> Engine:
    with writing(app_engine) as session:
        for number in range(6):
            add_plain_family(session, number, split=Split.TRAIN)
        add_plain_family(session, 6, split=Split.VALIDATION)
        create_release(session)
    return app_engine


def store(engine: Engine, base: Path, state: RunState = RunState.DONE, **values: object) -> int:
    """A finetuning run with two evaluations, whose base model the page then offers."""
    figures = {"right": 0.5, "right:Yes": 0.25, "right:No": 0.75, "eval_loss": 1.5, "epoch": 0.0}
    with writing(engine) as session:
        run = request_language_finetuning(session, base=str(base), **values)
        run.state, run.message = state, f"Failed at {HOSTILE}"
        for step in (0, 30):
            for name, value in figures.items():
                session.add(
                    RunMetric(run_id=run.id, name=name, step=step, value=value + step / 100)
                )
            session.add(RunMetric(run_id=run.id, name="loss", step=step + 1, value=0.5))
        if state == RunState.DONE:
            run.result = {
                "model": f"{run.folder}/model",
                "merged": "",
                "base": str(base),
                "release": 1,
                "arm": "both",
                "pairs": {"train": 24, "validation": 4, "too_long": 2},
                "steps": 30,
                "seconds": 90.0,
                "device": "cpu",
                "before": {"right": 0.5, "right:Yes": 0.25, "right:No": 0.75, "eval_loss": 1.5},
                "after": {"right": 0.875, "right:Yes": 1.0, "right:No": 0.75, "eval_loss": 0.5},
            }
        return run.id


def test_without_a_release_the_page_links_to_creating_one(app_engine: Engine) -> None:
    test = page()
    assert "made from a release, but there is none yet" in page_text(test)
    assert not [button for button in test.button if button.key == "llm-start"]


def test_one_click_stores_a_finetuning_with_the_settings_shown(
    released: Engine, small_llama: Path, started: list[int]
) -> None:
    assert "Meta-Llama-3-8B-Instruct" in str(page().selectbox("llm-base").value)
    earlier = store(released, small_llama)
    test = page()
    assert test.selectbox("llm-base").value == str(small_llama)
    test.number_input("llm-recipe-epochs").set_value(2.0)
    test.text_input("llm-recipe-modules_to_save").set_value("embed_tokens,lm_head")
    test.selectbox("llm-arm").set_value("paper")
    test.toggle("llm-merge").set_value(True).run()
    assert "Trains on 24 question pairs and evaluates on 4" in page_text(test)
    assert "6 steps. There is no time estimate" in page_text(test)
    test.button("llm-start").click().run()
    assert started == [earlier + 1]
    with reading(released) as session:
        run = list_runs(session, kind=KIND)[0]
    recipe = run.parameters["recipe"]
    assert (recipe["epochs"], recipe["arm"], recipe["rank"]) == (2, "paper", 16)
    assert recipe["modules_to_save"] == ["embed_tokens", "lm_head"]
    assert run.parameters["merge"] and run.parameters["base"] == str(small_llama.resolve())


def test_models_that_cannot_be_finetuned_are_reported_before_the_click(
    released: Engine, small_llama: Path, tmp_path: Path
) -> None:
    test = page(**{"llm-base": str(tmp_path)})
    assert "Expected a causal language model" in page_text(test)
    assert test.button("llm-start").disabled
    store(released, small_llama)
    test = page()
    test.text_input("llm-recipe-targets").set_value("").run()
    assert "targets expected names of layers" in page_text(test) and not test.exception


def test_results_show_figures_curves_and_the_folder(released: Engine, small_llama: Path) -> None:
    first = store(released, small_llama)
    store(released, small_llama, seed=2)
    test = page(RESULTS)
    shown = page_text(test)
    assert "Finetuned on 24 question pairs (left out as too long: 2 pairs)" in shown
    assert "of release 1 in 30 steps" in shown
    assert "The model answers 87.5% of the validation questions correctly; its base model" in shown
    figures, every = (frame.value for frame in test.dataframe)
    assert list(figures["After"]) == ["87.5%", "100.0%", "75.0%", "0.5000"]
    assert list(every["Run"]) == [2, first]
    assert len(test.get("vega_lite_chart")) == 2
    assert any(code.value.endswith(f"{2:05d}-finetune-llm/model") for code in test.code)


def test_a_failed_run_says_why_and_can_be_restarted(
    released: Engine, small_llama: Path, started: list[int]
) -> None:
    run_id = store(released, small_llama, RunState.FAILED)
    for section in (TRAIN, RESULTS):
        test = page(section)
        assert HOSTILE in page_text(test) and HOSTILE not in unsafe_texts(test)
    test.button(f"again-{run_id}").click().run()
    assert started == [run_id]
    with reading(released) as session:
        assert get_run(session, run_id).state == RunState.QUEUED


def test_the_arms_are_compared_in_a_table(
    released: Engine, small_llama: Path, started: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "There is no study yet" in page_text(page(ARMS))
    monkeypatch.setattr(study, "ARMS", {"All": "paper", "Everything": "both"})
    number = store(released, small_llama) + 1
    page().button("llm-start-arms").click().run()
    assert started == [number]
    with writing(released) as session:
        run = get_run(session, number)
        run.state = RunState.DONE
        for trial in members.trials(session, run):
            trial.run.state = RunState.DONE
            trial.run.result = {
                "pairs": {"train": 24},
                "before": {"right": 0.5},
                "after": {"right": 1.0},
            }
    test = page(ARMS)
    shown = test.dataframe[0].value
    assert list(shown.columns) == ["", "All", "Everything"]
    assert list(shown.iloc[0]) == ["All", "50.0 → 100.0%", "50.0 → 100.0%"]
