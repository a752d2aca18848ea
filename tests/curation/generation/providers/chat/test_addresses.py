"""The environment's key is only sent to the environment's address and to OpenAI."""

from pathlib import Path

import pytest

from curation.generation.providers.chat.addresses import OWN_ADDRESS, address_of, is_own, key_for
from curation.generation.run import chat_model, checked_request
from db.settings import Settings

KEY = "sk-environment-1f"


def settings(home: Path, base_url: str = "") -> Settings:
    return Settings(home=home, openai_api_key=KEY, openai_base_url=base_url)


@pytest.mark.parametrize(
    ("own", "asked", "goes"),
    [
        ("", "", True),
        ("", OWN_ADDRESS, True),
        ("", "https://API.openai.com/v1/", True),
        ("", "http://api.openai.com/v1", False),
        ("", "https://api.openai.com.evil.example/v1", False),
        ("", "https://api.openai.com:8443/v1", False),
        ("", "https://evil.example/https://api.openai.com/v1", False),
        ("", "http://127.0.0.1:8000/v1", False),
        ("https://llm.example/v1", "", True),
        ("https://llm.example/v1", "https://llm.example/v1/", True),
        ("https://llm.example/v1", "https://llm.example/other/v1", False),
        ("https://llm.example/v1", OWN_ADDRESS, True),
        ("https://llm.example/v1", "https://evil.example/v1", False),
        ("", "http://[::1", False),
    ],
)
def test_a_key_follows_no_address_that_anybody_types(
    home: Path, own: str, asked: str, goes: bool
) -> None:
    assert key_for(asked, settings(home, own)).get_secret_value() == (KEY if goes else "")


def test_the_model_of_a_run_has_the_key_only_if_it_may_go(home: Path) -> None:
    elsewhere = checked_request({"model": "fake", "base_url": "http://127.0.0.1:9/v1"})
    assert chat_model(elsewhere, settings(home)).key.get_secret_value() == ""
    assert chat_model(checked_request({"model": "fake"}), settings(home)).key.get_secret_value()
    assert is_own(address_of("", settings(home)))
    assert not is_own(address_of("", settings(home, "https://llm.example/v1")))
