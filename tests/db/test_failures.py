"""The message about a damaged database."""

import pytest
from sqlalchemy import Engine, select, text

from db.engine import reading
from db.errors import HedgerowError
from db.models import Note
from tests.support.databases import both_databases

pytestmark = both_databases


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
