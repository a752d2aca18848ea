"""A run with `transformers serve` and a model of random weights.

Such a model writes nonsense, so all of its answers are handled as unreadable.
"""

from pathlib import Path

import pytest
from sqlalchemy import Engine, select

from db.engine import writing
from db.errors import HedgerowError
from db.models import Answer, CallState, Variant
from tests.curation.generation.conftest import Runs
from tests.support.factories import add_anchor
from tests.support.servers.chat_server import ChatServer
from tests.support.servers.transformers_server import transformers_server


@pytest.mark.soak("processes")
def test_nonsense_is_stored_and_reported_but_becomes_no_variant(
    engine: Engine, home: Path, small_llama: Path, tmp_path: Path
) -> None:
    with writing(engine) as session:
        for kind in ("road", "wall"):
            add_anchor(session, f"The {kind} is safe.")
    with transformers_server(small_llama, log=tmp_path / "serve.txt") as address:
        runs = Runs(engine, home, address, ChatServer())
        with pytest.raises(HedgerowError, match="All 4 calls failed"):
            runs.carry_out(model=str(small_llama), attempts=2, max_tokens=100, concurrency=2)
    assert not runs.all(Variant.id) and set(runs.calls()) == {CallState.FAILED}
    answers = runs.all(select(Answer))
    assert len(answers) == 8 and any(answer.raw for answer in answers)
    assert {answer.error for answer in answers} <= {"unreadable", "cut off"}
    assert all(answer.prompt_tokens for answer in answers)
