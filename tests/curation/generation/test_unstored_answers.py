"""Answers that can't be stored are kept in memory, saved elsewhere, and stored when there is
space."""

import contextlib
import re
import tempfile
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, func, select, update
from sqlmodel import col

from curation.generation import unstored_answers
from curation.generation.judging import opinion_run
from curation.generation.judging.opinion_request import JudgeRequest
from curation.generation.run import checked
from curation.generation.storing import store_attempts
from curation.project.opening import open_project
from db.engine import reading, writing
from db.errors import HedgerowError
from db.execution import execute
from db.models import Answer, ModelCall, Opinion, Run, RunState, Source
from db.settings import Settings
from tests.curation.generation.conftest import Serve
from tests.curation.generation.test_run import again, carry_out, table, unmeasured  # noqa: F401
from tests.curation.generation.test_worker import full_disk
from tests.support.databases import both_databases, one_database
from tests.support.disks import disk_of
from tests.support.factories import add_anchor, add_family

pytestmark = both_databases

KEPT = re.compile(r"(\d+) answers? that could not be stored (?:are|is) saved in (\S+\.jsonl);")


@pytest.fixture(autouse=True)
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short waits for space."""
    monkeypatch.setattr(unstored_answers, "STORE_AGAIN_SECONDS", (0.01, 0.01))


def stored(engine: Engine) -> int:
    with reading(engine) as session:
        return session.execute(select(func.count(col(Answer.id)))).scalar_one()


def put_aside(sentence: str) -> tuple[int, Path]:
    """The number of kept answers in a sentence, and their location."""
    found = KEPT.search(sentence)
    assert found, sentence
    return int(found[1]), Path(found[2])


@pytest.mark.slow
@one_database
def test_a_disk_that_fills_while_64_calls_are_in_progress_loses_no_answer(
    anchors: Engine, home: Path, serve_chat: Serve
) -> None:
    with writing(anchors) as session:
        for number in range(300):
            add_anchor(session, f"The tunnel number {number} is safe.")
    address, server = serve_chat(delay=0.05)
    with full_disk(anchors, pages=30), pytest.raises(HedgerowError, match="disk is full") as error:
        carry_out(anchors, home, base_url=address, concurrency=64)
    number, path = put_aside(str(error.value))
    answered = sum(server.answered.values())
    assert answered == sum(server.asked.values()) < 680
    assert number == len(path.read_bytes().splitlines()) > 0
    assert stored(anchors) + number == answered, "none is lost"
    assert "run 'hedgerow run 1' to store them" in str(error.value)
    result = again(anchors, home, 1)
    assert result["done"] == 680 and len(table(anchors)) == 340 * 6
    assert set(server.asked.values()) == {1}, "none is paid twice"
    assert not path.exists()


@pytest.mark.slow
def test_a_full_disk_without_any_room_puts_answers_on_another(
    tmp_path: Path, serve_chat: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(elsewhere))
    address, server = serve_chat(delay=0.05)
    with disk_of("12m", tmp_path / "disk") as folder:
        settings = Settings(home=folder, database_url="")
        engine = open_project(settings)
        with writing(engine) as session:
            session.add(Source(id=1, name="test"))
            session.flush()
            for number in range(100):
                add_anchor(session, f"The bridge number {number} is safe.")
        film = folder / "film"

        def fill(prompt: str) -> None:
            """The disk is full from the fiftieth question on."""
            if len(server.asked) == 50:
                with contextlib.suppress(OSError), film.open("wb", buffering=0) as file:
                    while file.write(b"x" * 4096):
                        pass

        server.hear = fill
        with pytest.raises(HedgerowError, match="could not be stored") as error:
            carry_out(engine, folder, base_url=address, concurrency=16)
        number, path = put_aside(str(error.value))
        assert path.parent == elsewhere and path.stat().st_mode & 0o077 == 0
        assert stored(engine) + number == sum(server.answered.values()) < 200
        film.unlink()
        with writing(engine) as session:  # in reality, its process has ended by now
            session.execute(update(Run).values(state=RunState.INTERRUPTED))
        result = again(engine, folder, 1)
        assert result["done"] == 200 and set(server.asked.values()) == {1}
        assert not list(elsewhere.iterdir())
        engine.dispose()


def test_answers_saved_elsewhere_are_paid_for_once_and_counted(
    anchors: Engine, home: Path, serve_chat: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object, **__: object) -> None:
        raise HedgerowError("The database is away.")

    address, server = serve_chat()
    with monkeypatch.context() as patched:
        patched.setattr("curation.generation.worker.store_attempts", away)
        with pytest.raises(HedgerowError, match=r"The database is away\. \d+ answers") as error:
            carry_out(anchors, home, base_url=address, price={"completion": 10.0})
    number, _ = put_aside(str(error.value))
    assert number == sum(server.asked.values()) < 80 and stored(anchors) == 0
    result = again(anchors, home, 1)
    with reading(anchors) as session:
        spent = session.execute(select(func.sum(col(Answer.cost)))).scalar_one()
    assert result["cost"] == pytest.approx(spent) and result["calls"] == 80


def test_nobody_asks_while_nothing_can_be_stored(
    anchors: Engine, home: Path, serve_chat: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unstored_answers, "STORE_AGAIN_SECONDS", (0.3, 0.3))
    address, server = serve_chat()
    asked: list[int] = []

    def store(*args: Any, **how: Any) -> Any:
        asked.append(sum(server.asked.values()))
        if len(asked) in (2, 3):
            raise HedgerowError("The disk is full.")
        return store_attempts(*args, **how)

    monkeypatch.setattr("curation.generation.worker.store_attempts", store)
    carry_out(anchors, home, base_url=address, concurrency=4)
    assert asked[3] == asked[2] <= asked[1] + 8
    assert len(table(anchors)) == 40 * 6 and set(server.asked.values()) == {1}


@one_database
def test_answers_without_any_space_are_reported_as_lost(
    anchors: Engine, home: Path, serve_chat: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_room(*_: object, **__: object) -> None:
        raise OSError("No space left on device")

    def away(*_: object, **__: object) -> None:
        raise HedgerowError("The disk is full.")

    monkeypatch.setattr(unstored_answers, "put_aside", no_room)
    monkeypatch.setattr("curation.generation.worker.store_attempts", away)
    address, server = serve_chat()
    with pytest.raises(HedgerowError) as error:
        carry_out(anchors, home, base_url=address)
    lost = f"{sum(server.asked.values())} answers that could not be stored are lost"
    assert f"The disk is full. {lost}" in str(error.value)


def test_the_end_of_a_run_is_reported_even_if_it_cannot_be_stored(
    anchors: Engine, home: Path, serve_chat: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object, **__: object) -> None:
        raise HedgerowError("The disk is full.")

    monkeypatch.setattr("curation.generation.worker.store_attempts", away)
    monkeypatch.setattr("db.execution.RunContext.finish", away)
    address, _ = serve_chat()
    with pytest.raises(HedgerowError, match="could not be stored are saved in"):
        carry_out(anchors, home, base_url=address)


@one_database
def test_a_first_call_before_a_batch_is_saved_elsewhere_too(
    anchors: Engine, home: Path, serve_chat: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object, **__: object) -> None:
        raise HedgerowError("The disk is full.")

    monkeypatch.setattr("curation.generation.providers.waiting.POLL_SECONDS", 0.01)
    address, server = serve_chat()
    with monkeypatch.context() as patched:
        patched.setattr("curation.generation.providers.batch.collecting.store_attempts", away)
        with pytest.raises(HedgerowError, match="1 answer that could not be stored is saved"):
            carry_out(anchors, home, base_url=address, batch=True)
    assert again(anchors, home, 1)["done"] == 80
    assert set(server.asked.values()) == {1}


@one_database
def test_opinions_that_were_saved_elsewhere_are_stored_as_opinions(
    engine: Engine, home: Path, serve_chat: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object, **__: object) -> None:
        raise HedgerowError("The disk is full.")

    with writing(engine) as session:
        add_family(session, "The bridge is safe.", subject="bridge")
    address, server = serve_chat()
    request = checked(JudgeRequest, {"model": "fake", "base_url": address})
    with writing(engine) as session:
        run_id = opinion_run.request_opinions(session, request).id
    settings, works = Settings(home=home, database_url=""), {opinion_run.KIND: opinion_run.work}
    with monkeypatch.context() as patched:
        patched.setattr("curation.generation.judging.opinion_run.store_attempts", away)
        with pytest.raises(HedgerowError, match="7 answers that could not be stored are saved"):
            execute(engine, settings, run_id, works)
    assert execute(engine, settings, run_id, works)["done"] == 7
    assert set(server.asked.values()) == {1}
    with reading(engine) as session:
        assert session.execute(select(func.count(col(Opinion.decision_id)))).scalar_one() == 7


@one_database
def test_a_file_saved_by_somebody_else_is_not_read(
    anchors: Engine, home: Path, serve_chat: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object, **__: object) -> None:
        raise HedgerowError("The disk is full.")

    address, server = serve_chat()
    with monkeypatch.context() as patched:
        patched.setattr("curation.generation.worker.store_attempts", away)
        with pytest.raises(HedgerowError) as error:
            carry_out(anchors, home, base_url=address)
    number, path = put_aside(str(error.value))
    moved = path.rename(home / "moved")
    path.symlink_to(moved)
    asked = sum(server.asked.values())
    assert again(anchors, home, 1)["done"] == 80
    assert sum(server.asked.values()) == asked + 80 and number == asked
    with reading(anchors) as session:
        assert session.execute(select(col(Run.state))).scalar_one() is RunState.DONE
        assert session.execute(select(func.count(col(ModelCall.id)))).scalar_one() == 80
