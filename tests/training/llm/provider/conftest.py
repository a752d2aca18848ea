"""A provider without long waits, and a release to finetune on."""

import pytest
from sqlalchemy import Engine

from curation.generation.providers import waiting
from curation.release.freezing import create_release
from db import execution
from db.engine import writing
from db.models import Split
from tests.curation.support.families import add_plain_family
from tests.support.generating import Serve
from tests.support.generating import serve_chat as serve_chat
from tests.training.llm.provider.support.jobs import KEY, Served


@pytest.fixture(autouse=True)
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short waits, because the provider is a thread of this process."""
    monkeypatch.setattr(waiting, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(waiting, "CHECK_SECONDS", 0.02)
    monkeypatch.setattr(execution, "HEARTBEAT_SECONDS", 0.05)


@pytest.fixture
def served(serve_chat: Serve) -> Served:
    return serve_chat(key=KEY)


@pytest.fixture
def released(engine: Engine) -> Engine:
    """A release with 24 question pairs for training, and four for evaluation."""
    with writing(engine) as session:
        for number in range(6):
            add_plain_family(session, number, split=Split.TRAIN)
        add_plain_family(session, 100, split=Split.VALIDATION)
        add_plain_family(session, 101, split=Split.TEST)
        create_release(session)
    return engine
