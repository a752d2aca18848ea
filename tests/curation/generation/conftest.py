"""Runs of a project, and the tests' own chat server that they ask."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest
from sqlalchemy import Engine, select
from sqlmodel import Session, col

from curation.diagnostics import measuring
from curation.generation import run as generation
from curation.generation import unstored_answers
from curation.generation.judging import opinion_run
from curation.generation.judging.opinion_request import JudgeRequest
from curation.generation.providers import waiting
from curation.generation.providers.chat import retries
from curation.validation import checked
from db.engine import reading, writing
from db.errors import HedgerowError
from db.execution import execute
from db.models import AnchorRevision, Answer, ModelCall, Run, RunState, Variant
from db.settings import Settings
from tests.curation.language.small_wordnet import no_wordnet as no_wordnet
from tests.curation.language.small_wordnet import small_wordnet as small_wordnet
from tests.support.databases import Fill
from tests.support.factories import add_anchor, add_family
from tests.support.generating import Serve as Serve
from tests.support.generating import serve_chat as serve_chat
from tests.support.servers.chat_server import ChatServer, texts_for

ANCHORS = 24
CALLS, VARIANTS = 2 * ANCHORS, 6 * ANCHORS
"""One call for the negations and one for the hedges of an anchor, and what they bring."""
T = TypeVar("T")
WORKS = {generation.KIND: generation.work, opinion_run.KIND: opinion_run.work}


@dataclass
class Runs:
    """The runs of a project, which ask a server unless they say otherwise."""

    engine: Engine
    home: Path
    address: str
    server: ChatServer

    def request(self, **how: Any) -> int:
        """Request a generation. Returns the run's number."""
        request = generation.checked_request(self._values(how))
        return generation.request_generation(self.engine, request).id

    def request_opinions(self, **how: Any) -> int:
        """Request opinions on variants. Returns the run's number."""
        request = checked(JudgeRequest, self._values(how))
        with writing(self.engine) as session:
            return opinion_run.request_opinions(session, request).id

    def _values(self, how: dict[str, Any]) -> dict[str, Any]:
        return {"model": "fake", "base_url": self.address, "concurrency": 8} | how

    def again(self, run_id: int = 1) -> dict[str, Any]:
        """Execute a run, or resume it. Returns its result."""
        return execute(self.engine, Settings(home=self.home, database_url=""), run_id, WORKS)

    def carry_out(self, **how: Any) -> dict[str, Any]:
        """Request a generation and execute it. Returns its result."""
        return self.again(self.request(**how))

    def judge(self, **how: Any) -> dict[str, Any]:
        """Request opinions and execute the run. Returns its result."""
        return self.again(self.request_opinions(**how))

    def refused(self, ask: Callable[..., Any] | None = None, *args: Any, **how: Any) -> str:
        """The message of a generation, or of something else, that is refused or fails."""
        with pytest.raises(HedgerowError) as refusal:
            (ask or self.carry_out)(*args, **how)
        return str(refusal.value)

    def stop_at_budget(self, calls: int, ask: Callable[..., Any] | None = None, **how: Any) -> None:
        """Carry out the first run until it has made this many calls, then lift its budget."""
        assert "budget" in self.refused(ask, budget={"calls": calls}, **how)
        assert self.state() is RunState.PAUSED
        with writing(self.engine) as session:
            run = session.get_one(Run, 1)
            run.parameters = run.parameters | {"budget": {}}

    def read(self, query: Callable[..., T], *args: Any, **how: Any) -> T:
        """The result of a function that reads from the database."""
        with reading(self.engine) as session:
            return query(session, *args, **how)

    def all(self, query: Any) -> list[Any]:
        """The values of a query, or of a column."""
        with reading(self.engine) as session:
            found = query if hasattr(query, "scalar_subquery") else select(col(query))
            return list(session.execute(found).scalars())

    def rows(self, query: Any) -> Sequence[Any]:
        """The rows of a query."""
        with reading(self.engine) as session:
            return session.execute(query).all()

    def state(self, run_id: int = 1) -> RunState:
        """Whether a run is paused, done or something else."""
        with reading(self.engine) as session:
            return session.get_one(Run, run_id).state

    def calls(self) -> list[str]:
        """The states of all calls."""
        return self.all(ModelCall.state)

    def variants(self) -> list[tuple[Any, ...]]:
        """All variants, without keys and times."""
        columns = (col(name) for name in (Variant.uid, Variant.text, Variant.type_id, Variant.cue))
        return [tuple(row) for row in self.rows(select(*columns).order_by(col(Variant.uid)))]

    def assert_complete(self, number: int = VARIANTS) -> None:
        """Every variant that the server wrote is stored with its anchor, and nothing else."""
        texts = col(Variant.type_id), col(Variant.text), col(AnchorRevision.text)
        query = select(*texts, col(Variant.anchor_id) == Answer.anchor_id)
        query = query.join(AnchorRevision, col(AnchorRevision.anchor_id) == Variant.anchor_id)
        found = self.rows(query.join(Answer, col(Answer.id) == Variant.answer_id))
        asked = {pair for prompt in self.server.asked for pair in texts_for(prompt).items()}
        assert len(found) == number and {(type_id, text) for type_id, text, *_ in found} == asked
        for _, text, anchor, is_of_answer in found:  # the server repeats the anchor
            assert anchor.rstrip(".") in text and is_of_answer

    @property
    def questions(self) -> int:
        """How many questions the server has received."""
        return self.server.asked.total()

    @property
    def is_each_asked_once(self) -> bool:
        """Whether no question was repeated."""
        return set(self.server.asked.values()) == {1}


@pytest.fixture(autouse=True)
def _unmeasured_and_fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measuring is tested elsewhere, because it loads an encoder. Waits are short."""
    monkeypatch.setattr(measuring, "work", lambda context: {})
    monkeypatch.setattr(retries, "FIRST_WAIT", 0.001)
    monkeypatch.setattr(waiting, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(waiting, "CHECK_SECONDS", 0.02)
    monkeypatch.setattr(unstored_answers, "STORE_AGAIN_SECONDS", (0.01, 0.01))


@pytest.fixture
def anchors(engine: Engine, fill: Fill) -> Engine:
    """Anchors without variants."""

    def made(session: Session) -> None:
        for number in range(ANCHORS):
            add_anchor(session, f"The bridge number {number} is safe.")

    fill(engine, made)
    return engine


@pytest.fixture
def runs(anchors: Engine, home: Path, serve_chat: Serve) -> Runs:
    """Runs that ask a server about the anchors."""
    return Runs(anchors, home, *serve_chat(retry_after=0.001))


@pytest.fixture
def local_runs(anchors: Engine, home: Path) -> Runs:
    """Runs without a server."""
    return Runs(anchors, home, "", ChatServer())


@pytest.fixture
def judging(engine: Engine, home: Path, fill: Fill, serve_chat: Serve) -> Runs:
    """Runs that ask a judge about five anchors with a variant of each of seven types."""

    def made(session: Session) -> None:
        for subject in ("bridge", "road", "tunnel", "ferry", "path"):
            add_family(session, f"The {subject} is safe.", subject=subject)

    fill(engine, made)
    return Runs(engine, home, *serve_chat(retry_after=0.001))
