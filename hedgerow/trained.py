"""A finetuned encoder, with the result of its training run. Importing it loads PyTorch."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sentence_transformers import SentenceTransformer  # noqa: TID253  (the base class)

from curation.encoders.loading import load_encoder

if TYPE_CHECKING:
    import pandas as pd


class TrainedEncoder(SentenceTransformer):
    """A `SentenceTransformer` that was finetuned here.

    Attributes:
        run: the number of the run that trained it.
        folder: the folder with its files.
        result: the stored result of the run.
    """

    run: int
    folder: Path
    result: Mapping[str, Any]

    @property
    def figures(self) -> pd.DataFrame:
        """The figures on held-out families, before and after the training.

        Returns:
            One row per figure, with the columns before and after. Shares are in [0, 1], cosines and
            correlations in [-1, 1].
        """
        import pandas as pd

        held_out = self.result["held_out"]
        rows = {
            name: (held_out["before"].get(name), held_out["after"][name])
            for name in held_out["after"]
        }
        return pd.DataFrame.from_dict(rows, orient="index", columns=["before", "after"])


def load_trained(result: Mapping[str, Any]) -> TrainedEncoder:
    """Load the encoder of a finished training run.

    Args:
        result: the result of the run, with its number as ``run`` and the model's path as ``model``.
    """
    model = load_encoder(str(result["model"]))
    # Loading the model again as this class would repeat all checks, so change the object's class.
    model.__class__ = TrainedEncoder
    model.run, model.folder, model.result = result["run"], Path(result["model"]), result
    return model
