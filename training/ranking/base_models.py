"""The base model of a finetuning run, optionally converted to another architecture.

Torch and sentence-transformers are imported inside the functions that need them.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from curation.encoders.loading import load_encoder, load_model
from curation.encoders.model_folders import encoder_folder
from db.errors import HedgerowError
from training.benchmarks.scorers.architecture import KINDS, architecture_of
from training.benchmarks.scorers.embedding_models import BiEncoder, Cross
from training.finetune.compute.devices import repeatable


def load_base(name: str, architecture: str, *, seed: int) -> Any:
    """A model of sentence-transformers' class for an architecture.

    Args:
        name: as in `load_encoder`.
        architecture: one that `require_trainable` allows.
        seed: the seed of the random weights of a new layer.

    Raises:
        HedgerowError: it can't be loaded, or is a cross-encoder with several outputs.
    """
    from transformers import set_seed

    set_seed(seed)
    model = _loaded(name, architecture)
    if architecture == Cross.architecture and model.num_labels != 1:
        raise HedgerowError(
            f"Expected a cross-encoder with one output in {name!r}, found one with "
            f"{model.num_labels} classes; choose another one, or an encoder."
        )
    repeatable(model)
    return model


def _loaded(name: str, architecture: str) -> Any:
    if architecture == BiEncoder.architecture:
        return load_encoder(name)
    if architecture_of(encoder_folder(name)) == architecture:
        return load_model(name, KINDS[architecture])
    return _with_new_layer(name, architecture)


def _with_new_layer(name: str, architecture: str) -> Any:
    """An encoder's transformer with the library's layer for another architecture: one output for a
    cross-encoder, a projection to 128 dimensions for late interaction."""
    encoder = load_encoder(name)
    transformer = getattr(encoder[0], "model", None)
    if transformer is None or not hasattr(transformer, "save_pretrained"):
        raise HedgerowError(
            f"Expected an encoder with a transformer in {name!r}, found none; choose another model."
        )
    with tempfile.TemporaryDirectory() as folder, _new_weights_expected():
        transformer.save_pretrained(folder)
        encoder.tokenizer.save_pretrained(folder)
        return load_model(folder, KINDS[architecture])


@contextmanager
def _new_weights_expected() -> Iterator[None]:
    """Suppress transformers' warning about new weights."""
    from transformers.utils import logging

    before = logging.get_verbosity()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(before)
