"""Choosing models, benchmarks and prompts, and running them. No test computes with a model."""

import json
from pathlib import Path

import pytest
from sqlalchemy import Engine
from streamlit.testing.v1 import AppTest

from curation.release.freezing import create_release
from db.errors import HedgerowError
from db.models import Run, RunState, Split
from db.settings import load_settings
from pages.components.benchmarks.names import ITEMS, PROMPTS, SCORES
from pages.components.shared.shell.open_project import tell
from tests.curation.support.families import add_family
from tests.pages.benchmarks.conftest import HOSTILE, frame_of, page, uploaded
from tests.pages.conftest import Wording
from tests.pages.opening import change, newest, page_text, use
from tests.support.harness_tasks import save_own_tasks
from tests.support.plug_in_packages import WORDS_IN_COMMON, install
from training.benchmarks.data.sources import kept_data
from training.benchmarks.runs.request import KIND
from training.benchmarks.scorers.architecture import PLUG_INS
from training.benchmarks.tasks import general_names
from training.benchmarks.tasks.general import QUICK
from training.benchmarks.tasks.own_families import Hedgerow
from training.benchmarks.tasks.semantoneg import Entry, SemAntoNeg

MINI = "all-MiniLM-L6-v2"


def start(app: AppTest) -> Run:
    """Press the button. The newest run."""
    app.button("bench-start").click().run()
    assert not app.exception
    return newest(KIND)


def chosen_chat(app: AppTest) -> AppTest:
    """A chat model on the user's server, with a price."""
    use(app, {"bench-models": [], "bench-chat": True, "generate-address": "http://127.0.0.1:9/v1"})
    return app.selectbox("generate-model").set_value("gpt-4o-mini").run()


def kept_items() -> list[Entry]:
    """The items of the only stored file."""
    folder = load_settings().data_folder
    (kept,) = kept_data(folder)
    return SemAntoNeg.read(folder / kept.file).items


def test_without_measurements_every_section_says_what_to_do(
    app_engine: Engine, wording: Wording
) -> None:
    app = page()
    wording(app, "benchmarks", "nothing to run")
    assert app.button("bench-start").disabled
    uploaded(app, b'{"q1": "a", "doc1": "b"}\n')
    assert "'sentences'" in page_text(app) and " 1" in page_text(app), "missing on line 1"
    assert kept_data(load_settings().data_folder) == [] and app.button("bench-start").disabled
    for section in (SCORES, ITEMS):
        app = page(section)
        wording(app, "benchmarks", f"{section} without results")
        app.button("empty-results-go").click().run()
        assert app.button("bench-start").disabled


def test_files_suites_and_tasks_are_measured_once_and_unknown_tasks_refused(
    app_engine: Engine, started: list[int], monkeypatch: pytest.MonkeyPatch, wording: Wording
) -> None:
    app = uploaded(page())
    (kept,) = kept_data(load_settings().data_folder)
    assert kept.name == "my.jsonl"
    use(app, {"bench-baselines": ["tf-idf"], "bench-suites": ["quick"]})
    tasks = app.multiselect("bench-tasks")
    assert "ArguAna" in tasks.options and list(tasks.options) == sorted(tasks.options)
    tasks.set_value(["ArguAna", "SummEval"]).run()
    wording(app, "benchmarks", "a run with a file, a suite and tasks")
    shown = page_text(app)
    assert "3 models on 1 benchmark (6 items, 6 queries, 12 texts)" in shown
    assert f"{len(QUICK) + 1} tasks" in shown, "SummEval is in the suite"
    run = start(app)
    assert [choice["data"] for choice in run.parameters["benchmarks"]] == [kept.file]
    assert (run.parameters["suites"], run.parameters["tasks"]) == (["quick"], ["ArguAna"])
    assert start(app).id == run.id and started == [run.id], "it measures the same"

    def refuse(name: str) -> None:
        raise HedgerowError(f"Expected a task of mteb, found {name}.")

    monkeypatch.setattr(general_names, "single_task", refuse)
    app.multiselect("bench-tasks").set_value(["ArguAna", HOSTILE]).run()
    start(app)
    assert f"found {HOSTILE}." in page_text(app) and len(started) == 1


