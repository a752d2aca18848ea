"""Data from the model hub while it can't be reached: at once what its cache has, or a sentence.

The hub's client asks a hub that does not answer six times, for half a minute.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

LOOK_UP_SECONDS = 10
"""How long the hub may take to answer at all."""

logger = logging.getLogger(__name__)


@contextmanager
def asked_once() -> Iterator[None]:
    """Inside, a hub that can't be reached now isn't asked again: only its cache is read."""
    from huggingface_hub import constants, get_session  # noqa: PLC0415

    if constants.is_offline_mode():
        yield
        return
    try:
        get_session().head(constants.ENDPOINT, timeout=LOOK_UP_SECONDS)
    except Exception as error:  # the HTTP library raises a dozen kinds
        logger.info("the model hub can't be reached: %s", error)
    else:
        yield
        return
    import datasets  # noqa: PLC0415

    constants.HF_HUB_OFFLINE = datasets.config.HF_HUB_OFFLINE = True
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = datasets.config.HF_HUB_OFFLINE = False
