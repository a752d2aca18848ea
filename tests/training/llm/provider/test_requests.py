"""Requests for finetuning at a provider that are refused."""

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from curation.release.freezing import create_release
from db.engine import writing
from db.errors import HedgerowError
from db.models import Split
from tests.curation.support.families import add_plain_family
from tests.support.generating import serve_chat as serve_chat
from tests.training.llm.provider.support.jobs import KEY, Served, requested, settings_of
from training.llm.provider import finetuning
from training.llm.provider.request import (
    ProviderRequest,
)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"model": " "}, "name the model"),
        ({"base_url": "http://me:secret@server/v1"}, "leave out user name, password"),
        ({"epochs": 0}, "greater than or equal to 1"),
        ({"arm": "hedging"}, "an original contradiction"),
        ({"release": 9}, "release 9"),
    ],
)
def test_an_impossible_request_gives_one_sentence(
    released: Engine, home: Path, how: dict[str, Any], message: str
) -> None:
    with pytest.raises(HedgerowError, match=message) as refusal:
        requested(released, settings_of(home, ""), **how)
    assert "secret" not in str(refusal.value)


def test_too_few_pairs_are_refused_before_anything_is_sent(engine: Engine, home: Path) -> None:
    with writing(engine) as session:
        add_plain_family(session, 1, split=Split.TRAIN)
        create_release(session)
    with pytest.raises(HedgerowError, match="at least 10 question pairs to train on, found 4"):
        requested(engine, settings_of(home, ""))


def test_the_same_finetuning_is_not_asked_for_twice(
    released: Engine, home: Path, served: Served
) -> None:
    settings = settings_of(home, served[0])
    first = requested(released, settings)
    with pytest.raises(HedgerowError, match=f"Run {first} is already finetuning with the same"):
        requested(released, settings)
    requested(released, settings, seed=1)


def test_the_environments_key_goes_to_its_own_address_alone(home: Path) -> None:
    settings = settings_of(home, "http://a/v1")
    for address, key in {"": KEY, "http://a/v1": KEY, "http://b/v1": ""}.items():
        made = finetuning.model_of(ProviderRequest(model="m", base_url=address), settings)
        assert made.key.get_secret_value() == key
