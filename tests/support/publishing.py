"""A hub that the tests push to, and a project with a model to push."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine

from curation.encoders.loading import fingerprint
from db.engine import writing
from db.models import Encoder, RunState, Split
from db.runs import create_run
from db.settings import HUB_TOKEN, load_settings
from tests.curation.support.families import add_plain_family
from tests.support.factories import freeze
from tests.support.servers.hub_server import TOKEN, HubServer, serving_hub
from training.model_card import card_of, write_card
from training.recipe.schema import Recipe
from training.recipe.training_data import KIND


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    """A hub for pushes of this process and its child processes. The token is in the environment.

    The hub's client reads its settings when it is imported, which may have happened earlier.
    """
    from huggingface_hub import constants

    with serving_hub() as (address, server):
        for name, value in {
            "ENDPOINT": address,
            "HUGGINGFACE_CO_URL_TEMPLATE": address + "/{repo_id}/resolve/{revision}/{filename}",
            "HF_HUB_OFFLINE": False,
            "HF_HUB_DISABLE_XET": True,
            "HF_TOKEN_PATH": str(tmp_path / "hub" / "token"),
            "AGENT_HARNESSES_PATH": str(tmp_path / "hub" / "agents.json"),
        }.items():
            monkeypatch.setattr(constants, name, value)
        for name, value in {
            "HF_ENDPOINT": address,
            "HF_HUB_OFFLINE": "0",
            "HF_HUB_DISABLE_XET": "1",
            "HF_HOME": str(tmp_path / "hub"),
            HUB_TOKEN: TOKEN,
        }.items():
            monkeypatch.setenv(name, value)
        yield server


def add_model(engine: Engine, encoder: Path, recipe: Recipe | None = None) -> int:
    """A finished training run on a small release, with a copy of this encoder as its model.

    Returns:
        The run's number.
    """
    with writing(engine) as session:
        for number in range(3):
            add_plain_family(session, number, split=Split.TRAIN)
        release, _ = freeze(session, name="A | *first* <b>one</b>")
        given = recipe or Recipe(base_encoder=str(encoder))
        run = create_run(
            session,
            kind=KIND,
            parameters={
                "release": release.number,
                "recipe": given.model_dump(mode="json"),
                "seed": 7,
            },
        )
        folder = load_settings().data_folder / run.folder / "model"
        shutil.copytree(encoder, folder)
        (folder / "notes.bin").write_bytes(b"not of the model")
        row = Encoder(name="trained", fingerprint=fingerprint(folder), path=f"{run.folder}/model")
        session.add(row)
        session.flush()
        run.state = RunState.DONE
        run.result = {
            "model": row.path,
            "encoder_id": row.id,
            "before_encoder_id": 0,
            "release": 1,
            "triples": 6,
            "anchors": 3,
            "steps": 4,
            "seconds": 1.0,
        }
        write_card(folder, card_of(session, run, run.result))
        return run.id
