"""Finetuning a language model at a provider."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from curation.generation.providers.chat.completions import require_key
from curation.validation import FieldPath, checked, in_words
from db.engine import reading, writing
from hedgerow.home import Home, asked_by
from hedgerow.running import carry_out
from training.llm.provider_request import Plan, ProviderRequest, plan, request_finetuning


def request_of(
    values: Mapping[str, Any], *, called: Callable[[FieldPath], str] = in_words
) -> ProviderRequest:
    """Build a request from the values of its fields.

    Args:
        called: a function that returns the name of a field for messages.

    Raises:
        HedgerowError: a value is invalid.
    """
    return checked(ProviderRequest, values, called=called)


def plan_of(home: Home, request: ProviderRequest) -> Plan:
    """The estimate for a request.

    Raises:
        HedgerowError: as in `plan`.
    """
    with reading(home.engine) as session:
        return plan(session, home.settings, request)


def store_finetuning(home: Home, request: ProviderRequest) -> int:
    """Store a run that finetunes a model, and return its number.

    Raises:
        HedgerowError: as in `request_finetuning`, or there is no API key for the address.
    """
    require_key(request.base_url, home.settings)
    with writing(home.engine) as session:
        author = asked_by(session, home.settings)
        return request_finetuning(session, home.settings, request, requested_by=author).id


def finetune(home: Home, values: Mapping[str, Any], *, dry_run: bool) -> dict[str, Any]:
    """See `hedgerow.Project.finetune_at_provider`."""
    request = request_of(values)
    if dry_run:
        return plan_of(home, request).facts
    return carry_out(home.settings, home.engine, store_finetuning(home, request))
