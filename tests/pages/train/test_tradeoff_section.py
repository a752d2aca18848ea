"""The trade-off in a training run's results, from rows. The page itself measures nothing."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from sqlalchemy import Engine
from streamlit.testing.v1 import AppTest

from db.engine import reading, writing
from db.models import Encoder, Run, RunState, Split
from db.runs import create_run, get_run, list_runs
from db.settings import load_settings
from pages.components.train.results import tradeoff_section
from pages.components.train.results.tradeoff_charts import curve as draw_curve
from tests.curation.support.families import add_plain_family
from tests.pages.conftest import OpenPage, unsafe_texts
from training.recipe.schema import Recipe
from training.retention import tradeoff_save
from training.retention.tradeoff import SHARES
from training.retention.tradeoff_curve import KEPT, KIND, Curve, SharePoint, curve_of, group_of
from training.runs.trainings import request_training

HOSTILE = '<img src=x onerror="alert(1)"> **bold** $x^2$ :red[text]'


def figures(share: float, *, sts: bool = False) -> dict[str, float]:
    found = {
        "ranked": 0.4 + 0.4 * share,
        "families": 0.1 + share * (1.6 - share) / 2,
        "drift": 0.1 * share**3,
        "ranked:word>verbal": 0.5,
    }
    return found | ({"sts": 0.8 - 0.02 * share, "retrieval": 0.8 - 0.1 * share} if sts else {})


@pytest.fixture
def training(app_engine: Engine) -> int:
    """A finished training run with a folder and the two encoders' rows. Three families are held
    out."""
    with writing(app_engine) as session:
        for number in range(6):
            add_plain_family(session, number, split=Split.TRAIN if number < 3 else Split.VALIDATION)
        run = request_training(
            session,
            release_number=None,
            recipe=Recipe(batch_size=2, interpolation=1),
            seed=1,
            requested_by=None,
        )
        rows = [Encoder(name=f"{side} {HOSTILE}"[:300], fingerprint=side) for side in ("a", "b")]
        session.add_all(rows)
        session.flush()
        run.state = RunState.DONE
        run.result = {
            "run": run.id,
            "model": f"{run.folder}/model",
            "release": 1,
            "triples": 6,
            "steps": 2,
            "seconds": 5.0,
            "before_encoder_id": rows[0].id,
            "encoder_id": rows[1].id,
        }
        (load_settings().data_folder / run.result["model"]).mkdir(parents=True)
        return run.id


def store_curve(engine: Engine, training: int, **more: object) -> int:
    shares = more.pop("shares", SHARES)
    sts = str(more.get("sts", ""))
    result = {
        "points": [{"share": s, "figures": figures(s, sts=bool(sts))} for s in shares],  # type: ignore[attr-defined]
        "own_share": 1.0,
        "counts": {"families": 3, "drift": 3},
        "sts": sts,
        **more,
    }
    parameters = {"training": training, "shares": list(SHARES), "sts": "", "sts_name": ""}
    return store(engine, KIND, training, parameters, result)


def store(
    engine: Engine,
    kind: str,
    training: int,
    parameters: Mapping[str, object],
    result: Mapping[str, object],
) -> int:
    with writing(engine) as session:
        run = create_run(session, kind=kind, parameters=dict(parameters), group=group_of(training))
        run.state, run.result = RunState.DONE, dict(result)
        return run.id


@pytest.fixture
def results(open_page: OpenPage, training: int) -> AppTest:
    """The page at the run's results, not yet drawn."""
    test = open_page("train")
    test.segmented_control("step").set_value("Results")
    return test


def page_text(test: AppTest) -> str:
    assert not test.exception
    return "\n".join(element.value for element in test.text)


def rows(test: AppTest) -> list[str]:
    """The table of the chosen point's metrics, one text per row."""
    (table,) = (t.value for t in test.table if any("Chosen" in str(c) for c in t.value.columns))
    return [" | ".join(map(str, row)) for row in table.itertuples(index=False)]


def test_one_click_measures_and_the_page_follows(
    results: AppTest, training: int, app_engine: Engine, started: list[int]
) -> None:
    test = results.run()
    assert "often keeps most of the gain" in page_text(test)
    assert "Takes less than a minute. Nothing is trained." in page_text(test)
    test.button(f"tradeoff-click-{training}").click().run()
    with reading(app_engine) as session:
        (run,) = list_runs(session, kind=KIND)
    assert (run.parameters["training"], run.parameters["shares"]) == (training, list(SHARES))
    assert started == [run.id]
    assert f"Run {run.id}: measuring the trade-off of run {training}" in page_text(test)
    assert not [b for b in test.button if b.label == "Measure the trade-off"]


