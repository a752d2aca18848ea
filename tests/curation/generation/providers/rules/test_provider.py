"""A run by rule: stored like any other, stopped and resumed, without a server or a key."""

from pathlib import Path

import pytest
from sqlalchemy import Engine, select
from sqlmodel import col

from curation.generation.calls import cue_use
from curation.generation.costs.spent import cost_rows
from curation.generation.providers import forecast as forecasting
from curation.generation.providers import writing_run
from curation.generation.providers.forecast import forecast
from curation.generation.providers.rules import RULES_VERSION, provider
from curation.generation.providers.rules.frames import cue_of, frames_of
from curation.generation.run import checked_request
from curation.taxonomy.own_types import add_type
from db.engine import reading, writing
from db.errors import HedgerowError
from db.execution import RunContext
from db.models import Answer, CallState, ModelCall, PromptVersion, Run, RunState, Variant
from tests.curation.generation import test_run
from tests.curation.support.own_types import NEGATION
from tests.support.factories import add_anchor

unmeasured = test_run.unmeasured
RULES = {"provider": "rules", "model": ""}


def test_a_run_by_rule_stores_answers_and_variants(anchors: Engine, home: Path) -> None:
    with writing(anchors) as session:
        add_anchor(session, "Is the bridge safe?")
    run_id, result = test_run.carry_out(anchors, home, **RULES)
    assert (result["done"], result["failed"], result["calls"], result["cost"]) == (80, 2, 82, 0.0)
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
        assert len(skipped) == 2 and all("not a plain affirmative statement" in e for e in skipped)
        used = cue_use(session, run_id)
        cues = [row.cue for row in rows if row.type_id == "word"]
        assert {cue: used["word"][cue] for cue in set(cues)} == {c: cues.count(c) for c in cues}
        assert {row.cost for row in cost_rows(session)} == {0.0}


