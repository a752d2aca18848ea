"""Finetuning at a provider on the command line: estimate, run, result."""

from pathlib import Path

import pytest

from curation.generation.providers import waiting
from curation.project.opening import open_project
from curation.release.freezing import create_release
from db.engine import writing
from db.models import Split
from db.settings import load_settings
from tests.cli.support.commands import ask, complaint, ended, show
from tests.curation.support.families import add_plain_family
from tests.support.generating import Serve
from tests.support.generating import serve_chat as serve_chat


@pytest.fixture(autouse=True)
def released(opened_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three families for training."""
    monkeypatch.setattr(waiting, "POLL_SECONDS", 0.01)
    with writing(open_project(load_settings())) as session:
        for number in range(3):
            add_plain_family(session, number, split=Split.TRAIN)
        create_release(session)


def test_a_dry_run_estimates_tokens_and_cost_and_sends_nothing(serve_chat: Serve) -> None:
    asked = ["llm", "provider", "--model", "gpt-4o-mini", "--epochs", "2", "--dry-run"]
    found = ask(*asked)
    assert (found["train"], found["validation"], found["release"]) == (12, 0, 1)
    assert found["cost"] == pytest.approx(found["tokens"] * 2 * 3 / 1e6)
    assert "12 question pairs of release 1" in show(*asked) and "for 2 epochs" in show(*asked)
    address, server = serve_chat()
    output = show("llm", "provider", "--model", "small", "--base-url", address, "--dry-run")
    assert "Its price is not known" in output and not server.batches.uploads
    assert ask("status")["runs"] == []


def test_a_finetuning_ends_with_the_models_name(serve_chat: Serve) -> None:
    address, _ = serve_chat()
    asked = ["llm", "provider", "--model", "small", "--base-url", address]
    found = ask(*asked, "--seed", "3", "--arm", "paper")
    assert found["fine_tuned_model"] == "ft:small:org::ftjob-1"
    assert (found["state"], found["arm"], found["seed"]) == ("done", "paper", 3)
    assert "Its name at the provider is ft:small:org" in show(*asked)
    shown = ask("runs", "show", str(found["run"]))
    assert shown["kind"] == "finetune-provider" and shown["figures"]["loss"] == 0.25


def test_a_failure_gives_one_sentence(serve_chat: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    address, server = serve_chat()
    asked = ["llm", "provider", "--model", "small", "--base-url", address]
    server.finetuning.fails = "No."
    code, found = ended(*asked)
    assert code == 1 and found["state"] == "failed" and found["error"].endswith("provider: No.")
    assert "--model is not usable: name the model" in complaint("llm", "provider")
    monkeypatch.setenv("HEDGEROW_OPENAI_API_KEY", "")
    assert "needs an API key" in complaint("llm", "provider", "--model", "gpt-4o")
