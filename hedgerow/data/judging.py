"""Chat models asked for second opinions: what it would cost, and the run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sqlalchemy.orm import Session

from curation.generation.costs.estimate import RunEstimate
from curation.generation.costs.prices import price_under
from curation.generation.judging.consistency import of_sample
from curation.generation.judging.opinion_calls import estimate_judging
from curation.generation.judging.opinion_request import JudgeRequest
from curation.generation.judging.opinion_run import broken_off, request_opinions
from curation.generation.prompts import JUDGE, find_version, seed_prompts
from curation.generation.providers.chat.addresses import require_key
from curation.review.calibration.sample import get_sample
from curation.taxonomy.built_in import known_type
from curation.taxonomy.project_types import list_types
from curation.validation import FieldPath, checked, in_words
from db.engine import writing
from hedgerow.home import Home, asked_by

Called = Callable[[FieldPath], str]
"""What a message calls a value."""


def store_judging(
    home: Home,
    values: Mapping[str, Any],
    *,
    prompt: int | None,
    sample: int | None = None,
    called: Called = in_words,
) -> int:
    """Store a run that asks a chat model for opinions; its number.

    The last run of just this request goes on where it was broken off.

    Args:
        values: of `JudgeRequest`, but for prompt and price.
        prompt: number of the prompt's version; None for the newest.
        sample: number of a sample, whose variants are asked about in place of a selection.

    Raises:
        HedgerowError: a value is not usable, there is no such type, version or sample, no key, or
            nothing to judge.
    """
    with writing(home.engine) as session:
        request = _request(session, values, prompt, sample, called)
        require_key(request.base_url, home.settings)
        run = broken_off(session, request) or request_opinions(
            session, request, requested_by=asked_by(session, home.settings)
        )
        return run.id


def cost_of_judging(
    home: Home,
    values: Mapping[str, Any],
    *,
    prompt: int | None,
    sample: int | None = None,
    called: Called = in_words,
) -> RunEstimate:
    """What the same would take; no run is stored."""
    with writing(home.engine) as session:
        return estimate_judging(session, _request(session, values, prompt, sample, called))


def cost_facts(found: RunEstimate) -> dict[str, Any]:
    """The same, ready for JSON; None for what nobody knows yet."""
    return {
        "dry_run": True,
        "variants": found.total_calls,
        "anchors": found.anchors,
        "prompt_tokens": found.prompt_tokens,
        "completion_tokens": found.completion_tokens,
        "cost": found.cost,
        "seconds": found.seconds,
        "based_on": found.based_on,
    }


def _request(
    session: Session,
    values: Mapping[str, Any],
    prompt: int | None,
    sample: int | None,
    called: Called,
) -> JudgeRequest:
    seed_prompts(session)
    given = {**values, "prompt": find_version(session, JUDGE, prompt).id}
    if sample is not None:
        given["selection"] = of_sample(get_sample(session, sample))
    request = checked(JudgeRequest, given, called=called)
    types = [known_type(list_types(session), name).id for name in request.selection.types]
    return request.model_copy(
        update={
            "price": price_under(session, request.model, request.budget.money),
            "selection": request.selection.model_copy(update={"types": tuple(types)}),
        }
    )
