"""Choosing models, benchmarks and prompts, and running them. No test computes with a model."""

import json
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import Engine, select
from sqlmodel import col
from streamlit.testing.v1 import AppTest

from db.engine import writing
from db.errors import HedgerowError
from db.models import BenchmarkResult, Encoder, Run, RunState, Split
from db.runs import list_runs
from db.settings import load_settings
from pages.components.benchmarks.names import ITEMS, OVERLAP, PROMPTS, SCORES
from pages.components.shared.shell import count_cache
from pages.components.shared.shell.open_project import tell
from tests.curation.support.families import add_family, add_plain_family
from tests.pages.benchmarks.conftest import (
    HOSTILE,
    frame_of,
    frames_of,
    page,
    semantoneg,
    six_items,
    store,
    uploaded,
)
from tests.pages.conftest import OpenPage, Wording, unsafe_texts
from tests.pages.looks import TIMEOUT, change, drawn, html, newest, page_text, use
from tests.support.benchmark_results import add_suite
from tests.support.factories import freeze
from tests.support.harness_tasks import save_own_tasks
from tests.support.overlapping import SAID, keep_doors
from tests.support.plug_in_packages import WORDS_IN_COMMON, install
from training.benchmarks.runs.request import KIND
from training.benchmarks.scorers.architecture import PLUG_INS
from training.benchmarks.sources import kept_data
from training.benchmarks.tasks import general
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

    monkeypatch.setattr(general, "single_task", refuse)
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
    tell(freeze)
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


def specs(app: AppTest) -> list[str]:
    return [chart.proto.spec for chart in app.get("vega_lite_chart")]


def test_the_table_of_scores_marks_the_best_and_can_be_extended(
    measured: Engine, wording: Wording
) -> None:
    app = page(SCORES)
    wording(app, "benchmarks", "scores")
    table = html(app)
    assert '<b title="best">83.3</b>' in table and '<u title="second best">33.3</u>' in table
    assert "+50.0</small>" in table and "trained from base" in table
    assert "<img" not in table and "&lt;img" in table
    assert table.index("roberta-large-nli-mean-tokens") > table.index("83.3")
    assert "msmarco" not in table and "90 " in drawn(app, "caption"), "which are hidden"
    assert "Seconds per item" not in table
    app.pills("bench-details").set_value(["US dollars per item", "Kind"]).run()
    table = html(app)
    assert "<td>bi-encoder</td>" in table
    assert table.index(">Kind<") < table.index(">US dollars per item<") < table.index("SemAntoNeg")
    app.text_input("bench-published-search").set_value("MSMARCO v5").run()
    table = html(app)
    assert table.count("msmarco") == 5 and "roberta-large-nli-mean-tokens" not in table
    assert "90 " not in drawn(app, "caption")
    app.pills("bench-papers").set_value([]).run()
    assert "msmarco" not in html(app)


def test_a_paired_test_says_whether_two_models_differ(measured: Engine) -> None:
    app = page(SCORES)
    assert "50.0 points" in page_text(app)
    assert "On 3 items, only run 7 is right; on 0, only base is." in page_text(app)
    key = next(box.key for box in app.selectbox if str(box.key).startswith("bench-paired-First"))
    app.selectbox(key).set_value("run 7").run()
    assert "50.0 points" not in page_text(app), "it needs two models"


def test_negation_is_drawn_against_general_ability_and_training_objectives(
    measured: Engine, wording: Wording
) -> None:
    app = page(SCORES)
    groups = frame_of(app, "Objective", "Variance").set_index("Objective")
    assert groups.loc["NLI", "Models"] == 27 and groups.loc["general purpose", "Mean"] == 32.8
    models = frame_of(app, "Model", "Objective").set_index("Model")
    assert len(models) == 117 and models.loc[HOSTILE, "Source"] == "measured"
    (spec,) = [json.loads(spec) for spec in specs(app) if "variance" in spec]
    assert spec["height"] > 200
    rows = spec["layer"][1]["encoding"]["y"]["sort"]
    objectives = ["general purpose", "paraphrase", "NLI", "STSB"]
    assert [row for row in rows if row in objectives] == objectives
    assert len(rows) == len(set(rows)) == len(objectives) + (models["Source"] == "measured").sum()
    assert not any("general, quick" in spec for spec in specs(app))
    with writing(measured) as session:
        run = session.merge(list_runs(session, kind=KIND)[0])
        for number, model in enumerate(("base", "run 7: base")):
            add_suite(session, model, run, 50.0 + number)
    app = page(SCORES)
    wording(app, "benchmarks", "scores with a suite")
    assert any("general, quick" in spec for spec in specs(app))
    app.toggle("tasks").set_value(True).run()
    assert "STSBenchmark" in html(app)


