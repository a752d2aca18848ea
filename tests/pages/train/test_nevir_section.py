"""The section NevIR of the Train page, from rows. The page itself trains nothing."""

from __future__ import annotations

import pytest
from sqlalchemy import Engine
from streamlit.testing.v1 import AppTest

from db.engine import reading, writing
from db.models import RunMetric, RunState
from db.runs import list_runs
from db.settings import load_settings
from pages.components.train.ranking.charts import documents
from pages.components.train.section_choice import NEVIR
from tests.pages.conftest import unsafe_texts
from tests.pages.train.support.states import HOSTILE, page, page_text
from tests.training.ranking.support.finetunings import ENTRIES, lines
from training.benchmarks.data.sources import keep_data
from training.models.rankers import KIND
from training.ranking.epochs import SPREAD, EpochFigures
from training.ranking.figures import DOCUMENTS, QUANTILES, quantile
from training.ranking.pairs import keep_pairs
from training.ranking.request import RankingRequest, request_finetuning


def store(engine: Engine, *, state: RunState, encoder: bool = True, **values: object) -> int:
    """A finetuning run with metrics of two epochs."""
    settings = load_settings()
    kept = keep_pairs(settings.data_folder, "pairs.jsonl", lines(ENTRIES))
    with writing(engine) as session:
        request = RankingRequest(data=kept.file, data_name=HOSTILE[:200], **values)
        run = request_finetuning(session, settings, request, requested_by=None)
        run.state, run.message = state, f"Measuring {HOSTILE}"
        figures = {"nevir": 0.25, "nevir:low": 0.1, "nevir:high": 0.5, "reranking": 0.9}
        if encoder:
            figures |= {"documents": 0.9, "documents:sd": 0.1}
            figures |= {quantile(percent): percent / 100 for percent in QUANTILES}
        for step in (0, 10):
            session.add(RunMetric(run_id=run.id, name="epoch", step=step, value=step / 10))
            for name, value in figures.items():
                session.add(RunMetric(run_id=run.id, name=name, step=step, value=value))
        if state == RunState.DONE:
            run.result = {
                "model": f"{run.folder}/model",
                "name": f"run {run.id}: {HOSTILE}",
                "architecture": "bi-encoder" if encoder else "cross-encoder",
                "fingerprint": f"f{run.id}",
                "loss": "MultipleNegativesRankingLoss",
                "data": {
                    "name": HOSTILE,
                    "hash": kept.file[:64],
                    "trained_on": 16,
                    "passages": 16,
                    "held_out": 4,
                },
                "validation": {},
            }
        return run.id


def charts(test: AppTest) -> int:
    return len(test.get("vega_lite_chart"))


def test_an_empty_project_says_what_to_add(app_engine: Engine) -> None:
    test = page(NEVIR)
    assert "Add a file of pairs first." in page_text(test)
    assert test.button("nevir-start").disabled and not charts(test)


def test_one_click_stores_a_finetuning_with_the_settings_shown(
    app_engine: Engine, started: list[int]
) -> None:
    keep_pairs(load_settings().data_folder, "pairs.jsonl", lines(ENTRIES))
    test = page(NEVIR)
    assert "16 training pairs, 4 held out. Takes " in page_text(test)
    test.number_input("nevir-epochs").set_value(3)
    test.selectbox("nevir-architecture").set_value("cross-encoder")
    test.button("nevir-start").click().run()
    assert started == [1]
    with reading(app_engine) as session:
        (run,) = list_runs(session, kind=KIND)
    assert run.parameters["data_name"] == "pairs.jsonl"
    assert (run.parameters["epochs"], run.parameters["architecture"]) == (3, "cross-encoder")
    assert "This run starts when the current one has ended." in page_text(test.run())


def test_the_pairs_are_shown_with_their_split(app_engine: Engine) -> None:
    hostile = [ENTRIES[0] | {"q1": HOSTILE}, *ENTRIES[1:]]
    keep_pairs(load_settings().data_folder, "pairs.jsonl", lines(hostile))
    test = page(NEVIR)
    test.toggle("nevir-show-pairs").set_value(True).run()
    shown = test.dataframe[0].value
    assert shown["Part"].value_counts().to_dict() == {"training": 16, "measured": 4}
    assert set(shown["doc1"]) == {one["doc1"] for one in ENTRIES}
    assert HOSTILE in set(shown["q1"]) and HOSTILE not in unsafe_texts(test)


