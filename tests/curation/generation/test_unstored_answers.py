"""Answers that can't be stored are kept in memory, saved elsewhere, and stored when there is
space."""

import contextlib
import re
import sqlite3
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, event, func, select, text, update
from sqlmodel import col

from curation.generation import unstored_answers
from curation.generation.storing import store_attempts
from curation.project.opening import open_project
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import Answer, ModelCall, Opinion, Run, RunState, Source
from db.settings import Settings
from tests.curation.generation.conftest import CALLS, VARIANTS, Runs
from tests.support.databases import both_databases
from tests.support.disks import disk_of
from tests.support.factories import add_anchor, add_family

WORKER = "curation.generation.worker.store_attempts"
BATCHES = "curation.generation.providers.batch.collecting.store_attempts"
JUDGE = "curation.generation.judging.opinion_run.store_attempts"


def failing(error: Exception) -> Callable[..., Any]:
    def fail(*_: object, **__: object) -> None:
        raise error

    return fail


AWAY = failing(HedgerowError("The database is away."))


def put_aside(message: str) -> tuple[int, Path]:
    """The number of kept answers in a message, and their file."""
    found = re.search(r"(\d+) answers? .* in (\S+\.jsonl);", message)
    assert found, message
    return int(found[1]), Path(found[2])


def refused(ask: Callable[..., Any], place: str = WORKER, **how: Any) -> str:
    """The message of a run that can store nothing."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(place, AWAY)
        with pytest.raises(HedgerowError) as error:
            ask(**how)
    return str(error.value)


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
    number, path = put_aside(str(error.value))
    stored, answered = len(runs.all(Answer.id)), runs.server.answered.total()
    assert stored + number == answered == runs.questions, "none is lost"
    assert number == len(path.read_bytes().splitlines()) > 0
    assert at_once == 64 or 0 < stored <= answered < CALLS, "no more calls if nothing can be stored"
    assert runs.again()["done"] == CALLS and len(runs.variants()) == VARIANTS
    assert runs.is_each_asked_once and not path.exists()


@pytest.mark.slow
def test_a_full_disk_without_any_room_puts_answers_on_another(
    runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(elsewhere))
    runs.server.delay = 0.05
    with disk_of("12m", tmp_path / "disk") as folder:
        engine = open_project(Settings(home=folder, database_url=""))
        with writing(engine) as session:
            session.add(Source(id=1, name="test"))
            session.flush()
            for number in range(100):
                add_anchor(session, f"The bridge number {number} is safe.")
        film = folder / "film"

        def fill(prompt: str) -> None:
            """The disk is full from the fiftieth question on."""
            if len(runs.server.asked) == 50:
                with contextlib.suppress(OSError), film.open("wb", buffering=0) as file:
                    while file.write(b"x" * 4096):
                        pass

        runs.server.hear = fill
        runs = Runs(engine, folder, runs.address, runs.server)
        with pytest.raises(HedgerowError) as error:
            runs.carry_out(concurrency=16)
        number, path = put_aside(str(error.value))
        assert path.parent == elsewhere and path.stat().st_mode & 0o077 == 0
        assert len(runs.all(Answer.id)) + number == runs.server.answered.total() < 200
        film.unlink()
        with writing(engine) as session:  # in reality, its process has ended by now
            session.execute(update(Run).values(state=RunState.INTERRUPTED))
        assert runs.again()["done"] == 200 and runs.is_each_asked_once
        assert not list(elsewhere.iterdir())
        engine.dispose()


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
    number, _ = put_aside(refused(ask, place, self=runs, **how))
    assert number == runs.questions > 0 and not runs.all(Answer.id)
    result = runs.again()
    assert result["done"] == result["calls"] == done and runs.is_each_asked_once
    assert result["cost"] == pytest.approx(sum(runs.all(Answer.cost)), abs=1e-6)
    assert len(runs.all(Opinion.decision_id)) == (done if ask is Runs.judge else 0)


def test_a_short_outage_loses_nothing_and_nobody_asks_while_nothing_can_be_stored(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unstored_answers, "STORE_AGAIN_SECONDS", (0.3, 0.3))
    asked: list[int] = []

    def store(*args: Any, **how: Any) -> Any:
        asked.append(runs.questions)
        if len(asked) in (2, 3):
            raise HedgerowError("The database is away.")
        return store_attempts(*args, **how)

    monkeypatch.setattr(WORKER, store)
    runs.carry_out(concurrency=4)
    assert asked[3] == asked[2] <= asked[1] + 8
    assert len(runs.variants()) == VARIANTS and runs.is_each_asked_once


def test_calls_stop_if_storing_fails_for_a_reason_that_does_not_pass(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(WORKER, failing(RuntimeError("the shelf fell down")))
    runs.server.delay = 0.05
    with pytest.raises(HedgerowError, match="the shelf fell down"):
        runs.carry_out()
    assert runs.questions <= 3 * 8


def test_while_the_database_is_locked_only_a_bounded_number_of_calls_is_made(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("curation.generation.worker.WAITING", 2)
    seen: list[int] = []

    def hold() -> None:
        while not runs.server.asked:
            time.sleep(0.005)
        with writing(runs.engine) as session:
            session.execute(text("SELECT 1"))
            time.sleep(1.0)
            seen.append(runs.questions)

    holder = threading.Thread(target=hold)
    holder.start()
    runs.carry_out(concurrency=4)
    holder.join()
    assert seen[0] <= 40, "4 under way, 8 that wait, and what was stored before"
    assert len(runs.variants()) == VARIANTS and runs.is_each_asked_once


def test_answers_without_any_space_are_reported_as_lost(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unstored_answers, "put_aside", failing(OSError("No space left on device")))
    message = refused(runs.carry_out)
    assert f" {runs.questions} answers" in message and "lost" in message


def test_the_end_of_a_run_is_reported_even_if_it_cannot_be_stored(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("db.execution.RunContext.finish", AWAY)
    assert put_aside(refused(runs.carry_out))[1].exists()


def test_a_file_saved_by_somebody_else_is_not_read(runs: Runs) -> None:
    number, path = put_aside(refused(runs.carry_out))
    path.symlink_to(path.rename(runs.home / "moved"))
    asked = runs.questions
    assert runs.again()["done"] == CALLS and runs.questions == asked + CALLS and number == asked
    assert runs.state() is RunState.DONE
    assert runs.all(select(func.count(col(ModelCall.id)))) == [CALLS]