def test_the_slider_shows_the_figures_of_each_measured_share(
    results: AppTest, training: int, app_engine: Engine
) -> None:
    curve_run = store_curve(app_engine, training, sts=f"my {HOSTILE}.tsv")
    test = results.run()
    slider = test.select_slider(f"tradeoff-share-{curve_run}")
    assert [float(option) for option in slider.options] == list(SHARES)
    assert 0 < float(slider.value) < 1  # the suggested point
    test = slider.set_value(0.3).run()
    (row,) = (row for row in rows(test) if row.startswith("Anchors ranked correctly"))
    middle = f"{0.1 + 0.3 * 1.3 / 2:.1%}"
    assert row == f"Anchors ranked correctly | 10.0% | {middle} | 40.0% | 3 anchors"
    assert f"STS file: my {HOSTILE}.tsv." in page_text(test)
    assert HOSTILE not in unsafe_texts(test)
    test.segmented_control(f"tradeoff-x-{curve_run}").set_value(KEPT).run()
    assert not test.exception


@pytest.mark.slow
def test_the_chosen_point_is_saved_as_a_run_and_then_named(
    results: AppTest, training: int, app_engine: Engine, started: list[int]
) -> None:
    curve_run = store_curve(app_engine, training)
    test = results.run()
    for share, sentence in ((0.0, "those of the base encoder"), (1.0, "'s own model")):
        test.select_slider(f"tradeoff-share-{curve_run}").set_value(share).run()
        assert sentence in page_text(test)
        assert test.button(f"tradeoff-save-{training}").disabled
    test.select_slider(f"tradeoff-share-{curve_run}").set_value(0.7).run()
    test.button(f"tradeoff-save-{training}").click().run()
    with reading(app_engine) as session:
        (run,) = list_runs(session, kind=tradeoff_save.KIND)
    assert (run.parameters, started) == ({"training": training, "share": 0.7}, [run.id])
    assert f"Run {run.id}: saving a model from run {training}" in page_text(test)
    finish_saving(app_engine, run)
    test.run()
    assert f"already saved as 'run 1 at 0.7 {HOSTILE}'" in page_text(test)
    assert HOSTILE not in unsafe_texts(test)
    assert test.button(f"tradeoff-save-{training}").disabled
    assert f"hedgerow push {run.id} --repo" in page_text(test)
    assert any(f"{run.folder}/model" in code.value for code in test.code)


def finish_saving(engine: Engine, run: Run) -> None:
    with writing(engine) as session:
        row = Encoder(name=f"run 1 at 0.7 {HOSTILE}"[:300], fingerprint="c", run_id=run.id)
        session.add(row)
        session.flush()
        stored = get_run(session, run.id)
        stored.state = RunState.DONE
        stored.result = {
            "share": 0.7,
            "model": f"{run.folder}/model",
            "encoder_id": row.id,
            "name": row.name,
        }
    (load_settings().data_folder / run.folder / "model").mkdir(parents=True)


def test_a_missing_model_and_a_wrong_file_are_reported_in_one_sentence(
    results: AppTest, training: int, started: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Upload:
        name = "mine.tsv"

        def getvalue(self) -> bytes:
            return b"no\nscores\n"

    test = results.run()
    real = tradeoff_section.StsFile
    monkeypatch.setattr(
        tradeoff_section, "_given", lambda training: real(Upload.name, Upload().getvalue())
    )
    test.button(f"tradeoff-click-{training}").click().run()
    assert "mine.tsv: Expected a score and two sentences" in page_text(test)
    assert started == []
    (load_settings().data_folder / f"runs/{training:05d}-train" / "model").rmdir()
    test.run()
    assert f"The model of run {training} is no longer at" in page_text(test)
    assert not [b for b in test.button if b.label == "Measure the trade-off"]


def test_labels_of_nearby_points_give_way_to_more_important_ones() -> None:
    points = [
        SharePoint(s, {"ranked": 0.5 + 0.4 * min(s, 0.5), "drift": 0.2 * min(s, 0.5)})
        for s in SHARES
    ]
    measured = Curve(1, 7, points, 0.8, {}, "")
    chart = draw_curve(
        measured, general=KEPT, negation="ranked", negation_name="Triples", share=0.6, dark=False
    ).to_dict()
    values = chart["data"]["values"]
    labels = {row["share"]: row["label"] for row in values}
    assert labels[0.0] == "0: before" and labels[0.6] == "0.6"  # it outranks the end
    assert not any(labels[share] for share in (0.5, 0.7, 0.8, 0.9, 1.0))  # all in one place
    assert [row["chosen"] for row in values].count(True) == 1


def test_a_stored_curve_is_read_back_unchanged(app_engine: Engine, training: int) -> None:
    store_curve(app_engine, training, shares=(0.0, 1.0))
    store_curve(app_engine, training, shares=(0.0, 0.5, 1.0))
    with reading(app_engine) as session:
        found = curve_of(session, training)
        assert found is not None and [point.share for point in found.points] == [0.0, 0.5, 1.0]
        assert curve_of(session, training + 1) is None
