"""How to train: everything but the release and the seed, as a validated, versioned value."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any, Literal

import yaml
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    ValidationError,
    field_validator,
    model_validator,
)

from curation.corpora import source_names
from curation.encoders.model_folders import DEFAULT_ENCODER
from curation.release.portions import Portion
from db.errors import HedgerowError
from hedgerow.losses.contrastive import NEGATION_MARGIN, ORDER_WEIGHT, SCALE
from training.recipe.assignments import changes_in
from training.recipe.refusals import refuse_other_version, refuse_unknown, sentence
from training.recipe.weights import weights_in

RECIPE_VERSION = 12

Loss = Literal["family", "symmetric", "triples"]
Pooling = Literal["as_base", "mean", "cls", "max"]
Watched = Literal["ranked", "families", "questions", "sts"]
Weights = dict[str, Annotated[float, Field(ge=0, le=1)]]

SOURCE_SHARES = MappingProxyType({source_names.ANTONYMS: 0.047, source_names.CLAIMS: 0.083})
"""The default of `Recipe.sources`. These corpora have many more families than people write, and
they are plainer: all of them in each epoch would be most of what is learned."""


class Recipe(BaseModel):
    """How an encoder is trained. A recipe, a release and a seed determine a run.

    Every constructor checks the values, alone and together, and raises HedgerowError in one
    sentence. The defaults are those of the preset *standard* (`training.recipe.presets`). What
    nobody would change is a constant in the module that uses it.
    """

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        allow_inf_nan=False,
        str_strip_whitespace=True,
        use_attribute_docstrings=True,  # the page shows them as help
    )

    version: int = Field(default=RECIPE_VERSION, ge=RECIPE_VERSION, le=RECIPE_VERSION)
    """Of the recipe's format. Hedgerow reads this version only."""

    base_encoder: str = Field(default=DEFAULT_ENCODER, min_length=1)
    """What training starts from: the built-in encoder, a folder, or a model on the Hub."""

    pooling: Pooling = "as_base"
    """How a text's embedding comes from its tokens': as in the base encoder, or otherwise. The
    paper says 'cls' (§3.2), while its base model is published with 'mean'."""

    data: Portion = "all"
    """'all': every type. The others are the portions of the paper's Table 2. 'paper': its four
    negations and two hedges. 'negation': its negations, with the original entailment as the
    positive, or with the paraphrases of an anchor that has none. 'hedging': its hedges, with the
    original contradiction as the negative, or with the hedges of other anchors where an anchor has
    none."""

    sources: Weights = Field(default_factory=lambda: dict(SOURCE_SHARES))
    """Of a source of the release, by its name, the share of its families that an epoch goes
    through, 0 to 1; the next epoch goes on with others. 0: none of them. Of a source that is not
    named: all. With the loss 'triples', each family comes with all its triples."""

    types: Weights = Field(default_factory=dict)
    """Of a variant type, by its id, how often a variant takes part when its family does, 0 to 1.
    0: never. A type that is not named: always. With the loss 'triples', 0 or 1."""

    max_triples: int | None = Field(default=None, ge=2)
    """Trains on about that many triples, drawn by the seed; whole families with the losses over
    families. None: on all."""

    loss: Loss = "symmetric"
    """'triples': sentence-transformers' MultipleNegativesRankingLoss on flat (anchor, positive,
    negative), the paper's Equation 1 (§3.2), with the other triples of a batch as further
    negatives. 'family': an anchor with all its variants at a time, each text encoded once, and
    only its own negations as negatives. 'symmetric': as 'family', and the positives and negations
    are also compared with each other (`hedgerow.losses`)."""

    scale: float = Field(default=SCALE, gt=0, le=1000)
    """What cosines are multiplied by before the softmax; the reciprocal of the temperature."""

    negation_margin: float = Field(default=NEGATION_MARGIN, ge=0, le=1)
    """How much farther than positives negations should be, as a difference of cosines, beyond what
    the softmax asks for. This makes room for hedges. Not in 'triples'."""

    order_weight: float = Field(default=ORDER_WEIGHT, ge=0, le=100)
    """Weight of the order of an anchor's variants: paraphrases nearest, then hedges, then what
    leaves the claim open, then negations. Not in 'triples'."""

    epochs: float = Field(default=3.0, gt=0, le=1000)
    """Passes over the families, or over the triples; may be a fraction."""

    max_steps: int | None = Field(default=None, ge=1)
    """Ends the training earlier than `epochs` would; None: it does not."""

    batch_size: int = Field(default=8, ge=2, le=8192)
    """Families a step, or triples, of which no two share a text."""

    learning_rate: float = Field(default=1e-3, gt=0, lt=1)
    """Its peak: it rises from 0 during the warm-up and falls to 0 in a line."""

    query_prompt: str | None = Field(default=None, min_length=1, max_length=2000)
    """Instruction in front of every anchor, for encoders that expect one ("query:"); a space
    follows it. The trained encoder puts it in front of queries."""

    document_prompt: str | None = Field(default=None, min_length=1, max_length=2000)
    """Instruction in front of every variant, and of documents ("passage:")."""

    max_seq_length: int | None = Field(default=128, ge=8)
    """Longest training text in tokens (the rest is cut), at most the encoder's own limit, which
    the trained encoder keeps; None: that limit."""

    dropout: float | None = Field(default=0.0, ge=0, lt=1)
    """Probability with which a value inside the encoder is left out while it trains. Its noise in
    the cosine of a text with itself is as large as the difference between paraphrases and hedges.
    None: as the encoder was published (MiniLM: 0.1)."""

    retention: float = Field(default=10.0, ge=0, le=1000)
    """Against forgetting: weight of holding embeddings and cosines of text that is not trained on
    where the base encoder has them; 0: not at all."""

    retention_file: str | None = Field(default=None, min_length=1)
    """More text to hold, one sentence a line, in addition to the anchors that are trained on."""

    interpolation: float = Field(default=0.75, gt=0, le=1)
    """Against forgetting: the share of the finetuned weights in the mean of them and the base
    encoder's (Wortsman et al. 2022, WiSE-FT). In the upper third of the layers, where training
    costs most retrieval, it is a third of that. 1: all weights stay as they are."""

    soup: int = Field(default=1, ge=1, le=100)
    """Trainings, each with an order of its own, the mean of whose weights is saved (Wortsman et al.
    2022, *Model soups*): on negation a little better than each of them, for as many times the time.
    With early_stopping or max_steps there is one."""

    lora_rank: int | None = Field(default=64, ge=1, le=1024)
    """Trains low-rank changes of the linear layers (LoRA) in place of all weights; the saved model
    holds their sum. None: all weights."""

    early_stopping: Watched | None = None
    """The figure of the held-out part by which the best state is kept, and which ends the training
    once it has not risen in two evaluations. None: the last state is kept."""

    sts_file: str | None = Field(default=None, min_length=1)
    """A file of sentence pairs with scores (tab-separated: score and two sentences) by which
    general ability is measured on the way, in addition to the drift of cosines."""

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
        if any("\0" in name for name in value):  # PostgreSQL stores none
            raise ValueError("expected names without a null character")
        return {name: value[name] + 0.0 for name in sorted(value) if value[name] != 1}

    @field_validator("*")
    @classmethod
    def _one_zero(cls, value: Any) -> Any:
        return value + 0.0 if isinstance(value, float) else value  # -0.0 would be hashed otherwise

    @model_validator(mode="after")
    def _a_batch_can_be_filled(self) -> Recipe:
        if self.max_triples is not None and self.max_triples < self.batch_size:
            raise ValueError(
                f"max_triples ({self.max_triples}) must be at least batch_size ({self.batch_size})"
            )
        return self

    @model_validator(mode="after")
    def _triples_are_whole(self) -> Recipe:
        if self.loss == "triples" and any(self.types.values()):
            raise ValueError(
                "with the loss 'triples', the values in types must be 0 or 1; change them, or "
                "choose the loss 'family' or 'symmetric'"
            )
        return self

    @model_validator(mode="after")
    def _what_is_watched_is_measured(self) -> Recipe:
        if self.early_stopping == "sts" and self.sts_file is None:
            raise ValueError("early_stopping by 'sts' needs sentence pairs; set sts_file")
        return self

    # Below the other validators, since the last one defined goes around them.
    @model_validator(mode="wrap")
    @classmethod
    def _one_sentence(cls, data: Any, handler: ModelWrapValidatorHandler[Recipe]) -> Recipe:
        if isinstance(data, Mapping):
            refuse_other_version(data, expected=RECIPE_VERSION)
            refuse_unknown(data, known=cls.model_fields)
        try:
            return handler(data)
        except ValidationError as error:
            raise HedgerowError(sentence(error)) from error

    def __hash__(self) -> int:
        return hash(self.hash)  # pydantic's own takes no mappings

    @property
    def hash(self) -> str:
        """SHA-256 (64 hex digits) of the content; equal recipes have equal hashes."""
        content = json.dumps(self.model_dump(mode="json"), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(content.encode()).hexdigest()

    @property
    def leaves_out_kinds(self) -> bool:
        """Whether it leaves variants out by their source or type."""
        return self.data != "all" or bool(self.types) or 0.0 in self.sources.values()

    @property
    def trainings(self) -> int:
        """How many trainings' weights are averaged: the best state is one training's, and a number
        of steps is one of all steps."""
        return 1 if self.early_stopping or self.max_steps is not None else self.soup

    @property
    def prompts(self) -> tuple[str, str]:
        """What is put in front of an anchor and of a variant."""
        query, document = (
            f"{prompt} " if prompt else "" for prompt in (self.query_prompt, self.document_prompt)
        )
        return query, document

    @property
    def rows(self) -> str:
        """What a batch consists of."""
        return rows_of(self.loss)

    def steps(self, rows: int) -> int:
        """Steps of each training where an epoch goes through so many `rows`.

        A batch is always full: what remains of an epoch's rows is left out.
        """
        steps = max(1, math.ceil(self.epochs * (rows // self.batch_size)))
        return steps if self.max_steps is None else min(steps, self.max_steps)

    def total_steps(self, rows: int) -> int:
        """Steps of all trainings whose weights are averaged."""
        return self.trainings * self.steps(rows)

    def to_yaml(self) -> str:
        """The recipe as YAML text with every key, in the order of the fields."""
        return yaml.safe_dump(self.model_dump(mode="json"), sort_keys=False, allow_unicode=True)

    def with_overrides(self, assignments: Sequence[str]) -> Recipe:
        """A copy with `key=value` texts applied in order, as from `--set`; 'none' is no limit, or
        no weights.

        Raises:
            HedgerowError: an assignment without '=', an unknown key or a wrong value.
        """
        return Recipe.model_validate({**self.model_dump(), **changes_in(assignments)})


def rows_of(loss: str) -> str:
    """What a batch consists of with this loss."""
    return "triples" if loss == "triples" else "families"
