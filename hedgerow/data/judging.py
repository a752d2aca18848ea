"""Asking chat models for second opinions: estimates and runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sqlalchemy.orm import Session

from curation.diagnostics import opinions
from curation.diagnostics.opinion_agreement import Agreement, agreement
from curation.diagnostics.opinions import GivenOpinion, Judge, judges
from curation.generation.estimate import RunEstimate
from curation.generation.judging.opinion_calls import estimate_judging
from curation.generation.judging.opinion_request import JudgeRequest
from curation.generation.judging.opinion_run import broken_off, request_opinions
from curation.generation.prices import price_under
from curation.generation.prompts import JUDGE, find_version, seed_prompts
from curation.generation.providers.chat.completions import require_key
from curation.review.calibration.consistency import of_sample
from curation.review.calibration.sample import get_sample
from curation.taxonomy.built_in import known_type
from curation.taxonomy.project_types import list_types
from curation.validation import FieldPath, checked, in_words
from db.engine import reading, writing
from hedgerow.asked import uid as one_uid
from hedgerow.home import Home, asked_by, reviewer_id

Called = Callable[[FieldPath], str]
"""Returns the name of a field for messages."""


def store_judging(
    home: Home,
    values: Mapping[str, Any],
    *,
    prompt: int | None,
    sample: int | None = None,
    called: Called = in_words,
) -> int:
    """Store a run that asks a chat model for opinions, and return its number.

    If the last run with the same request was interrupted or failed, this returns that run, to
    resume it.

    Args:
        values: the fields of `JudgeRequest`, except prompt and price.
        prompt: the number of the prompt's version; None for the newest version.
        sample: the number of a calibration sample, to judge its variants instead of a selection.
        called: a function that returns the name of a field for messages.

    Raises:
        HedgerowError: a value is invalid, the type, version or sample is unknown, the API key is
            missing, or there is nothing to judge.
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
    """Estimate the cost of the run that `store_judging` would store. No run is stored."""
    with writing(home.engine) as session:
        return estimate_judging(session, _request(session, values, prompt, sample, called))


def cost_facts(found: RunEstimate) -> dict[str, Any]:
    """The estimate, ready for JSON. Unknown values are None."""
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


# -- Second opinions from models, and the agreement of models with people -------------------------


def show_opinions(home: Home, uid: str, reviewer: str) -> list[GivenOpinion]:
    """See `hedgerow.Project.opinions`."""
    from curation.review.actions import find_variant  # not needed for the agreement

    with writing(home.engine) as session:
        variant_id = find_variant(session, one_uid(uid)).id
        who = reviewer_id(session, home.settings, reviewer)
        return opinions.show_opinions(session, variant_id, reviewer_id=who, own_first=False)


def agreements(home: Home) -> list[tuple[Judge, list[Agreement]]]:
    """Each model that has given opinions, with its agreement with people by variant type."""
    with reading(home.engine) as session:
        return [(judge, agreement(session, judge.id)) for judge in judges(session)]
