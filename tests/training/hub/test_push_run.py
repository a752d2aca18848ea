"""Publishing on a test hub: what arrives there, and the messages about failures."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest
import yaml
from sqlalchemy import Engine

from db import execution
from db.engine import reading, writing
from db.errors import HedgerowError
from db.execution import execute
from db.models import Run, RunState
from db.runs import get_run, request_cancel
from db.settings import load_settings
from tests.support.publishing import add_model
from tests.support.publishing import hub as hub
from tests.support.servers.hub_server import OWNER, READ_TOKEN, TOKEN, HubServer
from tests.support.servers.hub_server import Repo as Stored
from training.hub import push_run
from training.hub.publishing import checked_repo
from training.hub.push_run import Subject, request_one_push, request_push

REPO = f"{OWNER}/encoder"
MODEL = ("model", REPO)


@pytest.fixture
def model(engine: Engine, tiny_encoder: Path) -> int:
    return add_model(engine, tiny_encoder)


def pushed(
    engine: Engine, subject: Subject, *, repo: str = REPO, private: bool = True
) -> dict[str, object]:
    """Push, and return the result."""
    with writing(engine) as session:
        run = request_push(session, subject, repo=repo, private=private)
    return execute(engine, load_settings(), run.id, {push_run.KIND: push_run.work})


def refused(engine: Engine, subject: Subject, *, repo: str = REPO) -> str:
    """The one sentence of a failed push. It quotes no token."""
    with pytest.raises(HedgerowError) as refusal:
        pushed(engine, subject, repo=repo)
    sentence = str(refusal.value)
    assert "\n" not in sentence and TOKEN not in sentence and READ_TOKEN not in sentence
    return sentence


def newest(engine: Engine) -> Run:
    with reading(engine) as session:
        return get_run(session, 2)


def test_a_pushed_model_loads_and_only_its_files_were_pushed(
    engine: Engine, hub: HubServer, model: int, tmp_path: Path
) -> None:
    result = pushed(engine, Subject(run=model))
    stored = hub.repos[MODEL]
    assert stored.private and result["private"]
    assert str(result["url"]).endswith(f"/{REPO}") and result["commit"] == stored.head
    assert stored.commits == [f"Hedgerow: the model of run {model}"]
    assert result["files"] == len(stored.files) and "notes.bin" not in stored.files
    for name, content in stored.files.items():
        (tmp_path / "got" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "got" / name).write_bytes(content)
    from sentence_transformers import SentenceTransformer

    there = SentenceTransformer(str(tmp_path / "got"), device="cpu")
    here = SentenceTransformer(
        str(load_settings().data_folder / "runs/00001-train/model"), device="cpu"
    )
    text = ["The door is not open."]
    assert (there.encode(text) == here.encode(text)).all()


def test_the_card_arrives_as_it_was_edited_and_names_the_repository(
    engine: Engine, hub: HubServer, model: int
) -> None:
    path = load_settings().data_folder / "runs/00001-train/model/README.md"
    path.write_text(path.read_text("utf-8") + "\nMine.\n", "utf-8")
    pushed(engine, Subject(run=model))
    card = hub.repos[MODEL].files["README.md"].decode()
    assert card.endswith("\nMine.\n") and f'SentenceTransformer("{REPO}")' in card
    path.unlink()
    pushed(engine, Subject(run=model))
    assert "finetuned on negation" in hub.repos[MODEL].files["README.md"].decode()
    assert len(hub.repos[MODEL].commits) == 2


def test_pushing_the_same_again_makes_no_commit_and_uploads_nothing(
    engine: Engine, hub: HubServer, model: int
) -> None:
    first = pushed(engine, Subject(run=model))
    uploads = [path for method, path in hub.requests if method == "PUT"]
    second = pushed(engine, Subject(run=model))
    assert second["commit"] == first["commit"] and len(hub.repos[MODEL].commits) == 1
    assert [path for method, path in hub.requests if method == "PUT"] == uploads


def test_existing_files_of_the_repository_stay(engine: Engine, hub: HubServer, model: int) -> None:
    hub.repos[MODEL] = Stored(private=True, files={"other.txt": b"theirs"}, commits=["first"])
    pushed(engine, Subject(run=model))
    assert hub.repos[MODEL].files["other.txt"] == b"theirs"
    assert len(hub.repos[MODEL].commits) == 2


def test_private_content_does_not_go_into_a_public_repository(
    engine: Engine, hub: HubServer, model: int
) -> None:
    hub.repos[MODEL] = Stored(private=False)
    assert "already exists and is public" in refused(engine, Subject(run=model))
    assert hub.repos[MODEL].files == {}
    assert pushed(engine, Subject(run=model), private=False)["private"] is False


def test_a_release_is_pushed_as_a_data_set(engine: Engine, hub: HubServer, model: int) -> None:
    result = pushed(engine, Subject(release=1), private=False)
    stored = hub.repos["dataset", REPO]
    assert not stored.private and result["pushed"] == "release 1"
    manifest = json.loads(stored.files["hedgerow.json"])
    assert set(manifest["files"]) | {"hedgerow.json"} == set(stored.files)
    card = stored.files["README.md"].decode()
    assert f'load_dataset("{REPO}", "triples")' in card
    header = yaml.safe_load(card.split("---")[1])
    assert header["configs"][0]["config_name"] == "triples"


@pytest.mark.parametrize(
    ("token", "repo", "sentence"),
    [
        ("", REPO, "found none; set HF_TOKEN"),
        ("hf_wrong", REPO, "does not accept this access token"),
        ("hf_wröng", REPO, "copy it again"),
        (READ_TOKEN, REPO, "can't write to"),
        (TOKEN, "bob/encoder", "can't write to 'bob/encoder'"),
    ],
)
def test_a_token_that_is_unusable_gives_one_sentence(
    engine: Engine,
    hub: HubServer,
    model: int,
    monkeypatch: pytest.MonkeyPatch,
    token: str,
    repo: str,
    sentence: str,
) -> None:
    monkeypatch.setenv("HF_TOKEN", token)
    assert sentence in refused(engine, Subject(run=model), repo=repo)
    assert newest(engine).state == RunState.FAILED
    assert all(not stored.files for stored in hub.repos.values())


def test_a_token_that_may_only_read_is_refused_by_a_repository_that_is_there(
    engine: Engine, hub: HubServer, model: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.repos[MODEL] = Stored(private=True)
    monkeypatch.setenv("HF_TOKEN", READ_TOKEN)
    assert "can't write" in refused(engine, Subject(run=model))


@pytest.mark.parametrize("status", [400, 403, 418])
def test_a_hub_that_quotes_the_token_is_not_quoted(
    engine: Engine, hub: HubServer, model: int, status: int
) -> None:
    hub.fault, hub.quotes = status, True
    assert "No luck for (token)" in refused(engine, Subject(run=model))


def test_without_a_network_or_offline_the_sentence_says_so(
    engine: Engine, hub: HubServer, model: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    assert "http://127.0.0.1:9 can't be reached" in refused(engine, Subject(run=model))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert "HF_HUB_OFFLINE is set" in refused(engine, Subject(run=model))


def test_a_model_whose_files_were_exchanged_is_not_published(
    engine: Engine, hub: HubServer, model: int
) -> None:
    config = load_settings().data_folder / "runs/00001-train/model/modules.json"
    config.write_text(config.read_text() + " ")
    assert "are not those of the model" in refused(engine, Subject(run=model))
    assert hub.requests == []


def test_a_cancel_during_an_upload_leaves_no_commit(
    engine: Engine, hub: HubServer, model: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(execution, "HEARTBEAT_SECONDS", 0.01)
    ended = threading.Event()

    def cancel(path: str) -> None:
        with writing(engine) as session:
            request_cancel(session, 2)
        ended.wait(20)

    hub.hear = cancel
    with pytest.raises(HedgerowError, match="was cancelled"):
        pushed(engine, Subject(run=model))
    ended.set()
    assert newest(engine).state == RunState.CANCELLED
    assert hub.repos[MODEL].commits == []


def test_another_model_than_a_trainings_own_needs_its_card(
    engine: Engine, hub: HubServer, model: int
) -> None:
    with writing(engine) as session:
        run = get_run(session, model)
        run.kind, run.parameters = "tradeoff-save", {"training": 9, "share": 0.5}
    pushed(engine, Subject(run=model))
    (load_settings().data_folder / "runs/00001-train/model/README.md").unlink()
    assert "README.md' no longer exists; save this point again" in refused(
        engine, Subject(run=model)
    )


@pytest.mark.parametrize(
    "name",
    [
        "encoder",
        "a/b/c",
        "ada/a b",
        "ada/-",
        "ada/x..y",
        "ada/x.git",
        "ada/x--y",
        "äda/x",
        "/x",
        "ada/",
        "",
        "ada/" + "x" * 96,
    ],
)
def test_a_name_the_hub_would_refuse_is_refused_here(name: str) -> None:
    with pytest.raises(HedgerowError, match="Expected a repository as owner/name"):
        checked_repo(name)


def test_only_what_has_a_model_can_be_pushed(engine: Engine, model: int) -> None:
    with writing(engine) as session:
        assert checked_repo(f" {REPO} ") == REPO
        run = request_push(session, Subject(run=model), repo=REPO)
        for number in (run.id, 99):
            with pytest.raises(HedgerowError, match=r"has no model|There is no run"):
                request_push(session, Subject(run=number), repo=REPO)
        with pytest.raises(HedgerowError, match="There is no release 9"):
            request_push(session, Subject(release=9), repo=REPO)
        assert TOKEN not in str(run.model_dump())


def test_two_people_who_push_the_same_push_it_once(engine: Engine, model: int) -> None:
    with writing(engine) as session:
        run = request_one_push(session, Subject(run=model), repo=REPO)
        assert run is not None
        assert request_one_push(session, Subject(run=model), repo=REPO) is None
        request_cancel(session, run.id)
        assert request_one_push(session, Subject(run=model), repo=REPO) is not None


@pytest.mark.parametrize("token", ["", READ_TOKEN])
def test_a_push_that_fails_leaves_no_data_set_behind(
    token: str, engine: Engine, hub: HubServer, model: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", token)
    refused(engine, Subject(release=1))
    folder = load_settings().data_folder / newest(engine).folder
    assert [path.name for path in folder.iterdir()] == ["log.txt"]
