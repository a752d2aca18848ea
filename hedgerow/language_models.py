"""Finetuning a causal language model on a release's question pairs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hedgerow.home import Home, acting
from hedgerow.running import carry_out
from training.llm.card import FIGURE_NAMES
from training.llm.request import FINETUNE_LANGUAGE_MODEL, FinetuneLanguageModel

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class LanguageModel:
    """A language model that was finetuned here.

    Attributes:
        run: the number of the run that trained it.
        folder: the folder of the adapter, in peft's format, with the tokenizer.
        merged: the folder of the merged model, or None if it was not saved.
        result: the stored result of the run.
    """

    run: int
    folder: Path
    merged: Path | None
    result: Mapping[str, Any] = field(repr=False)

    @property
    def figures(self) -> pd.DataFrame:
        """The figures on the validation questions, before and after the finetuning.

        Returns:
            One row per figure, with the columns before and after. ``right`` and the shares of both
            answers are in [0, 1]; ``eval_loss`` is a mean over tokens. The table is empty if the
            release has no validation split.
        """
        import pandas as pd

        before, after = self.result["before"], self.result["after"]
        rows = {name: (before.get(name), after[name]) for name in FIGURE_NAMES if name in after}
        return pd.DataFrame.from_dict(rows, orient="index", columns=["before", "after"])


def finetune(home: Home, request: FinetuneLanguageModel) -> LanguageModel:
    """See `hedgerow.Project.finetune_language_model`."""
    result = carry_out(*home, FINETUNE_LANGUAGE_MODEL.perform(acting(home), request).id)
    merged = Path(result["merged"]) if result["merged"] else None
    return LanguageModel(result["run"], Path(result["model"]), merged, result)
