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
from tests.training.benchmarks.support.samples import NEVIR, write_lines
from training.benchmarks.definition import Question
from training.benchmarks.results.measure import measure
from training.benchmarks.scorers.prompted.answers import read_choice, read_score
from training.benchmarks.scorers.prompted.chat import Chat
from training.benchmarks.scorers.prompted.costs import Account
from training.benchmarks.tasks.nevir import NevIR

_RELEVANCE = re.compile(r"Document 1: (.*)\nDocument 2: (.*)\nQuery: (.*)\n")


def chat(address: str, **more: object) -> Chat:
    model = ChatModel("some-llm", SecretStr(""), address, temperature=0.0)
    return Chat(model, **{"first_wait": 0.01, **more})  # type: ignore[arg-type]


def knowing(prompt: str) -> str:
    """A model that knows which document of NEVIR a query is about."""
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
    assert scorer.prompts == 4 and scorer.unanswered == 0


def test_a_model_that_always_says_1_gains_nothing(serve_chat: Serve, nevir: NevIR) -> None:
    address, server = serve_chat()
    server.says = lambda prompt: "1"
    result = measure(nevir, chat(address))
    assert result.score == 0.0 and result.outcomes["reversed"] == 0


def test_the_order_of_the_documents_is_drawn_by_their_texts(serve_chat: Serve) -> None:
    address, server = serve_chat()
    server.says = lambda prompt: "1"
    scorer = chat(address)
    questions = [Question("q", (f"document {n}", f"other {n}")) for n in range(20)]
    first = [score[0] for score in scorer.answer(questions, asks="relevance")]
    turned = [Question(q.text, q.candidates[::-1]) for q in questions]
    assert [s[1] for s in scorer.answer(turned, asks="relevance")] == first
    assert 0 < sum(first) < 20


def test_sentences_are_scored_and_each_pair_is_asked_for_once(serve_chat: Serve) -> None:
    address, server = serve_chat()
    server.says = lambda prompt: "Score: -0.4" if "S2: It is warm." in prompt else "Alike."
    scorer = chat(address)
    questions = [Question("It is cold.", ("It is warm.", "It is cool.", "It is warm."))] * 2
    for scores in scorer.answer(questions, asks="relevance"):
        assert scores[[0, 2]].tolist() == [-0.4, -0.4] and math.isnan(scores[1])
    assert (scorer.prompts, scorer.unanswered) == (2, 1)
    assert sum(server.asked.values()) == 3, "what makes no sense is asked once more"


def test_a_server_that_stumbles_is_asked_again(serve_chat: Serve, nevir: NevIR) -> None:
    kinds = ("rate limit", "server error", "disconnect")
    address, server = serve_chat(faults=0.6, kinds=kinds, retry_after=0.01)
    server.says = knowing
    seen: list[int] = []
    scores = chat(address).answer(
        nevir.questions(), asks="relevance", on_progress=lambda done, _: seen.append(done)
    )
    assert nevir.evaluate(scores).score == 100.0
    assert sum(server.asked.values()) > 4 and seen == [1, 2, 3, 4]


@pytest.mark.parametrize("number", [1, 12])
def test_a_server_that_is_down_pauses_it_in_one_sentence(number: int) -> None:
    questions = [Question(f"q{n}", ("a", "b")) for n in range(number)]
    with pytest.raises(RunPaused, match="calls in a row got no answer .* resume when"):
        chat("http://127.0.0.1:9/v1", first_wait=0.0).answer(questions, asks="relevance")


def test_a_constant_429_pauses_it_and_is_no_missing_answer(serve_chat: Serve) -> None:
    address, server = serve_chat(retry_after=0.001)
    server.always = lambda prompt: "rate limit"
    with pytest.raises(RunPaused, match="refused 5 calls in a row as too many"):
        chat(address).answer([Question("q", ("a", "b"))], asks="relevance")
    server.retry_after = "Thu, 01 Jan 2099 00:00:00 GMT"
    with pytest.raises(RunPaused, match="asked again on 2098-12-31|on 2099-01-01"):
        chat(address).answer([Question("q", ("a", "b"))], asks="relevance")
    assert sum(server.asked.values()) == 6


def test_a_prompt_that_a_server_always_fails_at_stays_unanswered(serve_chat: Serve) -> None:
    address, server = serve_chat()
    server.always = lambda prompt: "server error" if "q1" in prompt else ""
    server.says = lambda prompt: "1"
    scorer = chat(address)
    scorer.answer([Question(f"q{n}", ("a", "b")) for n in range(3)], asks="relevance")
    assert (scorer.prompts, scorer.unanswered) == (3, 1)


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
    with pytest.raises(HedgerowError, match="knows no model 'missing'"):
        scorer.answer([Question("q", ("a", "b"))], asks="relevance")


def test_answers_that_find_no_room_are_kept_and_stored_when_it_goes_on(
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
                for name in ("answers.txt", "spent.txt"):  # no room in their last blocks either
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
        assert set(server.asked.values()) == {1} and after.asked == 40 - asked
        assert not list(elsewhere.iterdir())


@pytest.mark.parametrize(
    ("raw", "choice"),
    [
        ("1", 1),
        (" 2.", 2),
        ("**2**", 2),
        ("Document 1", 1),
        ("Document 1 is better than 2.", 1),
        ("The answer is 2, not 1.", 2),
        ("Answer: 1", 1),
        ("I choose document 2.", 2),
        ("<think>1 or 2? 1.</think>\n2", 2),
        ("Both 1 and 2 are.", None),
        ("12", None),
        ("", None),
        ("1.5", None),
        ("Neither.", None),
    ],
)
def test_how_a_choice_is_read(raw: str, choice: float | None) -> None:
    assert read_choice(raw) == choice


@pytest.mark.parametrize(
    ("raw", "score"),
    [
        ("0.8", 0.8),
        ("-1.0", -1.0),
        ("−0.5", -0.5),
        (" .25", 0.25),
        ("**0.3**", 0.3),
        ("Score: 0.9 out of 1.0", 0.9),
        ("The similarity score between S1 and S2 is -0.2.", -0.2),
        ("On a scale from -1.0 to 1.0 I say 0.7", None),
        ("1.5", None),
        ("80%", None),
        ("S1", None),
        ("<think>0.1</think>0.6", 0.6),
        ("", None),
    ],
)
def test_how_a_score_is_read(raw: str, score: float | None) -> None:
    assert read_score(raw) == score
