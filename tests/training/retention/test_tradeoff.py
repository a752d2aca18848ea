"""The trade-off of a finished training run: measured along the line of weights, saved at a
point."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from sqlalchemy import Engine, delete
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.encoders.loading import fingerprint, load_encoder
from curation.release.freezing import get_release
from db import execution
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import Encoder, Run, RunState, Split
from db.runs import get_run, request_cancel
from db.settings import Settings
from tests.cli.commands import ask as run_command
from tests.cli.commands import complaint, show
from tests.curation.support.families import add_plain_family
from tests.support.databases import Copies, opened, sqlite
from tests.training.support.shared import made_once, shared_folder
from tests.training.support.trainings import ask, perform, train
from training.encoder_run import tradeoff, tradeoff_save
from training.encoder_run.tradeoff import (
    MEASURE_TRADEOFF,
    SHARES,
    MeasureTradeoff,
    StsFile,
    estimate,
    read_sts_file,
)
from training.encoder_run.tradeoff_curve import (
    KEPT,
    KIND,
    Curve,
    SharePoint,
    axes,
    curve_of,
    suggested,
)
from training.encoder_run.tradeoff_save import SAVE_POINT, SavePoint
from training.encoder_run.weight_changes import ends_of, load
from training.evaluation.general_ability import RETRIEVAL
from training.evaluation.held_out import STS
from training.hub.push_run import model_run
from training.models.known import list_encoders, location_of
from training.recipe.schema import Recipe

pytestmark = pytest.mark.slow
WORK = {KIND: tradeoff.work, tradeoff_save.KIND: tradeoff_save.work}
STS_LINES = "5.0\tIt rains.\tIt pours.\n2.5\tA door.\tA gate.\n0.0\tA cat.\tThe tax was paid.\n"


@pytest.fixture
def recipe(tiny_encoder: Path) -> Recipe:
    return Recipe(
        base_encoder=str(tiny_encoder),
        batch_size=4,
        max_steps=2,
        learning_rate=5e-3,
        retention=0.0,
        interpolation=1.0,
        soup=1,
    )


@pytest.fixture
def project(
    home: Path,
    recipe: Recipe,
    copies: Copies,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Engine]:
    """Six families for training and three for evaluation. Run 1 has trained, and run 2 has measured
    its trade-off. Later runs measure few points."""

    def train_once(folder: Path) -> None:
        settings = Settings(home=folder, database_url="", training_lock=str(folder / "lock"))
        with opened(copies.migrated(folder / "hedgerow.db")) as engine:
            with writing(engine) as session:
                for number in range(9):
                    split = Split.TRAIN if number < 6 else Split.VALIDATION
                    add_plain_family(session, number, split=split)
            measured(engine, settings, train(engine, settings, ask(engine, recipe)).id)

    made = made_once(shared_folder(tmp_path_factory), "tradeoff", train_once)
    monkeypatch.setattr(tradeoff, "SHARES", (0.0, 0.5, 1.0))
    shutil.copytree(made, home, dirs_exist_ok=True)
    with opened(sqlite(home / "hedgerow.db")) as engine:
        yield engine


def measured(engine: Engine, settings: Settings, training: int, **more: Any) -> Any:
    key = perform(engine, MEASURE_TRADEOFF, MeasureTradeoff(training=training, **more), settings).id
    execution.execute(engine, settings, key, WORK)
    curve = known(engine, training)
    assert curve.run == key
    return curve


def known(engine: Engine, training: int = 1) -> Any:
    with reading(engine) as session:
        return curve_of(session, training)


def saved(engine: Engine, settings: Settings, training: int, share: float) -> Run:
    key = perform(engine, SAVE_POINT, SavePoint(training=training, share=share), settings).id
    execution.execute(engine, settings, key, WORK)
    with reading(engine) as session:
        return get_run(session, key)


def weights(folder: Path | str) -> dict[str, Any]:
    return dict(load_encoder(str(folder), device="cpu").state_dict())


@pytest.mark.parametrize(
    ("points", "share"),
    [
        ([(0, 1.0, 0.1), (0.5, 0.98, 0.7), (1, 0.9, 0.8)], 0.5),  # most of both
        ([(0, 1.0, 0.1), (0.5, 0.95, 0.5), (1, 0.9, 0.9)], 1),  # a straight line: the largest share
        ([(0, 1.0, 0.1), (0.5, 1.0, 0.9), (1, 1.0, 0.8)], 0.5),  # nothing is forgotten
        ([(0, 1.0, 0.5), (0.5, 1.0, 0.5), (1, 1.0, 0.5)], 1),  # nothing has changed
    ],
)
def test_the_suggested_point_gives_up_least(
    points: list[tuple[float, float, float]], share: float
) -> None:
    found = [SharePoint(share, {"drift": 1 - kept, "ranked": up}) for share, kept, up in points]
    assert suggested(Curve(1, 1, found, 1.0, {}, ""), general=KEPT, negation="ranked") == share


@pytest.fixture
def run(project: Engine) -> Run:
    """The finished training run."""
    with reading(project) as session:
        return get_run(session, 1)


def alter_recipe(session: Session, **changes: object) -> None:
    """As if run 1 had been requested with another recipe."""
    run = get_run(session, 1)
    recipe = {**run.parameters["recipe"], **changes}
    run.parameters = {**run.parameters, "recipe": recipe}


def pool_otherwise(engine: Engine, settings: Settings, run: Run) -> None:
    """As if the recipe had requested another pooling than the base encoder's."""
    folder = settings.data_folder / run.result["model"]
    file = folder / "1_Pooling" / "config.json"
    file.write_text(file.read_text("utf-8").replace('"mean"', '"cls"'), encoding="utf-8")
    with writing(engine) as session:
        session.get_one(Encoder, run.result["encoder_id"]).fingerprint = fingerprint(folder)


