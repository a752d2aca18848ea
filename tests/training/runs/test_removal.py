"""Deleting runs: what is deleted with a run, and what prevents deletion."""

import os
import socket
from pathlib import Path

import pytest
from sqlalchemy import Engine, select
from sqlmodel import SQLModel, col

from curation.project.opening import ACTIVE_ENCODER, put_setting
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import Encoder, Run, RunMetric, RunState, Variant
from db.runs import claim, create_run
from db.settings import Settings, load_settings
from tests.support.databases import both_databases, one_database
from tests.support.factories import add_anchor, add_variant
from tests.support.publishing import add_model
from training.runs.removal import delete_run
from training.studies.study_run import KIND as STUDY

pytestmark = both_databases


@pytest.fixture
def settings(home: Path) -> Settings:
    return load_settings()


@pytest.fixture
def training(engine: Engine, tiny_encoder: Path) -> int:
    """A finished training with a model, figures and an encoder."""
    number = add_model(engine, tiny_encoder)
    with writing(engine) as session:
        session.add(RunMetric(run_id=number, name="loss", step=1, value=0.5))
        session.execute(select(Encoder)).scalar_one().run_id = number
    return number


def rows(engine: Engine) -> dict[str, int]:
    with reading(engine) as session:
        return {
            table.name: len(session.execute(select(table)).all())
            for table in SQLModel.metadata.sorted_tables
        }


def refuse(engine: Engine, settings: Settings, number: int, sentence: str) -> None:
    before = rows(engine)
    with pytest.raises(HedgerowError, match=sentence):
        delete_run(engine, settings, number)
    assert rows(engine) == before


def test_a_training_goes_with_its_figures_its_encoder_and_its_folder(
    training: int, engine: Engine, settings: Settings
) -> None:
    before = rows(engine)
    (folder,) = delete_run(engine, settings, training)
    assert folder.name == "00001-train" and not folder.exists()
    gone = {name: count - rows(engine)[name] for name, count in before.items()}
    assert {name: count for name, count in gone.items() if count} == {
        "run": 1,
        "run_metric": 1,
        "encoder": 1,
    }
    with pytest.raises(HedgerowError, match="There is no run 1"):
        delete_run(engine, settings, training)


@one_database
def test_a_run_in_progress_stays(engine: Engine, settings: Settings) -> None:
    with writing(engine) as session:
        number = create_run(session, kind="diagnose", parameters={}).id
    claim(engine, number, host=socket.gethostname(), pid=os.getpid())
    refuse(engine, settings, number, f"first with 'hedgerow runs cancel {number}'")


@one_database
def test_the_run_of_the_active_encoder_stays(
    training: int, engine: Engine, settings: Settings
) -> None:
    with writing(engine) as session:
        put_setting(session, ACTIVE_ENCODER, "trained")
    refuse(engine, settings, training, "is the active encoder")
    assert (settings.data_folder / "runs" / "00001-train").is_dir()


def test_a_run_that_others_rest_on_stays(training: int, engine: Engine, settings: Settings) -> None:
    with writing(engine) as session:
        base = session.execute(select(Encoder)).scalar_one()
        later = create_run(session, kind="train", parameters={}, group="")
        session.add(
            Encoder(name="second", fingerprint="f" * 64, path="x", base_id=base.id, run_id=later.id)
        )
    refuse(engine, settings, training, "The model of run 2 was made from the model of run 1")
    delete_run(engine, settings, later.id)
    with writing(engine) as session:
        curve = create_run(session, kind="tradeoff", parameters={"training": training}).id
    refuse(engine, settings, training, "depends on run 1; delete that one first")
    delete_run(engine, settings, curve)
    with writing(engine) as session:
        waiting = create_run(session, kind="compare", parameters={"models": ["trained"]}).id
    refuse(engine, settings, training, f"Run {waiting} .* is waiting to use the model")


@one_database
def test_a_run_that_wrote_variants_stays(engine: Engine, settings: Settings) -> None:
    with writing(engine) as session:
        run = create_run(session, kind="generate", parameters={})
        anchor = add_anchor(session, "The door is open.")
        add_variant(session, anchor, "verbal", "The door is not open.").run_id = run.id
    refuse(engine, settings, run.id, "is the source of 1 variant or opinion\\.")
    with reading(engine) as session:
        assert session.execute(select(col(Variant.run_id))).scalar_one() == run.id


def test_a_study_goes_with_its_trainings(engine: Engine, settings: Settings) -> None:
    with writing(engine) as session:
        study = create_run(session, kind=STUDY, parameters={})
        member = create_run(session, kind="train", parameters={}, group=f"{STUDY}-{study.id}")
    refuse(engine, settings, member.id, f"is part of the study run {study.id}")
    assert len(delete_run(engine, settings, study.id)) == 2
    with reading(engine) as session:
        assert session.execute(select(Run)).all() == []


@one_database
def test_a_run_whose_process_died_can_be_deleted(engine: Engine, settings: Settings) -> None:
    with writing(engine) as session:
        run = create_run(session, kind="diagnose", parameters={})
        run.state, run.host, run.pid = RunState.RUNNING, socket.gethostname(), 2**22 + 1
    assert delete_run(engine, settings, run.id)


@one_database
def test_an_import_without_a_folder_is_deleted_alone(engine: Engine, settings: Settings) -> None:
    mine = settings.data_folder / "models"
    mine.mkdir(parents=True)
    with writing(engine) as session:
        run = create_run(session, kind="import", parameters={})
        run.folder = ""
        create_run(session, kind="export", parameters={})
    assert delete_run(engine, settings, run.id) == []
    assert mine.is_dir()
