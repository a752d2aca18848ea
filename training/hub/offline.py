"""Data from the model hub when it can't be reached: from the cache, or an error, without waiting.

The hub's client would retry six times, for half a minute.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LOOK_UP_SECONDS = 10
"""Seconds to wait for any answer from the hub."""

logger = logging.getLogger(__name__)


@contextmanager
def asked_once() -> Iterator[bool]:
    """A context in which an unreachable hub isn't asked again, and only its cache is read.

    Yields whether the hub was reached.
    """
    from huggingface_hub import constants, get_session  # noqa: PLC0415

    if constants.is_offline_mode():
        yield False
        return
    try:
        get_session().head(constants.ENDPOINT, timeout=LOOK_UP_SECONDS)
    except Exception as error:  # the HTTP library raises a dozen kinds
        logger.info("the model hub can't be reached: %s", error)
    else:
        yield True
        return
    import datasets  # noqa: PLC0415

    constants.HF_HUB_OFFLINE = datasets.config.HF_HUB_OFFLINE = True
    try:
        yield False
    finally:
        constants.HF_HUB_OFFLINE = datasets.config.HF_HUB_OFFLINE = False


def in_cache(data_set: str) -> bool:
    """Whether a data set of the hub may be on this machine, at least in part.

    True if this is unknown: a data set made from others has no name on the hub.

    Args:
        data_set: owner/name.
    """
    if "/" not in data_set:
        return True
    import datasets  # noqa: PLC0415
    from huggingface_hub import constants  # noqa: PLC0415

    caches = (Path(constants.HF_HUB_CACHE), Path(datasets.config.HF_DATASETS_CACHE))
    names = [name for cache in caches if cache.is_dir() for name in os.listdir(cache)]
    wanted = _letters(data_set)
    return any(wanted in _letters(name) for name in names)


def _letters(name: str) -> str:
    """A name without the characters that caches write differently."""
    return "".join(filter(str.isalnum, name)).casefold()
