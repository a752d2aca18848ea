"""A run that asks a model for opinions on variants, with a real server."""

from collections import Counter
from typing import Any

import pytest
from sqlalchemy import select
from sqlmodel import col

from curation.corpora.corpus import CORPORA
from curation.diagnostics.opinions import judges, opinions_of
from curation.editing.anchors import correct_anchor, retire_anchor
from curation.generation.judging import opinion_run
from curation.generation.judging.opinion_calls import estimate_judging
from curation.generation.judging.opinion_request import JudgeRequest
from curation.review.calibration.consistency import consistencies, of_sample
from curation.review.calibration.sample import Sample, SampleRequest
from curation.review.deciding import edit, shown
from curation.validation import checked
from db.engine import writing
from db.errors import HedgerowError
from db.models import (
    Answer,
    CallState,
    Decision,
    ModelCall,
    Opinion,
    Reviewer,
    ReviewerKind,
    Status,
    Variant,
)
from tests.curation.generation.conftest import Runs
from tests.support.databases import both_databases
from tests.support.factories import add_anchor, add_variant, draw_sample, person
from tests.support.servers.chat_server import opinion_on, with_thoughts

VERBAL = {"types": ["verbal"]}


def table(runs: Runs) -> list[Any]:
    """All opinions with their decisions and variants."""
    query = select(Variant.text, Opinion, Decision).order_by(Variant.text)
    of_variant = query.join(Opinion, col(Variant.id) == Opinion.variant_id)
    return list(runs.rows(of_variant.join(Decision, col(Decision.id) == Opinion.decision_id)))


def assert_opinions_are_the_servers(runs: Runs, number: int) -> None:
    rows = table(runs)
    assert len(rows) == number
    for text, opinion, decision in rows:
        expected = opinion_on(text)
        verdict = expected["verdict"]
        assert opinion.verdict == verdict and decision.note == expected["comment"]
        assert decision.verdict == ("accept" if verdict == "accept" else "reject")
        assert decision.reason == ("" if verdict == "accept" else "wrong_scope")
        assert opinion.certainty == float(expected["certainty"])
        assert opinion.suggestion == (f"Rather: {text}" if verdict == "edit" else "")


def test_every_pending_variant_is_judged_once_and_keeps_its_status(judging: Runs) -> None:
    judging.server.says = with_thoughts
    result = judging.judge()
    assert result["removed"]["reasoning"] == 35
    assert result["done"] == result["calls"] == 35 and result["failed"] == 0
    assert judging.is_each_asked_once
    assert_opinions_are_the_servers(judging, 35)
    variants = {variant.id: variant for variant in judging.all(select(Variant))}
    assert len(variants) == 35, "a suggestion creates no variant"
    assert {(v.status, v.version) for v in variants.values()} == {(Status.PENDING, 1)}
    (reviewer,) = judging.read(judges)
    assert reviewer[1:] == ("judge: fake, prompt 1", False, 35)
    of_answer = select(Opinion.variant_id, ModelCall.key).join(
        Answer, col(Answer.id) == Opinion.answer_id
    )
    for variant_id, key in judging.rows(of_answer.join(ModelCall)):
        assert variants[variant_id].uid == key


def test_nobody_is_judged_twice_until_the_anchor_is_corrected(judging: Runs) -> None:
    judging.judge(selection=VERBAL)
    assert "nothing to judge" in judging.refused(judging.request_opinions, selection=VERBAL)
    with writing(judging.engine) as session:
        variant_id = session.execute(select(Opinion.variant_id)).scalars().first() or 0
        variant = session.get_one(Variant, variant_id)
        assert variant.doubt > 0
        reviewer = person(session)
        new = "The old bridge is safe."
        correct_anchor(session, variant.anchor_id, new, reviewer_id=reviewer, expected_revision=1)
        session.refresh(variant)
        assert opinions_of(session, variant_id) == [] and variant.doubt == 0
    judging.judge(selection=VERBAL)
    assert len(table(judging)) == 6
    assert len(judging.read(opinions_of, variant_id)) == 1


@both_databases
def test_two_runs_at_once_store_one_opinion(judging: Runs) -> None:
    first, second = judging.request_opinions(), judging.request_opinions()
    judging.again(first)
    assert judging.again(second)["calls"] == 0
    assert len(table(judging)) == judging.questions == 35


def test_faults_are_retried_until_the_table_is_that_of_an_undisturbed_run(judging: Runs) -> None:
    judging.server.faults, judging.server.structured = 0.5, False
    assert judging.judge(timeout=1.0, attempts=20)["done"] == 35 and judging.questions > 35
    assert_opinions_are_the_servers(judging, 35)


def test_a_run_continues_at_its_budget_without_replaced_and_retired_variants(judging: Runs) -> None:
    judging.stop_at_budget(10, judging.judge, concurrency=1)
    with writing(judging.engine) as session:
        left = select(ModelCall.key).where(ModelCall.state == CallState.OPEN)
        uncalled = select(Variant).where(col(Variant.uid).in_(left))
        edited, first, *_ = session.execute(uncalled).scalars().all()
        edit(session, shown(edited), reviewer_id=person(session), text="It is not safe.")
        retire_anchor(session, first.anchor_id)
        session.flush()
        retired = uncalled.where(col(Variant.retired), col(Variant.id) != edited.id)
        gone = 1 + len(session.execute(retired).all())
    result = judging.again()
    assert result["done"] == 35 and result["calls"] == 35 - gone == judging.questions
    assert len(table(judging)) == 35 - gone


