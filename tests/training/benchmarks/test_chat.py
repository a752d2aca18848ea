"""Chat models as scorers, asked as models really answer: their keys stay secret, answers are paid
for once, and caps hold."""

from __future__ import annotations

import json
import math
import re
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from sqlalchemy import Engine

from curation.formatting import tokens
from curation.generation.budget import raise_budget
from curation.generation.prompts import find_version, save_copy, seed_prompts
from curation.generation.providers.chat.client import ChatModel
from curation.generation.request import Budget, Price
from db.engine import reading, writing
from db.errors import HedgerowError, RunPaused
from db.models import RunState
from db.settings import Settings
from tests.support.databases import stored_run
from tests.support.disks import disk_of
from tests.support.generating import Serve
from tests.support.servers.chat_server import ChatServer
from tests.training.benchmarks.support.running import (
    carried_out,
    nevir,
    ran,
    requested,
    results,
    semantoneg,
)
from tests.training.benchmarks.support.samples import NEVIR, semantoneg_rows, write_lines
from training.benchmarks.definition import Question
from training.benchmarks.results.queries import prompting_description
from training.benchmarks.runs.measured_models import ModelChoice
from training.benchmarks.runs.request import plan_benchmarks
from training.benchmarks.scorers.interface import measure
from training.benchmarks.scorers.prompted.chat import Chat
from training.benchmarks.scorers.prompted.costs import Account
from training.benchmarks.tasks.nevir import NevIR
from training.benchmarks.tasks.semantoneg import SemAntoNeg

pytestmark = pytest.mark.slow
_RELEVANCE = re.compile(r"Document 1: (.*)\nDocument 2: (.*)\nQuery: (.*)\n")
ONE = [Question("q", ("a", "b"))]
MANY = [Question(f"q{n}", ("a", "b")) for n in range(12)]
RANDOM = ModelChoice(architecture="random")
PRICE = Price(prompt=0.0, completion=1_000_000.0)
"""One dollar per token of an answer. The server's answers have one token."""


Says = Callable[[str], str]


@pytest.fixture
def serve(serve_chat: Serve) -> Serve:
    """Starts a server that answers every prompt by ``says``, or with a number."""

    def started(says: Says | str = "1", **how: Any) -> tuple[str, ChatServer]:
        address, server = serve_chat(**how)
        server.says = (lambda prompt: says) if isinstance(says, str) else says
        return address, server

    return started


def chat(address: str, **more: Any) -> Chat:
    model = ChatModel("some-llm", SecretStr(""), address, temperature=0.0)
    return Chat(model, **{"first_wait": 0.01, **more})


def some_llm(address: str = "", **more: Any) -> ModelChoice:
    return ModelChoice(name="some-llm", architecture="chat", base_url=address, **more)


def knowing(prompt: str) -> str:
    """A model that knows which NEVIR document a query is about."""
    shown = _RELEVANCE.search(prompt)
    assert shown
    row = next(r for r in NEVIR if shown[3] in (r["q1"], r["q2"]))
    wanted = row["doc1"] if shown[3] == row["q1"] else row["doc2"]
    return "1" if shown[1] == wanted else "**2**"


@pytest.fixture
def pairs(tmp_path: Path) -> NevIR:
    return NevIR.read(write_lines(tmp_path / "n.jsonl", NEVIR))


def test_a_model_that_knows_gets_every_pair_right_though_its_server_stumbles(
    serve: Serve, pairs: NevIR
) -> None:
    kinds = ("rate limit", "server error", "disconnect")
    address, server = serve(knowing, faults=0.6, kinds=kinds, retry_after=0.01)
    scorer = chat(address)
    result = measure(pairs, scorer)
    assert result.score == 100.0 and result.figures == {}, "no cosine of documents"
    assert scorer.prompts == 8 and scorer.unanswered == 0, "each question in both orders"
    assert (result.asked["first_share"], result.asked["changed_share"]) == (50.0, 0.0)
    assert sum(server.asked.values()) > 8
    seen: list[int] = []
    chat(address).answer(
        pairs.questions(), asks="relevance", on_progress=lambda done, _: seen.append(done)
    )
    assert seen == list(range(1, 9))


