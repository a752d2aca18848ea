"""Redirects the messages that transformers prints while it loads a model.

Using it imports PyTorch.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def loading_logged() -> Iterator[None]:
    """Within this context, messages about a model's weights go to the run's log, if there is one.

    By default transformers prints them over a progress bar or into a notebook's cell. This also
    turns off its progress bars for good, since they would fill the log.
    """
    from transformers.utils import logging

    logging.disable_progress_bar()
    logging.disable_default_handler()
    logging.enable_propagation()
    try:
        yield
    finally:
        logging.disable_propagation()
        logging.enable_default_handler()
