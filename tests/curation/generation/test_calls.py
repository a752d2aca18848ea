"""The calls of a run: planning, storing and reading."""

import pytest
from sqlalchemy import Engine

from curation.generation.calls import (
    count_calls,
    cue_use,
    open_calls,
    plan_calls,
)
from curation.generation.prompts import prompt_versions, seed_prompts
from curation.generation.request import AnchorSelection, GenerationRequest
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import CallState
from db.runs import create_run
from tests.support.databases import both_databases
from tests.support.factories import add_anchor

pytestmark = both_databases


def planned(engine: Engine, request: GenerationRequest) -> int:
    with writing(engine) as session:
        seed_prompts(session)
        prompts = {role: prompt_versions(session, role)[0].id for role in request.roles}
        run = create_run(session, kind="generate", parameters={})
        plan_calls(session, run.id, request.model_copy(update={"prompts": prompts}))
        return run.id


def test_calls_are_stored_with_their_cues_and_read_back_in_order(engine: Engine) -> None:
    with writing(engine) as session:
        for n in range(30):
            add_anchor(session, f"The bridge number {n} is safe.")
    run_id = planned(engine, GenerationRequest(model="fake", seed=7))
    with reading(engine) as session:
        calls = open_calls(session, run_id)
        assert count_calls(session, run_id)[CallState.OPEN] == len(calls) == 60
        hedges = [call for call in calls if call.role == "hedge"]
        assert all(set(call.cues) == {"word", "phrase"} for call in hedges)
        used = cue_use(session, run_id)
        assert sum(used["word"].values()) == sum(used["phrase"].values()) == 30
        assert open_calls(session, run_id, after=calls[9].id) == calls[10:]


def test_a_run_with_nothing_to_ask_is_refused(engine: Engine) -> None:
    with writing(engine) as session:
        add_anchor(session)
    with pytest.raises(HedgerowError, match="nothing to generate"):
        planned(
            engine, GenerationRequest(model="fake", selection=AnchorSelection(search="no such"))
        )
