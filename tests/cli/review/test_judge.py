"""Second opinions on the command line: estimate, run, and agreement with people."""

from pathlib import Path

import pytest
from sqlalchemy import select
from sqlmodel import col

from curation.content_uids import variant_uid
from curation.generation.costs.prices import set_price
from curation.generation.judging.opinion_request import KIND
from curation.generation.request import Price
from curation.project.opening import open_project
from db.engine import reading, writing
from db.models import ModelCall, Opinion, RunState, Source, Variant
from db.runs import list_runs
from db.settings import load_settings
from tests.cli.support.commands import ask, complaint, show
from tests.support.factories import TEXTS, add_anchor, add_variant
from tests.support.generating import Serve
from tests.support.servers.chat_server import opinion_on

NAME = "judge: fake, prompt 1"


@pytest.fixture(autouse=True)
def variants(home: Path) -> dict[str, str]:
    """One anchor with a variant of each type. Returns their uids."""
    ask("init", "--empty")
    with writing(open_project(load_settings())) as session:
        session.add(Source(id=1, name="test"))
        session.flush()
        anchor = add_anchor(session)
        for type_id in TEXTS:
            add_variant(session, anchor, type_id)
        set_price(session, "fake", Price(prompt=1.0, completion=2.0))
        return {
            key: variant_uid(anchor_uid=anchor.uid, type_id=key, text=text)
            for key, text in TEXTS.items()
        }


def test_a_few_are_judged_then_the_rest_and_the_costs_are_known(serve_chat: Serve) -> None:
    address, _ = serve_chat()
    asked = ["review", "judge", "--model", "fake", "--base-url", address]
    before = ask(*asked, "--dry-run")
    assert (before["variants"], before["anchors"], before["cost"]) == (7, 1, None)
    few = ask(*asked, "--types", "verbal, word")
    assert (few["done"], few["failed"], few["reviewer"]) == (2, 0, NAME)
    after = ask(*asked, "--dry-run")
    assert after["variants"] == 5 and after["cost"] > 0
    assert "has judged 5 variants" in show(*asked)
    assert "nothing to judge" in show(*asked)
    assert ask("status")["variants"]["verbal"]["pending"] == 1


def test_a_sample_that_was_broken_off_is_carried_on_by_the_same_command(
    serve_chat: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    address, _ = serve_chat()
    asked = ["review", "judge", "--model", "fake", "--base-url", address, "--limit", "3"]
    nothing = {"reviewer": NAME, "done": 0, "failed": 0, "calls": 0, "cost": 0.0}
    with monkeypatch.context() as patched:
        patched.setattr("cli.review.judge.carry_out_run", lambda *_: nothing)
        ask(*asked)
    engine = open_project(load_settings())
    with writing(engine) as session:
        (run,) = list_runs(session, kind=KIND)
        run.state = RunState.INTERRUPTED
        planned = set(session.execute(select(col(ModelCall.key))).scalars())
        for variant in session.execute(select(Variant)).scalars():  # changes the sample
            variant.random_key = 1 - variant.random_key
    assert ask(*asked)["done"] == 3
    with reading(engine) as session:
        judged = select(col(Variant.uid)).join(Opinion, col(Opinion.variant_id) == Variant.id)
        assert set(session.execute(judged).scalars()) == planned
        assert [found.id for found in list_runs(session, kind=KIND)] == [run.id]
    assert ask(*asked)["done"] == 3
    with reading(engine) as session:
        assert len(list_runs(session, kind=KIND)) == 2


def test_agreement_is_reported_for_each_type(serve_chat: Serve, variants: dict[str, str]) -> None:
    assert "No model has given an opinion yet." in show("review", "agreement")
    address, _ = serve_chat()
    ask("review", "judge", "--model", "fake", "--base-url", address)
    ask("review", "accept", variants["verbal"], "--reviewer", "Ada")
    ask("review", "reject", variants["word"], "--reviewer", "Ada")
    (found,) = ask("review", "agreement")["judges"]
    agreed = {
        "verbal": opinion_on(TEXTS["verbal"])["verdict"] == "accept",
        "word": opinion_on(TEXTS["word"])["verdict"] != "accept",
    }
    assert (found["name"], found["counts"], found["opinions"]) == (NAME, False, 7)
    assert {row["type_id"]: row["share"] for row in found["types"]} == {
        **{key: float(value) for key, value in agreed.items()},
        "all": sum(agreed.values()) / 2,
    }
    output = show("review", "agreement")
    assert "left out" in output and f"{100 * sum(agreed.values()) / 2:.1f}%" in output


def test_switched_on_it_counts(serve_chat: Serve) -> None:
    address, _ = serve_chat()
    ask("review", "judge", "--model", "fake", "--base-url", address)
    assert ask("settings", "set", f"counts.{NAME}", "on")["changed"]
    counts = ask("status")["variants"]
    for type_id, text in TEXTS.items():
        expected = "accepted" if opinion_on(text)["verdict"] == "accept" else "rejected"
        assert counts[type_id][expected] == 1


def test_unknown_names_give_one_sentence(home: Path) -> None:
    asked = ["review", "judge", "--model", "fake"]
    assert "variant type" in complaint(*asked, "--types", "verb")
    assert "from 1 to 1" in complaint(*asked, "--prompt", "7")
    assert "--status is not usable: it should be 'pending'" in complaint(*asked, "--status", "odd")


def test_a_cap_in_money_needs_a_price(serve_chat: Serve) -> None:
    address, server = serve_chat()
    sentence = complaint("review", "judge", "--model", "x", "--base-url", address, "--budget", "1")
    assert "hedgerow prices set" in sentence and not server.asked


def test_a_cap_in_money_holds_though_the_server_reports_no_tokens(serve_chat: Serve) -> None:
    address, server = serve_chat()
    server.reports = lambda usage: {"prompt_tokens": None, "completion_tokens": "many"}
    asked = ["review", "judge", "--model", "fake", "--base-url", address]
    sentence = complaint(*asked, "--budget", "0.0015")
    assert "Paused at the budget" in sentence and "(estimated: the server reports no" in sentence
    assert 0 < len(server.asked) < 7
    assert "(estimated: the server reports no" in show(*asked)