def test_the_ends_have_the_figures_of_the_base_and_of_the_finetuned_encoder(
    project: Engine, run: Run
) -> None:
    curve = known(project)
    assert [point.share for point in curve.points] == list(SHARES)
    assert curve.own_share == 1.0
    for point, side in ((curve.points[0], "before"), (curve.points[-1], "after")):
        assert point.figures == pytest.approx(run.result["held_out"][side], abs=1e-5)
    drifts = [1 - point.value(KEPT) for point in curve.points]
    assert drifts[0] == pytest.approx(0, abs=1e-6) and drifts == sorted(drifts)
    assert drifts[-1] > 0.001 and curve.counts["families"] == 3 and not curve.points[0].has(STS)
    assert axes(curve)[0] == [RETRIEVAL, KEPT]


def test_the_ends_of_a_mixed_model_are_recovered(
    project: Engine, settings: Settings, recipe: Recipe, run: Run
) -> None:
    import torch

    mixed = recipe.model_copy(update={"interpolation": 0.35})
    half = train(project, settings, ask(project, mixed))
    curve = measured(project, settings, half.id)
    assert curve.own_share == 0.35
    assert [point.share for point in curve.points] == [0.0, 0.35, 0.5, 1.0]
    assert curve.points[1].figures == pytest.approx(half.result["held_out"]["after"], abs=1e-5)
    for point in (curve.points[0], *curve.points[2:]):
        again = known(project).at(point.share)
        assert again.figures == pytest.approx(point.figures, abs=1e-4)
    with reading(project) as session:
        mixture = load(ends_of(session, settings, half))
    finetuned = weights(settings.data_folder / run.result["model"])
    for name, value in mixture.set_share(1.0).state_dict().items():
        assert torch.allclose(value, finetuned[name], atol=1e-6), name


