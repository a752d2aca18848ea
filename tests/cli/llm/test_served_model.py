"""A model that was finetuned here writes and judges variants when it is served."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import select
from sqlmodel import Session, col

from curation.project.opening import open_project
from db.engine import reading
from db.models import Answer, CallState, ModelCall, Opinion, Run, Split, Variant
from db.settings import load_settings
from tests.cli.support.commands import ask, ended
from tests.curation.support.families import add_plain_family
from tests.support.databases import Fill
from tests.support.servers.transformers_server import transformers_server

pytestmark = pytest.mark.slow


@pytest.fixture
def served(small_llama: Path, fill: Fill, tmp_path: Path) -> Iterator[list[str]]:
    """Options that name a served model, which was finetuned on this project's release."""
    engine = open_project(load_settings())

    def made(session: Session) -> None:
        for number in range(2):
            add_plain_family(session, number, split=Split.TRAIN)

    fill(engine, made)
    engine.dispose()
    ask("release", "create")
    trained = ask(
        *("llm", "train", "--base", str(small_llama), "--merge"),
        *("--set", "epochs=1", "--set", "max_pairs=4"),
    )
    merged = Path(trained["merged"])
    with transformers_server(merged, log=tmp_path / "serve.txt") as address:
        yield ["--base-url", address, "--model", str(merged)]


def test_nonsense_is_stored_and_reported_and_changes_nothing(served: list[str]) -> None:
    engine = open_project(load_settings())
    with reading(engine) as session:
        variants = session.execute(select(col(Variant.id)).order_by(col(Variant.id))).all()
    short = ("--max-tokens", "40", "--concurrency", "2")

    code, generated = ended("generate", *served, *short, "--which", "slots", "--attempts", "1")
    with reading(engine) as session:
        written = session.execute(select(Answer)).scalars().all()
        states = set(session.execute(select(col(ModelCall.state))).scalars())
        assert session.execute(select(col(Variant.id)).order_by(col(Variant.id))).all() == variants
    assert code == 1 and "calls failed" in generated["error"], "nonsense is not a variant"
    assert states == {CallState.FAILED}
    assert written and all(answer.raw and answer.completion_tokens for answer in written)
    assert {answer.error for answer in written} <= {"unreadable", "cut off"}

    code, judged = ended("review", "judge", *served, *short, "--status", "any", "--limit", "2")
    with reading(engine) as session:
        run = session.get(Run, judged["run"])
        assert run is not None and run.kind == "judge"
        opinions = session.execute(select(Answer).where(col(Answer.id) > written[-1].id)).scalars()
        given = opinions.all()
        assert session.execute(select(Opinion)).first() is None
    assert code == 1 and "calls failed" in judged["error"], "nonsense is not an opinion"
    assert given and all(answer.raw for answer in given)
