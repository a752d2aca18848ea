"""The trade-off of a finished training run: measured along the line of weights, saved at a
point."""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from sqlalchemy import Engine, delete
from sqlalchemy.engine import URL
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.encoders.loading import fingerprint, load_encoder
from curation.release.freezing import get_release
from db import execution
from db.engine import create_engine, reading, writing
from db.errors import HedgerowError
from db.execution import execute
from db.migrate import upgrade
from db.models import Encoder, Run, RunState, Split
from db.runs import get_run, request_cancel
from db.settings import Settings
from tests.cli.support.commands import ask as run_command
from tests.cli.support.commands import complaint, show
from tests.curation.support.families import add_plain_family
from tests.training.support.trainings import ask, train
from training.evaluation.held_out import STS
from training.evaluation.retrieval import RETRIEVAL
from training.hub.push_run import model_run
from training.models.known import list_encoders, location_of
from training.recipe.schema import Recipe
from training.retention import tradeoff, tradeoff_save
from training.retention.interpolation import ends_of, load
from training.retention.tradeoff import SHARES, StsFile, estimate, read_sts_file, request_tradeoff
from training.retention.tradeoff_curve import (
    KEPT,
    KIND,
    Curve,
    SharePoint,
    axes,
    curve_of,
    suggested,
)
from training.retention.tradeoff_save import request_save, saved_models

WORK = {KIND: tradeoff.work, tradeoff_save.KIND: tradeoff_save.work}
STS_LINES = "5.0\tIt rains.\tIt pours.\n2.5\tA door.\tA gate.\n0.0\tA cat.\tThe tax was paid.\n"


def opened(folder: Path) -> Engine:
    """A single kind of database, because there is no specific SQL here."""
    return create_engine(URL.create("sqlite", database=str(folder / "hedgerow.db")))


@pytest.fixture(scope="session")
def small_recipe(tiny_encoder: Path) -> Recipe:
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
def recipe(small_recipe: Recipe) -> Recipe:
    return small_recipe


@pytest.fixture(scope="session")
def trained_home(tmp_path_factory: pytest.TempPathFactory, small_recipe: Recipe) -> Path:
    """A project with six families for training and three for evaluation, in which run 1 has trained
    and run 2 has measured its trade-off. Copy it, do not change it."""
    folder = tmp_path_factory.mktemp("trained")
    engine = opened(folder)
    upgrade(engine)
    with writing(engine) as session:
        for number in range(9):
            split = Split.TRAIN if number < 6 else Split.VALIDATION
            add_plain_family(session, number, split=split)
    settings = Settings(home=folder, training_lock=str(folder / "lock"))
    measured(engine, settings, train(engine, settings, ask(engine, small_recipe)).id)
    engine.dispose()
    return folder


@pytest.fixture
def project(home: Path, trained_home: Path) -> Iterator[Engine]:
    shutil.copytree(trained_home, home, dirs_exist_ok=True)
    engine = opened(home)
    yield engine
    engine.dispose()


@pytest.fixture
def few_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tradeoff, "SHARES", (0.0, 0.5, 1.0))


@pytest.fixture
def run(project: Engine) -> Run:
    """The finished training run."""
    with reading(project) as session:
        return get_run(session, 1)


def trained(engine: Engine, settings: Settings, recipe: Recipe) -> Run:
    return train(engine, settings, ask(engine, recipe))


def measured(engine: Engine, settings: Settings, training: int | None, **more: object) -> Curve:
    with writing(engine) as session:
        run = request_tradeoff(session, settings, training=training or 0, **more)  # type: ignore[arg-type]
        key = run.id
    execute(engine, settings, key, WORK)
    curve = known(engine, training or 0)
    assert curve.run == key
    return curve


def known(engine: Engine, training: int = 1) -> Curve:
    with reading(engine) as session:
        curve = curve_of(session, training)
    assert curve is not None
    return curve


def saved(engine: Engine, settings: Settings, training: int | None, share: float) -> Run:
    with writing(engine) as session:
        key = request_save(session, settings, training=training or 0, share=share).id
    execute(engine, settings, key, WORK)
    with reading(engine) as session:
        return get_run(session, key)


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


def weights(folder: Path | str) -> dict[str, torch.Tensor]:
    return dict(load_encoder(str(folder), device="cpu").state_dict())


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
    assert drifts[-1] > 0.001
    assert curve.counts["families"] == 3 and not curve.points[0].has(STS)
    assert axes(curve)[0] == [RETRIEVAL, KEPT]


