"""The benchmarks page in each of its states, from stored rows: no state needs a model here."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import Engine, select
from sqlmodel import col
from streamlit.testing.v1 import AppTest

from curation.release.freezing import create_release
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import BenchmarkResult, Encoder, Run, RunState, Split
from db.runs import list_runs
from db.settings import load_settings
from pages.components.benchmarks.names import ITEMS, OVERLAP, PROMPTS, RUN, SCORES, SECTION
from tests.curation.support.families import add_family, add_plain_family
from tests.pages.conftest import ROOT, TIMEOUT
from tests.support.benchmark_results import add_result, add_suite
from tests.support.harness_tasks import save_own_tasks
from tests.support.plug_in_packages import WORDS_IN_COMMON, install
from tests.training.benchmarks.support.samples import semantoneg_rows, write_lines
from training.benchmarks.data.sources import kept_data
from training.benchmarks.definition import Result
from training.benchmarks.runs.request import KIND
from training.benchmarks.scorers.architecture import PLUG_INS
from training.benchmarks.tasks import general_names
from training.benchmarks.tasks.general import QUICK
from training.benchmarks.tasks.own_families import Hedgerow
from training.benchmarks.tasks.semantoneg import SemAntoNeg

HOSTILE = '<img src=x onerror="alert(1)"> **bold** [link](javascript:alert(1)) $x^2$'


def page(section: str = RUN, **address: str) -> AppTest:
    test = AppTest.from_file(str(ROOT / "app.py"), default_timeout=TIMEOUT).run()
    test.session_state[SECTION] = section
    for name, value in address.items():
        test.query_params[name] = value
    found: AppTest = test.switch_page("pages/benchmarks.py").run()
    assert not found.exception
    return found


def page_text(test: AppTest) -> str:
    return "\n".join(element.value for element in test.text)


def html(test: AppTest) -> str:
    return "\n".join(element.value for element in test.get("html"))


def frames_of(test: AppTest, *columns: str) -> list[Any]:
    """The tables that have these columns."""
    return [f.value for f in test.dataframe if set(columns) <= set(f.value.columns)]


def frame_of(test: AppTest, *columns: str) -> Any:
    (found,) = frames_of(test, *columns)
    return found


def store(engine: Engine, model: str, result: Result, *, hash_: str = "") -> None:
    """A result as a run stores it."""
    with writing(engine) as session:
        add_result(session, load_settings().data_folder, model, result, hash_=hash_)


def semantoneg(tmp_path: Path, right: int) -> Result:
    """A result with so many right of six."""
    data = SemAntoNeg.read(write_lines(tmp_path / "sample.jsonl", semantoneg_rows()))
    scores = [[0.1, 0.2, 0.9] if n < right else [0.1, 0.9, 0.2] for n in range(len(data.items))]
    return data.evaluate([np.array(row) for row in scores])


@pytest.fixture
def measured(app_engine: Engine, tmp_path: Path) -> Engine:
    """Three models, the second of which was trained from the first."""
    with writing(app_engine) as session:
        first = Encoder(name="base", fingerprint="b" * 64)
        session.add(first)
        session.flush()
        session.add(Encoder(name="run 7: base", fingerprint="c" * 64, path="x", base_id=first.id))
    store(app_engine, HOSTILE, semantoneg(tmp_path, 0))
    store(app_engine, "base", semantoneg(tmp_path, 2), hash_="b" * 64)
    store(app_engine, "run 7: base", semantoneg(tmp_path, 5), hash_="c" * 64)
    return app_engine


def test_where_nothing_is_measured_every_section_says_what_to_do(app_engine: Engine) -> None:
    test = page()
    assert "Choose at least one benchmark, suite or task." in page_text(test)
    assert test.button("bench-start").disabled
    for section in (SCORES, ITEMS):
        assert "Choose models and benchmarks under Run" in page_text(page(section))
    assert "no release to compare" in page_text(page(OVERLAP))


def uploaded(test: AppTest, name: str, content: bytes) -> AppTest:
    test.checkbox(f"bench-tick-{name}").check().run()
    test.file_uploader(f"bench-file-{name}-0").set_value(("my.jsonl", content, "text/plain")).run()
    assert not test.exception
    return test


def content() -> bytes:
    return "\n".join(json.dumps(row) for row in semantoneg_rows()).encode()


def test_a_file_is_kept_and_a_click_starts_a_run_on_it(
    app_engine: Engine, started: list[int]
) -> None:
    test = uploaded(page(), "semantoneg", content())
    (kept,) = kept_data(load_settings().data_folder)
    assert kept.name == "my.jsonl"
    test.pills("bench-baselines").set_value(["tf-idf"]).run()
    test.multiselect("bench-suites").set_value(["quick"]).run()
    assert (
        f"3 models on 1 benchmark (6 items, 6 questions, 12 texts) and {len(QUICK)} tasks of "
        "mteb (minutes with a small encoder on two CPU cores)." in page_text(test)
    )
    assert "hedgerow-minilm less than a minute, all-MiniLM-L6-v2 less than" in page_text(test)
    test.button("bench-start").click().run()
    assert not test.exception
    with reading(app_engine) as session:
        (run,) = list_runs(session, kind=KIND)
    assert started == [run.id]
    assert [choice["data"] for choice in run.parameters["benchmarks"]] == [kept.file]
    assert run.parameters["suites"] == ["quick"]
    assert "Waiting for its process" in page_text(test)
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


@pytest.fixture
def chat(app_engine: Engine) -> AppTest:
    """The page with six items and a chat model of a server of one's own, at a price."""
    test = uploaded(page(), "semantoneg", content())
    test.multiselect("bench-models").set_value([]).run()
    test.toggle("bench-chat").set_value(True).run()
    test.text_input("generate-address").set_value("http://127.0.0.1:9/v1").run()
    test.selectbox("generate-model").set_value("gpt-4o-mini").run()
    assert not test.exception
    return test


