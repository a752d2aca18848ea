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
    ValidationInfo,
    field_validator,
    model_validator,
)

from curation.corpora import source_names
from curation.encoders.model_folders import DEFAULT_ENCODER
from db.errors import HedgerowError
from training.recipe.refusals import refuse_other_version, refuse_unknown, sentence, shown
from training.recipe.weights import weights_in
from training.retention.topics import OF_A_TOPIC

RECIPE_VERSION = 9

Loss = Literal["family", "symmetric", "triples"]
DataMode = Literal["all", "negation", "hedging"]
Pooling = Literal["as_base", "mean", "cls", "max"]
Precision = Literal["auto", "fp32", "bf16"]
Watched = Literal["ranked", "families", "questions", "sts"]
Weights = dict[str, Annotated[float, Field(ge=0, le=1)]]

SOURCE_SHARES = MappingProxyType({source_names.ANTONYMS: 0.1, source_names.CLAIMS: 0.2})
"""The default of `Recipe.sources`. These corpora have many more families than people write, and
they are plainer: all of them in each epoch would be most of what is learned."""


class Recipe(BaseModel):
    """How an encoder is trained. A recipe, a release and a seed determine a run.

    Every constructor checks the values, alone and together, and raises HedgerowError in one
    sentence. Where the defaults come from is told in docs/recipe_search.md.
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

    data: DataMode = "all"
    """As in the paper's Table 2: 'all'; 'negation': negations, with the original entailment as the
    positive, or with the paraphrases of an anchor that has none; 'hedging': hedges, with the
    original contradiction as the negative beside other anchors' hedges."""

    sources: Weights = Field(default_factory=lambda: dict(SOURCE_SHARES))
    """Of a source of the release, by its name, the share of its families that an epoch goes
    through, 0 to 1; the next epoch goes on with others. 0: none of them. Of a source that is not
    named: all. With the loss 'triples', each family comes with all its triples."""

    types: Weights = Field(default_factory=dict)
    """Of a variant type, by its id, how often a variant takes part when its family does, 0 to 1.
    0: never. A type that is not named: always. With the loss 'triples', 0 or 1."""

    providers: tuple[str, ...] = ()
    """Only variants from these providers, such as 'rules'; empty: from all."""

    max_distance: int | None = Field(default=None, ge=1)
    """Variants at a greater Levenshtein distance (characters) from their anchor are left out."""

    max_triples: int | None = Field(default=None, ge=2)
    """Trains on about that many triples, drawn by the seed; whole families with the losses over
    families. None: on all."""

    loss: Loss = "symmetric"
    """'triples': sentence-transformers' MultipleNegativesRankingLoss on flat (anchor, positive,
    negative), the paper's Equation 1 (§3.2). 'family': the same comparisons, an anchor with all its
    variants at a time, each text encoded once. 'symmetric': beside them every positive and the
    negations are compared likewise (`training.finetune.losses`)."""

    scale: float = Field(default=50.0, gt=0, le=1000)
    """What cosines are multiplied by before the softmax; the reciprocal of the temperature."""

    hedge_weight: float = Field(default=1.5, ge=0, le=100)
    """Of the comparisons that have a hedge on the positive side, beside 1 for the others; not in
    the loss 'triples'."""

    negation_weight: float = Field(default=1.0, ge=0, le=100)
    """Of those among an anchor's negations, which the loss 'symmetric' makes."""

    negation_margin: float = Field(default=0.12, ge=0, le=1)
    """By how much, as a difference of cosines, negations are to be farther than what they are
    compared with, beyond what the softmax asks for; not in 'triples'. It makes room for hedges."""

    order_weight: float = Field(default=0.3, ge=0, le=100)
    """Of having an anchor's paraphrases nearer to it than its hedges; not in 'triples'."""

    order_margin: float = Field(default=0.03, ge=0, le=2)
    """By how much, as a difference of cosines."""

    order_pushes_hedges: bool = True
    """For that, hedges are pushed away, too; otherwise only paraphrases are drawn nearer."""

    context: float = Field(default=0.0, ge=0, le=1)
    """Probability that a family is set into the same few neutral sentences, so that the encoder
    sees a negation inside a passage."""

    epochs: float = Field(default=7.0, gt=0, le=1000)
    """Passes over the families, or over the triples; may be a fraction."""

    max_steps: int | None = Field(default=None, ge=1)
    """Ends the training earlier than `epochs` would; None: it does not."""

    batch_size: int = Field(default=4, ge=2, le=8192)
    """Families a step, or triples, of which no two share a text."""

    learning_rate: float = Field(default=2e-4, gt=0, lt=1)
    """Its peak: it rises from 0 during the warm-up and falls to 0 in a line."""

    warmup_ratio: float = Field(default=0.1, ge=0, lt=1)
    """Share of the steps during which the learning rate rises."""

    weight_decay: float = Field(default=0.01, ge=0, lt=1)
    """How far a step draws weights towards 0, as a share of the learning rate (AdamW); not biases
    and normalisations."""

    max_seq_length: int | None = Field(default=128, ge=8)
    """Longest training text in tokens (the rest is cut), at most the encoder's own limit, which
    the trained encoder keeps; None: that limit."""

    dropout: float | None = Field(default=0.0, ge=0, lt=1)
    """Probability with which a value inside the encoder is left out while it trains. The cosines of
    one text with itself differ by it as much as paraphrases and hedges shall. None: as the encoder
    was published with (MiniLM: 0.1)."""

    precision: Precision = "auto"
    """'bf16' computes in bfloat16 and keeps the weights in float32; 'auto' does so where the
    processor has instructions for it."""

    distillation: float = Field(default=7.0, ge=0, le=1000)
    """Against forgetting: weight of the distance between the embeddings of unrelated text and the
    base encoder's, and between the cosines among them; 0: none."""

    distillation_texts: int = Field(default=12, ge=2, le=8192)
    """Of such texts, for a step that has any."""

    distillation_every: int = Field(default=2, ge=1, le=1000)
    """Steps from one with such texts to the next, whose weight is as many times as great; more
    steps so fit into the same time."""

    distillation_wordings: int = Field(default=8, ge=0, le=1000)
    """Topics, for such a step, of which Hedgerow brings four sentences each (English): said, said
    again in other words, said of other details, and another statement on it. Their cosines are
    kept, too. 0: none."""

    likeness: float = Field(default=2.5, ge=0, le=1000)
    """Weight of having those of such sentences that say the same, in any words, nearer to each
    other than ones on a topic that do not, of whichever topic (Huang et al. 2024, CoSENT); 0:
    none."""

    distillation_edits: bool = True
    """Half of these are copies of the other half with some words cut or exchanged, and the cosine
    of each pair is kept, too: what is a little different shall stay as near as it was."""

    distillation_file: str | None = Field(default=None, min_length=1)
    """Text for it, one sentence a line, in addition to the anchors that are trained on."""

    interpolation: float = Field(default=0.97, gt=0, le=1)
    """Against forgetting: the share of the finetuned weights in the mean of them and the base
    encoder's (Wortsman et al. 2022, WiSE-FT); 1: they stay as they are."""

    soup: int = Field(default=1, ge=1, le=100)
    """Trainings, each with an order of its own, the mean of whose weights is saved (Wortsman et al.
    2022, *Model soups*): on negation a little better than each of them, for as many times the time.
    With LoRA, early_stopping or max_steps there is one."""

    lora_rank: int | None = Field(default=None, ge=1, le=1024)
    """Trains low-rank changes of the linear layers (LoRA) in place of all weights; the saved model
    holds their sum. None: all weights."""

    freeze_word_embeddings: bool = False
    """Leaves the table of word embeddings as it is: with MiniLM half of the weights. Trained, they
    help to learn which words are opposites."""

    lazy_word_embeddings: bool = True
    """A step moves the embeddings of its own words alone (Adam made lazy, without weight decay),
    not of all words it ever had: a fifth less time for a step of MiniLM on a CPU."""

    measure_every: float | None = Field(default=1.0, gt=0, le=1000)
    """Epochs between two measurings of the held-out part; None: none."""

    early_stopping: Watched | None = None
    """The figure of the held-out part by which the best state is kept, and which ends the training
    once it has not risen for `patience` measurings. None: the last state is kept."""

    patience: int = Field(default=2, ge=1, le=1000)
    """Measurings without a better figure after which `early_stopping` ends the training."""

    sts_file: str | None = Field(default=None, min_length=1)
    """A file of sentence pairs with scores (tab-separated: score and two sentences) by which
    general ability is measured on the way, beside the drift of cosines."""

    checkpoint_every: int | None = Field(default=100, ge=1)
    """Steps between checkpoints, from which a training that was cut off goes on; None: none."""

    @field_validator("*", mode="before")
    @classmethod
    def _no_truth_values(cls, value: Any, info: ValidationInfo) -> Any:
        is_switch = cls.model_fields[info.field_name or ""].annotation is bool
        if isinstance(value, bool) and not is_switch:  # pydantic would read true as 1
            raise ValueError("expected a number or a text")
        return value

    @field_validator("providers", mode="before")
    @classmethod
    def _listed(cls, value: Any) -> Any:
        if isinstance(value, str):  # as in --set providers=rules,openai
            return value.split(",")
        return () if value is None else value

    @field_validator("providers")
    @classmethod
    def _in_order(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(sorted({name for name in value if name}))

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
                "with the loss 'triples', a type takes part always or never, so give it 1 or 0 in "
                "types, or choose a loss over families"
            )
        return self

    @model_validator(mode="after")
    def _what_is_watched_is_measured(self) -> Recipe:
        if self.early_stopping is not None and self.measure_every is None:
            raise ValueError("early_stopping goes by what is measured; give measure_every")
        if self.early_stopping == "sts" and self.sts_file is None:
            raise ValueError("early_stopping by 'sts' needs sentence pairs; give sts_file")
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
        """Whether it leaves variants out by their source, type or provider."""
        kinds = self.providers or self.types or 0.0 in self.sources.values()
        return self.data != "all" or bool(kinds)

    @property
    def trainings(self) -> int:
        """How many trainings' weights are averaged: factors of low-rank changes have no mean that
        is of use, the best state is one training's, and a number of steps is one of all steps."""
        single = self.lora_rank is not None or self.early_stopping or self.max_steps is not None
        return 1 if single else self.soup

    @property
    def unrelated_texts(self) -> float:
        """How many texts distillation takes for a step, on average."""
        texts = self.distillation_texts + OF_A_TOPIC * self.distillation_wordings
        return texts / self.distillation_every if self.distillation else 0.0

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
        changes: dict[str, str | None] = {}
        for assignment in assignments:
            key, equals, value = (part.strip() for part in assignment.partition("="))
            if not key or not equals:
                raise HedgerowError(
                    f"Expected key=value, such as epochs=1, found {shown(assignment)}."
                )
            changes[key] = None if value.lower() in {"none", "null"} else value
        return Recipe.model_validate({**self.model_dump(), **changes})


def rows_of(loss: str) -> str:
    """What a batch consists of with this loss."""
    return "triples" if loss == "triples" else "families"