@pytest.mark.usefixtures("few_shares")
def test_the_ends_of_a_mixed_model_are_recovered(
    project: Engine, settings: Settings, recipe: Recipe, run: Run
) -> None:
    half = trained(project, settings, recipe.model_copy(update={"interpolation": 0.35}))
    curve = measured(project, settings, half.id)
    assert curve.own_share == 0.35
    assert [point.share for point in curve.points] == [0.0, 0.35, 0.5, 1.0]
    assert curve.points[1].figures == pytest.approx(half.result["held_out"]["after"], abs=1e-5)
    unmixed = known(project)
    for point in (curve.points[0], *curve.points[2:]):
        again = unmixed.at(point.share)
        assert again is not None and again.figures == pytest.approx(point.figures, abs=1e-4)
    with reading(project) as session:
        mixture = load(ends_of(session, settings, half))
    finetuned = weights(settings.data_folder / run.result["model"])
    for name, value in mixture.set_share(1.0).state_dict().items():
        assert torch.allclose(value, finetuned[name], atol=1e-6), name


def test_a_saved_point_is_the_mean_of_the_weights_and_an_encoder_like_any_other(
    project: Engine, settings: Settings, run: Run, tiny_encoder: Path
) -> None:
    pool_otherwise(project, settings, run)
    result = saved(project, settings, run.id, 0.7).result
    folder = settings.data_folder / result["model"]
    ends = weights(tiny_encoder), weights(settings.data_folder / run.result["model"])
    for name, value in weights(folder).items():
        if value.is_floating_point():
            mean = 0.3 * ends[0][name] + 0.7 * ends[1][name]
            assert torch.allclose(value, mean, atol=1e-6), name
    assert load_encoder(str(folder))[1].pooling_mode == "cls"
    curve = known(project)
    point = curve.at(0.7)
    assert point is not None and result["held_out"]["after"] == point.figures
    assert "0.7" in (folder / "README.md").read_text("utf-8")
    name = f"run {run.id} at 0.7: {tiny_encoder}, release 1"
    with reading(project) as session:
        row = session.get_one(Encoder, result["encoder_id"])
        assert (row.name, row.path, row.run_id) == (name, result["model"], result["run"])
        assert (row.base_id, row.release_id) == (run.result["before_encoder_id"], 1)
        assert name in list_encoders(session)
        assert location_of(session, settings, name).checked() == fingerprint(folder)
        (found,) = saved_models(session, settings, run.id)
        assert (found.share, found.name, found.folder) == (0.7, name, folder)
        assert model_run(session, found.run).result["model"] == result["model"]  # for publishing


def test_a_point_is_saved_once_and_only_if_it_is_another_model(
    project: Engine, settings: Settings, run: Run
) -> None:
    key = run.id
    first = saved(project, settings, key, 0.5)
    for share, sentence in (
        (0.0, "base encoder"),
        (1.0, f"run {key}'s own model"),
        (0.5, "already saved"),
        (0.55, "one of the measured shares"),
    ):
        with writing(project) as session, pytest.raises(HedgerowError, match=sentence):
            request_save(session, settings, training=key, share=share)
    shutil.rmtree(settings.data_folder / first.result["model"])
    second = saved(project, settings, key, 0.5)
    assert second.result["encoder_id"] == first.result["encoder_id"]
    with reading(project) as session:
        (found,) = saved_models(session, settings, key)
        assert found.folder == settings.data_folder / second.result["model"]
        assert location_of(session, settings, found.name).checked()


@pytest.mark.usefixtures("few_shares")
def test_an_sts_file_and_further_shares_are_measured_and_replace_the_curve(
    project: Engine, settings: Settings, run: Run, tmp_path: Path
) -> None:
    file = tmp_path / "mine.tsv"
    file.write_text(STS_LINES, encoding="utf-8")
    sts = read_sts_file(file)
    file.unlink()  # the given file is kept
    curve = measured(project, settings, run.id, sts=sts, more_shares=[0.75])
    assert curve.sts == "mine.tsv" and curve.counts[STS] == 3
    assert curve.at(0.75) is not None
    assert all(-1 <= point.value(STS) <= 1 for point in curve.points)
    with writing(project) as session:
        again = request_tradeoff(session, settings, training=run.id).parameters
        assert again["sts_name"] == "mine.tsv" and 0.75 in again["shares"]


def test_the_file_of_the_training_is_taken_if_no_other_is_given(
    project: Engine, settings: Settings, tmp_path: Path
) -> None:
    file = tmp_path / "theirs.tsv"
    file.write_text(STS_LINES, encoding="utf-8")
    with writing(project) as session:
        alter_recipe(session, sts_file=str(file))
        key = request_tradeoff(session, settings, training=1).id
    with reading(project) as session:
        assert get_run(session, key).parameters["sts_name"] == "theirs.tsv"


@pytest.mark.usefixtures("project", "few_shares")
def test_the_command_shows_what_is_known_measures_what_is_not_and_saves(
    settings: Settings,
) -> None:
    assert run_command("tradeoff", "1")["run"] == 2  # nothing is measured again
    assert "Expected --share with --save" in complaint("tradeoff", "1", "--save")
    assert "is not one" in complaint("tradeoff", "2")
    answer = run_command("tradeoff", "1", "--share", "0.75", "--save")
    assert (answer["run"], answer["chosen"]["share"]) == (3, 0.75)
    assert 0.75 in [point["share"] for point in answer["points"]]
    assert answer["encoder"].startswith("run 1 at 0.75: ")
    assert Path(answer["model"]).parent.parent == settings.data_folder / "runs"
    assert "README.md" in [path.name for path in Path(answer["model"]).iterdir()]
    assert "0.75" in show("tradeoff", "1")
    assert "already saved" in complaint("tradeoff", "1", "--share", "0.75", "--save")


