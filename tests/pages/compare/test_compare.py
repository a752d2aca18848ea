"""The Compare page in each of its states, from rows and files, without an encoder."""

from __future__ import annotations

import numpy as np
import pytest
from sqlalchemy import Engine, update
from sqlmodel import col
from streamlit.testing.v1 import AppTest

from curation.encoders.model_folders import BUILT_IN, DEFAULT_ENCODER, TRAINED_ENCODER
from db.engine import reading, writing
from db.execution import execute
from db.models import Encoder, Run, RunState
from db.run_folders import run_folder
from db.runs import list_runs
from db.settings import load_settings
from pages.components.compare import group_charts
from pages.components.shared.charts import save
from pages.components.shared.charts.palette import LIGHT
from tests.pages.conftest import ROOT, TIMEOUT, OpenPage, unsafe_texts
from training.evaluation.probe_files import Pasted
from training.evaluation.probe_sets import (
    FIGURE_1_SET,
    GROUPS_SET,
    create_set,
    ensure_bundled,
    list_sets,
    open_set,
)
from training.evaluation.probes import save_probe_cosines
from training.evaluation.similarity import ROLES, ProbePair
from training.evaluation.similarity_run import KIND, request_comparison, set_cosines, work
from training.models.known import named_encoder

TRAINED = "run 7: all-MiniLM-L6-v2, release 1"
HOSTILE = '<img src=x onerror="alert(1)"> **bold** $x^2$ :red[text] [link](javascript:alert(1))'
SENTENCES = ["It rains.", "It pours.", HOSTILE]


@pytest.fixture
def models(app_engine: Engine) -> list[int]:
    """The rows of the built-in encoder and of a trained one."""
    rows = [
        Encoder(name=DEFAULT_ENCODER, fingerprint="a" * 64),
        Encoder(name=TRAINED, fingerprint="b" * 64, path="runs/00007-train/model"),
    ]
    with writing(app_engine) as session:
        session.add_all(rows)
        session.flush()
        return [row.id for row in rows]


@pytest.fixture
def compare(open_page: OpenPage) -> AppTest:
    return open_page("compare")


def page_text(app: AppTest) -> str:
    assert not app.exception
    return "\n".join(element.value for element in app.text)


def charts(app: AppTest) -> int:
    return len(app.get("vega_lite_chart"))


def store_cosines(engine: Engine, encoder_id: int, name: str, *, contradicted: float) -> None:
    """Every contradicted pair of a set gets this cosine, and every other pair 0.8."""
    with writing(engine) as session:
        cosines = {
            stored.id: contradicted if stored.probe.label == ROLES[0] else 0.8
            for stored in open_set(session, name).probes
        }
        save_probe_cosines(session, cosines, encoder_id=encoder_id)


def store_matrices(engine: Engine, models: list[int], sentences: list[str]) -> None:
    """A finished run with a matrix for each model: 0.9 and 0.3 between any two sentences."""
    with writing(engine) as session:
        run = request_comparison(
            session, models=[DEFAULT_ENCODER, TRAINED], sentences=sentences, requested_by=None
        )
        run.state = RunState.DONE
        for letter, value in (("a", 0.9), ("b", 0.3)):
            matrix = np.full((len(sentences),) * 2, value, dtype=np.float32)
            np.fill_diagonal(matrix, 1.0)
            np.save(run_folder(load_settings(), run) / f"cosines-{letter * 16}.npy", matrix)


def test_a_new_project_measures_figure_1_with_the_bundled_encoders(
    compare: AppTest, started: list[int], app_engine: Engine
) -> None:
    assert compare.selectbox("a").value == DEFAULT_ENCODER
    assert compare.selectbox("b").value == TRAINED_ENCODER
    assert compare.selectbox("set").value == FIGURE_1_SET
    (link,) = compare.get("page_link")
    assert link.proto.label == "Train a model"
    assert "You can compare your own model, too." in page_text(compare)
    with reading(app_engine) as session:
        (run,) = list_runs(session, kind=KIND)
    assert started == [run.id]
    assert (run.parameters["set"], run.parameters["models"]) == (FIGURE_1_SET, list(BUILT_IN))
    assert "Waiting for the run to start" in page_text(compare.run())
    assert started == [run.id], "once"


@pytest.mark.slow
def test_a_new_project_shows_figure_1_before_and_after(
    compare: AppTest, started: list[int], app_engine: Engine
) -> None:
    execute(app_engine, load_settings(), started[0], {KIND: work})
    compare.run()
    assert "Not measured yet" not in page_text(compare) and charts(compare) == 1
    with reading(app_engine) as session:
        probes = open_set(session, FIGURE_1_SET).probes
        before, after = (
            set_cosines(session, named_encoder(session, name).row, probes) for name in BUILT_IN
        )
    assert before is not None and after is not None
    fall, *others = (one - other for one, other in zip(before, after, strict=True))
    assert fall > 0.1 and fall > 2 * max(others), "the contradicted one"
    assert len(started) == 1


