"""Second opinions: a chat model judges variants as a separate reviewer (run kind ``judge``).

Calls, retries, budget, pausing and resuming work as in generation. The question, the required
answer and the stored result differ.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel
from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.actions import Action, OpenProject
from curation.decisions.storing import chunks
from curation.diagnostics.opinions import NewOpinion, ensure_judge, store_opinions
from curation.generation.answers import AnswerProblem
from curation.generation.budget import read_ledger
from curation.generation.calls import Call, JudgedVariant, count_calls, reopen
from curation.generation.judging.opinion_calls import close_needless, open_judging, plan_judging
from curation.generation.judging.opinion_request import (
    KIND,
    JudgeRequest,
    judge_of,
    judgement_in,
    judgement_model,
    parts_of,
    prompt_of,
    question,
)
from curation.generation.prompts import seed_prompts
from curation.generation.providers.chat.client import run_to_end
from curation.generation.providers.chat.completions import Reply, require_key
from curation.generation.providers.chat.retries import Asker, problem_of
from curation.generation.run import chat_model, require_success
from curation.generation.run_report import progress
from curation.generation.storing import Attempt, Origin, store_attempts
from curation.generation.worker import HELD, Worker
from curation.taxonomy.project_types import list_types
from db.columns import not_null
from db.engine import reading, writing
from db.errors import HedgerowError
from db.execution import RunContext
from db.models import Answer, CallState, Run, RunState
from db.runs import create_run, list_runs, refuse_equal, requeue

RECENT = 50
"""Number of recent runs to search for an interrupted one."""

TRIES = 3
"""Maximum attempts if a model's answers contain no verdict; each attempt costs money."""


class JudgeAsker(Asker):
    """Asks for an opinion on one variant."""

    def question(self, call: Call) -> tuple[str, type[BaseModel]]:
        """Return the prompt of a call, and the schema of its answer."""
        judged, (entry, *_) = _judged(call), self.asked_types(call)
        prompt = question(
            call.template, anchor=call.text, variant=judged.text, entry=entry, cue=judged.cue
        )
        return prompt, _ANSWER

    def answered(self, call: Call, number: int, reply: Reply, *, tries: int) -> Attempt:
        """Decide from a reply whether its call is done, has failed, or must be repeated."""
        problem, answer = problem_of(reply), parts_of(reply.raw)
        attempt = Attempt(call, number, reply, {}, (), "", CallState.DONE, removed=answer.removed)
        if problem is None:
            found = judgement_in(answer, variant=_judged(call).text, anchor=call.text)
            if found is not None:
                return attempt._replace(judgement=found)
        most = 2 if problem is AnswerProblem.REFUSAL else TRIES
        again = tries < min(self.attempts, most)
        state = CallState.OPEN if again else CallState.FAILED
        return attempt._replace(problems=(problem or answer.problem,), state=state)


_ANSWER = judgement_model()


def _judged(call: Call) -> JudgedVariant:
    if call.judged is None:
        raise ValueError(f"call {call.id} has no variant")
    return call.judged


@dataclass
class JudgeWorker(Worker):
    """A run that asks for opinions, as carried out in this process.

    Attributes:
        reviewer_id: the model's reviewer.
        repeated: the answers are not opinions, because the model has already judged these variants.
    """

    reviewer_id: int = field(kw_only=True)
    repeated: bool = False

    def _read(self, after: int) -> Sequence[Call]:
        with reading(self.context.engine) as session:
            return open_judging(session, self.context.run.id, after=after, limit=HELD)

    def _store(self, attempts: Sequence[Attempt]) -> list[Attempt]:
        if not attempts:
            return []
        origin = Origin(self.request.provider, self.request.model)
        with writing(self.context.engine) as session:
            stored = store_attempts(session, attempts, origin=origin, price=self.request.charged)
            if not self.repeated:
                store_opinions(session, _opinions(session, stored), reviewer_id=self.reviewer_id)
        return stored