def test_a_saved_point_is_the_mean_of_the_weights_and_an_encoder_like_any_other(
    project: Engine, settings: Settings, run: Run, tiny_encoder: Path
) -> None:
    import torch

    pool_otherwise(project, settings, run)
    result = saved(project, settings, run.id, 0.7).result
    folder = settings.data_folder / result["model"]
    ends = weights(tiny_encoder), weights(settings.data_folder / run.result["model"])
    for name, value in weights(folder).items():
        if value.is_floating_point():
            mean = 0.3 * ends[0][name] + 0.7 * ends[1][name]
            assert torch.allclose(value, mean, atol=1e-6), name
    assert load_encoder(str(folder))[1].pooling_mode == "cls"
    assert result["held_out"]["after"] == known(project).at(0.7).figures
    assert "0.7" in (folder / "README.md").read_text("utf-8")
    name = f"run {run.id} at 0.7: {tiny_encoder}, release 1"
    with reading(project) as session:
        row = session.get_one(Encoder, result["encoder_id"])
        assert (row.name, row.path, row.run_id) == (name, result["model"], result["run"])
        assert (row.base_id, row.release_id) == (run.result["before_encoder_id"], 1)
        assert name in list_encoders(session)
        assert location_of(session, settings, name).checked() == fingerprint(folder)
        (found,) = tradeoff_save.saved_models(session, settings, run.id)
        assert (found.share, found.name, found.folder) == (0.7, name, folder)
        assert model_run(session, found.run).result["model"] == result["model"]  # for publishing


