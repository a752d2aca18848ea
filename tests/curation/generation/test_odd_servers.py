"""Servers that are down or at their limit, or whose answers are too long, slow or incomplete."""

import asyncio
import re
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from pydantic import SecretStr
from sqlalchemy import Engine, event, func, select, text, update
from sqlmodel import col

from curation.generation import unstored_answers
from curation.generation.answers import AnswerProblem
from curation.generation.providers import waiting
from curation.generation.providers.chat.client import ChatModel
from curation.generation.providers.chat.completions import CallError
from curation.generation.providers.chat.connections import KEPT, most_bytes
from curation.generation.run_report import missing_types, progress
from curation.generation.storing import store_attempts
from db.engine import reading, writing
from db.errors import HedgerowError
from db.execution import RunContext
from db.models import Answer, CallState, ModelCall, Opinion, Run, RunState
from db.named_files import find_aside, put_aside
from tests.curation.generation.conftest import ANCHORS, CALLS, Runs, Serve
from tests.support.databases import both_databases
from tests.support.disks import disk_of
from tests.support.factories import add_family
from tests.support.servers.chat_server import texts_for

NEW_YEAR = "Thu, 01 Jan 2099 00:00:00 GMT"


def paused(runs: Runs, ask: Callable[..., Any] | None = None, *args: Any, **how: Any) -> str:
    """The message of a run that pauses."""
    message = runs.refused(ask, *args, **how)
    assert message.startswith("Paused: ") and runs.state() is RunState.PAUSED
    return message


@pytest.mark.parametrize(
    ("fault", "refusals", "ask", "how", "done"),
    [
        ("rate limit", "40", Runs.carry_out, {"selection": {"limit": 10}}, 20),
        ("server error", "10", Runs.carry_out, {"selection": {"limit": 10}}, 20),
        ("disconnect", "10", Runs.carry_out, {"selection": {"limit": 10}}, 20),
        ("rate limit", str(CALLS), Runs.carry_out, {"batch": True}, CALLS),
        ("rate limit", "10", Runs.judge, {"concurrency": 2}, 7),
    ],
)
def test_a_server_that_refuses_every_call_pauses_the_run_which_asks_again(
    runs: Runs, fault: str, refusals: str, ask: Callable[..., Any], how: dict[str, Any], done: int
) -> None:
    with writing(runs.engine) as session:
        add_family(session, "The road is safe.", subject="road")
    runs.server.always = lambda prompt: fault
    assert f" {refusals} " in paused(runs, ask, runs, **how)
    before = runs.questions
    paused(runs, runs.again)
    assert runs.questions > before, "resuming asks again"
    runs.server.always = lambda prompt: ""
    result = runs.again()
    assert (result["done"], result["failed"]) == (done, 0) and runs.state() is RunState.DONE


@pytest.mark.parametrize(("fault", "attempts"), [("rate limit", 1), ("server error", 5)])
def test_a_single_call_pauses_its_run_after_its_attempts(
    runs: Runs, fault: str, attempts: int
) -> None:
    runs.server.always = lambda prompt: fault
    paused(runs, selection={"limit": 1}, roles=("hedge",), attempts=attempts)
    assert runs.questions == attempts


def test_a_run_pauses_if_nothing_listens(runs: Runs) -> None:
    address = "http://127.0.0.1:9/v1"
    assert address in paused(runs, base_url=address, selection={"limit": 3})


@pytest.mark.parametrize(
    ("wish", "when", "batch"),
    [
        (NEW_YEAR, (" 2098-12-31 ", " 2099-01-01 "), False),
        (NEW_YEAR, (" 2098-12-31 ", " 2099-01-01 "), True),
        ("1e300", ("thousands",), False),  # beyond the calendar
    ],
)
def test_a_long_retry_after_pauses_the_run_and_says_until_when(
    runs: Runs, wish: str, when: tuple[str, ...], batch: bool
) -> None:
    runs.server.retry_after = wish
    runs.server.always = lambda prompt: "rate limit"
    message = paused(runs, batch=batch)
    assert any(moment in message for moment in when) and runs.questions <= 8


