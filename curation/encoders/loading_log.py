"""Where what transformers says while it loads a model goes. Loads PyTorch when it is used."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def loading_logged() -> Iterator[None]:
    """Within it, remarks on a model's weights go to the log that a run keeps, if there is one.

    transformers prints them by itself, over a progress bar or into a notebook's cell. Its own bars
    are off from then on: they would fill the log.
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