def test_a_model_trained_here_has_a_score_without_its_releases_antonyms(measured: Engine) -> None:
    assert frames_of(page(SCORES), "Accuracy, unseen") == []
    with writing(measured) as session:
        forms = {"lexical": ["Tea is hot."], "negated_antonym": ["Tea is not hot."]}
        add_family(session, "Tea is cold.", forms | {"verbal": ["Tea is not cold."]})
        release = freeze(session).release
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


def test_a_result_names_its_prompts(app_engine: Engine, tmp_path: Path) -> None:
    store(app_engine, "base", semantoneg(tmp_path, 3))
    with writing(app_engine) as session:
        row = session.execute(select(BenchmarkResult)).scalar_one()
        row.scoring = "dot, prompts 1a2b3c4d"
        row.summary = row.summary | {"prompts": {"query": HOSTILE[:20], "document": None}}
    found = html(page(SCORES))
    assert "base (dot product, query prompt &#34;&lt;img src=x onerror=" in found
    assert "<img" not in found


def test_order_and_missing_answers_of_language_models_are_shown(
    measured: Engine, tmp_path: Path, wording: Wording
) -> None:
    assert not frames_of(page(SCORES), "First chosen (%)"), "encoders are asked nothing"
    scores = [[np.nan] * 3 if n < 2 else [0.1, 0.2, 0.9] for n in range(6)]
    asked = {"prompt": "paraphrase_choice", "version": 2, "orders": 3, "prompts": 18}
    asked |= {"first_share": 61.1, "changed_share": 50.0}
    asked |= {"problems": {"unreadable": 1200, "timeout": 2}, "removed": {"reasoning": 17}}
    result = six_items(tmp_path).evaluate([np.array(row) for row in scores])
    store(
        measured, HOSTILE, replace(result, asked=asked), architecture="chat", scoring="both orders"
    )
    with writing(measured) as session:
        newest = session.execute(
            select(BenchmarkResult).order_by(col(BenchmarkResult.id).desc()).limit(1)
        ).scalar_one()
        newest.summary = {**newest.summary, "edited": {"relevance": 3}}
    table = frame_of(page(SCORES), "Model", "First chosen (%)").iloc[0]
    assert table["Model"] == f"{HOSTILE} (chat, both orders, relevance prompt 3)"
    assert table["Prompt"] == "Three sentences, version 2"
    assert (table["First chosen (%)"], table["Order-dependent (%)"]) == (61.1, 50.0)
    assert (table["Unanswered"], table["Unanswered (%)"]) == (2, 33.3)
    assert table["Problems"] == "unreadable 1,200, timeout 2"
    assert table["Removed from answers"] == "reasoning 17"
    app = page(ITEMS).selectbox("a").set_value(table["Model"]).run()
    wording(app, "benchmarks", "items with missing answers")
    assert "61.1%" in page_text(app) and "2 of 6 items (33.3%)" in page_text(app)


def listed(app: AppTest) -> list[str]:
    """The items in the list."""
    return [str(value) for value in frame_of(app, "Item", "A")["Item"]]


def test_items_are_shown_filtered_and_compared_by_the_errors_that_models_share(
    measured: Engine, wording: Wording
) -> None:
    app = page(ITEMS, item="0")
    wording(app, "benchmarks", "items")
    assert "The soup is not <ins>cold</ins>." in html(app) and "A <b>0.900</b>" in html(app)
    assert (app.selectbox("a").value, app.selectbox("b").value) == ("run 7", "base")
    assert len(listed(app)) == 6
    app.selectbox("bench-agreement").set_value("only the first").run()
    assert listed(app) == ["2", "3", "4"]
    app.selectbox("bench-outcome").set_value("picks the negation").run()
    assert not frames_of(app, "Item", "A") and not app.exception
    app.selectbox("bench-agreement").set_value("neither").run()
    assert listed(app) == ["5"] and "1 item of 6 wrong in at least 3 of 3 models." in page_text(app)
    assert frame_of(app, "Models wrong")["Item"].tolist() == ["5"]
    assert frame_of(app, "Errors", "Items").to_dict("records") == [
        {"Part": "easy / hard", "Errors": 1, "Items": 2}
    ]
    (least,) = [box for box in app.number_input if box.label == "Wrong in at least"]
    least.set_value(2).run()
    assert "4 items of 6 wrong in at least 2 of 3 models." in page_text(app)
    (models,) = [box for box in app.multiselect if box.label == "Models"]
    models.set_value([HOSTILE]).run()
    assert not frames_of(app, "Models wrong") and not app.exception, "it needs two models"


