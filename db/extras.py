"""Packages that come with an extra of Hedgerow. What needs one says how to install it."""

from importlib.util import find_spec

from db.errors import HedgerowError

EXTRAS = {
    "mteb": "bench",
    "lm_eval": "llm",
    "trl": "llm",
    "psycopg": "postgres",
    "authlib": "signin",
}
"""Package → the extra that brings it."""


def require_package(package: str, *, by: str) -> None:
    """Refuse what needs a package that is not installed.

    Args:
        by: what needs it, in the plural, as the subject of a sentence.

    Raises:
        HedgerowError: the package is not installed.
    """
    if find_spec(package) is None:
        raise HedgerowError(
            f"{by} need the package {package}, which is not installed; run: pip install "
            f"'hedgerow[{EXTRAS[package]}]'."
        )
