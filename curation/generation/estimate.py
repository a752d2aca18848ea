"""What a run will take, before it starts: calls, tokens, money, time.

Tokens are those that the provider reported for earlier calls to the same model with the same
prompts, such as a trial on three anchors; counting them here would need tokenizers that are
downloaded.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import func, select
from sqlmodel import Session, col

from curation.generation.calls import wanted_anchors
from curation.generation.prompts import prompt_versions
from curation.generation.request import KIND, GenerationRequest, ModelRequest, Selection
from curation.taxonomy import Role
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


class Wanted(NamedTuple):
    """What a selection comes to: anchors, and calls by role."""

    anchors: int
    calls: dict[str, int]

    @property
    def total(self) -> int:
        """All calls."""
        return sum(self.calls.values())


def count_wanted(
    session: Session, selection: Selection, roles: Sequence[Role], *, seed: int
) -> Wanted:
    """Count what a run would ask for; takes a second or two where there are 350,000 variants."""
    found = wanted_anchors(session, selection, roles, list_types(session), seed=seed)
    uids = {anchor.uid for anchors in found.values() for anchor in anchors}
    return Wanted(len(uids), {role: len(anchors) for role, anchors in found.items()})


def estimate(
    session: Session, request: GenerationRequest, wanted: Wanted | None = None
) -> Estimate:
    """Estimate a run that has not been requested yet; rules cost nothing.

    Args:
        wanted: what its selection comes to, where that was counted already.
    """
    if wanted is None:
        wanted = count_wanted(session, request.selection, request.roles, seed=request.seed)
    if request.provider == "rules":
        return Estimate(wanted.anchors, wanted.calls, 0, 0, 0.0, None, 0)
    prompts: dict[str, int] = {}
    for role in request.roles:
        versions = prompt_versions(session, role)
        if chosen := request.prompts.get(role) or (versions[0].id if versions else None):
            prompts[role] = chosen
    return estimate_calls(
        session, request, kind=KIND, calls=wanted.calls, anchors=wanted.anchors, prompts=prompts
    )


def estimate_calls(
    session: Session,
    request: ModelRequest,
    *,
    kind: str,
    calls: Mapping[str, int],
    anchors: int,
    prompts: Mapping[str, int],
) -> Estimate:
    """Estimate so many calls of each role in a run of this kind.

    Args:
        prompts: by role, the number of its prompt version; a role without one is not measured yet.
    """
    found = {
        role: _measured(session, request, role, prompt_id, kind=kind)
        for role, prompt_id in prompts.items()
    }
    measured = {role: mean for role, mean in found.items() if mean is not None}
    return _estimate(request, anchors, calls, measured)


def _estimate(
    request: ModelRequest,
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


def _measured(
    session: Session, request: ModelRequest, role: str, prompt_id: int, *, kind: str = KIND
) -> Measured | None:
    runs = [
        run_id
        for run_id, parameters in session.execute(
            select(col(Run.id), col(Run.parameters)).where(col(Run.kind) == kind)
        )
        if parameters.get("model") == request.model
        and parameters.get("provider") == request.provider
    ]
    mine = (col(ModelCall.run_id).in_(runs), col(ModelCall.role) == role,
            col(ModelCall.prompt_version_id) == prompt_id)  # fmt: skip
    done, attempts = session.execute(
        select(func.count(), func.sum(col(ModelCall.attempts))).where(
            *mine, col(ModelCall.state) == CallState.DONE, col(ModelCall.attempts) > 0
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
