"""Read sessions only read; write sessions wait for each other; a damaged database has a message."""

import threading

import pytest
from sqlalchemy import Engine, select, text
from sqlalchemy.exc import DBAPIError

from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import Note, Setting
from tests.support.databases import both_databases

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
