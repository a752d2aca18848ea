"""Chat models as scorers: the paper's prompts, and answers as models really give them."""

from __future__ import annotations

import math
import re
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest
from pydantic import SecretStr

from curation.generation.providers.chat.client import ChatModel
from curation.generation.request import Budget, Price
from db.errors import HedgerowError, RunPaused
from tests.support.disks import disk_of
from tests.support.generating import Serve
from tests.training.benchmarks.support.samples import NEVIR, semantoneg_rows, write_lines
from training.benchmarks.definition import Question
from training.benchmarks.results.measure import measure
from training.benchmarks.scorers.prompted.chat import Chat
from training.benchmarks.scorers.prompted.costs import Account
from training.benchmarks.tasks.nevir import NevIR
from training.benchmarks.tasks.semantoneg import SemAntoNeg

_RELEVANCE = re.compile(r"Document 1: (.*)\nDocument 2: (.*)\nQuery: (.*)\n")


def chat(address: str, **more: object) -> Chat:
    model = ChatModel("some-llm", SecretStr(""), address, temperature=0.0)
    return Chat(model, **{"first_wait": 0.01, **more})  # type: ignore[arg-type]


def knowing(prompt: str) -> str:
    """A model that knows which NEVIR document a query is about."""
    shown = _RELEVANCE.search(prompt)
    assert shown
    row = next(r for r in NEVIR if shown[3] in (r["q1"], r["q2"]))
    wanted = row["doc1"] if shown[3] == row["q1"] else row["doc2"]
    return "1" if shown[1] == wanted else "**2**"


@pytest.fixture
def nevir(tmp_path: Path) -> NevIR:
    return NevIR.read(write_lines(tmp_path / "n.jsonl", NEVIR))


def test_a_model_that_knows_gets_every_pair_right(serve_chat: Serve, nevir: NevIR) -> None:
    address, server = serve_chat()
    server.says = knowing
    scorer = chat(address)
    result = measure(nevir, scorer)
    assert result.score == 100.0 and result.figures == {}, "no cosine of documents"
    assert scorer.prompts == 8 and scorer.unanswered == 0, "each question in both orders"
    assert (result.asked["first_share"], result.asked["changed_share"]) == (50.0, 0.0)


@pytest.mark.parametrize("number", ["1", "2"])
def test_a_model_that_always_says_the_same_number_gains_nothing(
    serve_chat: Serve, nevir: NevIR, number: str
) -> None:
    address, server = serve_chat()
    server.says = lambda prompt: number
    result = measure(nevir, chat(address))
    assert (result.score, result.ties, result.outcomes["tied"]) == (0.0, 2, 2)
    assert result.asked["changed_share"] == 100.0
    assert result.asked["first_share"] == (100.0 if number == "1" else 0.0)


def test_two_orders_that_disagree_are_a_tie_and_a_missing_answer_stays_missing(
    serve_chat: Serve,
) -> None:
    address, server = serve_chat()

    def says(prompt: str) -> str:
        shown = _RELEVANCE.search(prompt)
        assert shown
        if shown[3] == "unsure":
            return "Both are." if shown[1] == "a" else "1"
        return "1" if shown[3] == "first" or shown[1] == "a" else "2"

    server.says = says
    scorer = chat(address)
    questions = [Question(text, ("a", "b")) for text in ("knows", "first", "unsure")]
    knows, first, unsure = scorer.answer(questions, asks="relevance")
    assert knows.tolist() == [1.0, 0.0] and first.tolist() == [0.5, 0.5]
    assert all(map(math.isnan, unsure))
    report = scorer.report()
    assert (report["prompts"], report["unanswered"], report["orders"]) == (6, 1, 2)
    assert report["changed_share"] == 50.0, "of the two questions answered in both orders"


def test_the_most_often_chosen_of_three_sentences_wins(serve_chat: Serve, tmp_path: Path) -> None:
    data = SemAntoNeg.read(write_lines(tmp_path / "s.jsonl", semantoneg_rows()))
    right = {item.input: item.sentences[item.label] for item in data.items}
    address, server = serve_chat()

    def knows(prompt: str) -> str:
        *shown, text = re.findall(r"^(?:Sentence \d|Input): (.*)$", prompt, re.MULTILINE)
        return f"Sentence {shown.index(right[text]) + 1}"

    server.says = knows
    result = measure(data, chat(address))
    assert (result.score, result.asked["orders"], result.asked["prompts"]) == (100.0, 3, 18)
    assert result.asked["first_share"] == pytest.approx(100 / 3, abs=0.01)
    server.says = lambda prompt: "3"
    result = measure(data, chat(address))
    assert (result.score, result.ties, result.unanswered) == (0.0, 6, 0)
    server.says = lambda prompt: "4"
    result = measure(data, chat(address))
    assert (result.unanswered, result.outcomes["unanswered"], result.score) == (6, 6, 0.0)
    assert result.asked["first_share"] is None


