"""Publishing on a test hub, and the card of a model: complete, honest, and safe to show."""

from __future__ import annotations

import json
import re
import threading
from pathlib import Path
from typing import Any

import pytest
import yaml
from sqlalchemy import Engine

from curation.release.freezing import get_release
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
from tests.training.support.trainings import perform, read, write
from training.hub import push_run
from training.hub.publishing import checked_repo
from training.hub.push_run import PUSH, Push, Subject
from training.model_card import LOCAL_MODEL, card_of, published, write_card
from training.recipe.schema import Recipe, recipe_of

REPO = f"{OWNER}/encoder"
MODEL = ("model", REPO)


@pytest.fixture
def model(engine: Engine, tiny_encoder: Path) -> int:
    return add_model(engine, tiny_encoder)


def pushed(
    engine: Engine, subject: Subject, *, repo: str = REPO, private: bool = True
) -> dict[str, object]:
    """Push, and return the result."""
    request = Push(**subject._asdict(), repo=repo, private=private)
    run = perform(engine, PUSH, request, HF_TOKEN=TOKEN)
    return execute(engine, load_settings(), run.id, {push_run.KIND: push_run.work})


def refused(engine: Engine, subject: Subject, *, repo: str = REPO) -> str:
    """The one sentence of a failed push. It quotes no token."""
    with pytest.raises(HedgerowError) as refusal:
        pushed(engine, subject, repo=repo)
    sentence = str(refusal.value)
    assert "\n" not in sentence and TOKEN not in sentence and READ_TOKEN not in sentence
    return sentence


def newest(engine: Engine) -> Run:
    return read(engine, get_run, 2)


def test_a_pushed_model_loads_and_nothing_else_changes(
    engine: Engine, hub: HubServer, model: int, tmp_path: Path
) -> None:
    from sentence_transformers import SentenceTransformer

    hub.repos[MODEL] = Stored(private=True, files={"other.txt": b"theirs"}, commits=["first"])
    result = pushed(engine, Subject(run=model))
    stored = hub.repos[MODEL]
    assert stored.private and result["private"]
    assert str(result["url"]).endswith(f"/{REPO}") and result["commit"] == stored.head
    assert len(stored.commits) == 2 and f"run {model}" in stored.commits[1]
    assert stored.files.pop("other.txt") == b"theirs"
    assert result["files"] == len(stored.files) and "notes.bin" not in stored.files
    for name, content in stored.files.items():
        (tmp_path / "got" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "got" / name).write_bytes(content)
    folders = (tmp_path / "got", load_settings().data_folder / "runs/00001-train/model")
    there, here = (
        SentenceTransformer(str(folder), device="cpu").encode(["The door is not open."])
        for folder in folders
    )
    assert (there == here).all()
    uploads = [path for method, path in hub.requests if method == "PUT"]
    assert pushed(engine, Subject(run=model))["commit"] == result["commit"]  # the same again
    assert len(hub.repos[MODEL].commits) == 2
    assert [path for method, path in hub.requests if method == "PUT"] == uploads


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


def test_private_content_does_not_go_into_a_public_repository(
    engine: Engine, hub: HubServer, model: int
) -> None:
    hub.repos[MODEL] = Stored(private=False)
    assert "public" in refused(engine, Subject(run=model)) and hub.repos[MODEL].files == {}
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
    ("token", "repo", "there", "fact"),
    [
        ("", REPO, False, "HF_TOKEN"),
        ("hf_wrong", REPO, False, "access token"),
        ("hf_wröng", REPO, False, "copy it again"),
        (READ_TOKEN, REPO, False, REPO),
        (READ_TOKEN, REPO, True, "can't write"),
        (TOKEN, "bob/encoder", False, "'bob/encoder'"),
    ],
)
def test_a_token_that_is_unusable_gives_one_sentence(
    engine: Engine,
    hub: HubServer,
    model: int,
    monkeypatch: pytest.MonkeyPatch,
    token: str,
    repo: str,
    there: bool,
    fact: str,
) -> None:
    monkeypatch.setenv("HF_TOKEN", token)
    if there:
        hub.repos[MODEL] = Stored(private=True)
    assert fact in refused(engine, Subject(run=model), repo=repo)
    assert newest(engine).state == RunState.FAILED
    assert all(not stored.files for stored in hub.repos.values())


def test_a_hub_that_quotes_the_token_is_not_quoted(
    engine: Engine, hub: HubServer, model: int
) -> None:
    hub.quotes = True
    for hub.fault in (400, 403, 418):
        assert "No luck for (token)" in refused(engine, Subject(run=model))


