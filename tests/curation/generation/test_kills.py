"""A run whose process is killed again and again, at a server that fails a third of the calls."""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from pydantic import SecretStr
from sqlalchemy import Engine, func, select

from curation.generation.asking import Asker
from curation.generation.calls import open_calls
from curation.generation.client import ChatModel
from curation.generation.run import checked_request, request_generation
from curation.taxonomy import TAXONOMY
from db.engine import reading, writing
from db.models import Answer, CallState, ModelCall, RunState
from db.runs import get_run
from tests.curation.generation.conftest import Serve
from tests.curation.generation.test_run import carry_out, table, unmeasured  # noqa: F401
from tests.databases import Copies, one_database, opened
from tests.factories import add_anchor

ROOT = Path(__file__).parents[3]
ANCHORS = 120
KILLS = 10
HOW = {"model": "fake", "concurrency": 8, "timeout": 1.0, "attempts": 10}


def add_anchors(engine: Engine) -> None:
    with writing(engine) as session:
        for number in range(ANCHORS):
            add_anchor(session, f"The bridge number {number} is safe.")


def start(home: Path, run_id: int) -> subprocess.Popen[bytes]:
    environment = os.environ | {"HEDGEROW_HOME": str(home), "PYTHONPATH": str(ROOT)}
    with (home / "out.txt").open("ab") as out:
        command = [sys.executable, "-m", "cli", "run", str(run_id)]
        return subprocess.Popen(command, cwd=home, env=environment, stdout=out, stderr=out)


def stored(engine: Engine) -> int:
    with reading(engine) as session:
        return session.execute(select(func.count()).select_from(Answer)).scalar_one()


def prompts_of(engine: Engine, run_id: int) -> dict[int, str]:
    """What is asked, by the call's number."""
    asker = Asker(ChatModel("fake", SecretStr("")), TAXONOMY, attempts=1)
    with reading(engine) as session:
        return {call.id: asker.question(call)[0] for call in open_calls(session, run_id)}


def answered(engine: Engine) -> set[int]:
    """The calls whose answer is stored."""
    with reading(engine) as session:
        done = select(ModelCall.id).where(ModelCall.state == CallState.DONE)
        return set(session.execute(done).scalars())


def kill_at_work(engine: Engine, home: Path, run_id: int, *, after: float) -> None:
    """Start a process, let it store something, and kill it a moment later."""
    begun_with = stored(engine)
    process = start(home, run_id)
    while stored(engine) == begun_with and process.poll() is None:
        time.sleep(0.02)
    time.sleep(after)
    assert process.poll() is None, "the run ended before all kills: give it more to do"
    process.send_signal(signal.SIGKILL)
    process.wait()
    with reading(engine) as session:
        assert get_run(session, run_id).state is RunState.INTERRUPTED


@one_database
@pytest.mark.slow
def test_ten_kills_and_a_failing_server_leave_the_table_of_an_undisturbed_run(
    engine: Engine, home: Path, copies: Copies, serve_chat: Serve
) -> None:
    address, _ = serve_chat()
    calm_home = home / "calm"
    calm_home.mkdir()
    with opened(copies.migrated(calm_home / "hedgerow.db")) as calm:
        add_anchors(calm)
        carry_out(calm, calm_home, base_url=address)
        undisturbed = table(calm)
    add_anchors(engine)
    address, server = serve_chat(delay=0.2, faults=1 / 3)
    with writing(engine) as session:
        run_id = request_generation(session, checked_request(HOW | {"base_url": address})).id or 0
    prompts = prompts_of(engine, run_id)
    asked: dict[int, int] = {}  # how often, for each call, when its answer was seen to be stored
    drawn = random.Random(4)
    for _ in range(KILLS):
        kill_at_work(engine, home, run_id, after=drawn.uniform(0.0, 0.4))
        asked |= {call: server.asked[prompts[call]] for call in answered(engine) - set(asked)}
    assert asked
    assert start(home, run_id).wait() == 0, (home / "out.txt").read_text()
    assert table(engine) == undisturbed
    assert asked == {call: server.asked[prompts[call]] for call in asked}, "none is asked again"
    assert sum(server.asked.values()) <= stored(engine) + KILLS * 8, "but for those under way"
    with reading(engine) as session:
        assert set(session.execute(select(ModelCall.state)).scalars()) == {CallState.DONE}
        errors = session.execute(select(Answer.error)).scalars().all()
        rows = Counter(session.execute(select(Answer.call_id)).scalars())
        assert rows == dict(session.execute(select(ModelCall.id, ModelCall.attempts)).all())
    found = {name for error in errors for name in error.partition(": ")[0].split(", ")}
    assert {"rate limit", "server error", "timeout", "model refused", "cut off", "unreadable",
            "type missing", "cue ignored", "no connection"} <= found  # fmt: skip