def test_what_a_chat_model_is_asked_and_costs_is_told_before(
    chat: AppTest, app_engine: Engine, started: list[int]
) -> None:
    assert "gpt-4o-mini gets 18 prompts (about 940 tokens in and 90 out), and costs" in page_text(
        chat
    )
    assert "with one-word answers" in page_text(chat) and "pauses" not in page_text(chat)
    chat.number_input("generate-money").set_value(0.001).run()
    assert "The run pauses if it reaches $0.0010." in page_text(chat)
    chat.number_input("generate-calls").set_value(5).run()
    chat.button("bench-start").click().run()
    with reading(app_engine) as session:
        (run,) = list_runs(session, kind=KIND)
    assert run.parameters["budget"] == {"calls": 5, "money": 0.001}
    assert run.parameters["models"][0]["price"]["prompt"] > 0


def test_a_run_at_its_cap_goes_on_with_a_higher_one(
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


def test_a_wrong_file_is_refused_in_one_sentence(app_engine: Engine) -> None:
    test = uploaded(page(), "semantoneg", b'{"q1": "a", "doc1": "b"}\n')
    assert "Expected 'sentences' on line 1" in page_text(test)
    assert kept_data(load_settings().data_folder) == []
    assert test.button("bench-start").disabled


def test_a_suite_is_made_of_a_release(app_engine: Engine) -> None:
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


def test_a_suite_is_made_of_typed_sentences_once_they_are_read(app_engine: Engine) -> None:
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


def test_language_models_are_measured_with_tasks_of_ones_own_too(
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


def test_columns_that_are_no_scores_can_be_shown(measured: Engine) -> None:
    test = page(SCORES)
    assert "Seconds per item" not in html(test)
    test.pills("bench-details").set_value(["US dollars per item", "Kind"]).run()
    table = html(test)
    assert "<td>bi-encoder</td>" in table
    assert table.index(">Kind<") < table.index(">US dollars per item<") < table.index("SemAntoNeg")


def test_a_run_that_failed_says_why_and_measures_what_is_missing(
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


def test_the_table_marks_the_best_and_tells_differences_to_the_base_model(
    measured: Engine,
) -> None:
    test = page(SCORES)
    table = html(test)
    assert '<b title="best">83.3</b>' in table and '<u title="second best">33.3</u>' in table
    assert "+50.0</small>" in table and "trained from base" in table
    assert "<img" not in table and "&lt;img" in table
    assert table.index("Published, not measured here") > table.index("83.3")
    assert "roberta-large-nli-mean-tokens" in table and "msmarco" not in table
    captions = "".join(str(said.value) for said in test.caption)
    assert "Your data for SemAntoNeg may differ, so compare with care." in captions
    assert "90 more published models are hidden; search by name" in captions
    test.text_input("bench-published-search").set_value("MSMARCO v5").run()
    table = html(test)
    assert table.count("msmarco") == 5 and "roberta-large-nli-mean-tokens" not in table
    assert "more published models" not in "".join(str(said.value) for said in test.caption)
    test.pills("bench-papers").set_value([]).run()
    assert "Published, not measured here" not in html(test)


def asked(result: Result, **more: Any) -> Result:
    """The result as of a language model."""
    how = {"prompt": "paraphrase_choice", "version": 2, "orders": 3, "prompts": 18}
    return replace(result, asked=how | {"first_share": 61.1, "changed_share": 50.0} | more)


def test_order_and_missing_answers_of_language_models_are_shown(
    measured: Engine, tmp_path: Path
) -> None:
    assert not frames_of(page(SCORES), "Answers 1 (%)"), "encoders are asked nothing"
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
    table = frame_of(page(SCORES), "Model", "Answers 1 (%)").iloc[0]
    assert table["Model"] == f"{HOSTILE} (chat, both orders, relevance prompt 3)"
    assert table["Prompt"] == "Three sentences, version 2"
    assert (table["Answers 1 (%)"], table["Changed (%)"]) == (61.1, 50.0)
    assert (table["Unanswered"], table["Unanswered (%)"]) == (2, 33.3)
    items = page(ITEMS)
    items.selectbox("a").set_value(table["Model"]).run()
    said = page_text(items)
    assert "61.1% of the answers are 1 (33% means no position bias)" in said
    assert "no usable answer to 2 of 6 items (33.3%). These do not count as correct" in said


def test_prompts_are_edited_where_benchmarks_are_run_and_chosen_for_a_run(
    app_engine: Engine, started: list[int]
) -> None:
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


def test_a_paired_test_says_whether_two_models_differ(measured: Engine) -> None:
    test = page(SCORES)
    assert "run 7: +50.0 points compared with base, not statistically significant" in page_text(
        test
    )
    assert "Only run 7 is right on 3 items, only base on 0." in page_text(test)
    key = next(box.key for box in test.selectbox if str(box.key).startswith("bench-paired-First"))
    test.selectbox(key).set_value("run 7").run()
    assert "Choose two different models." in page_text(test)


def test_negation_is_drawn_against_general_ability(measured: Engine) -> None:
    test = page(SCORES)
    assert "Run a whole mteb suite, or the three" in page_text(test)
    with writing(measured) as session:
        run = session.merge(list_runs(session, kind=KIND)[0])
        for number, model in enumerate(("base", "run 7: base")):
            add_suite(session, model, run, 50.0 + number)
    test = page(SCORES)
    specs = [json.loads(chart.proto.spec) for chart in test.get("vega_lite_chart")]
    assert any("general, quick" in json.dumps(spec) for spec in specs)
    assert "A dashed line" in "".join(str(said.value) for said in test.caption)
    test.toggle("tasks").set_value(True).run()
    assert "STSBenchmark" in html(test)


def test_semantoneg_is_drawn_by_training_objective_with_ones_own_models(measured: Engine) -> None:
    test = page(SCORES)
    groups = frame_of(test, "Objective", "Variance").set_index("Objective")
    assert groups.loc["NLI", "Models"] == 27 and groups.loc["general purpose", "Mean"] == 32.8
    models = frame_of(test, "Model", "Objective").set_index("Model")
    assert len(models) == 117 and models.loc[HOSTILE, "Source"] == "measured"
    specs = [json.loads(chart.proto.spec) for chart in test.get("vega_lite_chart")]
    (spec,) = [spec for spec in specs if "variance" in json.dumps(spec)]
    assert spec["height"] > 200


def test_a_model_trained_here_has_a_score_without_its_releases_antonyms(measured: Engine) -> None:
    assert frames_of(page(SCORES), "Accuracy, unseen") == []
    with writing(measured) as session:
        forms = {"lexical": ["Tea is hot."], "negated_antonym": ["Tea is not hot."]}
        add_family(session, "Tea is cold.", forms | {"verbal": ["Tea is not cold."]})
        release = create_release(session).release
        encoder = session.execute(select(Encoder).where(col(Encoder.path) == "x")).scalar_one()
        encoder.release_id = release.id
    frame = frame_of(page(SCORES), "Accuracy, unseen")
    assert frame.drop(columns="Data").to_dict("records") == [
        {
            "Model": "run 7",
            "Accuracy": 83.3,
            "Items": 6,
            "Accuracy, unseen": 75.0,
            "Items, unseen": 4,
            "Trained on": "release 1",
        }
    ]


def listed(test: AppTest) -> list[str]:
    """The items in the list."""
    frame = frame_of(test, "Item", "A")
    return [str(value) for value in frame["Item"]]


def test_items_are_filtered_by_what_the_models_made_of_them(measured: Engine) -> None:
    test = page(ITEMS)
    assert (test.selectbox("a").value, test.selectbox("b").value) == ("run 7", "base")
    assert len(listed(test)) == 6
    test.selectbox("bench-agreement").set_value("only the first").run()
    assert listed(test) == ["2", "3", "4"]
    test.selectbox("bench-outcome").set_value("picks the negation").run()
    assert "No item matches" in page_text(test)
    test.selectbox("bench-agreement").set_value("neither").run()
    assert listed(test) == ["5"]


def test_items_show_the_errors_that_models_share(measured: Engine) -> None:
    test = page(ITEMS)
    assert "1 item of 6 wrong in at least 3 of 3 models." in page_text(test)
    assert frame_of(test, "Models wrong")["Item"].tolist() == ["5"]
    assert frame_of(test, "Errors", "Items").to_dict("records") == [
        {"Part": "easy / hard", "Errors": 1, "Items": 2}
    ]
    (least,) = [box for box in test.number_input if box.label == "Wrong in at least"]
    least.set_value(2).run()
    assert "4 items of 6 wrong in at least 2 of 3 models." in page_text(test)
    (models,) = [box for box in test.multiselect if box.label == "Models"]
    models.set_value([HOSTILE]).run()
    assert "Choose at least two models." in page_text(test) and not test.exception


def test_an_item_of_the_address_is_shown_with_its_texts_and_scores(measured: Engine) -> None:
    found = html(page(ITEMS, item="0"))
    assert "The soup is not <ins>cold</ins>." in found
    assert "A <b>0.900</b>" in found and "should be near" in found


def test_an_item_of_ones_own_leads_to_its_records(app_engine: Engine) -> None:
    with writing(app_engine) as session:
        add_plain_family(session, 1, split=Split.TEST)
        release = create_release(session).release
        session.flush()
        own = Hedgerow.of_release(session, release.id)
    size = len(own.items[0].positives) + len(own.items[0].negatives)
    store(app_engine, "base", own.evaluate([np.arange(size, dtype=float)]))
    found = html(page(ITEMS, item=own.items[0].uid))
    for variant in (*own.items[0].positives, *own.items[0].negatives):
        assert f'href="review?variant={variant.uid}"' in found
    assert f'href="anchors?anchor={own.items[0].uid}"' in found


def test_a_result_whose_file_is_gone_is_told_and_the_others_stay(measured: Engine) -> None:
    newest = max(load_settings().data_folder.glob("results-*"), key=lambda path: int(path.name[8:]))
    (newest / "rows.jsonl").unlink()
    test = page(ITEMS)
    assert "run 7: Could not read" in page_text(test)
    assert len(listed(test)) == 6


def test_hostile_texts_of_items_are_shown_as_they_are(app_engine: Engine, tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {
            "idx": HOSTILE,
            "label": 2,
            "input": HOSTILE,
            "sentences": [f"{HOSTILE} a", f"{HOSTILE} b", f"{HOSTILE} c"],
        }
    ]
    data = SemAntoNeg.read(write_lines(tmp_path / "hostile.jsonl", rows))
    store(app_engine, HOSTILE, data.evaluate([np.array([0.3, 0.2, 0.1])]))
    test = page(ITEMS, item=HOSTILE)
    found = html(test)
    assert found.count("&lt;img src=x") == 4 and "<img src=x" not in found
    said = [element.value for kind in ("markdown", "caption") for element in test.get(kind)]
    assert not any("<img" in str(value) for value in said)


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


def test_plug_ins_are_offered_and_a_broken_one_is_told(
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


def test_a_result_says_with_which_prompts_it_was_made(app_engine: Engine, tmp_path: Path) -> None:
    result = semantoneg(tmp_path, 3)
    with writing(app_engine) as session:
        run = add_result(session, load_settings().data_folder, "base", result)
        row = session.execute(select(BenchmarkResult)).scalar_one()
        row.scoring = "dot, prompts 1a2b3c4d"
        row.summary = row.summary | {"prompts": {"query": HOSTILE[:20], "document": None}}
        assert run.id == row.run_id
    found = html(page(SCORES))
    assert "base (dot product, query prompt &#34;&lt;img src=x onerror=" in found
    assert "<img" not in found
