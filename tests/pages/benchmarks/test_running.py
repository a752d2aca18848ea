"""Choosing models and benchmarks, and running them. No test computes with a model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from sqlalchemy import Engine

from curation.release.freezing import create_release
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import Run, RunState, Split
from db.runs import list_runs
from db.settings import load_settings
from pages.components.benchmarks.names import ITEMS, OVERLAP, SCORES
from tests.curation.support.families import add_family, add_plain_family
from tests.pages.benchmarks.support.page import (
    HOSTILE,
    content,
    frame_of,
    page,
    page_text,
    uploaded,
)
from tests.support.plug_in_packages import WORDS_IN_COMMON, install
from training.benchmarks.data.sources import kept_data
from training.benchmarks.runs.request import KIND
from training.benchmarks.scorers.architecture import PLUG_INS
from training.benchmarks.tasks import general_names
from training.benchmarks.tasks.general import QUICK
from training.benchmarks.tasks.own_families import Hedgerow
from training.benchmarks.tasks.semantoneg import SemAntoNeg


def test_without_measurements_every_section_says_what_to_do(app_engine: Engine) -> None:
    test = page()
    assert "Choose at least one benchmark, suite or task." in page_text(test)
    assert test.button("bench-start").disabled
    for section in (SCORES, ITEMS):
        test = page(section)
        assert "Choose models and benchmarks under Run" in page_text(test)
        test.button("empty-results-go").click().run()
        assert test.button("bench-start").disabled
    assert "no release to compare" in page_text(page(OVERLAP))


def test_an_uploaded_file_is_stored_and_a_click_starts_a_run_on_it(
    app_engine: Engine, started: list[int]
) -> None:
    test = uploaded(page(), "semantoneg", content())
    (kept,) = kept_data(load_settings().data_folder)
    assert kept.name == "my.jsonl"
    test.pills("bench-baselines").set_value(["tf-idf"]).run()
    test.multiselect("bench-suites").set_value(["quick"]).run()
    assert (
        f"3 models on 1 benchmark (6 items, 6 queries, 12 texts) and {len(QUICK)} tasks of "
        "mteb (minutes with a small encoder on two CPU cores)." in page_text(test)
    )
    assert "The benchmarks take less than a minute in total." in page_text(test)
    test.button("bench-start").click().run()
    assert not test.exception
    with reading(app_engine) as session:
        (run,) = list_runs(session, kind=KIND)
    assert started == [run.id]
    assert [choice["data"] for choice in run.parameters["benchmarks"]] == [kept.file]
    assert run.parameters["suites"] == ["quick"]
    assert "Waiting for the run to start" in page_text(test)
    test.button("bench-start").click().run()
    assert f"Run {run.id} is already measuring the same" in page_text(test)
    assert len(started) == 1


def test_single_tasks_are_measured_once_and_an_unknown_one_is_refused(
    app_engine: Engine, started: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    test = page()
    test.multiselect("bench-suites").set_value(["quick"]).run()
    tasks = test.multiselect("bench-tasks")
    assert "ArguAna" in tasks.options and list(tasks.options) == sorted(tasks.options)
    tasks.set_value(["ArguAna", "SummEval"]).run()
    assert "Already in a chosen suite, so run only once: SummEval." in page_text(test)
    assert f"{len(QUICK) + 1} tasks of mteb" in page_text(test)
    test.button("bench-start").click().run()
    with reading(app_engine) as session:
        (run,) = list_runs(session, kind=KIND)
    assert (run.parameters["suites"], run.parameters["tasks"]) == (["quick"], ["ArguAna"])

    def refuse(name: str) -> None:
        raise HedgerowError(f"Expected a task of mteb, found {name}.")

    monkeypatch.setattr(general_names, "single_task", refuse)
    test.multiselect("bench-tasks").set_value(["ArguAna", HOSTILE]).run()
    test.button("bench-start").click().run()
    assert f"Expected a task of mteb, found {HOSTILE}." in page_text(test)
    assert len(started) == 1


def test_a_wrong_file_is_refused_in_one_sentence(app_engine: Engine) -> None:
    test = uploaded(page(), "semantoneg", b'{"q1": "a", "doc1": "b"}\n')
    assert "Expected 'sentences' on line 1" in page_text(test)
    assert kept_data(load_settings().data_folder) == []
    assert test.button("bench-start").disabled


def test_a_suite_is_created_from_a_release(app_engine: Engine) -> None:
    forms = {
        "verbal": ["It is not cold."],
        "lexical": ["It is warm."],
        "negated_antonym": ["It is not warm."],
    }
    with writing(app_engine) as session:
        add_family(session, "It is cold.", forms, split=Split.TEST)
        create_release(session)
    test = page()
    test.checkbox("bench-tick-semantoneg").check().run()
    test.button("bench-suite").click().run()
    assert not test.exception
    (kept,) = kept_data(load_settings().data_folder)
    assert len(SemAntoNeg.read(load_settings().data_folder / kept.file).items) == 4
    assert not test.button("bench-start").disabled


def test_a_suite_is_created_from_typed_sentences(app_engine: Engine) -> None:
    test = page()
    test.checkbox("bench-tick-semantoneg").check().run()
    typed = f"The soup is not hot.\nThe sea is not {HOSTILE}.\nI am fine, thanks.\n"
    test.text_area("bench-suite-text").set_value(typed).run()
    test.button("bench-suite-turn").click().run()
    assert not test.exception and "No forms for 2 sentences:" in page_text(test)
    unturned = frame_of(test, "Sentence", "Reason")
    assert unturned["Reason"].tolist()[1] == "no 'not' in it"
    assert kept_data(load_settings().data_folder) == []
    test.button("bench-suite-use").click().run()
    (kept,) = kept_data(load_settings().data_folder)
    items = SemAntoNeg.read(load_settings().data_folder / kept.file).items
    assert (items[0].input, items[0].sentences[2]) == (
        "The soup is not hot.",
        "The soup is cold.",
    )
    assert len(items) == 4 and not test.exception
    assert not test.button("bench-start").disabled
    test.text_area("bench-suite-text").set_value("The sea is blue.").run()
    test.button("bench-suite-turn").click().run()
    assert "Expected a sentence with 'not' before an adjective" in page_text(test)


def test_a_release_is_measured_on_its_own_test_split(
    app_engine: Engine, started: list[int]
) -> None:
    with writing(app_engine) as session:
        add_plain_family(session, 1, split=Split.TEST)
        create_release(session)
    test = page()
    test.button("bench-start").click().run()
    with reading(app_engine) as session:
        (run,) = list_runs(session, kind=KIND)
    (choice,) = run.parameters["benchmarks"]
    assert (choice["benchmark"], choice["release"], choice["split"]) == (Hedgerow.id, 1, "test")


def test_a_failed_run_says_why_and_measures_what_is_missing(
    measured: Engine, started: list[int]
) -> None:
    with writing(measured) as session:
        run = list_runs(session, kind=KIND)[0]
        run = session.merge(run)
        run.state, run.message = RunState.FAILED, f"No model {HOSTILE}."
        number = run.id
    test = page()
    assert f"Run {number} failed: No model {HOSTILE}." in page_text(test)
    test.button(f"again-{number}").click().run()
    assert started == [number]


def test_runs_are_named_by_what_they_measure(measured: Engine) -> None:
    with writing(measured) as session:
        run = session.merge(list_runs(session, kind=KIND)[0])
        assert isinstance(run, Run)
    assert "mteb quick with run 7" in page_text(page())


def test_prompts_and_an_architecture_are_chosen_for_a_model(
    app_engine: Engine, started: list[int]
) -> None:
    pairs = {"q1": "Open?", "q2": "Closed?", "doc1": "It is open.", "doc2": "It is not open."}
    test = uploaded(page(), "nevir", json.dumps(pairs).encode())
    test.multiselect("bench-models").set_value(["all-MiniLM-L6-v2"]).run()
    kinds = test.selectbox("bench-kind-all-MiniLM-L6-v2").options
    assert "monot5" in kinds and "dpr" in kinds and not {"chat", "tf-idf"} & set(kinds)
    test.text_area("bench-query-prompt-all-MiniLM-L6-v2").set_value("query: ").run()
    test.selectbox("bench-kind-all-MiniLM-L6-v2").set_value("bi-encoder").run()
    test.button("bench-start").click().run()
    assert not test.exception
    with reading(app_engine) as session:
        (run,) = list_runs(session, kind=KIND)
    (model,) = run.parameters["models"]
    assert (model["query_prompt"], model["document_prompt"]) == ("query: ", None)
    assert model["architecture"] == "bi-encoder"


def test_a_folder_without_a_model_is_refused_when_it_is_entered(
    app_engine: Engine, tmp_path: Path
) -> None:
    test = uploaded(page(), "semantoneg", content())
    test.multiselect("bench-models").set_value([str(tmp_path)]).run()
    assert f"Expected a model in '{tmp_path}', found neither modules.json nor" in page_text(test)
    assert test.button("bench-start").disabled
    test.multiselect("bench-models").set_value([str(tmp_path), "all-MiniLM-L6-v2"]).run()
    assert "Runs 1 model on 1 benchmark" in page_text(test)
    assert not test.button("bench-start").disabled


def test_plug_ins_are_offered_and_broken_ones_reported(
    app_engine: Engine, started: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = WORDS_IN_COMMON + "\n\nclass Other(WordsInCommon):\n    takes = 'model'\n"
    theirs = {"words": "WordsInCommon", "other": "Other"}
    with monkeypatch.context() as installed:
        install(installed, tmp_path / "theirs", PLUG_INS.name, code, **theirs)
        broken = f"raise OSError({HOSTILE!r})"
        install(installed, tmp_path / "broken", PLUG_INS.name, broken, bad="Scorer")
        test = uploaded(page(), "semantoneg", content())
        assert (
            f"The plug-in 'bad' of the package 'broken' cannot be loaded (OSError: {HOSTILE}); re"
            in (page_text(test))
        )
        assert test.pills("bench-baselines").options == ["TF-IDF", "random scores", "words"]
        assert "other" in test.selectbox("bench-kind-all-MiniLM-L6-v2").options
        test.multiselect("bench-models").set_value([]).run()
        test.pills("bench-baselines").set_value(["words"]).run()
        test.button("bench-start").click().run()
        assert not test.exception and len(started) == 1
    assert "SemAntoNeg with words" in page_text(page()), "the run of a plug-in that is gone"
