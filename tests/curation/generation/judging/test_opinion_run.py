"""A run that asks a model for opinions on variants, with a real server."""

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, select
from sqlmodel import col

from curation.anchors.changes import correct_anchor, retire_anchor
from curation.corpora.corpus import CORPORA
from curation.generation.judging import opinion_run
from curation.generation.judging.opinion_calls import estimate_judging
from curation.generation.judging.opinion_request import JudgeRequest
from curation.review.actions import edit, shown
from curation.review.opinions.stored import judges, opinions_of
from curation.validation import checked
from db.engine import reading, writing
from db.errors import HedgerowError
from db.execution import execute
from db.models import (
    Answer,
    CallState,
    Decision,
    ModelCall,
    Opinion,
    Reviewer,
    ReviewerKind,
    RunState,
    Status,
    Variant,
)
from db.runs import get_run
from db.settings import Settings
from tests.curation.generation.conftest import Serve
from tests.support.databases import both_databases
from tests.support.factories import add_anchor, add_family, add_variant, person
from tests.support.servers.chat_server import opinion_on


@pytest.fixture
def families(engine: Engine) -> Engine:
    """Five anchors with a variant of each of the seven types."""
    with writing(engine) as session:
        for subject in ("bridge", "road", "tunnel", "ferry", "path"):
            add_family(session, f"The {subject} is safe.", subject=subject)
    return engine


def asked(engine: Engine, **how: Any) -> int:
    request = checked(JudgeRequest, {"model": "fake", "concurrency": 8} | how)
    with writing(engine) as session:
        return opinion_run.request_opinions(session, request).id


def carry_out(engine: Engine, home: Path, run_id: int) -> dict[str, Any]:
    settings = Settings(home=home, database_url="")
    return execute(engine, settings, run_id, {opinion_run.KIND: opinion_run.work})


def table(engine: Engine) -> list[tuple[Any, ...]]:
    """All opinions, without keys and times."""
    query = (
        select(
            col(Variant.text),
            col(Opinion.verdict),
            col(Decision.verdict),
            col(Decision.reason),
            col(Decision.note),
            col(Opinion.suggestion),
            col(Opinion.certainty),
        )
        .join(Variant, col(Variant.id) == Opinion.variant_id)
        .join(Decision, col(Decision.id) == Opinion.decision_id)
        .order_by(Variant.text)
    )
    with reading(engine) as session:
        return [tuple(row) for row in session.execute(query)]


def test_every_pending_variant_is_judged_once_and_keeps_its_status(
    families: Engine, home: Path, serve_chat: Serve
) -> None:
    address, server = serve_chat()
    result = carry_out(families, home, asked(families, base_url=address))
    assert result["done"] == result["calls"] == 35 and result["failed"] == 0
    assert set(server.asked.values()) == {1}
    for text, verdict, decided, reason, note, suggestion, certainty in table(families):
        expected = opinion_on(text)
        assert verdict == expected["verdict"]
        assert decided == ("accept" if verdict == "accept" else "reject")
        assert reason == ("" if verdict == "accept" else "wrong_scope")
        assert note == expected["comment"] and certainty == float(expected["certainty"])
        assert suggestion == (f"Rather: {text}" if verdict == "edit" else "")
    with reading(families) as session:
        variants = session.execute(select(Variant)).scalars().all()
        assert len(variants) == 35  # a suggestion creates no variant
        assert {(v.status, v.version) for v in variants} == {(Status.PENDING, 1)}
        (reviewer,) = judges(session)
        assert reviewer[1:] == ("judge: fake, prompt 1", False, 35)
        opinion = session.execute(select(Opinion)).scalars().first()
        assert opinion is not None
        answer = session.get_one(Answer, opinion.answer_id)
        variant = session.get_one(Variant, opinion.variant_id)
        assert session.get_one(ModelCall, answer.call_id).key == variant.uid


