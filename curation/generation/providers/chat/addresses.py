"""The addresses of calls, and which of them get the API key from the environment.

The environment's key is for the environment's address, or for OpenAI. Anybody can type any address
on a page, and the key must not be sent there. A key entered for another address is passed to the
run's process in its environment, together with that address.
"""

from urllib.parse import urlsplit

from pydantic import SecretStr

from db.errors import HedgerowError
from db.settings import Settings

OWN_ADDRESS = "https://api.openai.com/v1"
"""OpenAI's own address, the default."""

KEY_VARIABLE, ADDRESS_VARIABLE = "HEDGEROW_OPENAI_API_KEY", "HEDGEROW_OPENAI_BASE_URL"
"""Environment variables from which a run's process reads key and address."""


def address_of(base_url: str, settings: Settings) -> str:
    """Return the address for a request's calls.

    Args:
        base_url: the request's address; '' for the environment's address, or else OpenAI's.
    """
    return base_url or settings.openai_base_url or OWN_ADDRESS


def is_own(address: str) -> bool:
    """Whether it is OpenAI itself, which needs a key."""
    return comparable(address) == comparable(OWN_ADDRESS)


def comparable(address: str) -> str:
    """Return the address in a normalised form for comparisons."""
    try:
        parts = urlsplit(address.strip())
        login, at, host = parts.netloc.rpartition("@")
    except (
        ValueError
    ):  # such as an IPv6 address without its closing bracket; nothing else equals it
        return address.strip()
    return f"{parts.scheme}://{login}{at}{host.lower()}{parts.path.rstrip('/')}?{parts.query}"


def require_key(base_url: str, settings: Settings) -> None:
    """Refuse calls that would fail for lack of a key.

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
    """Return the environment's key if it may be sent to this address; otherwise an empty one."""
    address = comparable(address_of(base_url, settings))
    allowed = {comparable(address_of("", settings)), comparable(OWN_ADDRESS)}
    return settings.openai_api_key if address in allowed else SecretStr("")