def test_a_point_is_saved_once_and_only_if_it_is_another_model(
    project: Engine, settings: Settings, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(share: float, fact: str) -> None:
        with pytest.raises(HedgerowError, match=fact):
            perform(project, SAVE_POINT, SavePoint(training=run.id, share=share))

    full = Mock(side_effect=OSError(28, "No space left on device"))
    with monkeypatch.context() as patch:
        patch.setattr(tradeoff_save, "_write_card", full)
        with pytest.raises(HedgerowError, match="No space left"):
            saved(project, settings, run.id, 0.3)
    assert not list((settings.data_folder / "runs").glob("*-tradeoff-save/model*"))
    with reading(project) as session:
        assert tradeoff_save.saved_models(session, settings, run.id) == []
    first = saved(project, settings, run.id, 0.5)
    refused(0.0, "base encoder")
    refused(1.0, f"run {run.id}'s own")
    refused(0.5, "already saved")
    refused(0.55, "measured shares")
    shutil.rmtree(settings.data_folder / first.result["model"])
    second = saved(project, settings, run.id, 0.5)
    assert second.result["encoder_id"] == first.result["encoder_id"]
    with reading(project) as session:
        (found,) = tradeoff_save.saved_models(session, settings, run.id)
        assert found.folder == settings.data_folder / second.result["model"]
        assert location_of(session, settings, found.name).checked()
    with writing(project) as session:
        session.execute(delete(Run).where(col(Run.kind) == KIND))
    refused(0.5, f"Measure the trade-off of run {run.id}")


def test_an_sts_file_and_further_shares_are_measured_and_replace_the_curve(
    project: Engine, settings: Settings, run: Run, tmp_path: Path
) -> None:
    def asked() -> dict[str, Any]:
        found = perform(project, MEASURE_TRADEOFF, MeasureTradeoff(training=run.id))
        with writing(project) as session:
            session.delete(found)
            return found.parameters

    theirs, mine = tmp_path / "theirs.tsv", tmp_path / "mine.tsv"
    for file in (theirs, mine):
        file.write_text(STS_LINES, encoding="utf-8")
    with writing(project) as session:
        alter_recipe(session, sts_file=str(theirs))
    assert asked()["sts_name"] == "theirs.tsv", "that of the training, if no other is given"
    sts = read_sts_file(mine)
    mine.unlink()  # the given file is kept
    curve = measured(project, settings, run.id, sts=sts, share=0.75)
    assert (curve.sts, curve.counts[STS]) == ("mine.tsv", 3) and curve.at(0.75) is not None
    assert all(-1 <= point.value(STS) <= 1 for point in curve.points)
    again = asked()
    assert again["sts_name"] == "mine.tsv" and 0.75 in again["shares"]


def test_a_model_that_cannot_be_measured_is_refused_with_one_sentence(
    project: Engine, settings: Settings, recipe: Recipe, run: Run
) -> None:
    def refused(fact: str, training: int = run.id, **request: Any) -> None:
        with pytest.raises(HedgerowError, match=fact) as problem:
            perform(project, MEASURE_TRADEOFF, MeasureTradeoff(training=training, **request))
        assert "\n" not in str(problem.value)

    refused("no run 99", 99)
    refused("is queued", ask(project, recipe))
    refused("line 1", sts=StsFile("my *file*.tsv", b"no scores\nat all\n"))
    with writing(project) as session:
        splits = get_release(session, 1).summary["splits"]
        few = splits | {"validation": splits["validation"] | {"anchors": 1}}
        get_release(session, 1).summary = get_release(session, 1).summary | {"splits": few}
    refused("fewer than 2 anchors")
    with writing(project) as session:
        with pytest.raises(HedgerowError, match="fewer than 2 anchors"):
            estimate(session, get_run(session, 1))
        get_release(session, 1).summary = get_release(session, 1).summary | {"splits": splits}
    other = perform(project, MEASURE_TRADEOFF, MeasureTradeoff(training=run.id)).id
    refused(f"Run {other}")
    refused(f"run {other} is not one", other)
    folder = settings.data_folder / run.result["model"]
    folder.rename(folder.with_name("elsewhere"))
    refused("no longer at")


def test_other_files_than_those_of_the_training_are_refused(
    project: Engine, settings: Settings, run: Run, tmp_path: Path
) -> None:
    base = Path(shutil.copytree(run.parameters["recipe"]["base_encoder"], tmp_path / "base"))
    with writing(project) as session:
        alter_recipe(session, base_encoder=str(base))
    for folder in (base, settings.data_folder / run.result["model"]):
        (file,) = folder.glob("*.safetensors")
        file.write_bytes((content := file.read_bytes())[:-4] + b"\0\0\1\0")
        with pytest.raises(HedgerowError, match="are not those"):
            measured(project, settings, run.id)
        file.write_bytes(content)


@pytest.mark.usefixtures("project")
def test_the_command_shows_what_is_known_measures_what_is_not_and_saves(
    settings: Settings,
) -> None:
    assert run_command("tradeoff", "1")["run"] == 2  # nothing is measured again
    assert "--share" in complaint("tradeoff", "1", "--save") and complaint("tradeoff", "2")
    answer = run_command("tradeoff", "1", "--share", "0.75", "--save")
    assert (answer["run"], answer["chosen"]["share"]) == (3, 0.75)
    assert 0.75 in [point["share"] for point in answer["points"]]
    assert answer["encoder"].startswith("run 1 at 0.75: ")
    folder = Path(answer["model"])
    assert folder.parents[1] == settings.data_folder / "runs" and (folder / "README.md").is_file()
    assert "0.75" in show("tradeoff", "1")
    assert "already saved" in complaint("tradeoff", "1", "--share", "0.75", "--save")


def test_cancelling_within_the_measuring_keeps_the_curve_before(
    project: Engine, settings: Settings, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    earlier = known(project)
    key = perform(project, MEASURE_TRADEOFF, MeasureTradeoff(training=run.id)).id
    monkeypatch.setattr(execution, "HEARTBEAT_SECONDS", 0.01)
    real = tradeoff.HeldOut.figures

    def cancelling(held_out: tradeoff.HeldOut, model: object) -> dict[str, float]:
        with writing(project) as session:
            request_cancel(session, key)
        while True:  # until the heartbeat notices it
            real(held_out, model)

    monkeypatch.setattr(tradeoff.HeldOut, "figures", cancelling)
    with pytest.raises(HedgerowError, match="was cancelled"):
        execution.execute(project, settings, key, WORK)
    with reading(project) as session:
        assert get_run(session, key).state == RunState.CANCELLED
    assert known(project) == earlier
