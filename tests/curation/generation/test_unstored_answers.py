"""Answers that can't be stored are kept in memory, saved elsewhere, and stored when there is
space."""

import re
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, event, func, select, text
from sqlmodel import col

from curation.generation import unstored_answers
from curation.generation.storing import store_attempts
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import Answer, ModelCall, Opinion, RunState
from db.rescue_files import find_aside, put_aside
from tests.curation.generation.conftest import CALLS, Runs
from tests.support.databases import both_databases
from tests.support.disks import disk_of
from tests.support.factories import add_family

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
