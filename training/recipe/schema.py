"""Recipes: validated, versioned settings that determine a training run, except release and seed."""

import math
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from curation.corpora import source_names
from curation.encoders.model_folders import DEFAULT_ENCODER
from curation.release.triples import Portion
from db.errors import HedgerowError
from db.models import Run
from training.losses.contrastive import NEGATION_MARGIN, ORDER_WEIGHT, SCALE
from training.recipe.values import (
    ReadableRecipe,
    in_one_sentence,
    parse_values,
    read_values,
    weights_in,
)

RECIPE_VERSION = 12

Loss = Literal["family", "symmetric", "triples"]
Pooling = Literal["as_base", "mean", "cls", "max"]
Watched = Literal["ranked", "families", "questions", "sts"]
Weights = dict[str, Annotated[float, Field(ge=0, le=1)]]

SOURCE_SHARES = MappingProxyType({source_names.ANTONYMS: 0.047, source_names.CLAIMS: 0.083})
"""The default of `Recipe.sources`. These corpora have many more families than people write, and
simpler ones. If every epoch used all of them, they would dominate training."""


class Recipe(ReadableRecipe):
    """How an encoder is trained. A recipe, a release and a seed determine a run.

    Every constructor checks the values, alone and together, and raises HedgerowError in one
    sentence. The defaults are those of the preset *standard* (`training.recipe.presets`). Values
    that nobody would change are constants in the modules that use them.
    """

    format = RECIPE_VERSION

    version: int = Field(default=RECIPE_VERSION, ge=RECIPE_VERSION, le=RECIPE_VERSION)
    """Version of the recipe format. Hedgerow reads only this version."""

    base_encoder: str = Field(default=DEFAULT_ENCODER, min_length=1)
    """The encoder to start from: the built-in one, a folder, or a model on the Hub."""

    pooling: Pooling = "as_base"
    """How token embeddings are pooled. 'as_base' keeps the base encoder's pooling. The paper uses
    'cls' (§3.2); its base model was published with 'mean'.
    """

    data: Portion = "all"
    """'all': every type. The other values are the portions of the paper's Table 2. 'paper': the
    paper's four types of negation and two types of hedge. 'negation': only these negations, with
    the original entailment as the positive or, if there is none, the anchor's paraphrases.
    'hedging': only these hedges, with the original contradiction as the negative or, if there is
    none, the hedges of other anchors.
    """

    sources: Weights = Field(default_factory=lambda: dict(SOURCE_SHARES))
    """Share of a source's families in each epoch, from 0 to 1, by the source's name. The next epoch
    continues with other families. 0 excludes a source; sources without a share are used in full.
    """

    types: Weights = Field(default_factory=dict)
    """Probability (0 to 1), by type id, that a variant is used when its family is used. 0 excludes
    a type; types without a value are always used. With the loss 'triples', only 0 or 1.
    """

    max_triples: int | None = Field(default=None, ge=2)
    """Trains on a random sample of about this many triples (whole families, except with the loss
    'triples'). None: all triples.
    """

    loss: Loss = "symmetric"
    """'triples': sentence-transformers' MultipleNegativesRankingLoss on flat (anchor, positive,
    negative) triples, the paper's Equation 1 (§3.2), with the other triples of a batch as further
    negatives. 'family': each anchor with all its variants, and with only its own negations as
    negatives. 'symmetric': like 'family', but positives and negations also serve as anchors."""

    scale: float = Field(default=SCALE, gt=0, le=1000)
    """Factor for the cosines before the softmax; the inverse of the temperature."""

    negation_margin: float = Field(default=NEGATION_MARGIN, ge=0, le=1)
    """Additive margin on the cosines of negations, which leaves room for hedges between
    paraphrases and negations. Not used by the loss 'triples'.
    """

    order_weight: float = Field(default=ORDER_WEIGHT, ge=0, le=100)
    """Weight of the comparisons that order an anchor's variants: paraphrases closest, then hedges,
    then unsupported variants, then negations. Not used by the loss 'triples'.
    """

    epochs: float = Field(default=3.0, gt=0, le=1000)
    """Passes over the families or triples. Can be a fraction."""

    max_steps: int | None = Field(default=None, ge=1)
    """Maximum number of steps, even if not all epochs are done by then. None: no maximum."""

    batch_size: int = Field(default=8, ge=2, le=8192)
    """Families per step. With the loss 'triples', triples per step; no two share a text."""

    learning_rate: float = Field(default=1e-3, gt=0, lt=1)
    """The peak value. The rate rises from 0 during the warm-up, then falls linearly to 0."""

    query_prompt: str | None = Field(default=None, min_length=1, max_length=2000)
    """Instruction before every anchor, for encoders that expect one ("query:"), followed by a
    space. The trained encoder uses it for queries.
    """

    document_prompt: str | None = Field(default=None, min_length=1, max_length=2000)
    """Instruction before every variant ("passage:"). The trained encoder uses it for documents."""

    max_seq_length: int | None = Field(default=128, ge=8)
    """Maximum length of training texts in tokens; longer texts are truncated. None: the
    encoder's own limit, which the trained encoder keeps in any case.
    """

    dropout: float | None = Field(default=0.0, ge=0, lt=1)
    """Dropout probability in training. Dropout noise is as large as the difference between
    paraphrases and hedges, so the default is 0. None: the encoder's original value (MiniLM:
    0.1).
    """

    retention: float = Field(default=10.0, ge=0, le=1000)
    """Weight of the loss that keeps the embeddings and cosines of unrelated texts close to the base
    encoder's. Higher values reduce forgetting. 0 switches it off.
    """

    retention_file: str | None = Field(default=None, min_length=1)
    """File with additional retention text, one sentence per line."""

    interpolation: float = Field(default=0.75, gt=0, le=1)
    """Share of the finetuned weights when they are averaged with the base encoder's (Wortsman et
    al. 2022, WiSE-FT). Lower values reduce forgetting. The upper third of the layers, where
    training costs the most retrieval quality, gets a third of this share. 1: no averaging.
    """

    soup: int = Field(default=1, ge=1, le=100)
    """Number of runs, each with the data in a different order, whose weights are averaged (Wortsman
    et al. 2022, “Model soups”). This improves the negation scores a little, but it multiplies the
    training time. Counts as 1 with early_stopping or max_steps.
    """

    lora_rank: int | None = Field(default=64, ge=1, le=1024)
    """Trains low-rank updates of the linear layers (LoRA) instead of all weights; they are merged
    into the saved model. None: trains all weights.
    """

    early_stopping: Watched | None = None
    """Metric on the validation split for early stopping: keeps the best checkpoint, and stops after
    two evaluations without improvement. None: keeps the final weights.
    """

    sts_file: str | None = Field(default=None, min_length=1)
    """File of sentence pairs with scores (tab-separated: score and two sentences). Evaluations then
    also measure general ability with it.
    """

    @field_validator("*", mode="before")
    @classmethod
    def _no_truth_values(cls, value: Any) -> Any:
        if isinstance(value, bool):  # pydantic would read true as 1
            raise ValueError("expected a number or text")
        return value

    @field_validator("sources", "types", mode="before")
    @classmethod
    def _weights(cls, value: Any) -> Any:
        if value is None:
            return {}
        if isinstance(value, str):  # as in --set types=word:0.5,verbal:0
            return weights_in(value)
        if isinstance(value, Mapping) and any(isinstance(w, bool) for w in value.values()):
            raise ValueError("expected a number from 0 to 1 for each name")
        return value

    @field_validator("sources", "types")
    @classmethod
    def _without_whole_ones(cls, value: dict[str, float]) -> dict[str, float]:
        if any("\0" in name for name in value):  # PostgreSQL can't store it
            raise ValueError("expected names without a null character")
        return {name: value[name] + 0.0 for name in sorted(value) if value[name] != 1}

    @field_validator("*")
    @classmethod
    def _one_zero(cls, value: Any) -> Any:
        return value + 0.0 if isinstance(value, float) else value  # -0.0 would have another hash

    @model_validator(mode="after")
    def _a_batch_can_be_filled(self) -> Self:
        if self.max_triples is not None and self.max_triples < self.batch_size:
            raise ValueError(
                f"max_triples ({self.max_triples}) must be at least batch_size ({self.batch_size})"
            )
        return self

    @model_validator(mode="after")
    def _triples_are_whole(self) -> Self:
        if self.loss == "triples" and any(self.types.values()):
            raise ValueError(
                "with the loss 'triples', the values in types must be 0 or 1; change them, or "
                "choose the loss 'family' or 'symmetric'"
            )
        return self

    @model_validator(mode="after")
    def _what_is_watched_is_measured(self) -> Self:
        if self.early_stopping == "sts" and self.sts_file is None:
            raise ValueError("early_stopping by 'sts' needs sentence pairs; set sts_file")
        return self

    _one_sentence = model_validator(mode="wrap")(in_one_sentence)

    def __hash__(self) -> int:
        return hash(self.hash)  # pydantic's own takes no mappings

    @property
    def leaves_out_kinds(self) -> bool:
        """Whether it leaves variants out by their source or type."""
        return self.data != "all" or bool(self.types) or 0.0 in self.sources.values()

    @property
    def trainings(self) -> int:
        """Number of runs whose weights are averaged; 1 with early stopping or a maximum number of
        steps.
        """
        return 1 if self.early_stopping or self.max_steps is not None else self.soup

    @property
    def prompts(self) -> tuple[str, str]:
        """The texts before an anchor and before a variant."""
        query, document = (
            f"{prompt} " if prompt else "" for prompt in (self.query_prompt, self.document_prompt)
        )
        return query, document

    @property
    def rows(self) -> str:
        """The unit of a batch, in plural."""
        return rows_of(self.loss)

    def steps(self, rows: int) -> int:
        """Steps of each training run if an epoch has this many `rows`.

        A batch is always full. The remaining rows of an epoch are left out.
        """
        steps = max(1, math.ceil(self.epochs * (rows // self.batch_size)))
        return steps if self.max_steps is None else min(steps, self.max_steps)

    def total_steps(self, rows: int) -> int:
        """Steps of all runs whose weights are averaged."""
        return self.trainings * self.steps(rows)


def rows_of(loss: str) -> str:
    """The unit of a batch with this loss, in plural."""
    return "triples" if loss == "triples" else "families"


# -- Warnings about unusual recipes, shown before training ----------------------------------------


def cautions(recipe: Recipe) -> list[str]:
    """Warnings in full sentences; empty for a usual recipe."""
    found = []
    if recipe.pooling != "as_base":
        found.append(
            f"Pooling is {recipe.pooling!r}. An encoder that was published with another pooling "
            "loses general ability and needs more steps. Set pooling to 'as_base' to keep its "
            "own."
        )
    return found


# -- Reading recipes: from YAML files or text, and from stored runs -------------------------------


def read_recipe(path: Path) -> Recipe:
    """The recipe in a YAML file. Missing keys have their defaults.

    Raises:
        HedgerowError: the file can't be read, or as in `parse_recipe`.
    """
    return Recipe.model_validate(read_values(path))


def parse_recipe(text: str) -> Recipe:
    """The recipe in a YAML text. Missing keys have their defaults.

    Raises:
        HedgerowError: as in `parse_values`, or a wrong value.
    """
    return Recipe.model_validate(parse_values(text))


def recipe_of(run: Run) -> Recipe:
    """The recipe of a training run, to repeat it or to build on it.

    Raises:
        HedgerowError: another version of Hedgerow wrote it.
    """
    try:
        return Recipe.model_validate(run.parameters["recipe"])
    except HedgerowError as error:
        message = str(error).replace("The recipe", f"The recipe of run {run.id}", 1)
        raise HedgerowError(message) from error


def values_of(run: Run) -> dict[str, Any]:
    """Every key of a run's recipe for display. A recipe of another version is shown as stored."""
    try:
        return recipe_of(run).model_dump(mode="json")
    except HedgerowError:
        return dict(run.parameters["recipe"])