def test_a_cancelled_measurement_does_not_restart_by_itself(
    compare: AppTest, open_page: OpenPage, started: list[int]
) -> None:
    compare.button(f"cancel-{started[0]}").click().run()
    again = open_page("compare")
    assert "was cancelled" in page_text(again) and len(started) == 1
    again.button("compare-start").click().run()
    assert len(started) == 2


def test_one_click_measures_missing_values_of_both_models(
    models: list[int], started: list[int], open_page: OpenPage, app_engine: Engine
) -> None:
    app = open_page("compare")
    assert app.selectbox("b").value == TRAINED
    app.button("compare-start").click().run()
    with reading(app_engine) as session:
        (run,) = list_runs(session, kind=KIND)
    assert started == [run.id]
    assert run.parameters == {
        "models": [DEFAULT_ENCODER, TRAINED],
        "set": GROUPS_SET,
        "sentences": [],
    }
    assert "Waiting for the run to start" in page_text(app)
    assert not [button for button in app.button if button.key == "compare-start"]


def test_groups_are_ranked_by_both_models_and_one_is_shown(
    models: list[int], app_engine: Engine, open_page: OpenPage
) -> None:
    with writing(app_engine) as session:
        ensure_bundled(session, GROUPS_SET)
    for encoder_id, cosine in zip(models, (0.9, 0.4), strict=True):
        store_cosines(app_engine, encoder_id, GROUPS_SET, contradicted=cosine)
    app = open_page("compare")
    assert "Not measured yet" not in page_text(app)
    assert [(metric.label, metric.value) for metric in app.metric] == [
        ("Ranked correctly by A", "0%"),
        ("Ranked correctly by B", "100%"),
    ]
    assert charts(app) == 2
    numbers = app.dataframe[0].value.set_index("Metric")
    assert numbers.loc["Mean cosine, contradicted"].tolist() == ["0.900", "0.400", "−0.500"]
    assert numbers.loc["Contradicted below weakened"].tolist() == ["0%", "100%", "+100 points"]
    kinds = app.dataframe[1].value
    assert kinds["Groups"].tolist() == [15] * 4 + [30] * 4
    assert kinds["Construction"].tolist()[::4] == [
        "Contradicted: Verbal negation",
        "Weakened: Hedge: single word",
    ]
    groups = app.dataframe[2].value
    assert len(groups) == 60
    assert groups["B − A"].round(3).unique().tolist() == [0.5]
    assert "Anchor: The tortoise in the cardboard box is awake." in page_text(app)


def test_results_of_one_model_are_shown_before_the_others(
    models: list[int], app_engine: Engine, open_page: OpenPage
) -> None:
    with writing(app_engine) as session:
        ensure_bundled(session, GROUPS_SET)
    store_cosines(app_engine, models[0], GROUPS_SET, contradicted=0.9)
    app = open_page("compare")
    assert "with run 7. This takes a few seconds" in page_text(app)
    assert [metric.value for metric in app.metric] == ["0%"]


def test_each_missing_model_is_reported_in_one_sentence() -> None:
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=TIMEOUT)
    app.session_state["a"], app.session_state["b"] = "/no/such/model", "/nor/this"
    app.run().switch_page("pages/compare.py").run()
    assert "Model A: There is no model folder '/no/such/model'; check the path." in page_text(app)
    assert "Model B: There is no model folder '/nor/this'; check the path." in page_text(app)


def test_a_failed_measurement_is_reported_and_can_be_retried(
    app_engine: Engine, open_page: OpenPage, started: list[int]
) -> None:
    with writing(app_engine) as session:
        run = request_comparison(session, models=[DEFAULT_ENCODER], set_name=FIGURE_1_SET)
        session.execute(
            update(Run).where(col(Run.id) == run.id).values(state=RunState.FAILED, message=HOSTILE)
        )
    app = open_page("compare")
    assert f"Run {run.id} failed: {HOSTILE}" in page_text(app)
    assert "onerror" not in unsafe_texts(app)
    app.button("compare-start").click().run()
    assert len(started) == 1


def type_sentences(app: AppTest, text: str) -> AppTest:
    app.get("button_group")[0].set_value("Sentences").run()
    return app.text_area("compare-text").set_value(text).run()