def test_sentences_are_scored_and_each_pair_is_asked_for_once(serve_chat: Serve) -> None:
    address, server = serve_chat()
    server.says = lambda prompt: "Score: -0.4" if "S2: It is warm." in prompt else "Alike."
    scorer = chat(address)
    questions = [Question("It is cold.", ("It is warm.", "It is cool.", "It is warm."))] * 2
    for scores in scorer.answer(questions, asks="relevance"):
        assert scores[[0, 2]].tolist() == [-0.4, -0.4] and math.isnan(scores[1])
    assert (scorer.prompts, scorer.unanswered) == (2, 1)
    assert sum(server.asked.values()) == 3, "a nonsensical answer is retried once"


def test_a_server_that_stumbles_is_asked_again(serve_chat: Serve, nevir: NevIR) -> None:
    kinds = ("rate limit", "server error", "disconnect")
    address, server = serve_chat(faults=0.6, kinds=kinds, retry_after=0.01)
    server.says = knowing
    seen: list[int] = []
    scores = chat(address).answer(
        nevir.questions(), asks="relevance", on_progress=lambda done, _: seen.append(done)
    )
    assert nevir.evaluate(scores).score == 100.0
    assert sum(server.asked.values()) > 8 and seen == list(range(1, 9))


@pytest.mark.parametrize("number", [1, 12])
def test_a_server_that_is_down_pauses_it_in_one_sentence(number: int) -> None:
    questions = [Question(f"q{n}", ("a", "b")) for n in range(number)]
    with pytest.raises(RunPaused, match="calls in a row got no answer .* resume when"):
        chat("http://127.0.0.1:9/v1", first_wait=0.0).answer(questions, asks="relevance")


def test_a_constant_429_pauses_it_and_does_not_count_as_a_missing_answer(serve_chat: Serve) -> None:
    address, server = serve_chat(retry_after=0.001)
    server.always = lambda prompt: "rate limit"
    with pytest.raises(RunPaused, match="refused 5 calls in a row because of its rate limit"):
        chat(address, at_once=1).answer([Question("q", ("a", "b"))], asks="relevance")
    server.retry_after = "Thu, 01 Jan 2099 00:00:00 GMT"
    with pytest.raises(RunPaused, match="asked again on 2098-12-31|on 2099-01-01"):
        chat(address, at_once=1).answer([Question("q", ("a", "b"))], asks="relevance")
    assert sum(server.asked.values()) == 6


def test_a_prompt_that_a_server_always_fails_at_stays_unanswered(serve_chat: Serve) -> None:
    address, server = serve_chat()
    server.always = lambda prompt: "server error" if "q1" in prompt else ""
    server.says = lambda prompt: "1"
    scorer = chat(address)
    scorer.answer([Question(f"q{n}", ("a", "b")) for n in range(3)], asks="relevance")
    assert (scorer.prompts, scorer.unanswered) == (6, 2)


def test_a_server_that_refuses_every_prompt_ends_it_in_one_sentence(
    serve_chat: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("curation.generation.providers.chat.answer_limits.ROOM_BYTES", 0)
    address, server = serve_chat()
    server.pours = 200_000
    questions = [Question(f"q{n}", ("a", "b")) for n in range(12)]
    with pytest.raises(HedgerowError, match=r"10 prompts in a row \(The server sent more than"):
        chat(address).answer(questions, asks="relevance")


def test_a_model_that_is_not_there(serve_chat: Serve) -> None:
    address, _ = serve_chat()
    scorer = Chat(ChatModel("missing", SecretStr(""), address))
    with pytest.raises(HedgerowError, match="has no model 'missing'"):
        scorer.answer([Question("q", ("a", "b"))], asks="relevance")


def test_answers_without_space_are_kept_and_stored_when_it_continues(
    serve_chat: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(elsewhere))
    address, server = serve_chat(delay=0.05)
    server.says = lambda prompt: "1"
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
        with pytest.raises(RunPaused, match=r"No space left on device .* is kept in /") as error:
            scorer().answer(questions, asks="relevance")
        asked = sum(server.asked.values())
        assert asked < 40 and len(list(elsewhere.iterdir())) == 2
        assert str(elsewhere) in str(error.value)
        (folder / "film").unlink()
        after = scorer()
        assert after.account and after.account.ledger.calls == asked, "all are paid"
        after.answer(questions, asks="relevance")
        assert set(server.asked.values()) == {1} and after.asked == 80 - asked
        assert not list(elsewhere.iterdir())
