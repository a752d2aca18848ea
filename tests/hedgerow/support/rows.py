"""Families as rows of a data set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.training.support.trainings import THINGS, family
from training.losses.families import VARIANTS


def rows(things: Sequence[str] = THINGS) -> list[dict[str, Any]]:
    """A family for each thing, with the columns of an exported table."""
    return [row(thing) for thing in things]


def row(thing: str, **changes: object) -> dict[str, Any]:
    """One family with changes."""
    anchor, *variants = family(thing)
    texts = {name: [v.text for v in variants if v.role == role] for name, role in VARIANTS.items()}
    return {"anchor": anchor.text, **texts, "split": "train", "source": "tests", **changes}
