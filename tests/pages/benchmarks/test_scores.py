"""The table of scores, the paired test and the charts below it."""

from __future__ import annotations

import json
from pathlib import Path

from sqlalchemy import Engine, select
from sqlmodel import col

from curation.release.freezing import create_release
from db.engine import writing
from db.models import BenchmarkResult, Encoder
from db.runs import list_runs
from db.settings import load_settings
from pages.components.benchmarks.names import SCORES
from tests.curation.support.families import add_family
from tests.pages.benchmarks.support.page import (
    HOSTILE,
    frame_of,
    frames_of,
    html,
    page,
    page_text,
    semantoneg,
)
from tests.support.benchmark_results import add_result, add_suite
from training.benchmarks.runs.request import KIND


def test_columns_other_than_scores_can_be_shown(measured: Engine) -> None:
    test = page(SCORES)
    assert "Seconds per item" not in html(test)
    test.pills("bench-details").set_value(["US dollars per item", "Kind"]).run()
    table = html(test)
    assert "<td>bi-encoder</td>" in table
    assert table.index(">Kind<") < table.index(">US dollars per item<") < table.index("SemAntoNeg")


def test_the_table_marks_the_best_and_shows_differences_from_the_base_model(
    measured: Engine,
) -> None:
    test = page(SCORES)
    table = html(test)
    assert '<b title="best">83.3</b>' in table and '<u title="second best">33.3</u>' in table
    assert "+50.0</small>" in table and "trained from base" in table
    assert "<img" not in table and "&lt;img" in table
    assert table.index("Published results on") > table.index("83.3")
    assert "roberta-large-nli-mean-tokens" in table and "msmarco" not in table
    captions = "".join(str(said.value) for said in test.caption)
    assert "Your data for SemAntoNeg may differ, so compare with care." in captions
    assert "90 more published models are hidden; search by name" in captions
    test.text_input("bench-published-search").set_value("MSMARCO v5").run()
    table = html(test)
    assert table.count("msmarco") == 5 and "roberta-large-nli-mean-tokens" not in table
    assert "more published models" not in "".join(str(said.value) for said in test.caption)
    test.pills("bench-papers").set_value([]).run()
    assert "Published results on" not in html(test)


def test_a_paired_test_says_whether_two_models_differ(measured: Engine) -> None:
    test = page(SCORES)
    assert "run 7 scores 50.0 points higher than base." in page_text(test)
    assert "The difference is not statistically significant" in page_text(test)
    assert "On 3 items, only run 7 is right; on 0, only base is." in page_text(test)
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
    assert "A dashed line" in "".join(str(captions.value) for captions in test.caption)
    test.toggle("tasks").set_value(True).run()
    assert "STSBenchmark" in html(test)


def test_semantoneg_is_shown_by_training_objective_with_your_own_models(measured: Engine) -> None:
    test = page(SCORES)
    groups = frame_of(test, "Objective", "Variance").set_index("Objective")
    assert groups.loc["NLI", "Models"] == 27 and groups.loc["general purpose", "Mean"] == 32.8
    models = frame_of(test, "Model", "Objective").set_index("Model")
    assert len(models) == 117 and models.loc[HOSTILE, "Source"] == "measured"
    specs = [json.loads(chart.proto.spec) for chart in test.get("vega_lite_chart")]
    (spec,) = [spec for spec in specs if "variance" in json.dumps(spec)]
    assert spec["height"] > 200
    rows = spec["layer"][1]["encoding"]["y"]["sort"]
    objectives = ["general purpose", "paraphrase", "NLI", "STSB"]
    assert [row for row in rows if row in objectives] == objectives
    assert len(rows) == len(set(rows)) == len(objectives) + (models["Source"] == "measured").sum()


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