def keys(runs: Runs, **selection: Any) -> list[str]:
    """The variants of a new run."""
    run_id = runs.request_opinions(selection=selection)
    query = select(ModelCall.key).where(ModelCall.run_id == run_id)
    return runs.all(query.order_by(col(ModelCall.id)))


def test_a_selection_is_kept(judging: Runs) -> None:
    with writing(judging.engine) as session:
        add_anchor(session, "The gate is safe.")
        for variant in session.execute(select(Variant)).scalars():
            variant.random_key = variant.id / 100
        session.get_one(Variant, 3).status = Status.ACCEPTED
    uids = judging.all(select(Variant.uid).order_by(col(Variant.id)))
    assert keys(judging, status="accepted") == [uids[2]]
    assert len(keys(judging, types=["word", "phrase"])) == 10
    assert len(keys(judging, status=None)) == 35 and len(keys(judging)) == 34
    assert keys(judging, limit=4) == [uids[0], uids[1], uids[3], uids[4]]
    assert keys(judging, variants=[uids[6]]) == [uids[6]]
    assert "nothing to judge" in judging.refused(keys, judging, flagged=True)


def test_own_anchors_are_judged_before_those_of_a_corpus(judging: Runs) -> None:
    with writing(judging.engine) as session:
        corpus = add_anchor(session, "The gate is safe.", source=CORPORA["claims"].source)
        uids = {add_variant(session, corpus, text=f"Gate {n}.").uid for n in range(3)}
        for variant in session.execute(select(Variant)).scalars():
            variant.random_key = 0.1 if variant.uid in uids else 0.9
    for limit in (None, 36):
        found = keys(judging, limit=limit, status=None)
        assert len(found) == (limit or 38) and uids.isdisjoint(found[:35]) and uids >= {*found[35:]}


def test_the_estimate_rests_on_what_the_model_answered(judging: Runs) -> None:
    price = {"prompt": 1.0, "completion": 2.0}
    request = checked(JudgeRequest, {"model": "fake", "base_url": judging.address, "price": price})
    before = judging.read(estimate_judging, request)
    assert (before.calls, before.anchors, before.cost) == ({"judge": 35}, 5, None)
    judging.judge(selection={"limit": 5})
    found = judging.read(estimate_judging, request)
    prompt, completion = judging.rows(select(Answer.prompt_tokens, Answer.completion_tokens))[0]
    assert found.total_calls == 30 and found.based_on == 5 and found.cost
    assert found.cost == pytest.approx(30 * (prompt + 2 * completion) / 1e6, rel=0.5)


def test_a_person_who_has_the_judges_name_stays_a_person(judging: Runs) -> None:
    with writing(judging.engine) as session:  # an older one
        session.add(Reviewer(name="judge: fake, prompt 1", kind=ReviewerKind.PERSON))
    assert "person" in judging.refused(judging.request_opinions)
    assert [reviewer.counts for reviewer in judging.all(select(Reviewer))] == [True]


# -- repeated questions ---------------------------------------------------------------------------


@pytest.fixture
def sample(judging: Runs) -> Sample:
    with writing(judging.engine) as session:
        return draw_sample(session, SampleRequest(size=3, types=("verbal",)))


@both_databases
def test_a_judge_that_changes_its_mind_is_found_out(judging: Runs, sample: Sample) -> None:
    """About the first variant it always has the same verdict, about the second another one in four,
    and about the third none."""
    asked: Counter[str] = Counter()

    def says(prompt: str) -> str:
        asked[prompt] += 1
        number = list(asked).index(prompt)
        verdict = "reject" if number == 1 and asked[prompt] == 1 else "accept"
        return f"Verdict: {verdict}\nComment: So." if number < 2 else "I cannot say."

    judging.server.says = says
    how = {"repeats": 4, "temperature": 1, "selection": of_sample(sample).model_dump()}
    request = checked(JudgeRequest, {"model": "fake", "base_url": judging.address} | how)
    assert judging.read(estimate_judging, request).total_calls == 12
    result = judging.judge(concurrency=1, **how)
    assert (result["done"], result["failed"], result["complete"]) == (8, 4, False)
    assert not judging.all(Opinion.decision_id) and not judging.all(Decision.id)
    (found,) = judging.read(consistencies, sample).values()
    assert judging.read(judges) == []
    assert (found.items, found.answers, found.unanimous, found.temperature) == (2, 8, 1, 1.0)
    assert found.same == pytest.approx((1 + 3 / 6) / 2)
    assert len(judging.all(Answer.id)) == 8 + 4 * opinion_run.TRIES


def test_it_is_asked_again_about_what_it_has_judged(judging: Runs, sample: Sample) -> None:
    selection = of_sample(sample).model_dump()
    assert judging.judge(selection=selection)["done"] == 3
    assert judging.judge(selection=selection, repeats=2, temperature=0.5)["done"] == 6
    (judge,) = judging.read(judges)
    assert judge.decisions == 3
    found = judging.read(consistencies, sample)[judge.id]
    assert (found.items, found.answers, found.same, found.unanimous) == (3, 6, 1.0, 3)


@pytest.mark.parametrize("how", [{"repeats": 2}, {"repeats": 1, "temperature": 1}])
def test_repeated_calls_that_could_not_differ_are_refused(how: dict[str, Any]) -> None:
    with pytest.raises(HedgerowError, match="temperature above 0|at least 2"):
        checked(JudgeRequest, {"model": "fake"} | how)
