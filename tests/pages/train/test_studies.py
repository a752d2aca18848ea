"""The sections Studies and Runs of the train page, from rows."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import Engine, update
from sqlmodel import col
from streamlit.testing.v1 import AppTest

from curation.release.freezing import create_release
from db.engine import reading, writing
from db.models import Run, RunState, Split, TypeVersion
from db.runs import get_run
from db.settings import load_settings
from pages.components.shared.shell import open_project as opened
from pages.components.train.section_choice import RUNS, SECTION, STUDIES, TRAIN
from pages.components.train.studies import difference_charts
from tests.curation.support.families import add_plain_family
from tests.pages.conftest import unsafe_texts
from tests.support.checkout import APP
from training.data.composition import composition
from training.recipe.schema import Recipe
from training.studies.designs import Study
from training.studies.members import trials
from training.studies.outcomes import Against, FigureRow, differences, published_rows, trade_off
from training.studies.study_run import list_studies, request_study

HOSTILE = '<img src=x onerror="alert(1)"> **bold** [link](javascript:alert(1))'
BASE = Recipe(batch_size=2)


@pytest.fixture
def project(home: Path) -> Engine:
    engine = opened.engine()
    with writing(engine) as session:
        for number in range(12):
            add_plain_family(session, number, split=Split.TRAIN)
        hostile = update(TypeVersion).where(col(TypeVersion.type_id) == "verbal")
        session.execute(hostile.values(label=HOSTILE))
    return engine


@pytest.fixture
def released(project: Engine) -> Engine:
    with writing(project) as session:
        create_release(session)
    return project


def page(section: str) -> AppTest:
    test = AppTest.from_file(str(APP), default_timeout=120).run()
    test.session_state[SECTION] = section
    test = test.switch_page("pages/train.py").run()
    assert not test.exception
    return test


def page_text(test: AppTest) -> str:
    assert not test.exception
    return "\n".join(element.value for element in test.text)


def stored(engine: Engine, study: Study, *, state: RunState = RunState.DONE) -> int:
    """A study whose first runs are done, and whose last one has failed."""
    with writing(engine) as session:
        run = request_study(
            session, load_settings(), study, data=composition(session), base=BASE, seed=1
        )
        run.state = state
        *done, last = (trial.run for trial in trials(session, run))
        for place, child in enumerate(done):
            child.state, child.result = RunState.DONE, result(place)
        last.state, last.message = RunState.FAILED, f"It diverged {HOSTILE}."
        return run.id


def result(place: int) -> dict[str, object]:
    before = {"ranked": 0.5, "questions": 0.0, "drift": 0.0, "retrieval": 0.8}
    after = {"ranked": 0.9 - place / 10, "questions": 0.8, "drift": 0.05, "retrieval": 0.75}
    return {
        "triples": 24 // 2**place,
        "steps": 3,
        "seconds": 90.0,
        "held_out": {"before": before, "after": after, "of": {"ranked": 20, "retrieval": 300}},
    }


def test_without_a_release_the_page_links_to_creating_one(project: Engine) -> None:
    test = page(STUDIES)
    assert "Create a release first" in page_text(test)
    assert "Create a release" in [link.proto.label for link in test.get("page_link")]


def test_one_click_stores_a_study_and_starts_its_process(
    released: Engine, started: list[int]
) -> None:
    test = page(STUDIES)
    assert "3 runs" in page_text(test) and "in total: All types" in page_text(test)
    assert test.button("study-start-writers").disabled
    assert "none written by rules" in page_text(test)
    assert "onerror" not in unsafe_texts(test)
    test.session_state["train_recipe"] = BASE.to_yaml()
    test.run().button("study-start-types").click().run()
    with reading(released) as session:
        (run,) = list_studies(session)
        assert started == [run.id]
        assert run.parameters["recipe"] == BASE.model_dump(mode="json")
        members = trials(session, run)
    assert "Waiting for the run to start" in page_text(test)
    assert f"You can start the next study when run {run.id} has ended." in page_text(test)
    assert test.button("study-start-triples").disabled
    assert f"Without {HOSTILE}: waiting (run {members[1].run.id})" in page_text(test)
    assert "onerror" not in unsafe_texts(test)


def test_studies_use_the_chosen_recipe(released: Engine, started: list[int]) -> None:
    test = page(STUDIES)
    test.selectbox("study-recipe-0").set_value("thorough").run()
    assert page_text(test).count("Uses the “thorough” preset") > 1
    assert "No anchor has an original entailment" in page_text(test)
    test.session_state["train_recipe"] = BASE.to_yaml()
    test.run()
    assert "Uses your edited recipe" in page_text(test)
    test.selectbox("study-recipe-1").set_value("paper").run()
    assert "your edited recipe" not in page_text(test) and "Uses the “paper” preset" in page_text(
        test
    )


def test_a_study_shows_chart_table_and_what_failed(released: Engine) -> None:
    run_id = stored(released, Study.TYPES)
    test = page(STUDIES)
    with reading(released) as session:
        members = [trial.run.id for trial in trials(session, get_run(session, run_id))]
    assert len(test.get("vega_lite_chart")) == 1
    table = test.dataframe[0].value
    assert list(table["Condition"]) == [
        "base encoder",
        "All types",
        f"Without {HOSTILE}",
        "Without Lexical negation",
    ]
    assert list(table["State"])[1:] == ["done", "done", "failed"]
    assert list(table["Ranked"])[:3] == [0.5, 0.9, pytest.approx(0.8)]
    assert list(table["Retrieval"])[:3] == [0.8, 0.75, 0.75]
    assert any("MRR@10 on 300 bundled questions" in note.value for note in test.caption)
    assert (
        f"Run {members[-1]} (Without Lexical negation) failed: It diverged {HOSTILE}."
        in page_text(test)
    )
    assert "onerror" not in unsafe_texts(test)
    assert any("n = 20" in note.value for note in test.caption)


def test_a_study_is_one_line_on_the_train_page(released: Engine) -> None:
    run_id = stored(released, Study.TYPES, state=RunState.QUEUED)
    test = page(TRAIN)
    assert f"Run {run_id}, the study “One type left out” on release 1, is in progress" in page_text(
        test
    )
    assert not [button for button in test.button if button.label == "Cancel"]
    test.button("train-show-study").click().run()
    assert test.session_state[SECTION] == STUDIES
    assert "Waiting for the run to start" in page_text(test)


def test_a_stopped_study_can_be_restarted(released: Engine, started: list[int]) -> None:
    run_id = stored(released, Study.TRIPLES, state=RunState.CANCELLED)
    test = page(STUDIES)
    assert f"Run {run_id} was cancelled" in page_text(test)
    assert len(test.get("vega_lite_chart")) == 2
    test.button(f"again-{run_id}").click().run()
    assert not test.exception and started == [run_id]


def test_the_runs_are_listed_and_compared(released: Engine) -> None:
    assert "No training run has finished yet" in page_text(page(RUNS))
    stored(released, Study.TYPES)
    with writing(released) as session:
        recipe = {"base_encoder": HOSTILE, "epochs": 12}
        asked = {"release": 1, "seed": 2, "recipe": recipe}
        session.add(Run(kind="train", state=RunState.DONE, result=result(0), parameters=asked))
    test = page(RUNS)
    overview, recipes, figures, effort = (frame.value for frame in test.dataframe)
    assert len(overview) == 3
    assert overview["Recipe"][0] == f"standard, but base_encoder: {HOSTILE}, epochs: 12"
    newest, second = recipes.columns[-2:]
    line = recipes.set_index("Key").loc["epochs"]
    assert line[newest] == "≠ 12" and not line[second].startswith("≠")
    assert "loss" not in list(recipes["Key"])
    assert figures.set_index("Metric").loc["triples ranked correctly, after", newest] == 0.9
    assert effort.set_index("Training").loc["steps", newest] == 3
    assert "onerror" not in unsafe_texts(test)
    test.multiselect[0].set_value([]).run()
    assert "Choose the runs to compare." in page_text(test)


ROWS = [
    FigureRow("All", 1, 80, "ranked", 0.5, 0.9, 20),
    FigureRow("All", 1, 80, "drift", 0.0, 0.1, 9),
    FigureRow("Half", 2, 40, "ranked", 0.5, 0.6, 20),
    FigureRow("Half", 2, 40, "drift", 0.0, 0.05, 9),
]


def test_differences_are_to_the_base_or_to_all_in_percent_or_points() -> None:
    def found(against: Against, *, relative: bool) -> dict[tuple[str, str], object]:
        rows = differences(ROWS, against=against, full="All", relative=relative)
        return {(row.arm, row.figure): pytest.approx(row.difference) for row in rows}

    assert found(Against.BASE, relative=True) == {("All", "ranked"): 80, ("Half", "ranked"): 20}
    assert found(Against.BASE, relative=False) == {
        ("All", "ranked"): 40,
        ("All", "drift"): 10,
        ("Half", "ranked"): 10,
        ("Half", "drift"): 5,
    }
    assert found(Against.FULL, relative=True) == {
        ("Half", "ranked"): pytest.approx(-100 / 3),
        ("Half", "drift"): -50,
    }


def test_the_papers_figure_3_follows_from_its_table_2() -> None:
    rows = differences(published_rows(Study.DATA), against=Against.BASE, full="All", relative=True)
    found = {(row.figure, row.arm): round(row.difference, 1) for row in rows}
    assert found["Mean of four negation tests", "Only negation"] == 73.0
    assert found["MTEB STS", "All"] == -6.8
    assert published_rows(Study.TYPES) == []


def test_published_bars_are_hollow_in_the_colour_of_their_training() -> None:
    rows = differences(
        [*ROWS, *published_rows(Study.DATA)], against=Against.BASE, full="All", relative=False
    )
    arms = ["All", "Half", "Only negation", "Only hedging"]
    spec = difference_charts.differences(
        rows, arms=arms, relative=False, against="base encoder", dark=False
    ).to_dict()
    measured, published = spec["layer"][:2]
    assert published["mark"]["fill"] == "transparent" and "fill" not in published["encoding"]
    assert published["encoding"]["stroke"]["scale"] == measured["encoding"]["fill"]["scale"]
    assert measured["encoding"]["stroke"]["scale"]["domain"] == arms
    (of_items,) = (
        entry["field"] for entry in measured["encoding"]["tooltip"] if entry["title"] == "n"
    )
    shown = {(bar["hollow"], bar[of_items]) for bar in published["data"]["values"]}
    assert {text for hollow, text in shown if hollow} == {"not reported"}
    assert all(text.isdecimal() for hollow, text in shown if not hollow)


def test_the_trade_off_starts_at_the_base_encoder_and_rises_where_it_improves() -> None:
    points = trade_off(ROWS, negation="ranked", general="drift")
    assert [(point.triples, point.negation, point.general) for point in points] == [
        (0, 0.5, 1.0),
        (40, 0.6, 0.95),
        (80, 0.9, 0.9),
    ]
    chart = difference_charts.trade_off(points, negation="ranked", general="1 − drift", dark=True)
    labels = [value["label"] for value in chart.to_dict()["data"]["values"]]
    assert labels == ["base", "40", "80"]
