"""The section NevIR of the Train page, from rows. The page itself trains nothing."""

from collections.abc import Sequence
from typing import Any

import pytest
from sqlalchemy import Engine

from db.engine import writing
from db.models import RunState
from db.settings import load_settings
from pages.components.train.section_choice import NEVIR
from tests.pages.conftest import Wording, unsafe_texts
from tests.pages.opening import newest, page_text, use
from tests.pages.train.conftest import HOSTILE, add_metrics, charts, page
from tests.training.ranking.support.finetunings import ENTRIES, lines
from training.benchmarks.data.sources import keep_data
from training.models.rankers import KIND
from training.ranking.figures import QUANTILES, quantile
from training.ranking.pairs import keep_pairs
from training.ranking.request import RankingRequest, request_finetuning


def keep(entries: Sequence[Any] = ENTRIES, name: str = "pairs.jsonl") -> str:
    """Add a file of pairs to the project."""
    return keep_pairs(load_settings().data_folder, name, lines(entries)).file


def store(engine: Engine, *, state: RunState, encoder: bool = True, **values: object) -> int:
    """A finetuning run with metrics of two epochs."""
    data = keep()
    with writing(engine) as session:
        request = RankingRequest(data=data, data_name=HOSTILE[:200], **values)
        run = request_finetuning(session, load_settings(), request, requested_by=None)
        run.state, run.message = state, f"Measuring {HOSTILE}"
        figures = {"nevir": 0.25, "nevir:low": 0.1, "nevir:high": 0.5, "reranking": 0.9}
        if encoder:
            figures |= {"documents": 0.9, "documents:sd": 0.1}
            figures |= {quantile(percent): percent / 100 for percent in QUANTILES}
        for step in (0, 10):
            add_metrics(session, run.id, step, figures | {"epoch": step / 10})
        if state == RunState.DONE:
            taught = {"trained_on": 16, "passages": 16, "held_out": 4}
            run.result = {
                "model": f"{run.folder}/model",
                "name": f"run {run.id}: {HOSTILE}",
                "architecture": "bi-encoder" if encoder else "cross-encoder",
                "fingerprint": f"f{run.id}",
                "loss": "MultipleNegativesRankingLoss",
                "data": {"name": HOSTILE, "hash": data[:64]} | taught,
                "validation": {},
            }
        return run.id


def test_one_click_stores_a_finetuning_with_the_settings_shown(
    app_engine: Engine, started: list[int], wording: Wording
) -> None:
    app = page(NEVIR)
    wording(app, "train", "NevIR without pairs")
    assert app.button("nevir-start").disabled and not charts(app)
    keep()
    app = page(NEVIR)
    wording(app, "train", "NevIR")
    assert "16 training pairs, 4 held out" in page_text(app)
    use(app, {"nevir-epochs": 3, "nevir-architecture": "cross-encoder"}, press="nevir-start")
    run = newest(KIND)
    assert started == [run.id] and run.parameters["data_name"] == "pairs.jsonl"
    assert (run.parameters["epochs"], run.parameters["architecture"]) == (3, "cross-encoder")


def test_the_pairs_are_shown_with_their_split_or_why_they_have_none(app_engine: Engine) -> None:
    keep([ENTRIES[0] | {"q1": HOSTILE}, *ENTRIES[1:]])
    app = page(NEVIR).toggle("nevir-show-pairs").set_value(True).run()
    shown = app.dataframe[0].value
    assert shown["Part"].value_counts().to_dict() == {"training": 16, "measured": 4}
    assert set(shown["doc1"]) == {one["doc1"] for one in ENTRIES}
    assert HOSTILE in set(shown["q1"]) and HOSTILE not in unsafe_texts(app)
    keep(ENTRIES[:1], "one.jsonl")
    app = page(NEVIR).toggle("nevir-show-pairs").set_value(True).run()
    assert "'one.jsonl'" in page_text(app) and not app.dataframe


def test_pairs_from_a_test_set_are_refused_before_the_click_and_can_be_left_out(
    app_engine: Engine, started: list[int], wording: Wording
) -> None:
    keep()
    keep_data(load_settings().data_folder, "nevir", {"test.jsonl": lines(ENTRIES[:1])})
    app = page(NEVIR)
    wording(app, "train", "NevIR with pairs of a test set")
    assert "'test.jsonl'" in page_text(app) and app.button("nevir-start").disabled
    app.button("nevir-untested").click().run()
    assert "pairs-untested.jsonl" in page_text(app)
    assert "15 training pairs, 4 held out" in page_text(app)
    app.button("nevir-start").click().run()
    assert started == [1] and not app.exception


def test_a_known_file_is_selected_and_named_as_known(app_engine: Engine) -> None:
    keep(name="first.jsonl")
    keep(ENTRIES[:12], "second.jsonl")
    app = page(NEVIR)
    assert app.selectbox("nevir-data-2-0").value == "second.jsonl"
    app.file_uploader("nevir-file-0").set_value(("first.jsonl", lines(ENTRIES), "text/plain")).run()
    assert "first.jsonl" in page_text(app) and "20 pairs" in page_text(app)
    assert app.selectbox("nevir-data-2-1").value == "first.jsonl"
    assert "20 pairs" not in page_text(app.run()), "it is reported once"


def test_runs_are_compared_with_the_data_they_were_trained_on(
    app_engine: Engine, wording: Wording
) -> None:
    encoder = store(app_engine, state=RunState.DONE)
    reranker = store(app_engine, state=RunState.DONE, encoder=False, seed=7)
    app = page(NEVIR)
    wording(app, "train", "results of NevIR")
    assert charts(app) == 2, "the newest is no encoder"
    app.multiselect(f"nevir-runs-{reranker}").set_value([encoder, reranker]).run()
    assert charts(app) == 3
    taught = app.dataframe[-1].value
    assert taught["Training data"].tolist() == [HOSTILE, HOSTILE]
    assert taught["Pairs"].tolist() == [16, 16] and taught["Held-out pairs"].tolist() == [4, 4]
    numbers = app.dataframe[0].value
    assert numbers["upper end of its 95% interval"].tolist() == [0.5] * 4
    assert numbers["epoch"].tolist() == [0, 1, 0, 1] and HOSTILE not in unsafe_texts(app)


@pytest.mark.parametrize("state", [RunState.QUEUED, RunState.FAILED, RunState.CANCELLED])
def test_a_run_shows_its_curves_so_far_and_a_stopped_one_can_be_restarted(
    app_engine: Engine, started: list[int], state: RunState
) -> None:
    run_id = store(app_engine, state=state)
    app = page(NEVIR)
    assert f"Run {run_id}" in page_text(app)
    if state == RunState.QUEUED:
        assert charts(app) == 3 and "16 training pairs, 4 held out" in page_text(app)
    else:
        app.button(f"again-{run_id}").click().run()
        assert started == [run_id] and not app.exception
