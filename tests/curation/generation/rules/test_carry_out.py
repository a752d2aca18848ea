"""A run by rule: stored as any other, stopped and resumed, without a server or a key."""

from pathlib import Path

import pytest
from sqlalchemy import Engine, select

from curation.generation.calls import cue_use
from curation.generation.costs import cost_rows
from curation.generation.rules import RULES_VERSION, carry_out
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import Answer, CallState, ModelCall, PromptVersion, Run, RunState, Variant
from tests.curation.generation import test_run
from tests.factories import add_anchor

unmeasured = test_run.unmeasured
RULES = {"provider": "rules", "model": ""}


def test_a_run_by_rule_stores_answers_and_variants(anchors: Engine, home: Path) -> None:
    with writing(anchors) as session:
        add_anchor(session, "Is the bridge safe?")
    run_id, result = test_run.carry_out(anchors, home, **RULES)
    assert result == {"done": 80, "failed": 2, "calls": 82, "cost": 0.0}
    texts = {row[1] for row in test_run.table(anchors)}
    assert "The bridge number 7 is unsafe." in texts
    assert "The bridge number 7 is not safe." in texts
    with reading(anchors) as session:
        prompt = session.execute(
            select(PromptVersion).where(PromptVersion.name == "rules")
        ).scalar_one()
        rows = list(session.execute(select(Variant)).scalars())
        answers = {row.id: row for row in session.execute(select(Answer)).scalars()}
        assert prompt.version == RULES_VERSION
        assert {row.prompt_version_id for row in rows} == {prompt.id}
        assert {(row.provider, row.run_id) for row in rows} == {("rules", run_id)}
        for row in rows:
            answer = answers[row.answer_id]
            assert row.text in answer.raw and answer.anchor_id == row.anchor_id
            assert row.cue == answer.cues.get(row.type_id)
        skipped = [row.error for row in answers.values() if row.raw == "{}"]
        assert len(skipped) == 2 and all("no plain affirmative statement" in e for e in skipped)
        used = cue_use(session, run_id)
        cues = [row.cue for row in rows if row.type_id == "word"]
        assert {cue: used["word"][cue] for cue in set(cues)} == {c: cues.count(c) for c in cues}
        assert {row.cost for row in cost_rows(session)} == {0.0}


def test_a_run_that_is_cut_off_goes_on_to_what_an_unbroken_one_gives(
    anchors: Engine, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(carry_out, "TOGETHER", 16)
    write = carry_out.write_by_rule
    made = []

    def write_some(*args: object, **how: object) -> object:
        made.append(args)
        if len(made) == 40:
            raise MemoryError("killed")
        return write(*args, **how)  # type: ignore[arg-type]

    monkeypatch.setattr(carry_out, "write_by_rule", write_some)
    with pytest.raises(HedgerowError, match="killed"):
        test_run.carry_out(anchors, home, **RULES)
    with reading(anchors) as session:
        run = session.execute(select(Run)).scalar_one()
        states = list(session.execute(select(ModelCall.state)).scalars())
        assert run.state is RunState.FAILED and states.count(CallState.DONE) == 32
    test_run.again(anchors, home, run.id or 0)
    assert len(made) == 40 + 48
    broken = test_run.table(anchors)
    with reading(anchors) as session:
        attempts = list(session.execute(select(Answer.call_id)).scalars())
        assert len(attempts) == len(set(attempts)) == 80
        rows = session.execute(select(ModelCall)).scalars().all()
        assert all(row.state is CallState.DONE and row.attempts == 1 for row in rows)
    assert len(broken) == len({row[0] for row in broken})


def test_what_no_rule_fits_can_be_asked_of_a_model_afterwards(
    anchors: Engine, home: Path, serve_chat: test_run.Serve
) -> None:
    run_id, _ = test_run.carry_out(anchors, home, **RULES, roles=("negation",))
    address, _ = serve_chat()
    selection = {"which": "failed", "run": run_id}
    _, result = test_run.carry_out(
        anchors, home, base_url=address, selection=selection, roles=("negation",)
    )
    with reading(anchors) as session:
        by_model = session.execute(
            select(Variant.type_id).where(Variant.provider == "openai").distinct()
        ).scalars()
        by_rule = session.execute(
            select(Variant.type_id).where(Variant.provider == "rules").distinct()
        ).scalars()
        assert set(by_model).isdisjoint(set(by_rule)) and result["failed"] == 0