def test_a_model_that_always_says_the_same_number_gains_nothing(serve: Serve, pairs: NevIR) -> None:
    for number, first_share in (("1", 100.0), ("2", 0.0)):
        result = measure(pairs, chat(serve(number)[0]))
        assert (result.score, result.ties, result.outcomes["tied"]) == (0.0, 2, 2)
        assert (result.asked["changed_share"], result.asked["first_share"]) == (100.0, first_share)


def test_two_orders_that_disagree_are_a_tie_and_a_missing_answer_stays_missing(
    serve: Serve,
) -> None:
    def says(prompt: str) -> str:
        shown = _RELEVANCE.search(prompt)
        assert shown
        if shown[3] == "unsure":
            return "Both are." if shown[1] == "a" else "1"
        return "1" if shown[3] == "first" or shown[1] == "a" else "2"

    scorer = chat(serve(says)[0])
    questions = [Question(text, ("a", "b")) for text in ("knows", "first", "unsure")]
    knows, first, unsure = scorer.answer(questions, asks="relevance")
    assert knows.tolist() == [1.0, 0.0] and first.tolist() == [0.5, 0.5]
    assert all(map(math.isnan, unsure))
    report = scorer.report()
    assert (report["prompts"], report["unanswered"], report["orders"]) == (6, 1, 2)
    assert report["changed_share"] == 50.0, "of the two questions answered in both orders"


def test_the_most_often_chosen_of_three_sentences_wins(serve: Serve, tmp_path: Path) -> None:
    data = SemAntoNeg.read(write_lines(tmp_path / "s.jsonl", semantoneg_rows()))
    right = {item.input: item.sentences[item.label] for item in data.items}

    def knows(prompt: str) -> str:
        *shown, text = re.findall(r"^(?:Sentence \d|Input): (.*)$", prompt, re.MULTILINE)
        return f"Sentence {shown.index(right[text]) + 1}"

    address, server = serve(knows)
    result = measure(data, chat(address))
    assert (result.score, result.asked["orders"], result.asked["prompts"]) == (100.0, 3, 18)
    assert result.asked["first_share"] == pytest.approx(100 / 3, abs=0.01)
    for number, ties, unanswered in (("3", 6, 0), ("4", 0, 6)):
        server.says = lambda prompt, number=number: number
        result = measure(data, chat(address))
        assert (result.score, result.ties, result.unanswered) == (0.0, ties, unanswered)
    assert result.outcomes["unanswered"] == 6 and result.asked["first_share"] is None


def test_sentences_are_scored_and_each_pair_is_asked_for_once(serve: Serve, tmp_path: Path) -> None:
    thought = "<think>0.3?</think>Score: -0.4"
    address, server = serve(lambda p: thought if "S2: It is warm." in p else "Alike.")
    scorer = chat(address, memory=tmp_path / "answers.txt")
    questions = [Question("It is cold.", ("It is warm.", "It is cool.", "It is warm."))] * 2
    for scores in scorer.answer(questions, asks="relevance"):
        assert scores[[0, 2]].tolist() == [-0.4, -0.4] and math.isnan(scores[1])
    assert (scorer.prompts, scorer.unanswered) == (2, 1)
    assert sum(server.asked.values()) == 3, "a nonsensical answer is retried once"
    again = chat(address, memory=tmp_path / "answers.txt")
    again.answer(questions, asks="relevance")
    for report in (scorer.report(), again.report()):
        assert (report["removed"], report["problems"]) == ({"reasoning": 1}, {"unreadable": 1})
        assert prompting_description(report) == (
            "Prompt: similarity. Prompts without a usable answer: unreadable 1. "
            "Removed from answers: reasoning 1."
        )


def test_a_server_without_answers_pauses_it_and_they_do_not_count_as_missing(serve: Serve) -> None:
    for questions in (ONE, MANY):
        with pytest.raises(RunPaused, match="got no answer"):
            chat("http://127.0.0.1:9/v1", first_wait=0.0).answer(questions, asks="relevance")
    address, server = serve(retry_after=0.001)
    server.always = lambda prompt: "rate limit"
    with pytest.raises(RunPaused, match="5 calls .* rate limit"):
        chat(address, at_once=1).answer(ONE, asks="relevance")
    server.retry_after = "Thu, 01 Jan 2099 00:00:00 GMT"
    with pytest.raises(RunPaused, match="2098-12-31|2099-01-01"):
        chat(address, at_once=1).answer(ONE, asks="relevance")
    assert sum(server.asked.values()) == 6


