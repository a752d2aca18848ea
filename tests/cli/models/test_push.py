"""`hedgerow push`. Its token stays in the process that needs it."""

import time
from pathlib import Path

import pytest
from sqlalchemy import Engine

from curation.project.opening import open_project
from db.engine import writing
from db.models import RunState
from db.run_process import start_process
from db.settings import HUB_TOKEN, load_settings
from tests.cli.support.commands import ask, complaint, show, stored_run
from tests.support.publishing import add_model
from tests.support.publishing import hub as hub
from tests.support.servers.hub_server import OWNER, TOKEN, HubServer
from tests.test_keys import files_with
from tests.training.conftest import tiny_encoder as tiny_encoder
from training.hub.push_run import Subject, request_push

REPO = f"{OWNER}/encoder"
SECONDS = 90


@pytest.fixture
def engine(home: Path, tiny_encoder: Path) -> Engine:
    engine = open_project(load_settings())
    assert add_model(engine, tiny_encoder) == 1
    return engine


@pytest.mark.slow
def test_a_model_and_a_release_are_pushed(engine: Engine, hub: HubServer) -> None:
    result = ask("push", "1", "--repo", REPO)
    assert (result["repo"], result["private"]) == (REPO, True)
    assert result["commit"] == hub.repos["model", REPO].head
    output = show("push", "--release", "1", "--repo", f"{OWNER}/data", "--public")
    assert f"/datasets/{OWNER}/data (public), commit " in output
    assert "README.md" in hub.repos["dataset", f"{OWNER}/data"].files


def test_wrong_usage_gives_one_sentence(engine: Engine) -> None:
    assert "found neither; give one" in complaint("push", "--repo", REPO)
    assert "found both" in complaint("push", "1", "--release", "1", "--repo", REPO)
    assert "owner/name" in complaint("push", "1", "--repo", "encoder")
    assert "There is no run 5" in complaint("push", "5", "--repo", REPO)


def test_a_typed_token_reaches_the_process_and_is_stored_nowhere(
    engine: Engine, home: Path, hub: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(HUB_TOKEN)
    with writing(engine) as session:
        run = request_push(session, Subject(run=1), repo=REPO)
    start_process(load_settings(), run, {HUB_TOKEN: TOKEN})
    for _ in range(10 * SECONDS):
        now = stored_run(engine, run.id)
        if now.state not in (RunState.QUEUED, RunState.RUNNING):
            break
        time.sleep(0.1)
    assert now.state == RunState.DONE, now.message
    assert hub.repos["model", REPO].head == now.result["commit"]
    assert (home / "hedgerow_data" / now.folder / "log.txt").is_file()
    assert files_with(home, TOKEN) == []
