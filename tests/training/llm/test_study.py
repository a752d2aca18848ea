"""The arms as a study: one run trains them in turn, evaluates them equally, and compares them."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import Engine
from sqlmodel import Session

from curation.release.freezing import create_release
from curation.taxonomy.nli_types import CONTRADICTION, ENTAILMENT, ensure_types
from curation.taxonomy.project_types import seed_taxonomy
from db.engine import reading, writing
from db.errors import HedgerowError
from db.execution import execute
from db.models import Run, RunState, Split
from db.runs import get_run
from db.settings import Settings
from tests.curation.support.families import add_family
from tests.support.databases import Fill
from tests.training.llm.support.finetunings import recipe
from training.llm.study import KIND, arm_rows, request_language_study, work
from training.runs.removal import delete_run
from training.studies.members import study_of, trials


@pytest.fixture
def of_both_kinds(engine: Engine, fill: Fill) -> Engine:
    """A release whose anchors have an original entailment and contradiction."""

    def made(session: Session) -> None:
        seed_taxonomy(session)
        ensure_types(session, [ENTAILMENT, CONTRADICTION])
        for number in range(6):
            add_family(
                session,
                f"Door {number} is open.",
                {
                    "word": [f"Door {number} is probably open."],
                    "verbal": [f"Door {number} is not open."],
                    ENTAILMENT: [f"One can walk through door {number}."],
                    CONTRADICTION: [f"Nobody gets through door {number}."],
                },
                split=Split.VALIDATION if number > 3 else Split.TRAIN,
            )
        create_release(session, author_id=None)

    fill(engine, made)
    return engine


def ask(engine: Engine, base: Path) -> Run:
    with writing(engine) as session:
        return request_language_study(session, base=str(base), recipe=recipe())


@pytest.mark.slow
def test_the_three_arms_are_trained_in_turn_and_measured_on_the_same_questions(
    of_both_kinds: Engine, settings: Settings, small_llama: Path
) -> None:
    engine = of_both_kinds
    run = ask(engine, small_llama)
    with pytest.raises(HedgerowError, match=f"Run {run.id} is another study of this kind"):
        ask(engine, small_llama)
    execute(engine, settings, run.id, {KIND: work})
    with reading(engine) as session:
        rows = arm_rows(trials(session, get_run(session, run.id)))
        ended = get_run(session, run.id)
    assert [row.label for row in rows] == ["All", "Only negation", "Only hedging"]
    assert [row.run.parameters["recipe"]["arm"] for row in rows] == ["paper", "negation", "hedging"]
    assert [row.pairs for row in rows] == [8, 8, 8]
    assert {row.run.state for row in rows} == {RunState.DONE}
    assert {row.run.result["pairs"]["validation"] for row in rows} == {8}
    assert len({str(row.before) for row in rows}) == 1, "the base model, on the same questions"
    assert {study_of(row.run) for row in rows} == {run.id}
    assert ended.result["members"] == dict.fromkeys(map(str, (2, 3, 4)), "done")
    with pytest.raises(HedgerowError, match="Run 2 is part of the study run 1"):
        delete_run(engine, settings, 2)
    assert len(delete_run(engine, settings, run.id)) == 4


def test_an_arm_without_questions_is_left_out_and_reported(
    released: Engine, small_llama: Path
) -> None:
    """Nobody accepted an entailment, a paraphrase or a contradiction, so one arm is left."""
    with pytest.raises(
        HedgerowError, match="There is not enough data to compare arms. Expected anchors"
    ):
        ask(released, small_llama)