def test_a_prompt_that_a_server_always_fails_at_stays_unanswered(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    address, server = serve()
    server.always = lambda prompt: "server error" if "q1" in prompt else ""
    scorer = chat(address)
    scorer.answer(MANY[:3], asks="relevance")
    assert (scorer.prompts, scorer.unanswered) == (6, 2)
    with pytest.raises(HedgerowError, match="no model 'missing'"):
        Chat(ChatModel("missing", SecretStr(""), address)).answer(ONE, asks="relevance")
    monkeypatch.setattr("curation.generation.providers.chat.connections.ROOM_BYTES", 0)
    server.pours = 200_000
    with pytest.raises(HedgerowError, match="10 prompts in a row"):
        chat(address).answer(MANY, asks="relevance")


def test_answers_without_space_are_kept_and_stored_when_it_continues(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(elsewhere))
    address, server = serve(delay=0.05)
    questions = [Question(f"q{n}", ("a", "b")) for n in range(40)]
    with disk_of("64k", tmp_path / "disk") as folder:

        def scorer() -> Chat:
            account = Account(folder / "spent.txt", Price(completion=1e6), Budget())
            return chat(address, memory=folder / "answers.txt", account=account)

        def fill(prompt: str) -> None:
            if len(server.asked) == 10:
                with suppress(OSError), (folder / "film").open("wb", buffering=0) as film:
                    while film.write(b"x" * 512):
                        pass
                for name in ("answers.txt", "spent.txt"):  # also fill their last blocks
                    with suppress(OSError), (folder / name).open("ab", buffering=0) as file:
                        while file.write(b"#" * 99 + b"\n"):
                            pass

        server.hear = fill
        with pytest.raises(RunPaused, match=str(elsewhere)):
            scorer().answer(questions, asks="relevance")
        asked = sum(server.asked.values())
        assert asked < 40 and len(list(elsewhere.iterdir())) == 2
        (folder / "film").unlink()
        after = scorer()
        assert after.account and after.account.ledger.calls == asked, "all are paid"
        after.answer(questions, asks="relevance")
        assert set(server.asked.values()) == {1} and after.asked == 80 - asked
        assert not list(elsewhere.iterdir())


def test_a_chat_model_is_asked_without_its_key_being_stored(
    engine: Engine, settings: Settings, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    address, _ = serve(key="sk-secret-key")
    monkeypatch.setenv("HEDGEROW_OPENAI_API_KEY", "sk-secret-key")
    monkeypatch.setenv("HEDGEROW_OPENAI_BASE_URL", address)
    ran(engine, Settings(), some_llm(), benchmarks=(semantoneg(settings),))
    row = results(engine)["some-llm", "semantoneg"]
    assert (row.title, row.ties, row.score) == ("some-llm (chat, both orders)", 6, 0.0)
    assert (row.scoring, row.unanswered) == ("both orders", 0)
    assert (row.asked["prompt"], row.asked["version"]) == ("paraphrase_choice", 1)
    assert "edited" not in row.summary
    assert (row.asked["first_share"], row.asked["changed_share"]) == (100.0, 100.0)
    stored = stored_run(engine, row.run_id)
    assert "secret" not in json.dumps([stored.parameters, stored.result, stored.message])


@pytest.mark.parametrize("edited", [False, True])
def test_the_forecast_counts_the_prompts_that_are_asked(
    engine: Engine, settings: Settings, serve: Serve, edited: bool
) -> None:
    address, server = serve()
    if edited:
        text = "A: {first}\nB: {second}\nSearch: {query}\nWhich one, 1 (A) or 2 (B)?"
        with writing(engine) as session:
            seed_prompts(session)
            save_copy(session, find_version(session, "relevance", None), text, author_id=None)
    data = nevir(settings), semantoneg(settings)
    model = some_llm(address)
    with reading(engine) as session:
        (planned,) = plan_benchmarks(session, settings, (model,), data).models
    ran(engine, settings, model, benchmarks=data)
    assert planned.chats and planned.chats.prompts == len(server.asked) == 8 + 18
    assert planned.chats.tokens_in == tokens(sum(map(len, server.asked)))
    assert sum(prompt.startswith("A: ") for prompt in server.asked) == 8 * edited


def test_a_run_pauses_at_its_cap_keeps_every_answer_and_continues_with_a_higher_one(
    engine: Engine, settings: Settings, serve: Serve
) -> None:
    address, server = serve(lambda prompt: str(1 + len(prompt) % 2))
    data = semantoneg(settings), nevir(settings)
    priced = some_llm(address, price=PRICE)
    how: dict[str, Any] = {"benchmarks": data, "budget": Budget(money=5.0)}
    run = requested(engine, settings, priced, RANDOM, **how)
    assert run.parameters["models"][0]["name"] == "random scores", "what costs nothing comes first"
    for _ in range(2):
        with pytest.raises(HedgerowError, match=r"5 calls for \$5.00"):
            carried_out(engine, settings, run)
        assert stored_run(engine, run.id).state is RunState.PAUSED
    assert sum(server.answered.values()) == 5, "none beyond the cap"
    assert {model for model, _ in results(engine)} == {"random scores"}
    with writing(engine) as session:
        raise_budget(session, run.id, money=100.0)
    assert carried_out(engine, settings, run)["measured"] == 4
    assert set(server.answered.values()) == {1}, "nothing was asked twice"
    assert results(engine)["some-llm", "semantoneg"].summary["took"]["units"] == 18 - 5
    spent = (settings.data_folder / run.folder / "spent.txt").read_text().splitlines()
    assert len(spent) == 18 + 8 + 2, "and the time of two early ends"


def test_time_and_cost_of_a_result_are_those_of_all_attempts(
    engine: Engine, settings: Settings, serve: Serve
) -> None:
    address, server = serve("2", delay=0.02)
    models = [some_llm(address, price=PRICE), RANDOM]
    models.append(models[0].model_copy(update={"name": "another-llm", "price": Price()}))
    how: dict[str, Any] = {"benchmarks": (semantoneg(settings),), "budget": Budget(calls=5)}
    run = requested(engine, settings, *models, **how)
    with pytest.raises(HedgerowError, match="5 calls"):
        carried_out(engine, settings, run)
    assert sum(server.asked.values()) == 5
    with writing(engine) as session:
        raise_budget(session, run.id, calls=1000)
    done = carried_out(engine, settings, run)
    found = {model: row.summary for (model, _), row in results(engine).items()}
    cost, took = found["some-llm"]["cost"], found["some-llm"]["took"]
    assert cost == pytest.approx(done["cost"]), "the other has no price"
    assert cost > took["tokens_out"] > 0, "a dollar per token, five earlier calls"
    assert found["some-llm"]["seconds"] > took["seconds"] > 0, "the paused attempt's time is in it"
    assert found["another-llm"]["cost"] is None and found["random scores"]["cost"] is None
    assert found["random scores"]["seconds"] >= 0


@pytest.mark.parametrize("usage", [None, {"prompt_tokens": -1, "completion_tokens": 0}])
def test_a_cap_in_money_holds_though_the_server_reports_no_tokens(
    engine: Engine, settings: Settings, serve: Serve, usage: Any
) -> None:
    address, server = serve(lambda prompt: str(1 + len(prompt) % 2))
    server.reports = lambda usage_: usage
    chat = some_llm(address, price=Price(prompt=10_000.0, completion=10_000.0))
    budget = Budget(money=5.0)
    run = requested(engine, settings, chat, benchmarks=(semantoneg(settings),), budget=budget)
    for _ in range(2):  # the earlier spending is known to be an estimate, too
        with pytest.raises(HedgerowError, match=r"about \$.*estimated"):
            carried_out(engine, settings, run)
        assert 0 < sum(server.asked.values()) < 18
    with writing(engine) as session:
        raise_budget(session, run.id, money=1000.0)
    done = carried_out(engine, settings, run)
    assert done["cost"] > 5 and done["cost_is_estimate"]
