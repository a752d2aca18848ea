"""Runs whose processes are killed, or lose their run to another process."""

import random
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pytest
from pydantic import SecretStr
from sqlalchemy import Engine, select, update
from sqlmodel import col

from curation.generation.calls import open_calls
from curation.generation.providers.chat.client import ChatModel
from curation.generation.providers.chat.retries import Asker
from curation.taxonomy.built_in import TAXONOMY
from db.columns import now
from db.engine import writing
from db.errors import HedgerowError
from db.models import Answer, CallState, ModelCall, Run, RunState
from db.runs import get_run
from tests.curation.generation.conftest import Runs, Serve
from tests.support.databases import both_databases
from tests.support.factories import add_anchor
from tests.support.forking import Forker, is_alive, kill

pytestmark = pytest.mark.slow

ANCHORS = 60
CALLS = 2 * ANCHORS
CONSTANTS = {
    "curation.generation.providers.chat.retries.FIRST_WAIT": 0.02,
    "curation.generation.providers.chat.retries.DOWN_AFTER": 1000,  # a busy machine is slow
    "curation.generation.providers.waiting.POLL_SECONDS": 0.02,
    "curation.generation.providers.waiting.CHECK_SECONDS": 0.02,
    "curation.generation.providers.batch.polling.CHUNK": 10,
}
TRIED = 2
"""Direct calls before a batch is sent."""

PHASES = (
    "sent",
    "made",
    "looked at in_progress",
    "looked at finalizing",
    "looked at completed",
    "fetched",
)


class Killed(Runs):
    """Runs that are executed by other processes."""

    forker: Forker

    def start(self) -> int:
        """Execute the run in a new process. Returns the process."""
        return self.forker.start(self.engine.url, self.home, 1, CONSTANTS)

    def wait_for(self, process: int) -> None:
        """Wait until a process has ended."""
        until = time.monotonic() + 60
        while is_alive(process):
            assert time.monotonic() < until, self.printed
            time.sleep(0.02)

    @property
    def printed(self) -> str:
        """The output of the processes."""
        return (self.home / "out.txt").read_text()

    @property
    def stored(self) -> int:
        """How many answers are stored."""
        return len(self.all(Answer.id))

    def kill_at_work(self, *, after: float) -> None:
        """Start a process, let it finish a call, and kill it a moment later."""
        begun_with, process = self.calls().count(CallState.DONE), self.start()
        while self.calls().count(CallState.DONE) == begun_with and is_alive(process):
            time.sleep(0.02)
        time.sleep(after)
        assert is_alive(process), f"the run ended before all kills: {self.printed}"
        kill(process)
        assert self.read(get_run, 1).state is RunState.INTERRUPTED


@pytest.fixture(scope="module")
def forker() -> Iterator[Forker]:
    forker = Forker()
    yield forker
    forker.close()


@pytest.fixture
def runs(engine: Engine, home: Path, serve_chat: Serve, forker: Forker) -> Killed:
    with writing(engine) as session:
        for number in range(ANCHORS):
            add_anchor(session, f"The bridge number {number} is safe.")
    runs = Killed(engine, home, *serve_chat())
    runs.forker = forker
    return runs


@both_databases
@pytest.mark.parametrize("kills", [2, pytest.param(10, marks=pytest.mark.soak("kills"))])
def test_kills_and_a_failing_server_leave_the_variants_of_an_undisturbed_run(
    runs: Killed, kills: int
) -> None:
    server = runs.server
    server.delay, server.faults = 0.02 * kills, 1 / 3
    runs.request(timeout=0.6, attempts=20)
    asker = Asker(ChatModel("fake", SecretStr("")), TAXONOMY, attempts=1)
    prompts = {call.id: asker.question(call)[0] for call in runs.read(open_calls, 1)}
    done = select(ModelCall.id).where(ModelCall.state == CallState.DONE)
    asked: dict[int, int] = {}  # for each call, how often its answer was seen to be stored
    chance = random.Random(4)
    for _ in range(kills):
        runs.kill_at_work(after=chance.uniform(0.0, 0.25))
        asked |= {call: server.asked[prompts[call]] for call in {*runs.all(done)} - set(asked)}
    assert asked
    runs.wait_for(runs.start())
    runs.assert_complete(6 * ANCHORS)
    assert asked == {call: server.asked[prompts[call]] for call in asked}, "none is asked again"
    lost = kills * 8 * 4  # in progress, or answered and not yet stored
    assert runs.questions <= runs.stored + lost
    assert set(runs.calls()) == {CallState.DONE}
    attempts = runs.rows(select(ModelCall.id, ModelCall.attempts))
    assert Counter(runs.all(Answer.call_id)) == dict(map(tuple, attempts))
    found = {name for e in runs.all(Answer.error) for name in e.partition(": ")[0].split(", ")}
    assert found >= {
        "rate limit",
        "server error",
        "timeout",
        "model refused",
        "cut off",
        "unreadable",
        "type missing",
        "cue ignored",
        "no connection",
    }


@pytest.mark.parametrize(
    "phases", [("made", "fetched"), pytest.param(PHASES, marks=pytest.mark.soak("kills"))]
)
def test_a_batch_survives_a_kill_in_every_phase(runs: Killed, phases: tuple[str, ...]) -> None:
    batches = runs.server.batches
    runs.request(batch=True)
    started: list[int] = []
    for phase in phases:

        def hear(event: str, phase: str = phase) -> None:
            if event == phase:
                batches.hear = lambda event: None
                while phase == "fetched" and runs.stored == TRIED:
                    time.sleep(0.01)  # the first half is being stored
                while not started:
                    time.sleep(0.01)
                kill(started.pop())

        batches.hear = hear
        process = runs.start()
        started.append(process)
        runs.wait_for(process)
        assert not started, f"it was not killed when {phase}: {runs.printed}"
    assert TRIED < runs.stored < CALLS
    runs.wait_for(runs.start())
    runs.assert_complete(6 * ANCHORS)
    sizes = [batch["request_counts"]["total"] for batch in batches.batches.values()]
    assert sizes == [CALLS - TRIED] and runs.is_each_asked_once and runs.stored == CALLS


@both_databases
def test_a_process_that_lost_its_run_to_another_does_no_harm(runs: Killed) -> None:
    runs.server.delay = 0.12
    runs.request()
    first = runs.start()
    while not runs.stored:
        time.sleep(0.01)
    for _ in range(10):
        with writing(runs.engine) as session:  # as after a long silence
            lease = {"lease_until": now() - timedelta(minutes=1)}
            session.execute(update(Run).where(col(Run.id) == 1).values(lease))
        with suppress(HedgerowError):  # in case its heartbeat comes at this moment
            runs.again()
            break
    runs.wait_for(first)
    assert "interrupted" in runs.printed
    runs.assert_complete(6 * ANCHORS)
    assert runs.questions <= CALLS + 8 * 20, "the first one continues for a second at most"
    assert set(Counter(runs.all(Answer.call_id)).values()) == {1} and runs.stored == CALLS
    assert runs.state() is RunState.DONE
