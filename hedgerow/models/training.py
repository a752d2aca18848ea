"""Loading the model of a finished training run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hedgerow.progress import quietly

if TYPE_CHECKING:
    from hedgerow.models.trained import TrainedEncoder


def loaded(result: Mapping[str, Any]) -> TrainedEncoder:
    """Load the model of a finished run, without printing library warnings."""
    with quietly():
        from hedgerow.models.trained import load_trained

        return load_trained(result)