def test_typed_sentences_are_checked_compared_and_kept_as_a_set(
    models: list[int], app_engine: Engine, compare: AppTest
) -> None:
    store_matrices(app_engine, models, SENTENCES)
    type_sentences(compare, "Alone.")
    assert "Expected 2 to 200 different sentences, one per line, but found 1." in page_text(compare)
    type_sentences(compare, "\n".join([*SENTENCES, SENTENCES[0]]))
    assert any("Ignored 1 repeated sentence" in caption.value for caption in compare.caption)
    assert charts(compare) == 3
    assert "B puts them further apart, by 0.600." in page_text(compare)
    assert compare.dataframe[0].value["B − A"].round(3).tolist() == [-0.6] * 3
    assert "onerror" not in unsafe_texts(compare)
    compare.text_input("compare-save-name").set_value("*Rain*")
    compare.button("compare-save-make").click().run()
    assert compare.selectbox("set").value == "*Rain*"
    assert charts(compare) == 3
    with reading(app_engine) as session:
        assert open_set(session, "*Rain*").sentences == SENTENCES


def test_a_set_of_pasted_pairs_is_created_changed_and_deleted(
    models: list[int], compare: AppTest, app_engine: Engine
) -> None:
    compare.text_input("compare-new-name").set_value("Weather")
    compare.text_area("compare-new-text").set_value("It rains. | It pours.\nIt rains.").run()
    compare.button("compare-new-make").click().run()
    assert "Line 2: expected as many columns as in the first line (2), found 1." in page_text(
        compare
    )
    pasted = f"It rains. | It pours.\nIt rains. | {HOSTILE}"
    compare.text_area("compare-new-text").set_value(pasted).run()
    compare.button("compare-new-make").click().run()
    assert compare.selectbox("set").value == "Weather"
    assert "2 pairs of “Weather” with all-MiniLM-L6-v2" in page_text(compare)
    assert compare.text_area("compare-new-text").value == ""
    assert "onerror" not in unsafe_texts(compare)
    compare.text_area("compare-more-text").set_value("It rains. | It hails.").run()
    compare.button("compare-more-add").click().run()
    assert "3 pairs of “Weather”" in page_text(compare)
    compare.text_input("compare-rename").set_value("Sixty Groups").run()
    compare.button("compare-renamed").click().run()
    assert "The probe set 'Sixty Groups' already exists" in page_text(compare)
    compare.text_input("compare-rename").set_value("Rain").run()
    compare.button("compare-renamed").click().run()
    assert compare.selectbox("set").value == "Rain"
    compare.button("compare-delete").click().run()
    assert compare.selectbox("set").value == GROUPS_SET
    with reading(app_engine) as session:
        assert "Rain" not in list_sets(session)


def test_pairs_with_the_largest_difference_come_first(
    models: list[int], app_engine: Engine, open_page: OpenPage
) -> None:
    pairs = [ProbePair("It rains.", f"It rains {n} times.", "") for n in range(40)]
    with writing(app_engine) as session:
        create_set(session, name="Rain", content=Pasted(pairs, []), author_id=None)
        probes = open_set(session, "Rain").probes
        for encoder_id, step in zip(models, (0.0, 0.01), strict=True):
            cosines = {stored.id: 0.5 + n * step for n, stored in enumerate(probes)}
            save_probe_cosines(session, cosines, encoder_id=encoder_id)
    app = open_page("compare")
    app.selectbox("set").set_value("Rain").run()
    assert charts(app) == 1
    assert any(
        "The chart shows the 30 pairs that differ most" in caption.value for caption in app.caption
    )
    table = app.dataframe[0].value
    assert (len(table), table["Second"][0]) == (40, "It rains 39 times.")


def test_a_heat_map_has_one_scale_and_all_texts_in_its_tooltips() -> None:
    low, high = np.full((3, 3), 0.31), np.full((3, 3), 0.72)
    assert group_charts.shared_low([high, low]) == 0.3
    spec = group_charts.heat_map(high, SENTENCES, low=0.3, dark=False).to_dict()
    cells, numbers = spec["layer"]
    assert cells["encoding"]["color"]["scale"]["domain"][::9] == [0.3, 1.0]
    assert cells["encoding"]["color"]["scale"]["range"] == list(LIGHT.sequential)
    assert numbers["mark"]["type"] == "text"
    assert HOSTILE not in str(spec["layer"][0]["encoding"])


@pytest.mark.slow
def test_a_saved_heat_map_draws_hostile_texts_as_text() -> None:
    sentences = [f"{HOSTILE} {n}" for n in range(80)]  # 6,400 cells: more than Altair's default
    small = group_charts.heat_map(np.eye(3), SENTENCES, low=0.0, dark=False)
    large = group_charts.heat_map(np.eye(80), sentences, low=0.0, dark=False)
    for chart in (small, large):
        svg = save.as_svg(chart)
        assert "&lt;img src=x" in svg
        assert "<img" not in svg