def test_a_release_is_measured_on_its_test_split_and_makes_a_suite(
    app_engine: Engine, started: list[int]
) -> None:
    forms = {
        "verbal": ["It is not cold."],
        "lexical": ["It is warm."],
        "negated_antonym": ["It is not warm."],
        "word": ["It is perhaps cold."],
    }
    tell(add_family, "It is cold.", forms, split=Split.TEST)
    tell(create_release)
    app = page()
    (choice,) = start(app).parameters["benchmarks"]
    assert (choice["benchmark"], choice["release"], choice["split"]) == (Hedgerow.id, 1, "test")
    app.checkbox("bench-tick-semantoneg").check().run()
    app.button("bench-suite").click().run()
    assert len(kept_items()) == 4 and not app.button("bench-start").disabled


def test_a_suite_is_created_from_typed_sentences(app_engine: Engine, wording: Wording) -> None:
    app = page().checkbox("bench-tick-semantoneg").check().run()
    typed = f"The soup is not hot.\nThe sea is not {HOSTILE}.\nI am fine, thanks.\n"
    use(app, {"bench-suite-text": typed}, press="bench-suite-turn")
    wording(app, "benchmarks", "forms of typed sentences")
    assert len(frame_of(app, "Sentence", "Reason")) == 2
    assert kept_data(load_settings().data_folder) == []
    app.button("bench-suite-use").click().run()
    items = kept_items()
    assert (items[0].input, items[0].sentences[2]) == ("The soup is not hot.", "The soup is cold.")
    assert len(items) == 4 and not app.button("bench-start").disabled
    use(app, {"bench-suite-text": "The sea is blue."}, press="bench-suite-turn")
    assert "'not'" in page_text(app) and len(kept_items()) == 4


def test_a_run_is_named_by_what_it_measures_and_a_failed_one_measures_what_is_missing(
    measured: Engine, started: list[int]
) -> None:
    assert "mteb quick with run 7" in page_text(page())
    number = newest(KIND).id
    change(number, state=RunState.FAILED, message=f"No model {HOSTILE}.")
    app = page()
    assert f"No model {HOSTILE}." in page_text(app)
    app.button(f"again-{number}").click().run()
    assert started == [number]


def test_a_model_has_prompts_and_an_architecture_and_a_folder_needs_a_model(
    app_engine: Engine, started: list[int], tmp_path: Path
) -> None:
    pairs = {"q1": "Open?", "q2": "Closed?", "doc1": "It is open.", "doc2": "It is not open."}
    app = (
        uploaded(page(), json.dumps(pairs).encode(), "nevir")
        .multiselect("bench-models")
        .set_value([str(tmp_path)])
        .run()
    )
    assert f"'{tmp_path}'" in page_text(app) and app.button("bench-start").disabled
    app.multiselect("bench-models").set_value([str(tmp_path), MINI]).run()
    assert not app.button("bench-start").disabled
    kinds = app.selectbox(f"bench-kind-{MINI}").options
    assert "monot5" in kinds and "dpr" in kinds and not {"chat", "tf-idf"} & set(kinds)
    use(app, {f"bench-query-prompt-{MINI}": "query: ", f"bench-kind-{MINI}": "bi-encoder"})
    (model,) = start(app).parameters["models"]
    assert (model["query_prompt"], model["document_prompt"]) == ("query: ", None)
    assert model["architecture"] == "bi-encoder"