def test_a_file_of_one_passage_says_why_it_cannot_be_divided(app_engine: Engine) -> None:
    keep_pairs(load_settings().data_folder, "one.jsonl", lines(ENTRIES[:1]))
    test = page(NEVIR)
    test.toggle("nevir-show-pairs").set_value(True).run()
    assert "at least 2 passages in 'one.jsonl', found one" in page_text(test)


def test_pairs_from_a_test_set_are_refused_before_the_click_and_can_be_left_out(
    app_engine: Engine, started: list[int]
) -> None:
    folder = load_settings().data_folder
    keep_pairs(folder, "pairs.jsonl", lines(ENTRIES))
    keep_data(folder, "nevir", {"test.jsonl": lines(ENTRIES[:1])})
    test = page(NEVIR)
    assert "shares 1 passage with 'test.jsonl'" in page_text(test)
    assert test.button("nevir-start").disabled
    test.button("nevir-untested").click().run()
    assert "shares" not in page_text(test)
    assert "pairs-untested.jsonl was added: 19 pairs. It is selected above." in page_text(test)
    assert "15 training pairs, 4 held out" in page_text(test)
    test.button("nevir-start").click().run()
    assert started == [1] and not test.exception


def test_a_known_file_is_selected_and_named_as_known(app_engine: Engine) -> None:
    folder = load_settings().data_folder
    keep_pairs(folder, "first.jsonl", lines(ENTRIES))
    keep_pairs(folder, "second.jsonl", lines(ENTRIES[:12]))
    test = page(NEVIR)
    assert test.selectbox("nevir-data-2-0").value == "second.jsonl"
    same = ("first.jsonl", lines(ENTRIES), "text/plain")
    test.file_uploader("nevir-file-0").set_value(same).run()
    assert "first.jsonl was already there: 20 pairs. It is selected above." in page_text(test)
    assert test.selectbox("nevir-data-2-1").value == "first.jsonl"
    assert "was already there" not in page_text(test.run()), "it is reported once"


def test_runs_are_compared_with_the_data_they_were_trained_on(app_engine: Engine) -> None:
    encoder = store(app_engine, state=RunState.DONE)
    reranker = store(app_engine, state=RunState.DONE, encoder=False, seed=7)
    test = page(NEVIR)
    assert charts(test) == 2, "the newest is no encoder"
    test.multiselect(f"nevir-runs-{reranker}").set_value([encoder, reranker]).run()
    assert charts(test) == 3
    taught = test.dataframe[-1].value
    assert taught["Training data"].tolist() == [HOSTILE, HOSTILE]
    assert taught["Pairs"].tolist() == [16, 16]
    assert taught["Held-out pairs"].tolist() == [4, 4]
    numbers = test.dataframe[0].value
    assert numbers["upper end of its 95% interval"].tolist() == [0.5] * 4
    assert numbers["epoch"].tolist() == [0, 1, 0, 1]
    assert HOSTILE not in unsafe_texts(test)


def test_a_running_run_shows_its_curves_so_far(app_engine: Engine) -> None:
    run_id = store(app_engine, state=RunState.QUEUED)
    test = page(NEVIR)
    assert charts(test) == 3
    assert f"Run {run_id}: all-MiniLM-L6-v2" in page_text(test)
    assert "16 training pairs, 4 held out" in page_text(test)


@pytest.mark.parametrize("state", [RunState.FAILED, RunState.CANCELLED])
def test_a_stopped_run_can_be_restarted(
    app_engine: Engine, started: list[int], state: RunState
) -> None:
    run_id = store(app_engine, state=state)
    test = page(NEVIR)
    test.button(f"again-{run_id}").click().run()
    assert started == [run_id] and not test.exception


@pytest.mark.parametrize("dark", [False, True])
def test_the_box_chart_draws_only_values_that_its_rows_have(dark: bool) -> None:
    figures = {DOCUMENTS: 0.5, SPREAD: 0.1} | {quantile(p): p / 100 for p in QUANTILES}
    chart = documents([EpochFigures(1, 2, figures)], dark=dark).to_dict()
    (row,) = chart["data"]["values"]
    fields = {
        channel["field"]
        for layer in chart["layer"]
        for channels in layer["encoding"].values()
        for channel in (channels if isinstance(channels, list) else [channels])
    }
    assert fields == row.keys()
