"""Read sessions only read; write sessions wait for each other; a damaged database has a message."""

import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine, select, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session
from sqlmodel import col

from db import engine as module
from db.engine import create_engine, patient, reading, write_in_pieces, writing
from db.errors import HedgerowError
from db.models import Note, Setting
from tests.support.databases import Copies, both_databases, one_database

pytestmark = both_databases


def test_a_read_session_cannot_write(engine: Engine) -> None:
    def write() -> None:
        with reading(engine) as session:
            session.add(Setting(key="x", value=1))
            session.flush()

    with pytest.raises((DBAPIError, HedgerowError)):
        write()
    with reading(engine) as session:
        assert session.get(Setting, "x") is None


def test_a_failed_write_session_leaves_nothing(engine: Engine) -> None:
    def fail() -> None:
        with writing(engine) as session:
            session.add(Setting(key="x", value=1))
            session.flush()
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    with reading(engine) as session:
        assert session.get(Setting, "x") is None


def test_writers_that_read_first_all_succeed(engine: Engine) -> None:
    """SQLite would refuse a deferred transaction as soon as another one wrote in between."""
    with writing(engine) as session:
        session.add(Setting(key="n", value=0))

    def count_up() -> None:
        for _ in range(10):
            with writing(engine) as session:
                row = session.execute(
                    select(Setting).where(Setting.key == "n").with_for_update()
                ).scalar_one()
                row.value += 1

    threads = [threading.Thread(target=count_up) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with reading(engine) as session:
        assert session.get_one(Setting, "n").value == 40


def test_a_missing_table_requires_a_backup(engine: Engine) -> None:
    """'hedgerow init' would upgrade nothing, and repair nothing."""
    cascade = " CASCADE" if engine.name == "postgresql" else ""
    with engine.execution_options(writes=True).begin() as connection:
        connection.execute(text(f"DROP TABLE note{cascade}"))
    with pytest.raises(HedgerowError) as refusal, reading(engine) as session:
        session.execute(select(Note)).all()
    sentence = str(refusal.value)
    assert "is missing a table or column" in sentence and "note" in sentence
    assert "restore a backup" in sentence and "hedgerow init" not in sentence


def test_a_large_amount_is_written_in_pieces_between_which_others_write(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "ROWS_AT_ONCE", 4)
    pieces: list[list[int]] = []

    def write(session: Session, some: list[int]) -> None:
        pieces.append(some)
        session.add_all(Setting(key=f"{number}", value=0) for number in some)

    def numbers() -> Iterator[int]:
        for number in range(10):
            with writing(engine) as session:  # would wait for ever within a piece
                session.add(Setting(key=f"other {number}", value=0))
            yield number

    write_in_pieces(engine, numbers(), write)
    assert pieces == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    with reading(engine) as session:
        assert len(session.execute(select(Setting)).all()) == 20


@one_database
def test_whoever_held_the_lock_for_long_lets_others_write_first(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LONG_SECONDS", 0)
    monkeypatch.setattr(module, "TURN_SECONDS", 5)
    slept: list[float] = []
    monkeypatch.setattr("db.engine.time.sleep", slept.append)
    for number in range(2):
        with writing(engine) as session:
            session.add(Setting(key=f"{number}", value=0))
    assert slept[0] <= 0 and 0 < slept[1] <= module.TURN_SECONDS


@one_database
def test_a_patient_writer_tries_again_while_the_database_is_busy(
    home: Path, copies: Copies, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BUSY_TIMEOUT_MS", 10)
    path = home / "hedgerow.db"
    engine = create_engine(copies.migrated(path))
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    waits: list[str] = []

    def wait() -> None:
        waits.append("busy")
        if len(waits) == 3:
            other.execute("COMMIT")

    def write(key: str) -> None:
        with writing(engine) as session:
            session.add(Setting(key=key, value=0))

    with pytest.raises(HedgerowError, match="busy"):
        write("impatient")
    with patient(wait):
        write("patient")
    with reading(engine) as session:
        assert session.execute(select(col(Setting.key))).scalars().all() == ["patient"]
    assert len(waits) == 3
    engine.dispose()
    other.close()