def test_the_progress_counts_the_calls_that_are_stored(
    anchors: Engine, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[tuple[int, str]] = []
    report = RunContext.progress

    def hear(context: RunContext, step: int, total: int, message: str) -> None:
        heard.append((step, message))
        report(context, step, total, message)

    monkeypatch.setattr(RunContext, "progress", hear)
    test_run.carry_out(anchors, home, **RULES)
    by_rule = [(step, sentence) for step, sentence in heard if "by rules" in sentence]
    assert by_rule[0] == (0, "0 of 80 calls by rules done.")
    assert by_rule[-1] == (80, "80 of 80 calls by rules done.")


def test_a_run_that_is_interrupted_continues_to_the_result_of_an_uninterrupted_one(
    anchors: Engine, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing_run, "TOGETHER", 16)
    write = provider.write_by_rule
    made = []

    def write_some(*args: object, **how: object) -> object:
        made.append(args)
        if len(made) == 40:
            raise MemoryError("killed")
        return write(*args, **how)  # type: ignore[arg-type]

    monkeypatch.setattr(provider, "write_by_rule", write_some)
    with pytest.raises(HedgerowError, match="killed"):
        test_run.carry_out(anchors, home, **RULES)
    with reading(anchors) as session:
        run = session.execute(select(Run)).scalar_one()
        states = list(session.execute(select(col(ModelCall.state))).scalars())
        assert run.state is RunState.FAILED and states.count(CallState.DONE) == 32
    test_run.again(anchors, home, run.id)
    assert len(made) == 40 + 48
    broken = test_run.table(anchors)
    with reading(anchors) as session:
        attempts = list(session.execute(select(col(Answer.call_id))).scalars())
        assert len(attempts) == len(set(attempts)) == 80
        rows = session.execute(select(ModelCall)).scalars().all()
        assert all(row.state is CallState.DONE and row.attempts == 1 for row in rows)
    assert len(broken) == len({row[0] for row in broken})


def test_a_second_run_adds_nothing(anchors: Engine, home: Path) -> None:
    with writing(anchors) as session:
        add_anchor(session, "The key turns in the lock.")
    test_run.carry_out(anchors, home, **RULES)
    first = test_run.table(anchors)
    for which in ("without", "slots"):
        selection = {"which": which}
        if which == "without":
            with pytest.raises(HedgerowError, match="nothing to generate"):
                test_run.carry_out(anchors, home, **RULES, selection=selection)
        else:
            _, result = test_run.carry_out(anchors, home, **RULES, selection=selection)
            assert result["done"] == 0
    assert test_run.table(anchors) == first


def test_a_type_without_rules_is_refused_or_skipped_with_a_sentence(
    anchors: Engine, home: Path
) -> None:
    with writing(anchors) as session:
        own = add_type(session, NEGATION).id
    only = {"types": (own,)}
    with pytest.raises(HedgerowError, match=f"provider 'rules' does not write {own}; use a model"):
        test_run.carry_out(anchors, home, **RULES, selection=only)
    with reading(anchors) as session:
        expected = forecast(session, checked_request({**RULES, "roles": ("negation",)}))
        assert expected.variants == dict.fromkeys(
            ("verbal", "absolute", "affixal", "lexical"), 40
        ) | {own: 0}
        assert expected.exact and expected.sentences()[1] == (
            f"The provider 'rules' does not write {own}; use a model for these types."
        )
    test_run.carry_out(anchors, home, **RULES, roles=("negation",))
    with reading(anchors) as session:
        errors = set(session.execute(select(col(Answer.error))).scalars())
    assert errors == {f"no rule fits: {own}: there are no rules for this type"}


def test_a_forecast_of_many_anchors_is_scaled_from_some(
    anchors: Engine, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forecasting, "INSPECTED", 10)
    with reading(anchors) as session:
        expected = forecast(session, checked_request({**RULES, "roles": ("hedge",)}))
    assert (expected.variants, expected.exact) == ({"word": 40, "phrase": 40}, False)
    assert expected.sentences() == ["About 80 variants to write by rules: 40 word, 40 phrase."]


def test_variants_say_whether_wordnet_was_read(
    anchors: Engine, home: Path, small_wordnet: Path
) -> None:
    test_run.carry_out(anchors, home, **RULES, selection={"which": "without", "limit": 1})
    with reading(anchors) as session:
        assert set(session.execute(select(col(Variant.model))).scalars()) == {"with WordNet"}


def test_a_model_can_write_what_the_rules_skipped(
    anchors: Engine, home: Path, serve_chat: test_run.Serve
) -> None:
    with writing(anchors) as session:
        add_anchor(session, "The key turns in the lock.")
    run_id, _ = test_run.carry_out(anchors, home, **RULES, roles=("negation",))
    address, _ = serve_chat()
    selection = {"which": "failed", "run": run_id}
    _, result = test_run.carry_out(
        anchors, home, base_url=address, selection=selection, roles=("negation",)
    )
    with reading(anchors) as session:
        slots = select(col(Variant.anchor_id), col(Variant.type_id))
        by_model = list(session.execute(slots.where(Variant.provider == "openai")))
        by_rule = list(session.execute(slots.where(Variant.provider == "rules")))
        assert by_model and set(by_model).isdisjoint(by_rule) and result["failed"] == 0
        assert len(by_model) + len(by_rule) == 41 * 4


def test_frames_are_written_for_types_that_are_named_and_stored_as_their_cues(
    anchors: Engine, home: Path
) -> None:
    how = {
        "roles": ("paraphrase", "hedge", "unsupported"),
        "selection": {"types": ("affirmation", "free_hedge", "unsupported")},
    }
    with reading(anchors) as session:
        expected = forecast(session, checked_request({**RULES, **how}))
    assert expected.variants == {"affirmation": 40, "free_hedge": 40, "unsupported": 40}
    assert expected.not_written == ()
    run_id, _ = test_run.carry_out(anchors, home, **RULES, **how)
    with reading(anchors) as session:
        rows = list(session.execute(select(Variant)).scalars())
        answers = {row.id: row for row in session.execute(select(Answer)).scalars()}
        used = cue_use(session, run_id)
    assert len(rows) == 120 and {row.provider for row in rows} == {"rules"}
    for row in rows:
        frame = {cue_of(frame): frame for frame in frames_of(row.type_id)}[row.cue or ""]
        before, after = frame.split("{}")
        assert row.text.startswith(before) and row.text.endswith(f"{after}.")
        assert answers[row.answer_id].cues[row.type_id] == row.cue
    for type_id, counts in used.items():
        assert sum(counts.values()) == 40 and len(counts) > 15, type_id