def test_without_a_network_or_offline_the_sentence_says_so(
    engine: Engine, hub: HubServer, model: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    assert "http://127.0.0.1:9" in refused(engine, Subject(run=model))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert "HF_HUB_OFFLINE" in refused(engine, Subject(run=model))


def test_a_cancel_during_an_upload_leaves_no_commit(
    engine: Engine, hub: HubServer, model: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(execution, "HEARTBEAT_SECONDS", 0.01)
    ended = threading.Event()

    def cancel(path: str) -> None:
        write(engine, request_cancel, 2)
        ended.wait(20)

    hub.hear = cancel
    with pytest.raises(HedgerowError, match="was cancelled"):
        pushed(engine, Subject(run=model))
    ended.set()
    assert newest(engine).state == RunState.CANCELLED and hub.repos[MODEL].commits == []


def test_exchanged_files_and_a_point_without_its_card_are_not_published(
    engine: Engine, hub: HubServer, model: int
) -> None:
    with writing(engine) as session:
        run = get_run(session, model)
        run.kind, run.parameters = "tradeoff-save", {"training": 9, "share": 0.5}
    pushed(engine, Subject(run=model))
    folder = load_settings().data_folder / "runs/00001-train/model"
    (folder / "README.md").unlink()
    assert "README.md'" in refused(engine, Subject(run=model))
    hub.requests.clear()
    config = folder / "modules.json"
    config.write_text(config.read_text() + " ")
    assert "are not those of the model" in refused(engine, Subject(run=model))
    assert hub.requests == []


def test_a_name_the_hub_would_refuse_is_refused_here() -> None:
    names = "encoder a/b/c ada/- ada/x..y ada/x.git ada/x--y äda/x /x ada/".split()
    for name in (*names, "", "ada/a b", "ada/" + "x" * 96):
        with pytest.raises(HedgerowError, match="owner/name"):
            checked_repo(name)


def test_only_what_has_a_model_can_be_pushed_and_by_two_people_once(
    engine: Engine, model: int
) -> None:
    def push(**what: int) -> Run:
        return perform(engine, PUSH, Push(**what, repo=f" {REPO} "), HF_TOKEN=TOKEN)

    run = push(run=model)
    assert run.parameters["repo"] == REPO and TOKEN not in str(run.model_dump())
    with pytest.raises(HedgerowError, match=f"Run {run.id} is already pushing the same"):
        push(run=model)
    write(engine, request_cancel, run.id)
    push(run=model)
    for what, fact in (
        ({"run": run.id}, "no model"),
        ({"run": 99}, "no run"),
        ({"release": 9}, "no release 9"),
    ):
        with pytest.raises(HedgerowError, match=fact):
            push(**what)


def test_a_push_that_fails_leaves_no_data_set_behind(
    engine: Engine, hub: HubServer, model: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for token, number in (("", 2), (READ_TOKEN, 3)):
        monkeypatch.setenv("HF_TOKEN", token)
        refused(engine, Subject(release=1))
        folder = load_settings().data_folder / read(engine, get_run, number).folder
        assert [path.name for path in folder.iterdir()] == ["log.txt"]


def table(card: str) -> dict[str, tuple[str, ...]]:
    """The rows of all tables, by their first cells."""
    rows = [line.strip("| ").split(" | ") for line in card.splitlines() if line.startswith("| ")]
    return {first: tuple(rest) for first, *rest in rows}


def recipe_in(card: str) -> dict[str, Any]:
    """The recipe in a card, as somebody copies it."""
    found = re.search(r"^(`{3,})yaml\n(.*?)\n\1$", card, re.DOTALL | re.MULTILINE)
    assert found
    values: dict[str, Any] = yaml.safe_load(found[2])
    return values


def card_with(engine: Engine, number: int, recipe: Recipe | None = None, **figures: Any) -> str:
    """The card of a run, as if it had this recipe and these figures."""
    with reading(engine) as session:
        run = get_run(session, number)
        values = run.model_dump()
        if recipe:
            values["parameters"] = run.parameters | {"recipe": recipe.model_dump(mode="json")}
        return card_of(session, Run(**values), run.result | figures)


def header(card: str) -> dict[str, Any]:
    from huggingface_hub import ModelCard

    values: dict[str, Any] = ModelCard(card).data.to_dict()
    return values


def test_a_trained_model_has_a_card_with_its_figures(finished: Engine) -> None:
    settings = load_settings()
    with reading(finished) as session:
        run = get_run(session, 1)
        recipe = recipe_of(run)
    folder = settings.data_folder / run.result["model"]
    card = (folder / "README.md").read_text("utf-8")
    rows = table(card)
    assert rows["triples ranked correctly"][:2] == ("held out", "2")
    assert rows["cosine of the contradicted sentence"][:2] == ("Figure 1", "1")
    assert rows["groups with the contradicted sentence farthest"][:2] == ("sixty groups", "60")
    assert (rows["triples"], rows["seed"], rows["base"]) == (("18",), ("1",), (LOCAL_MODEL,))
    assert str(settings.home) not in card and recipe.base_encoder not in card
    assert not [path for path in folder.rglob("*") if path.suffix in (".bin", ".part", ".pt")]
    held, plain = "documents with questions", recipe.with_overrides(["retention=0"])
    assert held in card and held not in card_with(finished, 1, plain)


def test_the_card_says_which_sources_an_epoch_takes_a_part_of(engine: Engine, model: int) -> None:
    shares = {"A corpus": 0.25, "Elsewhere": 0.5}
    assert "25% of *A corpus*" in card_with(engine, model, Recipe(sources=shares))
    assert "25%" not in card_with(engine, model, Recipe())


def test_the_header_is_what_the_hub_reads(engine: Engine, model: int) -> None:
    data = header(card_with(engine, model, Recipe()))
    assert data["base_model"] == "sentence-transformers/all-MiniLM-L6-v2"
    assert (data["license"], data["language"]) == ("apache-2.0", ["en"])
    assert data["library_name"] == "sentence-transformers" and "datasets" not in data
    assert data["pipeline_tag"] == "sentence-similarity"
    card = card_with(engine, model, Recipe(base_encoder="ada/own-encoder"))
    assert "license" not in header(card) and "Hub" in table(card)["licence of the base"][0]


def test_hostile_names_break_neither_header_nor_markdown(engine: Engine, model: int) -> None:
    hostile = "x/y\n---\n```\n# Title\n<script>alert(1)</script> | [a](javascript:b)"
    files = {"retention_file": "/home/ada/own.txt", "sts_file": "/home/ada/sts.tsv"}
    sources = {hostile: 0.5, "`````": 0.5}
    card = card_with(engine, model, Recipe(base_encoder=hostile, sources=sources, **files))
    assert "base_model" not in header(card)
    found = recipe_in(card)
    assert found["base_encoder"] == LOCAL_MODEL and found["sources"] == sources
    assert found["sts_file"] == found["retention_file"] == "a local file"
    assert "/home/ada" not in card
    prose = re.sub(r"^(`{3,}).*?^\1$", "", card, flags=re.DOTALL | re.MULTILINE)
    assert "<" not in prose and "# Title" not in prose and "](javascript" not in prose
    assert "A &#124; \\*first\\* &#60;b&#62;one" in prose


def test_the_card_says_who_wrote_and_decided_and_quotes_no_sentence(
    engine: Engine, model: int
) -> None:
    card = card_with(engine, model)
    release = read(engine, get_release)
    assert release.content_hash in card and not release.summary["decided_by"].get("person")
    assert "**No person has reviewed this data.**" in card
    assert "number 0" not in card and "The kettle" not in card


def test_each_figure_has_its_number_and_forgetting_is_reported(engine: Engine, model: int) -> None:
    figures = {
        "ranked": (0.5, 0.75, 12_000),
        "ranked:word>verbal": (0.25, 1.0, 8),
        "drift": (0.0, 0.0625, 200),
        "sts": (0.8, 0.79, 1379),
        "retrieval": (0.81, 0.75, 300),
        "cosine:negation": (0.9, 0.1, 16),
        "cosine:negation:sd": (0.05, 0.2, 16),
    }
    held_out = {
        when: {name: values[place] for name, values in figures.items()}
        for place, when in enumerate(("before", "after", "of"))
    }
    card = card_with(engine, model, Recipe(early_stopping="questions"), held_out=held_out)
    rows = table(card)
    assert rows["triples ranked correctly"] == ("held out", "12,000", "50.0%", "75.0%")
    assert rows["word"] == ("verbal", "8", "25.0%", "100.0%")
    assert rows["mean cosine of anchor and negation"] == (
        "held out",
        "16",
        "0.900 (sd 0.050)",
        "0.100 (sd 0.200)",
    )
    assert rows["drift"] == ("held out", "200", "0.000", "0.062")
    assert rows["Spearman correlation with human scores"][1:] == ("1,379", "0.800", "0.790")
    retrieval = rows["retrieval (mean reciprocal rank)"]
    assert retrieval == ("bundled questions", "300", "0.810", "0.750")
    prose = [line for line in card.splitlines() if not line.startswith("|")]
    forgetting = ("0.062", "0.800", "0.790", "0.810", "0.750")
    assert any(all(figure in line for figure in forgetting) for line in prose)
    assert any("`questions`" in line for line in prose)
    bare = table(card_with(engine, model))
    assert not {"triples ranked correctly", "drift"} & set(bare)


def test_a_card_is_replaced_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder := tmp_path / "model").mkdir()
    write_card(folder, "old")

    def full(self: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", full)
        with pytest.raises(HedgerowError, match="No space left"):
            write_card(folder, "new")
    assert [(path.name, path.read_text()) for path in folder.iterdir()] == [("README.md", "old")]


def test_a_published_card_says_where_the_model_is(engine: Engine, model: int) -> None:
    card = published(card_with(engine, model), "ada/encoder")
    code = re.search(r"```python\n(.*?)```", card, re.DOTALL)
    assert code and 'SentenceTransformer("ada/encoder")' in code[1]
    compile(code[1], "card", "exec")