def _opinions(session: Session, attempts: Sequence[Attempt]) -> list[NewOpinion]:
    """Return the opinions in these stored attempts, in the order of their calls."""
    found = {
        attempt.call.id: (attempt, _judged(attempt.call), attempt.judgement)
        for attempt in attempts
        if attempt.judgement is not None
    }
    opinions = []
    for ids in chunks(found):
        query = select(col(Answer.id), not_null(col(Answer.call_id)), col(Answer.attempt)).where(
            col(Answer.call_id).in_(ids)
        )
        for answer_id, call_id, number in session.execute(query.order_by(col(Answer.id))):
            attempt, judged, judgement = found[call_id]
            if number == attempt.number:
                ids_of_variant = (judged.variant_id, judged.version, judged.since_version)
                opinions.append(
                    NewOpinion(*ids_of_variant, answer_id=answer_id, **judgement._asdict())
                )
    return opinions


def request_opinions(
    session: Session,
    request: JudgeRequest,
    *,
    requested_by: int | None = None,
) -> Run:
    """Store a run with all its calls, and the model's reviewer.

    Raises:
        HedgerowError: there is nothing to judge, or the request cannot be carried out.
    """
    if request.provider != "openai" or request.batch:
        raise HedgerowError("Expected a chat model that answers directly, found rules or a batch.")
    request = _with_prompt(session, request)
    run = create_run(
        session, kind=KIND, parameters=request.model_dump(mode="json"), requested_by=requested_by
    )
    plan_judging(session, run.id, request)
    prompt = prompt_of(session, request)
    assert prompt is not None  # the request names it
    ensure_judge(session, request.model, prompt.version)
    return run


def _with_prompt(session: Session, request: JudgeRequest) -> JudgeRequest:
    """The request with the prompt that it names, or else the newest one."""
    seed_prompts(session)
    prompt = prompt_of(session, request)
    assert prompt is not None  # just stored, if no other version is named
    return request.model_copy(update={"prompt": prompt.id})


def broken_off(session: Session, request: JudgeRequest) -> Run | None:
    """Return the last run of exactly this request if it was interrupted or failed with open calls.

    A new request for a sample would choose from unjudged variants and differ from the old one.

    Args:
        request: must name its prompt.
    """
    asked = request.model_dump(mode="json")
    same = (run for run in list_runs(session, kind=KIND, limit=RECENT) if run.parameters == asked)
    last = next(same, None)
    if last is None or last.state not in (RunState.INTERRUPTED, RunState.FAILED):
        return None
    return last if count_calls(session, last.id)[CallState.OPEN] else None


def judge(project: OpenProject, request: JudgeRequest) -> Run:
    """Store a run that asks a model for opinions, or take up the same one if it was broken off.

    Raises:
        HedgerowError: OpenAI's API key is missing, the same run is in progress, or as in
            ``request_opinions``.
    """
    require_key(request.base_url, project.settings, project.keys)
    with writing(project.engine) as session:
        request = _with_prompt(session, request)
        if stopped := broken_off(session, request):
            requeue(session, stopped.id)
            return stopped
        run = request_opinions(session, request, requested_by=project.author(session))
        refuse_equal(session, run, doing="asking for the same opinions; wait for it to finish")
        return run


JUDGE_VARIANTS = Action("ask for opinions", JudgeRequest, judge)


def work(context: RunContext) -> dict[str, Any]:
    """Make the open calls of a run (run kind ``judge``).

    Returns:
        Counts of calls by result, the total number of calls, their cost, ``removed`` (by kind,
        answers with something besides the opinion), whether none failed, and the reviewer's name.
    """
    request = JudgeRequest(**context.parameters)
    run_id = context.run.id
    with writing(context.engine) as session:
        types = list_types(session)
        judge = judge_of(session, request)
        assert judge is not None  # stored with the run
        reviewer_id, name = judge.id, judge.name
        reopen(session, run_id)
        close_needless(session, run_id, reviewer_id, repeated=bool(request.repeats))
    ledger = read_ledger(context.engine, run_id, request.budget)
    asker = JudgeAsker(chat_model(request, context.settings), types, attempts=request.attempts)
    worker = JudgeWorker(
        context,
        request,
        asker,
        ledger,
        reviewer_id=reviewer_id,
        repeated=bool(request.repeats),
    )
    run_to_end(worker.run())
    counts = require_success(context.engine, run_id)
    with reading(context.engine) as session:
        removed = progress(session, run_id).removed
    return {
        "done": counts[CallState.DONE],
        "failed": counts[CallState.FAILED],
        "calls": ledger.calls,
        "cost": round(ledger.money, 6),
        "cost_is_estimate": ledger.is_estimate,
        "removed": removed,
        "complete": not counts[CallState.FAILED],
        "reviewer": name,
    }
