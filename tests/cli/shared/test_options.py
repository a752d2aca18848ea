"""Errors in a request are one sentence, with the names that people know."""

from typing import Any

import pytest

from cli.shared.options import as_cap, as_option
from curation.generation.judging.opinion_request import JudgeRequest
from curation.generation.request import Budget, GenerationRequest
from curation.validation import checked
from db.errors import HedgerowError
from training.benchmarks.runs.measured_models import ModelChoice

WRONG: list[tuple[type, dict[str, Any], str, str]] = [
    (GenerationRequest, {"base_url": "http://h:99999"}, "The server's address", "--base-url"),
    (GenerationRequest, {"budget": {"money": -1}}, "The spending cap", "--budget"),
    (GenerationRequest, {"budget": {"calls": 0}}, "The cap on calls", "--max-calls"),
    (GenerationRequest, {"roles": ("noun",)}, "The kind of variant", "--roles"),
    (GenerationRequest, {"max_tokens": 1}, "The token limit", "--max-tokens"),
    (JudgeRequest, {"selection": {"status": "odd"}}, "The status", "--status"),
    (JudgeRequest, {"selection": {"limit": 0}}, "The number of anchors", "--limit"),
    (
        ModelChoice,
        {"name": "m", "architecture": "chat", "base_url": "x"},
        "The server's address",
        "--base-url",
    ),
]


@pytest.mark.parametrize(("kind", "values", "page", "option"), WRONG)
def test_a_wrong_value_is_named_by_its_label_or_option(
    kind: type, values: dict[str, Any], page: str, option: str
) -> None:
    values = {"model": "m"} | values if kind is not ModelChoice else values
    for called, name in (({}, page), ({"called": as_option}, option)):
        with pytest.raises(HedgerowError) as refusal:
            checked(kind, values, **called)
        message = str(refusal.value)
        assert message.startswith(f"{name} is not usable: ") and "\n" not in message
        assert (", found " in message) is ("base_url" not in values)


def test_a_budget_by_itself_is_called_by_its_options() -> None:
    with pytest.raises(HedgerowError, match=r"^--budget is not usable: it should be greater"):
        checked(Budget, {"money": 0}, called=as_cap)