def test_a_short_wait_is_respected_and_reported(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    messages: list[str] = []
    listener = staticmethod(lambda *report: messages.append(report[2]))
    monkeypatch.setattr(RunContext, "listener", listener)
    runs.server.faults, runs.server.kinds, runs.server.retry_after = 1.0, ("rate limit",), 1.2
    assert runs.carry_out(selection={"limit": 1})["done"] == 2
    assert any(" UTC" in message for message in messages)


def test_a_call_that_a_server_always_fails_at_while_it_answers_others_fails_alone(
    runs: Runs,
) -> None:
    runs.server.delay = 0.01
    runs.server.always = lambda prompt: "server error" if "number 7 " in prompt else ""
    result = runs.carry_out(roles=("negation",), concurrency=4)
    assert (result["done"], result["failed"]) == (ANCHORS - 1, 1)
    assert runs.state() is RunState.DONE


def test_a_run_that_died_of_its_server_in_an_earlier_version_asks_again(runs: Runs) -> None:
    runs.stop_at_budget(20)
    with writing(runs.engine) as session:
        left = update(ModelCall).where(col(ModelCall.state) == CallState.OPEN)
        problem = AnswerProblem.RATE_LIMIT.value
        session.execute(left.values(state=CallState.FAILED, problem=problem))
        session.execute(update(Run).values(state=RunState.FAILED))
    assert runs.again()["done"] == CALLS and runs.is_each_asked_once


@pytest.mark.parametrize("wish", ["0", NEW_YEAR])
def test_a_provider_that_is_not_heard_of_for_long_pauses_a_run_that_waits_for_its_batch(
    runs: Runs, monkeypatch: pytest.MonkeyPatch, wish: str
) -> None:
    monkeypatch.setattr(waiting, "AWAY_SECONDS", 0.3)
    server = runs.server
    server.retry_after = wish
    server.batches.hear = lambda event: setattr(server, "away", 429 if event == "made" else 0)
    assert (" 209" in paused(runs, batch=True)) == (wish == NEW_YEAR)
    server.away, server.batches.hear = 0, lambda event: None
    assert runs.again()["done"] == CALLS
    assert runs.is_each_asked_once, "the batch was answered meanwhile"


# -- odd answers -----------------------------------------------------------------------------------


def test_an_answer_that_is_too_long_is_paid_for_cut_and_named(runs: Runs) -> None:
    runs.server.pours = 2_000_000
    assert "'answer too long'" in runs.refused(
        selection={"limit": 2}, price={"completion": 10.0}, concurrency=64
    )
    assert set(runs.server.asked.values()) == {2}, "asked once more"
    assert runs.state() is RunState.FAILED
    assert runs.read(progress, 1).problems == {AnswerProblem.TOO_LONG: 8}
    for answer in runs.all(select(Answer)):
        assert 0 < len(answer.raw) <= KEPT
        assert answer.error.startswith("answer too long: ")
        assert f" {most_bytes(1000):,} bytes " in answer.error
        assert answer.cost >= most_bytes(1000) / 4 * 10 / 1e6 and answer.is_estimate


def test_a_server_that_sends_byte_after_byte_keeps_to_the_timeout(runs: Runs) -> None:
    runs.server.drips = 0.02
    assert " 0.5 seconds" in runs.refused(
        selection={"limit": 1}, roles=("hedge",), attempts=1, timeout=0.5
    )


def without_absolute(prompt: str) -> dict[str, str]:
    return {key: text for key, text in texts_for(prompt).items() if key != "absolute"}


def repeating_the_anchor(prompt: str) -> dict[str, str]:
    texts = texts_for(prompt)
    text = prompt.partition("Text: ")[2].partition("\n")[0]
    return texts | ({"verbal": text} if "verbal" in texts else {})


@pytest.mark.parametrize(
    ("answer", "missing", "structured", "tries"),
    [
        (without_absolute, "absolute", True, 5),
        (without_absolute, "absolute", False, 5),
        (repeating_the_anchor, "verbal", True, 2),
    ],
)
def test_a_type_that_is_missing_in_every_answer_is_counted(
    runs: Runs,
    monkeypatch: pytest.MonkeyPatch,
    answer: Callable[[str], dict[str, str]],
    missing: str,
    structured: bool,
    tries: int,
) -> None:
    monkeypatch.setattr("tests.support.servers.chat_server.answer_to", answer)
    runs.server.structured = structured
    result = runs.carry_out(selection={"limit": 10})
    assert (result["done"], result["failed"]) == (20, 0)
    assert result["missing"] == {missing: 10} and result["complete"] is False
    assert len(runs.variants()) == 50
    assert runs.questions == 10 + 10 * tries
    assert runs.read(missing_types, 1) == {missing: 10}
    assert runs.all(Run.result)[0]["missing"] == {missing: 10}


@pytest.mark.parametrize(
    ("usage", "batch"), [(None, False), (None, True), ({"completion_tokens": 10**12}, False)]
)
def test_a_cap_in_money_holds_though_the_server_reports_no_tokens(
    runs: Runs, usage: Any, batch: bool
) -> None:
    runs.server.reports = lambda usage_: usage
    price = {"prompt": 1000.0, "completion": 1000.0}
    message = runs.refused(price=price, budget={"money": 5.0}, batch=batch)
    assert "(estimated" in message and runs.state() is RunState.PAUSED and runs.questions < CALLS
    costs = runs.all(Answer.cost)
    assert min(costs) > 0.1 and set(runs.all(Answer.is_estimate)) == {True}
    assert 5.0 - 2 * max(costs) < sum(costs) <= 5.0 + max(costs)


def test_a_cost_is_an_estimate_unless_the_server_reports_it(runs: Runs) -> None:
    for reports in (lambda usage: usage, lambda usage: None):
        runs.server.reports = reports
        result = runs.carry_out(price={"completion": 1.0}, selection={"limit": 2})
        assert result["cost"] > 0 and result["cost_is_estimate"] == (reports(1) is None)


# -- connections ----------------------------------------------------------------------------------


@pytest.fixture
def used(monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """The connections that have been used."""
    used: set[int] = set()
    handle = httpx2.AsyncHTTPTransport.handle_async_request

    async def counting(self: httpx2.AsyncHTTPTransport, request: httpx2.Request) -> httpx2.Response:
        used.add(id(self))
        return await handle(self, request)

    monkeypatch.setattr(httpx2.AsyncHTTPTransport, "handle_async_request", counting)
    return used


async def ask(model: ChatModel, number: int) -> bool:
    try:
        await model.ask(f"Text: {number}", None)
    except CallError:
        return False
    return True


@pytest.mark.parametrize("fault", ["hang", "disconnect", "server error"])
def test_connections_are_as_many_as_calls_at_once_and_reused_after_failures(
    serve_chat: Serve, used: set[int], fault: str
) -> None:
    address, server = serve_chat(faults=1.0, kinds=(fault,))

    async def run() -> None:
        model = ChatModel("fake", SecretStr(""), address, timeout=1.0)
        assert not await ask(model, 1)
        given_up = asyncio.create_task(ask(model, 2))
        await asyncio.sleep(0.05)
        given_up.cancel()
        await asyncio.wait({given_up})
        server.faults, server.delay = 0.0, 0.05
        for _ in range(3):
            assert all(await asyncio.gather(*(ask(model, number) for number in range(6))))
        await model.close()

    asyncio.run(run())
    assert len(used) == 6


def test_a_proxy_of_the_environment_is_used(
    serve_chat: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("all_proxy", "http://127.0.0.1:1")
    address, server = serve_chat()
    assert not asyncio.run(ask(ChatModel("fake", SecretStr(""), address), 1)) and not server.asked


WORKER = "curation.generation.worker.store_attempts"
BATCHES = "curation.generation.providers.batch.collecting.store_attempts"
JUDGE = "curation.generation.judging.opinion_run.store_attempts"


def failing(error: Exception) -> Callable[..., Any]:
    def fail(*_: object, **__: object) -> None:
        raise error

    return fail


AWAY = failing(HedgerowError("The database is away."))


def saved(message: str) -> tuple[int, Path]:
    """The number of kept answers in a message, and their file."""
    found = re.search(r"(\d+) answers? .* in (\S+\.jsonl);", message)
    assert found, message
    return int(found[1]), Path(found[2])


def refused(runs: Runs, ask: Any = Runs.carry_out, place: str = WORKER, **how: Any) -> str:
    """The message of a run that can store nothing."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(place, AWAY)
        return runs.refused(ask, runs, **how)


@contextmanager
def full_disk(engine: Engine, pages: int) -> Iterator[None]:
    """SQLite refuses to let the file grow by more than this many pages."""

    def cap(connection: sqlite3.Connection, _: Any) -> None:
        connection.execute(f"PRAGMA max_page_count = {limit}")

    with reading(engine) as session:
        limit = session.execute(text("PRAGMA page_count")).scalar_one() + pages
    engine.dispose()
    event.listen(engine, "connect", cap)
    yield
    event.remove(engine, "connect", cap)
    engine.dispose()


@pytest.mark.parametrize("at_once", [8, 64])
def test_a_full_disk_loses_no_answer_and_the_run_continues_once_there_is_room(
    runs: Runs, at_once: int
) -> None:
    runs.server.delay = 0.05
    with full_disk(runs.engine, pages=8), pytest.raises(HedgerowError, match="full") as error:
        runs.carry_out(concurrency=at_once)
    number, path = saved(str(error.value))
    stored, answered = len(runs.all(Answer.id)), runs.server.answered.total()
    assert stored + number == answered == runs.questions, "none is lost"
    assert number == len(path.read_bytes().splitlines()) > 0
    assert at_once == 64 or 0 < stored <= answered < CALLS, "no more calls if nothing can be stored"
    assert runs.again()["done"] == CALLS
    runs.assert_complete()
    assert runs.is_each_asked_once and not path.exists()


def test_a_full_disk_without_any_room_puts_answers_on_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(elsewhere))
    with disk_of("16k", tmp_path / "disk") as disk:
        small, large = (put_aside(disk, "answers", b"x" * size) for size in (4096, 40960))
        assert (small.parent, large.parent) == (disk, elsewhere)
        assert find_aside(disk, "answers") == [small, large]
        assert large.stat().st_mode & 0o077 == 0 and len(list(disk.iterdir())) == 1


@both_databases
@pytest.mark.parametrize(
    ("place", "ask", "how", "done"),
    [
        (WORKER, Runs.carry_out, {"price": {"completion": 10.0}}, CALLS),
        (BATCHES, Runs.carry_out, {"batch": True}, CALLS),  # the first call, made directly
        (JUDGE, Runs.judge, {}, 7),
    ],
)
def test_answers_saved_elsewhere_are_paid_for_once_and_counted(
    runs: Runs, place: str, ask: Callable[..., Any], how: dict[str, Any], done: int
) -> None:
    with writing(runs.engine) as session:
        add_family(session, "The road is safe.", subject="road")
    number, _ = saved(refused(runs, ask, place, **how))
    assert number == runs.questions > 0 and not runs.all(Answer.id)
    result = runs.again()
    assert result["done"] == result["calls"] == done and runs.is_each_asked_once
    assert result["cost"] == pytest.approx(sum(runs.all(Answer.cost)), abs=1e-6)
    assert len(runs.all(Opinion.decision_id)) == (done if ask is Runs.judge else 0)


def test_a_short_outage_loses_nothing_and_few_questions_are_asked_while_nothing_is_stored(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unstored_answers, "STORE_AGAIN_SECONDS", (0.3, 0.3))
    monkeypatch.setattr("curation.generation.worker.WAITING", 2)
    asked: list[int] = []

    def store(*args: Any, **how: Any) -> Any:
        asked.append(runs.questions)
        if len(asked) == 1:
            time.sleep(0.5)
            asked.append(runs.questions)
        elif len(asked) in (4, 5):
            raise HedgerowError("The database is away.")
        return store_attempts(*args, **how)

    monkeypatch.setattr(WORKER, store)
    runs.carry_out(concurrency=4)
    assert asked[1] <= asked[0] + 4 + 8, "4 under way, and 8 that wait"
    assert asked[5] == asked[4] <= asked[3] + 8
    runs.assert_complete()
    assert runs.is_each_asked_once


def test_calls_stop_if_storing_fails_for_a_reason_that_does_not_pass(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(WORKER, failing(RuntimeError("the shelf fell down")))
    runs.server.delay = 0.05
    assert "the shelf fell down" in runs.refused()
    assert runs.questions <= 3 * 8


@pytest.mark.parametrize("room", [True, False])
def test_answers_are_reported_as_saved_or_lost_even_if_the_end_of_the_run_cannot_be_stored(
    runs: Runs, monkeypatch: pytest.MonkeyPatch, room: bool
) -> None:
    monkeypatch.setattr("db.execution.RunContext.finish", AWAY)
    if not room:
        no_space = failing(OSError("No space left on device"))
        monkeypatch.setattr(unstored_answers, "put_aside", no_space)
    message = refused(runs)
    assert f" {runs.questions} answers" in message
    assert saved(message)[1].exists() if room else "lost" in message


def test_a_file_saved_by_somebody_else_is_not_read(runs: Runs) -> None:
    number, path = saved(refused(runs))
    path.symlink_to(path.rename(runs.home / "moved"))
    asked = runs.questions
    assert runs.again()["done"] == CALLS and runs.questions == asked + CALLS and number == asked
    assert runs.state() is RunState.DONE
    assert runs.all(select(func.count(col(ModelCall.id)))) == [CALLS]
