"""What a run will take, before it starts: calls, tokens, money, time.

Tokens are those that the provider reported for earlier calls to the same model with the same
prompts, such as a trial on three anchors; counting them here would need tokenizers that are
downloaded.
"""

from collections.abc import Mapping
from typing import NamedTuple

from sqlalchemy import func, select
from sqlmodel import Session, col

from curation.generation.calls import wanted_anchors
from curation.generation.prompts import prompt_versions
from curation.generation.request import KIND, GenerationRequest
from curation.types import list_types
from db.models import Answer, CallState, ModelCall, Run

TRIAL = 3
"""Anchors that a trial asks about."""


class Measured(NamedTuple):
    """Means of what calls of one role took so far; over ``calls`` answered ones.

    Attributes:
        attempts: per call, repeated ones included; 1 or more.
        seconds: from question to answer.
    """

    calls: int
    attempts: float
    prompt_tokens: float
    completion_tokens: float
    seconds: float


class Estimate(NamedTuple):
    """What a run will take.

    Attributes:
        anchors: how many are asked about.
        calls: by role.
        prompt_tokens, completion_tokens, cost, seconds: None where nothing was measured yet for
            one of the roles; ``cost`` in US dollars. Nobody knows how long a batch takes.
        based_on: answered calls that the estimate rests on.
    """

    anchors: int
    calls: dict[str, int]
    prompt_tokens: float | None
    completion_tokens: float | None
    cost: float | None
    seconds: float | None
    based_on: int

    @property
    def total_calls(self) -> int:
        """All calls."""
        return sum(self.calls.values())


def estimate(session: Session, request: GenerationRequest) -> Estimate:
    """Estimate a run that has not been requested yet."""
    types = list_types(session)
    wanted = wanted_anchors(session, request.selection, request.roles, types, seed=request.seed)
    calls: dict[str, int] = {role: len(anchors) for role, anchors in wanted.items()}
    anchors = len({anchor.uid for some in wanted.values() for anchor in some})
    measured = measured_calls(session, request)
    return _estimate(request, anchors, calls, measured)


def _estimate(
    request: GenerationRequest,
    anchors: int,
    calls: Mapping[str, int],
    measured: Mapping[str, Measured],
) -> Estimate:
    based_on = sum(some.calls for some in measured.values())
    if any(n and role not in measured for role, n in calls.items()):
        return Estimate(anchors, dict(calls), None, None, None, None, based_on)
    prompt = completion = seconds = 0.0
    for role, n in calls.items():
        if n:
            mean = measured[role]
            asked = n * mean.attempts
            prompt += asked * mean.prompt_tokens
            completion += asked * mean.completion_tokens
            seconds += asked * mean.seconds
    at_once = min(request.concurrency, max(1, sum(calls.values())))
    cost = (prompt * request.charged.prompt + completion * request.charged.completion) / 1e6
    took = None if request.batch else seconds / at_once
    return Estimate(anchors, dict(calls), prompt, completion, cost, took, based_on)


def measured_calls(session: Session, request: GenerationRequest) -> dict[str, Measured]:
    """By role, what earlier calls to this model with these prompts took."""
    found: dict[str, Measured] = {}
    for role in request.roles:
        versions = prompt_versions(session, role)
        prompt_id = request.prompts.get(role) or (versions[0].id if versions else None)
        if prompt_id is None:
            continue
        measured = _measured(session, request, role, prompt_id)
        if measured is not None:
            found[role] = measured
    return found


def _measured(
    session: Session, request: GenerationRequest, role: str, prompt_id: int
) -> Measured | None:
    runs = [
        run_id
        for run_id, parameters in session.execute(
            select(col(Run.id), col(Run.parameters)).where(col(Run.kind) == KIND)
        )
        if parameters.get("model") == request.model
        and parameters.get("provider") == request.provider
    ]
    mine = (col(ModelCall.run_id).in_(runs), col(ModelCall.role) == role,
            col(ModelCall.prompt_version_id) == prompt_id)  # fmt: skip
    done, attempts = session.execute(
        select(func.count(), func.sum(col(ModelCall.attempts))).where(
            *mine, col(ModelCall.state) == CallState.DONE
        )
    ).one()
    if not done:
        return None
    prompt, completion, seconds = session.execute(
        select(
            func.avg(col(Answer.prompt_tokens)),
            func.avg(col(Answer.completion_tokens)),
            func.avg(col(Answer.seconds)),
        )
        .join(ModelCall, col(ModelCall.id) == Answer.call_id)
        .where(*mine)
    ).one()
    return Measured(
        done, float(attempts) / done, float(prompt or 0), float(completion or 0),
        float(seconds or 0),
    )  # fmt: skip
