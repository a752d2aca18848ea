"""Estimate of a run before it starts: calls, tokens, cost and time. Trials of a request.

Token counts are those that the provider reported for earlier calls to the same model with the same
prompts, such as a trial on three anchors. Counting tokens locally would require downloading
tokenizers.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import case, func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.generation.missing_variants import WantedCalls, count_wanted
from curation.generation.prompts import prompt_versions
from curation.generation.providers.provider_run import can_forecast
from curation.generation.request import KIND, OPENAI, GenerationRequest, ModelRequest
from db.models import Answer, CallState, ModelCall, Run

TRIAL = 3
"""Number of anchors in a trial."""

MEASURED = 2000
"""Maximum number of calls to base an estimate on, evenly spread; more would only be slower."""


class Measured(NamedTuple):
    """Means over ``calls`` answered calls of one role.

    Attributes:
        attempts: per call, including retries; 1 or more.
        seconds: from question to answer; None if nobody waited (batches).
    """

    calls: int
    attempts: float
    prompt_tokens: float
    completion_tokens: float
    seconds: float | None


class RunEstimate(NamedTuple):
    """The estimate of a run.

    Attributes:
        anchors: number of anchors.
        calls: by role.
        prompt_tokens, completion_tokens, cost, seconds: None if one of the roles has no
            measurements yet; ``cost`` is in US dollars. The time of a batch is unknown.
        based_on: number of answered calls that the estimate is based on.
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
        """The total number of calls."""
        return sum(self.calls.values())


def newest_answer(session: Session) -> int | None:
    """Return the id of a model's newest answer, with which estimates change.

    None if there are no answers yet.
    """
    return session.execute(select(func.max(col(Answer.id)))).scalar()


def estimate(
    session: Session, request: GenerationRequest, wanted: WantedCalls | None = None
) -> RunEstimate:
    """Estimate a run that has not been requested yet.

    Rules cost nothing. The cost of a plug-in is unknown unless it declares that it is free.

    Args:
        wanted: the counts of its selection, if known.

    Raises:
        HedgerowError: there is no such provider.
    """
    if wanted is None:
        wanted = count_wanted(session, request.selection, request.roles, seed=request.seed)
    if request.provider != OPENAI:
        cost = 0.0 if can_forecast(request.provider) else None
        return RunEstimate(wanted.anchors, wanted.calls, 0, 0, cost, None, 0)
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
) -> RunEstimate:
    """Estimate a run of this kind with these numbers of calls per role.

    Args:
        prompts: the prompt version for each role. A role without one has no measurements yet.
    """
    runs = select(col(Run.id), col(Run.parameters)).where(col(Run.kind) == kind)
    asked_for = {"provider": request.provider, "model": request.model, "base_url": request.base_url}
    alike = [
        run_id
        for run_id, parameters in session.execute(runs)
        if asked_for.items() <= parameters.items()
    ]
    found = _measured(session, alike)
    measured = {
        role: found[role, prompt_id]
        for role, prompt_id in prompts.items()
        if calls.get(role) and (role, prompt_id) in found
    }
    based_on = sum(some.calls for some in measured.values())
    if any(n and role not in measured for role, n in calls.items()):
        return RunEstimate(anchors, dict(calls), None, None, None, None, based_on)
    asked = {role: n * measured[role].attempts for role, n in calls.items() if n}
    prompt = sum(n * measured[role].prompt_tokens for role, n in asked.items())
    completion = sum(n * measured[role].completion_tokens for role, n in asked.items())
    took = None
    if not request.batch and all(measured[role].seconds is not None for role in asked):
        at_once = min(request.concurrency, max(1, sum(calls.values())))
        took = sum(n * (measured[role].seconds or 0.0) for role, n in asked.items()) / at_once
    cost = (prompt * request.charged.prompt + completion * request.charged.completion) / 1e6
    return RunEstimate(anchors, dict(calls), prompt, completion, cost, took, based_on)


def _measured(session: Session, runs: Sequence[int]) -> dict[tuple[str, int], Measured]:
    """Measure the calls of these runs by role and prompt version, where some were answered."""
    ended = (
        col(ModelCall.run_id).in_(runs),
        col(ModelCall.state).in_([CallState.DONE, CallState.FAILED]),
    )
    total = session.execute(select(func.count()).where(*ended)).scalar_one()
    some = (*ended, col(ModelCall.id) % max(1, total // MEASURED) == 0, col(ModelCall.attempts) > 0)
    kind = (col(ModelCall.role), col(ModelCall.prompt_version_id))
    done = func.sum(case((col(ModelCall.state) == CallState.DONE, 1), else_=0))
    attempts = select(*kind, done, func.avg(col(ModelCall.attempts))).where(*some).group_by(*kind)
    means = (
        select(
            *kind,
            func.avg(col(Answer.prompt_tokens)),
            func.avg(col(Answer.completion_tokens)),
            func.avg(col(Answer.seconds)),
        )
        .join(Answer, col(Answer.call_id) == ModelCall.id)
        .where(*some)
        .group_by(*kind)
    )
    took = {(role, prompt): rest for role, prompt, *rest in session.execute(means)}
    found = {}
    for role, prompt, number, mean in session.execute(attempts):
        tokens_in, tokens_out, seconds = took.get((role, prompt), (None, None, None))
        if number:
            found[role, prompt] = Measured(
                number,
                float(mean),
                float(tokens_in or 0),
                float(tokens_out or 0),
                None if seconds is None else float(seconds),
            )
    return found


def trial_of(request: GenerationRequest) -> GenerationRequest:
    """The same request for three anchors, to check before the full run."""
    selection = request.selection
    limit = min(TRIAL, selection.limit or TRIAL)
    return request.model_copy(
        update={
            "selection": selection.model_copy(update={"limit": limit}),
            "batch": False,
            "measure": False,
        }
    )


def is_trial(run: Run) -> bool:
    """Whether a run has at most as many anchors as a trial."""
    return int(run.parameters["selection"]["limit"] or TRIAL + 1) <= TRIAL
