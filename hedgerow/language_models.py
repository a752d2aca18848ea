"""Finetuning a causal language model on a release's question pairs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from curation.generation.providers.chat.completions import require_key
from curation.validation import FieldPath, checked, in_words
from db.engine import reading, writing
from hedgerow.home import Home, asked_by
from hedgerow.running import carry_out
from training.encoder_run.trainings import DEFAULT_SEED
from training.llm.card import FIGURE_NAMES
from training.llm.provider_request import Plan, ProviderRequest, plan, request_finetuning
from training.llm.recipe import chosen_recipe
from training.llm.request import request_language_finetuning

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


def finetune(
    home: Home,
    number: int | None,
    *,
    base: str,
    arm: str | None,
    recipe: Path | None,
    settings: Mapping[str, Any],
    seed: int | None,
    merge: bool,
) -> LanguageModel:
    """See `hedgerow.Project.finetune_language_model`."""
    with writing(home.engine) as session:
        run = request_language_finetuning(
            session,
            base=base,
            release_number=number,
            recipe=chosen_recipe(recipe, settings, arm),
            seed=DEFAULT_SEED if seed is None else seed,
            merge=merge,
            requested_by=asked_by(session, home.settings),
        )
    result = carry_out(home.settings, home.engine, run.id)
    merged = Path(result["merged"]) if result["merged"] else None
    return LanguageModel(result["run"], Path(result["model"]), merged, result)


# -- Finetuning at a provider ----------------------------------------------------------------------


def request_of(
    values: Mapping[str, Any], *, called: Callable[[FieldPath], str] = in_words
) -> ProviderRequest:
    """Build a request from the values of its fields.

    Args:
        called: a function that returns the name of a field for messages.

    Raises:
        HedgerowError: a value is invalid.
    """
    return checked(ProviderRequest, values, called=called)


def plan_of(home: Home, request: ProviderRequest) -> Plan:
    """The estimate for a request.

    Raises:
        HedgerowError: as in `plan`.
    """
    with reading(home.engine) as session:
        return plan(session, home.settings, request)


def store_finetuning(home: Home, request: ProviderRequest) -> int:
    """Store a run that finetunes a model, and return its number.

    Raises:
        HedgerowError: as in `request_finetuning`, or there is no API key for the address.
    """
    require_key(request.base_url, home.settings)
    with writing(home.engine) as session:
        author = asked_by(session, home.settings)
        return request_finetuning(session, home.settings, request, requested_by=author).id
