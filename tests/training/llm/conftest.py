"""A project with a release, and language models that can learn it."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import Engine
from sqlmodel import Session

from curation.release.freezing import create_release
from db.models import Split
from tests.curation.support.families import add_plain_family
from tests.support.databases import Fill
from tests.support.small_llama import save_small_llama
from tests.training.llm.support.finetunings import HELD_OUT, TRAINED


@pytest.fixture
def released(engine: Engine, fill: Fill) -> Engine:
    """A release: 12 anchors for training, 4 for evaluation, and four question pairs for each
    anchor."""

    def made(session: Session) -> None:
        for number in range(TRAINED):
            add_plain_family(session, number, split=Split.TRAIN)
        for number in range(TRAINED, TRAINED + HELD_OUT):
            add_plain_family(session, number, split=Split.VALIDATION)
        create_release(session, author_id=None)

    fill(engine, made)
    return engine


@pytest.fixture(scope="session")
def without_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a base model, whose tokenizer has no chat template."""
    return save_small_llama(tmp_path_factory.mktemp("base-llama"), chat_template=None)
