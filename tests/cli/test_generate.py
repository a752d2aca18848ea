"""Generating on the command line: estimate, trial, run, resuming, and prompts."""

import json
import signal
from pathlib import Path

import pytest
from sqlalchemy import select
from sqlmodel import col
from typer.testing import CliRunner

import cli
from curation.generation.prices import set_price
from curation.generation.request import Price
from curation.overview.project_settings import open_project
from db.engine import writing
from db.models import Anchor, Source, Split, Variant
from db.settings import load_settings
from tests.cli.commands import ask, complaint, ended, show
from tests.support.factories import add_anchor
from tests.support.generating import Serve
from tests.support.servers.chat_server import texts_for, with_thoughts


@pytest.fixture(autouse=True)
def anchors(opened_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nine anchors without variants. Measuring is tested elsewhere, because it loads an encoder."""
    monkeypatch.setattr("curation.diagnostics.measuring.work", lambda context: {})
    with writing(open_project(load_settings())) as session:
        session.add(Source(id=1, name="test"))
        session.flush()
        for number in range(9):
            add_anchor(session, f"The bridge number {number} is safe.")
        set_price(session, "fake", Price(prompt=1.0, completion=2.0))


def test_a_trial_makes_the_dry_run_know_tokens_and_cost(serve_chat: Serve) -> None:
    address, _ = serve_chat()
    asked = ["generate", "--model", "fake", "--base-url", address]
    before = ask(*asked, "--dry-run")
    assert (before["anchors"], before["calls"]) == (9, {"negation": 9, "hedge": 9})
    assert before["prompt_tokens"] is None and before["cost"] is None
    assert "--limit 3" in show(*asked, "--dry-run")
    trial = ask(*asked, "--limit", "3")
    assert (trial["done"], trial["failed"]) == (6, 0) and trial["cost"] > 0
    after = ask(*asked, "--dry-run")
    assert (after["anchors"], after["total_calls"], after["based_on"]) == (6, 12, 6)
    assert after["cost"] == pytest.approx(
        (after["prompt_tokens"] + 2 * after["completion_tokens"]) / 1e6
    )
    assert after["cost"] == pytest.approx(2 * trial["cost"], rel=0.1)
    done = ask(*asked)
    assert done["calls"] == 12
    assert done["cost"] == pytest.approx(after["cost"], rel=0.1)


def test_generating_with_nothing_left_to_do_succeeds(serve_chat: Serve) -> None:
    address, server = serve_chat()
    asked = ["generate", "--model", "fake", "--base-url", address]
    ask(*asked)
    calls, runs = len(server.asked), ask("status")["runs"]
    assert "nothing to generate" in show(*asked)
    assert "nothing to generate" in ask(*asked)["message"]
    assert (len(server.asked), ask("status")["runs"]) == (calls, runs)


def test_a_selection_that_matches_no_anchor_says_so() -> None:
    for which in ((), ("--which", "slots")):
        output = show("generate", "--provider", "rules", "--search", "zzzz", *which)
        assert "no anchor matches this selection" in output and "variants" not in output
    planned = show("generate", "--model", "fake", "--search", "zzzz", "--dry-run")
    assert planned.splitlines()[1:] == ["There is nothing to generate for this selection."]


def test_an_interrupted_run_says_how_it_is_resumed(serve_chat: Serve) -> None:
    address, server = serve_chat(delay=0.05)
    server.hear = lambda prompt: signal.raise_signal(signal.SIGINT)
    generate = ["generate", "--model", "fake", "--base-url", address, "--concurrency", "1"]
    result = CliRunner().invoke(cli.app, [*generate, "--json"])
    answer = json.loads(result.stdout)
    assert result.exit_code == 1
    assert (answer["run"], answer["state"]) == (1, "interrupted")
    assert "Run 'hedgerow run 1' to resume it" in result.stderr
    server.hear = lambda prompt: None
    assert ask("run", "1")["state"] == "done"


def test_a_paused_run_says_what_it_has_spent_and_is_resumed_by_its_number(
    serve_chat: Serve,
) -> None:
    address, server = serve_chat()
    asked = ["generate", "--model", "fake", "--base-url", address, "--roles", "negation"]
    code, answer = ended(*asked, "--max-calls", "4", "--concurrency", "2")
    assert (code, answer["run"], answer["state"]) == (1, 1, "paused")
    assert "Paused at the budget" in answer["message"] and "error" not in answer
    assert (answer["done"], answer["open"], answer["calls"]) == (4, 5, 4) and answer["cost"] > 0
    assert len(server.asked) == 4
    assert complaint("run", "1").startswith("Paused at the budget")
    assert len(server.asked) == 4
    assert "caps above 0, found 0" in complaint("run", "1", "--budget", "0")
    assert ask("run", "1", "--max-calls", "100")["done"] == 9
    assert "Expected a paused run" in complaint("run", "1", "--max-calls", "200")


def test_choices_that_make_no_sense_are_named(serve_chat: Serve) -> None:
    assert complaint("generate") == "--model is missing: name the model."
    assert "--roles" in complaint("generate", "--model", "fake", "--roles", "poem")
    assert "earlier run" in complaint("generate", "--model", "fake", "--which", "failed")
    address = "http://ada:hunter2@127.0.0.1:9/v1"
    sentence = complaint("generate", "--model", "fake", "--base-url", address)
    assert "--base-url" in sentence and "hunter2" not in sentence
    assert "--base-url" in complaint("generate", "--model", "fake", "--base-url", "file:///etc")
    assert "OpenAI needs an API key" in complaint("generate", "--model", "fake")
    assert "Expected types" in complaint("generate", "--model", "fake", "--types", " , ")
    failed = ["generate", "--model", "fake", "--which", "failed", "--dry-run", "--run"]
    assert "There is no run 99" in complaint(*failed, "99")
    assert "Expected US dollars" in complaint("prices", "set", "fake", "inf", "1")
    assert "--budget" in complaint("generate", "--model", "fake", "--budget", "inf")
    assert ask("status")["runs"] == []


def test_rules_cost_nothing_and_say_how_many_variants_they_will_write() -> None:
    found = ask("generate", "--provider", "rules", "--dry-run")
    assert (found["anchors"], found["cost"]) == (9, 0)
    ask("generate", "--provider", "rules")
    stored = {name: sum(counts.values()) for name, counts in ask("status")["variants"].items()}
    assert {name: stored[name] for name in found["variants"]} == found["variants"]


def test_a_dry_run_of_the_rules_speaks_of_no_tokens_and_counts_one_as_one() -> None:
    output = show(
        "generate", "--provider", "rules", "--roles", "hedge", "--limit", "1", "--dry-run"
    )
    assert output.startswith("1 anchor, 1 call (1 for hedge).")
    assert "costs nothing" in output and "tokens" not in output


def test_a_cap_in_money_needs_a_price() -> None:
    sentence = complaint("generate", "--model", "unheard-of", "--budget", "5")
    assert "hedgerow prices set" in sentence
    assert ask("prices", "set", "unheard-of", "1", "2")["completion"] == 2
    known = {row["model"]: row for row in ask("prices", "list")["prices"]}
    assert known["unheard-of"]["from"] == "this project" != known["gpt-4o-mini"]["from"]
    found = ask("generate", "--model", "unheard-of", "--budget", "5", "--dry-run")
    assert found["price"] == {"prompt": 1, "completion": 2}
    ask("prices", "forget", "unheard-of")
    assert "unheard-of" not in {row["model"] for row in ask("prices", "list")["prices"]}


def test_a_source_and_a_version_are_named_as_people_call_them() -> None:
    asked = ["generate", "--model", "fake", "--dry-run"]
    assert ask(*asked, "--source", "test", "--prompt", "hedge=1")["anchors"] == 9
    sentence = complaint(*asked, "--source", "other")
    assert "Expected a source of anchors (test), found 'other'." in sentence
    assert "from 1 to 1, found 2" in complaint(*asked, "--prompt", "hedge=2")
    assert "found poem." in complaint(*asked, "--prompt", "poem=1")


def test_prompts_are_listed_shown_and_added(home: Path) -> None:
    names = {row["prompt"] for row in ask("prompts", "list")["prompts"]}
    assert {"negation", "hedge", "paraphrase"} <= names
    shown = ask("prompts", "show", "negation")
    assert "{text}" in shown["template"]
    file = home / "mine.txt"
    file.write_text(shown["template"] + "\nKeep it short.\n", encoding="utf-8")
    assert ask("prompts", "add", "negation", str(file))["version"] == 2
    assert ask("prompts", "add", "negation", str(file))["version"] == 2
    assert ask("prompts", "show", "negation", "--version", "1")["template"] == shown["template"]
    file.write_text("Negate it.", encoding="utf-8")
    assert "{text}" in complaint("prompts", "add", "negation", str(file))
    assert "1 to 2" in complaint("prompts", "show", "negation", "--version", "3")
    assert ended("prompts", "add", "negation", str(file), "--version", "1")[0] == 2


def test_examples_from_reviewed_variants_go_into_the_prompt(serve_chat: Serve) -> None:
    assert "no person has accepted" in complaint("prompts", "add", "negation", "--examples", "2")
    assert "have no examples" in complaint("prompts", "add", "judge", "--examples", "2")
    assert ended("prompts", "add", "negation")[0] == 2
    address, server = serve_chat()
    asked = ["generate", "--model", "fake", "--base-url", address, "--roles", "negation"]
    ask(*asked, "--limit", "5")
    with writing(open_project(load_settings())) as session:
        query = select(Variant).where(col(Variant.type_id) == "verbal")
        query = query.join(Anchor, col(Anchor.id) == Variant.anchor_id)
        # First one of a training anchor. Other anchors provide no examples.
        query = query.order_by(col(Anchor.split) != Split.TRAIN, col(Variant.id))
        uids = [variant.uid for variant in session.execute(query).scalars()]
    ask("review", "edit", uids[0], "--text", "{text} **is** not so.", "--reviewer", "Ada")
    for uid in uids[1:]:
        ask("review", "accept", uid, "--reviewer", "Ada")
    added = ask("prompts", "add", "negation", "--examples", "2")
    assert (added["version"], len(added["examples"])) == (2, 2)
    assert added["examples"][0]["text"] == "{text} **is** not so."
    assert ask("prompts", "add", "negation", "--examples", "2")["version"] == 2
    output = show("prompts", "show", "negation")
    assert "{examples}" in output and "verbal, edited: " in output
    before = set(server.asked)
    ask(*asked)
    sent = set(server.asked) - before
    assert len(sent) == 4 and all('"verbal": {text} **is** not so.' in prompt for prompt in sent)


def test_a_cost_that_was_counted_here_is_called_an_estimate(serve_chat: Serve) -> None:
    address, server = serve_chat()
    server.reports = lambda usage: None
    asked = ["generate", "--model", "fake", "--base-url", address]
    note = "(estimated: the server reports no usable token counts)"
    assert note in show(*asked, "--limit", "2")
    found = ask(*asked, "--limit", "2")
    assert found["cost"] > 0 and found["cost_is_estimate"] is True
    sentence = complaint(*asked, "--budget", "0.001")
    assert "Paused at the budget" in sentence and note in sentence


def test_a_cap_in_money_is_refused_for_a_run_without_a_price(serve_chat: Serve) -> None:
    address, server = serve_chat()
    asked = ["generate", "--model", "unheard-of", "--base-url", address]
    assert "Paused at the budget" in complaint(*asked, "--max-calls", "2")
    refused = "run 1 was started without a price for 'unheard-of'"
    assert refused in complaint("run", "1", "--budget", "5")
    ask("prices", "set", "unheard-of", "1", "2")
    assert refused in complaint("run", "1", "--budget", "5")
    assert len(server.asked) == 2
    ask("prices", "set", "unheard-of", "0", "0")
    assert ask("run", "1", "--budget", "5", "--max-calls", "100")["done"] == 18


def test_a_run_that_lacks_what_it_asked_for_says_so_and_exits_with_1(
    serve_chat: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    def without_absolute(prompt: str) -> dict[str, str]:
        return {key: text for key, text in texts_for(prompt).items() if key != "absolute"}

    address, server = serve_chat()
    server.says = with_thoughts
    asked = ["generate", "--model", "fake", "--base-url", address]
    with monkeypatch.context() as patched:
        patched.setattr("tests.support.servers.chat_server.answer_to", without_absolute)
        code, result = ended(*asked, "--limit", "3")
        assert code == 1 and result["state"] == "done" and result["run"] == 1
        assert result["missing"] == {"absolute": 3} and result["done"] == 6
        assert result["removed"]["reasoning"] > 3
        sentence = complaint(*asked)
        assert ask("runs", "list")["runs"][0]["message"] == "Done, but incomplete."
    assert "Run 2 is done, but incomplete: 12 of 12 calls succeeded" in sentence
    assert "Missing types: absolute in 6 answers." in sentence
    assert "Removed from answers: " in sentence
    again = ["--which", "failed", "--run", "2", "--model", "fake", "--base-url", address]
    assert f"'hedgerow generate {' '.join(again)}' repeats the missing calls" in sentence
    assert ask("generate", *again)["done"] == 6
