"""Recipes of an older format, brought up to date."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from typing import Any

from curation.encoders.loading import DEFAULT_ENCODER
from db.errors import HedgerowError

RECIPE_VERSION = 8

_FIRST: dict[str, Any] = {
    "base_encoder": DEFAULT_ENCODER,
    "loss": "triples",
    "scale": 10.0,
    "epochs": 1.0,
    "max_steps": 150,
    "max_triples": None,
    "batch_size": 32,
    "learning_rate": 5e-5,
    "warmup_ratio": 0.1,
    "weight_decay": 0.01,
    "max_seq_length": 128,
    "precision": "fp32",
}
"""All that recipes of version 1 could say, and what they meant where they said nothing."""

_ADDED: dict[int, dict[str, Any]] = {
    2: {
        "pooling": "as_base",
        "data": "all",
        "without_types": (),
        "providers": (),
        "max_distance": None,
        "hedge_weight": 1.0,
        "negation_weight": 1.0,
        "order_weight": 0.0,
        "context": 0.0,
        "distillation": 0.0,
        "distillation_file": None,
        "interpolation": 1.0,
        "lora_rank": None,
        "freeze_word_embeddings": False,
        "measure_every": None,
        "early_stopping": None,
        "patience": 2,
        "sts_file": None,
        "checkpoint_every": None,
    },
    3: {
        "order_margin": 0.0,
        "opposites": 0,
        "distillation_texts": 16,
        "distillation_edits": False,
    },
    4: {"dropout": None, "soup": 1},
    5: {"distillation_wordings": 0},
    6: {"negation_margin": 0.0, "order_pushes_hedges": False},
    7: {
        "distillation_every": 1,
        "lazy_word_embeddings": False,
        "framed_anchors": False,
        "likeness": 0.0,
    },
    8: {"stances": 0},
}
"""What each version added, in the values by which a training goes as it did before. Version 2's
`order_weight`, 0 by default, weighed a softmax that is no longer there."""

_CHANGED: dict[int, dict[str, Any]] = {
    2: {
        "loss": "symmetric",
        "scale": 20.0,
        "epochs": 3.0,
        "max_steps": None,
        "batch_size": 8,
        "precision": "auto",
        "distillation": 1.0,
        "freeze_word_embeddings": True,
        "measure_every": 1.0,
        "checkpoint_every": 100,
    },
    3: {
        "scale": 50.0,
        "learning_rate": 3e-4,
        "hedge_weight": 0.5,
        "order_weight": 0.4,
        "distillation": 15.0,
        "interpolation": 0.9,
        "freeze_word_embeddings": False,
        "order_margin": 0.05,
        "opposites": 4,
        "distillation_texts": 48,
        "distillation_edits": True,
    },
    4: {"epochs": 5.0, "interpolation": 1.0, "opposites": 8, "dropout": 0.0},
    5: {
        "batch_size": 4,
        "epochs": 4.5,
        "learning_rate": 2e-4,
        "opposites": 4,
        "distillation_texts": 8,
        "distillation_wordings": 4,
    },
    6: {
        "hedge_weight": 1.5,
        "negation_margin": 0.12,
        "order_weight": 0.3,
        "order_margin": 0.02,
        "order_pushes_hedges": True,
        "opposites": 8,
        "distillation": 20.0,
        "distillation_texts": 12,
        "distillation_wordings": 8,
        "interpolation": 0.9,
    },
    7: {
        "epochs": 8.0,
        "distillation": 10.0,
        "interpolation": 1.0,
        "distillation_every": 2,
        "lazy_word_embeddings": True,
        "framed_anchors": True,
        "likeness": 1.5,
    },
}
"""The defaults that each version set, its own and older ones'."""


def defaults_of(version: int) -> dict[str, Any]:
    """What a recipe of an older version (from 1) means where it says nothing, in today's fields."""
    values = dict(_FIRST)
    for later in range(2, RECIPE_VERSION + 1):
        values |= _ADDED[later]
        if later <= version:
            values |= _CHANGED[later]
    return values


OLDER = {str(version): defaults_of(version) for version in range(1, RECIPE_VERSION)}


def up_to_date(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """A recipe's values in today's format; what an older one leaves out is as it was in its time.

    Raises:
        HedgerowError: it is of a newer format, or of none.
    """
    version = str(values.get("version", RECIPE_VERSION))
    if version in OLDER:
        return {**OLDER[version], **values, "version": RECIPE_VERSION}
    if version != str(RECIPE_VERSION):
        raise HedgerowError(
            f"The recipe has version {reprlib.repr(values['version'])}, expected {RECIPE_VERSION}; "
            "a newer version needs a newer Hedgerow."
        )
    return values
