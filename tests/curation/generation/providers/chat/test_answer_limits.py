"""Answers that are too long, too slow or incomplete."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from sqlalchemy import Engine, select
from sqlmodel import col

from curation.generation.providers.batch.call_lines import read_answer, split_lines
from curation.generation.providers.chat.answer_limits import KEPT, BadBody, bounded, most_bytes
from curation.generation.providers.chat.answers import AnswerProblem
from curation.generation.run_report import missing_types, progress
from db.engine import reading
from db.errors import HedgerowError
from db.models import Answer, Run
from tests.curation.generation.conftest import Serve
from tests.curation.generation.test_run import carry_out, table, unmeasured  # noqa: F401
from tests.support.servers.chat_server import texts_for

PIECE = 1000


class Stream(httpx2.AsyncByteStream):
    """Endless bytes. Counts the pieces that were read."""

    def __init__(self) -> None:
        self.read = 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            self.read += 1
            yield b"x" * PIECE


def response(stream: Stream, path: str, **headers: str) -> httpx2.Response:
    request = httpx2.Request("POST", f"http://127.0.0.1/v1{path}")
    return httpx2.Response(200, stream=stream, request=request, headers=headers)


def test_no_more_of_an_answer_is_read_than_its_bound() -> None:
    stream = Stream()

    async def read() -> None:
        found = response(stream, "/chat/completions")
        await bounded(25_000, "/chat/completions")(found)
        await found.aread()

    with pytest.raises(BadBody) as error:
        asyncio.run(read())
    assert error.value.problem is AnswerProblem.TOO_LONG and len(error.value.head) == 25_000
    assert stream.read == 26


def test_a_compressed_answer_is_not_unfolded() -> None:
    stream = Stream()
    found = response(stream, "/chat/completions", **{"content-encoding": "gzip"})
    with pytest.raises(BadBody, match="compressed"):
        asyncio.run(bounded(10**6, "/chat/completions")(found))
    assert stream.read == 0


def test_an_endless_line_of_a_batch_is_left_out_and_the_others_are_read() -> None:
    good = json.dumps(
        {
            "custom_id": "7",
            "response": {"status_code": 200, "body": {"choices": [{"message": {"content": "x"}}]}},
        }
    ).encode()

    async def pieces() -> AsyncIterator[bytes]:
        yield b'{"custom_id": "6", "response": "'
        for _ in range(1000):
            yield b"x" * PIECE
        yield b'"}\n' + good + b"\n"

    async def read() -> list[bytes]:
        found = split_lines(pieces(), at_once=10, most=5000)
        return [line async for some in found for line in some]

    lines = asyncio.run(read())
    assert max(map(len, lines)) == 5000
    assert [found[0] for line in lines if (found := read_answer(line))] == [7]


def test_an_answer_that_is_too_long_is_paid_for_cut_and_named(
    anchors: Engine, home: Path, serve_chat: Serve
) -> None:
    address, server = serve_chat()
    server.pours = 2_000_000
    with pytest.raises(HedgerowError, match="The most frequent problem is 'answer too long'"):
        carry_out(
            anchors,
            home,
            base_url=address,
            selection={"limit": 4},
            concurrency=64,
            price={"completion": 10.0},
        )
    assert set(server.asked.values()) == {2}, "asked once more"
    with reading(anchors) as session:
        answers = session.execute(select(Answer)).scalars().all()
        assert progress(session, 1).problems == {AnswerProblem.TOO_LONG: 16}
    assert len(answers) == 16
    for answer in answers:
        assert 0 < len(answer.raw) <= KEPT
        assert answer.error == (
            f"answer too long: The server sent more than {most_bytes(1000):,} bytes in one answer."
        )
        assert (answer.cost or 0) >= most_bytes(1000) / 4 * 10 / 1e6 and answer.is_estimate


def test_a_server_that_sends_byte_after_byte_keeps_to_the_timeout(
    anchors: Engine, home: Path, serve_chat: Serve
) -> None:
    address, server = serve_chat()
    server.drips = 0.02
    with pytest.raises(HedgerowError, match=r"No complete answer within 0\.5 seconds"):
        carry_out(
            anchors,
            home,
            base_url=address,
            selection={"limit": 1},
            roles=("hedge",),
            attempts=1,
            timeout=0.5,
        )


def without_absolute(prompt: str) -> dict[str, str]:
    return {key: text for key, text in texts_for(prompt).items() if key != "absolute"}


@pytest.mark.parametrize("structured", [True, False])
def test_a_type_that_is_missing_in_every_answer_is_counted(
    anchors: Engine,
    home: Path,
    serve_chat: Serve,
    monkeypatch: pytest.MonkeyPatch,
    structured: bool,
) -> None:
    monkeypatch.setattr("tests.support.servers.chat_server.answer_to", without_absolute)
    address, server = serve_chat(structured=structured)
    _, result = carry_out(anchors, home, base_url=address, selection={"limit": 10})
    assert (result["done"], result["failed"]) == (20, 0)
    assert result["missing"] == {"absolute": 10} and result["complete"] is False
    assert len(table(anchors)) == 50
    assert sum(server.asked.values()) == 10 + 10 * 5, "an answer without a type is retried"
    with reading(anchors) as session:
        assert missing_types(session, 1) == {"absolute": 10}
        assert session.execute(select(col(Run.result))).scalar_one()["missing"] == {"absolute": 10}


def test_a_text_that_repeats_its_anchor_is_missing_too(
    anchors: Engine, home: Path, serve_chat: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(prompt: str) -> dict[str, str]:
        texts = texts_for(prompt)
        text = prompt.partition("Text: ")[2].partition("\n")[0]
        return texts | ({"verbal": text} if "verbal" in texts else {})

    monkeypatch.setattr("tests.support.servers.chat_server.answer_to", answer)
    address, _ = serve_chat()
    _, result = carry_out(anchors, home, base_url=address, selection={"limit": 3})
    assert result["missing"] == {"verbal": 3}


def test_a_run_that_brought_all_is_complete(anchors: Engine, home: Path, serve_chat: Serve) -> None:
    address, _ = serve_chat(faults=0.3, kinds=("missing type", "wrong json"))
    how: dict[str, Any] = {"selection": {"limit": 10}}
    _, result = carry_out(anchors, home, base_url=address, **how)
    assert result["missing"] == {} and result["complete"] is True