def test_nobody_is_judged_twice_until_the_anchor_is_corrected(
    families: Engine, home: Path, serve_chat: Serve
) -> None:
    address, _ = serve_chat()
    carry_out(families, home, asked(families, base_url=address, selection={"types": ["verbal"]}))
    with pytest.raises(HedgerowError, match="nothing to judge"):
        asked(families, base_url=address, selection={"types": ["verbal"]})
    with writing(families) as session:
        opinion = session.execute(select(Opinion)).scalars().first()
        assert opinion is not None
        variant_id = opinion.variant_id
        variant = session.get_one(Variant, variant_id)
        assert variant.doubt > 0
        correct_anchor(
            session,
            variant.anchor_id,
            "The old bridge is safe.",
            reviewer_id=person(session),
            expected_revision=1,
        )
        session.refresh(variant)
        assert opinions_of(session, variant_id) == [] and variant.doubt == 0
    carry_out(families, home, asked(families, base_url=address, selection={"types": ["verbal"]}))
    assert len(table(families)) == 6
    with reading(families) as session:
        assert len(opinions_of(session, variant_id)) == 1


def test_a_run_that_brought_no_opinion_has_failed(
    families: Engine, home: Path, serve_chat: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.support.servers.chat_server.opinion_on", lambda variant: {})
    address, _ = serve_chat()
    run_id = asked(families, base_url=address, selection={"limit": 2})
    with pytest.raises(HedgerowError, match="All 2 calls failed"):
        carry_out(families, home, run_id)
    with reading(families) as session:
        assert get_run(session, run_id).state is RunState.FAILED


@both_databases
def test_two_runs_at_once_store_one_opinion(
    families: Engine, home: Path, serve_chat: Serve
) -> None:
    address, server = serve_chat()
    first, second = asked(families, base_url=address), asked(families, base_url=address)
    carry_out(families, home, first)
    assert carry_out(families, home, second)["calls"] == 0
    assert len(table(families)) == 35 and server.asked.total() == 35


def test_faults_are_retried_until_the_table_is_that_of_an_undisturbed_run(
    families: Engine, home: Path, serve_chat: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("curation.generation.providers.chat.retries.FIRST_WAIT", 0.01)
    address, server = serve_chat(faults=0.5, structured=False)
    result = carry_out(families, home, asked(families, base_url=address, timeout=0.5))
    assert result["done"] == 35 and server.asked.total() > 35
    assert [row[1] for row in table(families)] == [
        opinion_on(row[0])["verdict"] for row in table(families)
    ]


def test_a_run_that_the_budget_paused_continues_if_it_stopped(
    families: Engine, home: Path, serve_chat: Serve
) -> None:
    address, server = serve_chat()
    run_id = asked(families, base_url=address, budget={"calls": 10})
    with pytest.raises(HedgerowError, match="budget"):
        carry_out(families, home, run_id)
    assert len(table(families)) == 10
    with writing(families) as session:
        run = get_run(session, run_id)
        assert run.state is RunState.PAUSED
        run.parameters = run.parameters | {"budget": {}}
    carry_out(families, home, run_id)
    assert len(table(families)) == 35 and set(server.asked.values()) == {1}


def test_replaced_and_retired_variants_are_not_judged(
    families: Engine, home: Path, serve_chat: Serve
) -> None:
    address, server = serve_chat()
    run_id = asked(families, base_url=address, budget={"calls": 10}, concurrency=1)
    with pytest.raises(HedgerowError, match="budget"):
        carry_out(families, home, run_id)
    with writing(families) as session:
        run = get_run(session, run_id)
        run.parameters = run.parameters | {"budget": {}}
        left = select(col(ModelCall.key)).where(col(ModelCall.state) == CallState.OPEN)
        edited, first, *_ = (
            session.execute(select(Variant).where(col(Variant.uid).in_(left))).scalars().all()
        )
        edit(session, shown(edited), reviewer_id=person(session), text="It is not safe.")
        retire_anchor(session, first.anchor_id)
        session.flush()
        retired = session.execute(
            select(col(Variant.id)).where(
                col(Variant.retired), col(Variant.uid).in_(left), col(Variant.id) != edited.id
            )
        ).all()
    result = carry_out(families, home, run_id)
    gone = 1 + len(retired)
    assert result["done"] == 35 and result["calls"] == 35 - gone == server.asked.total()
    assert len(table(families)) == 35 - gone


def test_a_selection_is_kept(families: Engine, serve_chat: Serve) -> None:
    with writing(families) as session:
        add_anchor(session, "The gate is safe.")
        for variant in session.execute(select(Variant)).scalars():
            variant.random_key = variant.id / 100
        accepted = session.get_one(Variant, 3)
        accepted.status = Status.ACCEPTED
        wanted = accepted.uid

    def keys(**selection: Any) -> list[str]:
        run_id = asked(families, selection=selection)
        with reading(families) as session:
            query = select(col(ModelCall.key)).where(col(ModelCall.run_id) == run_id)
            return list(session.execute(query.order_by(col(ModelCall.id))).scalars())

    assert keys(status="accepted") == [wanted]
    assert len(keys(types=["word", "phrase"])) == 10
    assert len(keys(status=None)) == 35 and len(keys()) == 34
    with reading(families) as session:
        first = session.execute(select(col(Variant.uid)).order_by(col(Variant.id))).scalars().all()
    assert keys(limit=4) == [first[0], first[1], first[3], first[4]]
    assert keys(variants=[first[6]]) == [first[6]]
    with pytest.raises(HedgerowError, match="nothing to judge"):
        keys(flagged=True)


def test_own_anchors_are_judged_before_those_of_a_corpus(families: Engine) -> None:
    with writing(families) as session:
        corpus = add_anchor(session, "The gate is safe.", source=CORPORA["claims"].source)
        bundled = [add_variant(session, corpus, text=f"Gate {n}.") for n in range(3)]
        for variant in session.execute(select(Variant)).scalars():
            variant.random_key = 0.9
        for variant in bundled:
            variant.random_key = 0.1
        uids = {variant.uid for variant in bundled}
    for limit in (None, 36):
        run_id = asked(families, selection={"limit": limit, "status": None})
        with reading(families) as session:
            query = select(col(ModelCall.key)).where(col(ModelCall.run_id) == run_id)
            keys = list(session.execute(query.order_by(col(ModelCall.id))).scalars())
        assert len(keys) == (limit or 38) and set(keys[:35]).isdisjoint(uids)
        assert set(keys[35:]) <= uids


def test_the_estimate_rests_on_what_the_model_answered(
    families: Engine, home: Path, serve_chat: Serve
) -> None:
    address, _ = serve_chat()
    price = {"prompt": 1.0, "completion": 2.0}
    request = JudgeRequest(model="fake", base_url=address, price=price)  # type: ignore[arg-type]
    with reading(families) as session:
        before = estimate_judging(session, request)
        assert (before.calls, before.anchors, before.cost) == ({"judge": 35}, 5, None)
    carry_out(families, home, asked(families, base_url=address, selection={"limit": 5}))
    with reading(families) as session:
        found = estimate_judging(session, request)
        prompt, completion = session.execute(
            select(col(Answer.prompt_tokens), col(Answer.completion_tokens))
        ).first() or (0, 0)
    assert found.total_calls == 30 and found.based_on == 5 and found.cost
    assert found.cost == pytest.approx(30 * (prompt + 2 * completion) / 1e6, rel=0.5)


def test_a_person_who_has_the_judges_name_stays_a_person(families: Engine) -> None:
    with writing(families) as session:
        session.add(
            Reviewer(name="judge: fake, prompt 1", kind=ReviewerKind.PERSON)
        )  # an older one
    with pytest.raises(HedgerowError, match="belongs to a person; rename them"):
        asked(families)
    with reading(families) as session:
        assert session.execute(select(Reviewer)).scalar_one().counts