def refused(engine: Engine, settings: Settings, sentence: str, **request: object) -> None:
    with writing(engine) as session, pytest.raises(HedgerowError, match=sentence) as problem:
        request_tradeoff(session, settings, **request)  # type: ignore[arg-type]
    assert "\n" not in str(problem.value)


def test_a_model_that_cannot_be_measured_is_refused_with_one_sentence(
    project: Engine, settings: Settings, recipe: Recipe, run: Run
) -> None:
    waiting, key = ask(project, recipe), run.id
    refused(project, settings, "There is no run 99", training=99)
    refused(project, settings, "is queued; wait until it is done", training=waiting)
    refused(project, settings, "from 0 to 1", training=key, more_shares=[1.5])
    wrong = StsFile("my *file*.tsv", b"no scores\nat all\n")
    refused(project, settings, "in line 2 of the file", training=key, sts=wrong)
    with writing(project) as session:
        other = request_tradeoff(session, settings, training=key).id
    refused(project, settings, f"Run {other} is already doing this", training=key)
    refused(project, settings, f"run {other} is not one", training=other)
    folder = settings.data_folder / run.result["model"]
    folder.rename(folder.with_name("elsewhere"))
    refused(project, settings, "is no longer at", training=key)


def test_only_a_measured_point_is_saved(project: Engine, settings: Settings, run: Run) -> None:
    with writing(project) as session:
        session.execute(delete(Run).where(col(Run.kind) == KIND))
        with pytest.raises(HedgerowError, match="Measure the trade-off of run 1 before"):
            request_save(session, settings, training=run.id, share=0.5)


def test_without_held_out_families_nothing_is_started(project: Engine, settings: Settings) -> None:
    with writing(project) as session:
        release = get_release(session, 1)
        splits = release.summary["splits"]
        alone = {"anchors": 1, "variants": 3, "triples": 2, "without_triples": 0}
        release.summary = {**release.summary, "splits": {**splits, "validation": alone}}
    refused(project, settings, "fewer than 2 anchors", training=1)
    with reading(project) as session, pytest.raises(HedgerowError, match="fewer than 2 anchors"):
        estimate(session, get_run(session, 1))


@pytest.mark.parametrize("gone", ["base", "trained"])
def test_other_files_than_those_of_the_training_are_refused(
    project: Engine, settings: Settings, run: Run, tmp_path: Path, gone: str
) -> None:
    base = tmp_path / "base"
    shutil.copytree(run.parameters["recipe"]["base_encoder"], base)
    with writing(project) as session:
        alter_recipe(session, base_encoder=str(base))
    folder = base if gone == "base" else settings.data_folder / run.result["model"]
    with (next(folder.glob("*.safetensors"))).open("r+b") as file:
        file.seek(-4, 2)
        file.write(b"\0\0\1\0")
    with pytest.raises(HedgerowError, match="are not those"):
        measured(project, settings, run.id)


def test_cancelling_within_the_measuring_keeps_the_curve_before(
    project: Engine, settings: Settings, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    earlier = known(project)
    with writing(project) as session:
        key = request_tradeoff(session, settings, training=run.id).id
    monkeypatch.setattr(execution, "HEARTBEAT_SECONDS", 0.01)
    real = tradeoff.HeldOut.figures

    def cancelling(held_out: tradeoff.HeldOut, model: object) -> dict[str, float]:
        with writing(project) as session:
            request_cancel(session, key)
        while True:  # until the heartbeat notices it
            real(held_out, model)  # type: ignore[arg-type]

    monkeypatch.setattr(tradeoff.HeldOut, "figures", cancelling)
    with pytest.raises(HedgerowError, match="was cancelled"):
        execute(project, settings, key, WORK)
    with reading(project) as session:
        assert get_run(session, key).state == RunState.CANCELLED
        assert curve_of(session, run.id) == earlier


def test_a_model_that_cannot_be_saved_leaves_nothing(
    project: Engine, settings: Settings, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*args: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tradeoff_save, "_write_card", broken)
    with pytest.raises(HedgerowError, match="No space left"):
        saved(project, settings, run.id, 0.3)
    assert not list((settings.data_folder / "runs").glob("*-tradeoff-save/model*"))
    with reading(project) as session:
        assert saved_models(session, settings, run.id) == []


def curve(*points: tuple[float, float, float], own: float = 1.0) -> Curve:
    found = [SharePoint(share, {"drift": 1 - kept, "ranked": up}) for share, kept, up in points]
    return Curve(1, 1, found, own, {}, "")


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
    assert math.isclose(suggested(curve(*points), general=KEPT, negation="ranked"), share)