def test_plug_ins_are_offered_and_broken_ones_reported(
    app_engine: Engine, started: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = WORDS_IN_COMMON + "\n\nclass Other(WordsInCommon):\n    takes = 'model'\n"
    theirs = {"words": "WordsInCommon", "other": "Other"}
    with monkeypatch.context() as installed:
        install(installed, tmp_path / "theirs", PLUG_INS.name, code, **theirs)
        broken = f"raise OSError({HOSTILE!r})"
        install(installed, tmp_path / "broken", PLUG_INS.name, broken, bad="Scorer")
        app = uploaded(page())
        assert f"(OSError: {HOSTILE})" in page_text(app) and "'broken'" in page_text(app)
        assert app.pills("bench-baselines").options[2:] == ["words"]
        assert "other" in app.selectbox(f"bench-kind-{MINI}").options
        use(app, {"bench-models": [], "bench-baselines": ["words"]})
        start(app)
        assert len(started) == 1
    assert "SemAntoNeg with words" in page_text(page()), "the run of a plug-in that is gone"


def test_the_costs_of_a_chat_model_are_shown_and_a_run_at_its_cap_continues_with_a_higher_one(
    app_engine: Engine, started: list[int], wording: Wording
) -> None:
    app = chosen_chat(uploaded(page()))
    shown = page_text(app)
    assert "18 prompts" in shown and "940 input and 90 output tokens" in shown
    use(app, {"generate-money": 0.001, "generate-calls": 5})
    wording(app, "benchmarks", "a run with a chat model")
    assert "$0.0010" in page_text(app)
    asked = start(app)
    assert asked.parameters["budget"] == {"calls": 5, "money": 0.001}
    assert asked.parameters["models"][0]["price"]["prompt"] > 0
    change(asked.id, state=RunState.PAUSED, message="Paused at the budget: 5 calls.")
    app = page()
    assert "Paused at the budget: 5 calls." in page_text(app)
    use(app, {f"generate-money-{asked.id}": 25.0}, press=f"again-{asked.id}")
    assert not app.exception and started == [asked.id] * 2
    assert newest(KIND).parameters["budget"]["money"] == 25.0


def test_language_models_can_be_measured_with_your_own_tasks(
    app_engine: Engine, started: list[int], small_llama: Path, tmp_path: Path
) -> None:
    app = use(page(), {"bench-models": [str(small_llama)], "bench-language-tasks": ["gsm8k"]})
    assert "1,319" in page_text(app)
    app.text_input("bench-tasks-folder").set_value(str(tmp_path / "none")).run()
    assert "lm_eval" in page_text(app), "it has no tasks of it"
    folder = save_own_tasks(tmp_path / "tasks")
    app.text_input("bench-tasks-folder").set_value(str(folder)).run()
    own = app.multiselect(f"bench-own-tasks-{folder}")
    assert own.value == ["opposites", "sums"]
    own.set_value(["sums"]).run()
    assert "1 model on 2 tasks" in page_text(app)
    asked = start(app).parameters
    assert (asked["language_tasks"], asked["tasks_folder"]) == (["gsm8k", "sums"], str(folder))


def test_prompts_can_be_edited_and_chosen_for_a_run(
    app_engine: Engine, started: list[int], wording: Wording
) -> None:
    app = page(PROMPTS)
    wording(app, "benchmarks", "prompts")
    assert "Document 2: The museum never opens on Monday." in app.code[0].value
    template = next(box for box in app.text_area if "template" in str(box.key))
    template.set_value(f"{HOSTILE} {{first}} {{second}}").run()
    assert "{query}" in page_text(app), "it is missing"
    app.text_area(template.key).set_value(f"{HOSTILE} {{first}} {{second}} {{query}}").run()
    assert app.code[0].value.startswith(HOSTILE)
    app.button("bench-save-prompt").click().run()
    assert not app.exception
    app = uploaded(page())
    assert len(app.selectbox("bench-version-of-relevance").options) == 3
    app.selectbox("bench-version-of-relevance").set_value(1).run()
    assert start(chosen_chat(app)).parameters["asked_with"] == {
        "relevance": 1,
        "similarity": 1,
        "paraphrase_choice": 1,
    }
