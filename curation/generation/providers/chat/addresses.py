"""The addresses of calls, and which of them get the API key from the environment.

The key of the environment belongs to the address of the environment, or to OpenAI: anybody can type
any address into a page, and a key must not follow it there. A key that is typed in for another
address reaches the run's process together with that address, as that process's environment.
"""

from urllib.parse import urlsplit

from pydantic import SecretStr

from db.errors import HedgerowError
from db.settings import Settings

OWN_ADDRESS = "https://api.openai.com/v1"
"""OpenAI's own; where calls go that name no other."""

KEY_VARIABLE, ADDRESS_VARIABLE = "HEDGEROW_OPENAI_API_KEY", "HEDGEROW_OPENAI_BASE_URL"
"""Environment variables that a run's process reads key and address from."""


def address_of(base_url: str, settings: Settings) -> str:
    """Where the calls of a request go.

    Args:
        base_url: what the request names; '' for the environment's address, else OpenAI's.
    """
    return base_url or settings.openai_base_url or OWN_ADDRESS


def is_own(address: str) -> bool:
    """Whether it is OpenAI itself, which needs a key."""
    return comparable(address) == comparable(OWN_ADDRESS)


def comparable(address: str) -> str:
    """The address in a form in which equal ones read the same."""
    try:
        parts = urlsplit(address.strip())
        login, at, host = parts.netloc.rpartition("@")
    except ValueError:  # such as an IPv6 address without its end; nothing else equals it
        return address.strip()
    return f"{parts.scheme}://{login}{at}{host.lower()}{parts.path.rstrip('/')}?{parts.query}"


def require_key(base_url: str, settings: Settings) -> None:
    """Refuse calls that nobody would answer.

    Raises:
        HedgerowError: they go to OpenAI itself, and there is no key for it.
    """
    if (
        is_own(address_of(base_url, settings))
        and not key_for(base_url, settings).get_secret_value()
    ):
        raise HedgerowError(
            f"OpenAI needs an API key; set OPENAI_API_KEY or {KEY_VARIABLE}, or give the address "
            "of another server (base URL)."
        )


def key_for(base_url: str, settings: Settings) -> SecretStr:
    """The environment's key where it may go to this address; an empty one elsewhere."""
    address = comparable(address_of(base_url, settings))
    allowed = {comparable(address_of("", settings)), comparable(OWN_ADDRESS)}
    return settings.openai_api_key if address in allowed else SecretStr("")
