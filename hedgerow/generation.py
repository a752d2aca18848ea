"""Generating variants and asking models for opinions: requests, estimates and runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy.orm import Session

from curation.anchors.lookup import source_named
from curation.diagnostics import opinions
from curation.diagnostics.model_verdicts import Agreement, agreement
from curation.diagnostics.opinions import GivenOpinion, ModelReviewer, judges
from curation.generation.estimate import RunEstimate, estimate
from curation.generation.judging.opinion_calls import estimate_judging
from curation.generation.judging.opinion_request import JudgeRequest
from curation.generation.prices import price_of, price_under
from curation.generation.prompts import JUDGE, find_version, seed_prompts
from curation.generation.providers.chat.completions import require_key
from curation.generation.providers.provider_run import Forecast, can_forecast, forecast
from curation.generation.request import KIND, OPENAI, GenerationRequest
from curation.generation.run import checked_request
from curation.review.calibration.consistency import of_sample
from curation.review.calibration.sample import get_sample
from curation.taxonomy.built_in import known_type
from curation.taxonomy.project_types import list_types
from curation.taxonomy.surface_check import Role
from curation.validation import FieldPath, checked, in_words
from db.engine import reading, writing
from db.errors import HedgerowError
from db.runs import get_run
from hedgerow.arguments import uid as one_uid
from hedgerow.home import Home, reviewer_id


class Cost(NamedTuple):
    """The estimate for a run.

    Attributes:
        estimate: anchors, calls, tokens, money and time.
        variants: the forecast of a provider that can make one, such as the rules; otherwise None.
        request: the request as it would be stored.
        is_priced: whether the price of the model is known.
    """

    estimate: RunEstimate
    variants: Forecast | None
    request: GenerationRequest
    is_priced: bool

    @property
    def facts(self) -> dict[str, Any]:
        """The estimate, ready for JSON. Unknown values are None."""
        found, known = self.estimate, self.is_priced or self.variants is not None
        facts = {
            "anchors": found.anchors,
            "calls": found.calls,
            "total_calls": found.total_calls,
            "prompt_tokens": found.prompt_tokens,
            "completion_tokens": found.completion_tokens,
            "cost": found.cost if known else None,
            "seconds": found.seconds,
            "based_on": found.based_on,
            "price": self.request.charged.model_dump() if known else None,
        }
        return facts if self.variants is None else facts | {"variants": self.variants.variants}


def request_of(
    home: Home,
    values: Mapping[str, Any],
    *,
    source: str = "",
    prompts: Mapping[str, int] | None = None,
    called: Callable[[FieldPath], str] = in_words,
    dry_run: bool = False,
) -> tuple[GenerationRequest, bool]:
    """Build a request, and find out whether the price of its model is known.

    Args:
        values: the fields of `GenerationRequest`, except price, source and prompts.
        source: the name of a source, to select only its anchors.
        prompts: role → number of the prompt's version; by default the newest version.
        called: a function that returns the name of a field for messages.
        dry_run: whether it is only for an estimate, which needs no API key.

    Raises:
        HedgerowError: a value is invalid, the source, type or version is unknown, or an API key is
            required and missing. Nothing is stored in this case.
    """
    budget = values.get("budget", {}).get("money")
    provider, model = values["provider"], values["model"]
    with writing(home.engine) as session:
        seed_prompts(session)
        price = price_under(session, model, budget if provider == OPENAI else None)
        is_priced = price_of(session, model) is not None
        request = checked_request({**values, "price": price}, called=called)
        request = _chosen(session, request, source, prompts or {})
        if provider == OPENAI and not dry_run:
            require_key(request.base_url, home.settings)
    return request, is_priced


def cost_of(home: Home, request: GenerationRequest, *, is_priced: bool) -> Cost:
    """The estimate for a request. Nothing is stored."""
    with reading(home.engine) as session:
        found = estimate(session, request)
        written = forecast(session, request) if can_forecast(request.provider) else None
    return Cost(found, written, request, is_priced)


def _chosen(
    session: Session, request: GenerationRequest, source: str, prompts: Mapping[str, int]
) -> GenerationRequest:
    """Add the ids of the source and of the prompt versions to a request."""
    selection = request.selection
    if selection.run is not None and get_run(session, selection.run).kind != KIND:
        raise HedgerowError(f"Run {selection.run} is not a generation run; choose another run.")
    for type_id in selection.types:
        if known_type(list_types(session), type_id).imported:
            raise HedgerowError(
                f"Variants of type '{type_id}' can only be imported; choose other types."
            )
    if source:
        selection = selection.model_copy(update={"source_id": source_named(session, source)})
    chosen = dict(
        _version(session, request.roles, name, number) for name, number in prompts.items()
    )
    return request.model_copy(update={"selection": selection, "prompts": chosen})


def _version(session: Session, roles: Sequence[Role], name: str, number: int) -> tuple[Role, int]:
    """The role with this name, and the id of its prompt version with this number."""
    role = next((role for role in roles if role == name), None)
    if role is None:
        raise HedgerowError(
            f"Expected the prompt of a requested role ({', '.join(roles)}), found {name[:80]}."
        )
    return role, find_version(session, role, number).id


# -- Second opinions -------------------------------------------------------------------------------


Called = Callable[[FieldPath], str]
"""Returns the name of a field for messages."""


def judge_request_of(
    home: Home,
    values: Mapping[str, Any],
    *,
    prompt: int | None,
    sample: int | None = None,
    called: Called = in_words,
    dry_run: bool = False,
) -> JudgeRequest:
    """Build a request for opinions.

    Args:
        values: the fields of `JudgeRequest`, except prompt and price.
        prompt: the number of the prompt's version; None for the newest version.
        sample: the number of a calibration sample, to judge its variants instead of a selection.
        called, dry_run: as for ``request_of``.

    Raises:
        HedgerowError: as in ``request_of``, or the sample is unknown.
    """
    with writing(home.engine) as session:
        seed_prompts(session)
        given = {**values, "prompt": find_version(session, JUDGE, prompt).id}
        if sample is not None:
            given["selection"] = of_sample(get_sample(session, sample))
        request = checked(JudgeRequest, given, called=called)
        types = [known_type(list_types(session), name).id for name in request.selection.types]
        if not dry_run:
            require_key(request.base_url, home.settings)
        return request.model_copy(
            update={
                "price": price_under(session, request.model, request.budget.money),
                "selection": request.selection.model_copy(update={"types": tuple(types)}),
            }
        )


def cost_of_judging(home: Home, request: JudgeRequest) -> RunEstimate:
    """Estimate the cost of asking for opinions."""
    with reading(home.engine) as session:
        return estimate_judging(session, request)


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


# -- Second opinions from models, and the agreement of models with people --------------------------


def show_opinions(home: Home, uid: str, reviewer: str) -> list[GivenOpinion]:
    """See `hedgerow.Project.opinions`."""
    from curation.review.deciding import find_variant  # not needed for the agreement

    with writing(home.engine) as session:
        variant_id = find_variant(session, one_uid(uid)).id
        who = reviewer_id(session, home.settings, reviewer)
        return opinions.show_opinions(session, variant_id, reviewer_id=who, own_first=False)


def agreements(home: Home) -> list[tuple[ModelReviewer, list[Agreement]]]:
    """Each model that has given opinions, with its agreement with people by variant type."""
    with reading(home.engine) as session:
        return [(judge, agreement(session, judge.id)) for judge in judges(session)]