def test_an_item_from_the_project_links_to_its_records(app_engine: Engine) -> None:
    with writing(app_engine) as session:
        add_plain_family(session, 1, split=Split.TEST)
        release = freeze(session).release
        session.flush()
        own = Hedgerow.of_release(session, release.id)
    (item,) = own.items
    variants = [*item.positives, *item.negatives]
    store(app_engine, "base", own.evaluate([np.arange(len(variants), dtype=float)]))
    found = html(page(ITEMS, item=item.uid))
    links = [f"review?variant={variant.uid}" for variant in variants]
    assert all(f'href="{link}"' in found for link in (*links, f"anchors?anchor={item.uid}"))


def test_a_missing_result_file_is_reported_and_other_results_stay(measured: Engine) -> None:
    newest = max(load_settings().data_folder.glob("results-*"), key=lambda path: int(path.name[8:]))
    (newest / "rows.jsonl").unlink()
    app = page(ITEMS)
    assert [line for line in page_text(app).splitlines() if line.startswith("run 7: ")]
    assert len(listed(app)) == 6


def test_hostile_texts_of_items_are_shown_as_they_are(app_engine: Engine) -> None:
    sentences = tuple(f"{HOSTILE} {letter}" for letter in "abc")
    data = SemAntoNeg([Entry(HOSTILE, HOSTILE, sentences)])
    store(app_engine, HOSTILE, data.evaluate([np.array([0.3, 0.2, 0.1])]))
    app = page(ITEMS, item=HOSTILE)
    assert html(app).count("&lt;img src=x") == 4 and "<img src=x" not in html(app)
    assert "<img" not in unsafe_texts(app).replace(html(app), "")


# -- overlap ---------------------------------------------------------------------------


def release(engine: Engine, *numbers: int) -> None:
    with writing(engine) as session:
        for number in numbers:
            add_plain_family(session, number, split=Split.TRAIN)
        freeze(session)


def finished(app: AppTest) -> AppTest:
    """The page after its background computation."""
    until = time.monotonic() + TIMEOUT
    while count_cache._store().busy() and time.monotonic() < until:
        time.sleep(0.05)
    return app.run()


def texts_of(app: AppTest) -> list[str]:
    """The tables of overlapping page_text, as HTML."""
    return [box.value for box in app.get("html") if "/review?variant=" in box.value]


def test_overlap_shows_the_number_and_the_texts(app_engine: Engine, wording: Wording) -> None:
    app = finished(page(OVERLAP))
    wording(app, "benchmarks", "overlap without a release")
    release(app_engine, *range(9))
    wording(app.run(), "benchmarks", "overlap without a benchmark")
    keep_doors(load_settings().data_folder)
    app = finished(page(OVERLAP))
    wording(app, "benchmarks", "overlap")
    figures, fields = (frame.value for frame in app.dataframe)
    counts = {"Items": 4, "Overlapping": 2, "Share": 0.5, "Whole text": 2}
    assert figures.to_dict("records") == [{"Benchmark": "SemAntoNeg (doors.jsonl)"} | counts]
    assert fields.drop(columns="Benchmark").to_dict("list") == {
        "Field of the release": ["anchor", "positive", "negative"],
        "In queries": [0, 1, 1],
        "In documents": [0, 0, 0],
        "Whole text in queries": [1, 0, 1],
        "Whole text in documents": [0, 0, 0],
    }
    (texts,) = texts_of(app)
    last = texts.rpartition("<tr>")[2]
    assert "She said that door 2 is probably open today." in last
    assert ">door 2 is probably open<" in last
    assert texts.count('href="/review?variant=') == texts.count("<tr>") - 1
    app.number_input(key="overlap-n").set_value(6).run()
    finished(app)
    assert app.dataframe[0].value["Overlapping"].tolist() == [0]
    assert app.dataframe[0].value["Whole text"].tolist() == [2]


def test_train_reports_the_overlap_before_the_start(
    app_engine: Engine, open_page: OpenPage
) -> None:
    release(app_engine, *range(9), 99)
    app = open_page("train")
    assert not texts_of(finished(app)), "no benchmark"
    keep_doors(load_settings().data_folder)
    app = open_page("train")
    assert app.button(key="train-click") and not app.exception
    finished(app)
    assert SAID in page_text(app) and "doors.jsonl" not in unsafe_texts(app)
    assert len(texts_of(app)) == 1
