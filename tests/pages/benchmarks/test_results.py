"""What the Benchmarks page shows of results: scores, charts, single items, and the overlap."""

import json
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from sqlalchemy import Engine, select
from sqlmodel import col
from streamlit.testing.v1 import AppTest

from curation.release.freezing import create_release
from db.engine import writing
from db.models import BenchmarkResult, Encoder, Split
from db.runs import list_runs
from db.settings import load_settings
from pages.components.benchmarks.names import ITEMS, OVERLAP, SCORES
from pages.components.shared.shell import count_cache
from tests.curation.support.families import add_family, add_plain_family
from tests.pages.benchmarks.conftest import (
    HOSTILE,
    frame_of,
    frames_of,
    html,
    page,
    semantoneg,
    six_items,
    store,
)
from tests.pages.conftest import TIMEOUT, OpenPage, Wording, unsafe_texts
from tests.pages.opening import page_text
from tests.support.benchmark_results import add_suite
from tests.support.overlapping import SAID, keep_doors
from training.benchmarks.runs.request import KIND
from training.benchmarks.tasks.own_families import Hedgerow
from training.benchmarks.tasks.semantoneg import Entry, SemAntoNeg


def captions(app: AppTest) -> str:
    return "\n".join(str(said.value) for said in app.caption)


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
    assert "msmarco" not in table and "90 " in captions(app), "which are hidden"
    assert "Seconds per item" not in table
    app.pills("bench-details").set_value(["US dollars per item", "Kind"]).run()
    table = html(app)
    assert "<td>bi-encoder</td>" in table
    assert table.index(">Kind<") < table.index(">US dollars per item<") < table.index("SemAntoNeg")
    app.text_input("bench-published-search").set_value("MSMARCO v5").run()
    table = html(app)
    assert table.count("msmarco") == 5 and "roberta-large-nli-mean-tokens" not in table
    assert "90 " not in captions(app)
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
        release = create_release(session).release
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
        create_release(session)


def finished(app: AppTest) -> AppTest:
    """The page after its background computation."""
    until = time.monotonic() + TIMEOUT
    while count_cache._store().busy() and time.monotonic() < until:
        time.sleep(0.05)
    return app.run()


def texts_of(app: AppTest) -> list[str]:
    """The tables of overlapping texts, as HTML."""
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
