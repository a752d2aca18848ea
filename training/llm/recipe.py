"""The recipe for finetuning a language model: everything except model, release and seed."""

import math
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from curation.release.question_pairs import Arm
from training.recipe.values import ReadableRecipe, in_one_sentence

RECIPE_VERSION = 1

Schedule = Literal["linear", "cosine", "constant"]

LAYERS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
"""The linear layers of a Llama. The paper's adapter changes all of them (Table 4)."""

ALL_LINEAR = "all-linear"
"""peft's name for all linear layers except the head, whatever their names in the model."""


class LanguageRecipe(ReadableRecipe):
    """How a language model is finetuned with LoRA. Every constructor checks the values and raises
    HedgerowError in one sentence.

    The epochs and the adapter are those of the paper (Appendix B, Table 4): 20 epochs, rank 16,
    alpha 16, no dropout, no bias. The paper does not give the other values. Their defaults are
    those of trl and peft, except for the learning rate: ten times trl's, as its guide advises for
    adapters.
    """

    format = RECIPE_VERSION

    version: int = Field(default=RECIPE_VERSION, ge=RECIPE_VERSION, le=RECIPE_VERSION)
    """Version of the recipe format. Hedgerow reads only this version."""

    arm: Arm = "both"
    """Variants for the questions. 'both': negations and hedges of any type. 'paper': the paper's
    six types. 'negation' or 'hedging': only the negations or only the hedges among these six, as
    in the paper's Table 3.
    """

    epochs: float = Field(default=20.0, gt=0, le=1000)
    """Passes over the question pairs. Can be a fraction."""

    max_pairs: int | None = Field(default=None, ge=2)
    """Trains on a random sample of this many pairs. None: all pairs."""

    rank: int = Field(default=16, ge=1, le=1024)
    """LoRA rank: the inner dimension of the two matrices that are trained for each layer."""

    alpha: int = Field(default=16, ge=1, le=4096)
    """LoRA alpha: the change in a layer's weights is scaled by alpha / rank."""

    dropout: float = Field(default=0.0, ge=0, lt=1)
    """Dropout probability of the adapter's inputs in training."""

    targets: tuple[str, ...] = LAYERS
    """Names of the layers that LoRA changes, separated by commas. 'all-linear' means all linear
    layers except the head, for models whose layer names differ from Llama's.
    """

    modules_to_save: tuple[str, ...] = ()
    """Names of modules that are fully trained and saved with the adapter, such as
    embed_tokens,lm_head for a model with untrained embeddings.
    """

    learning_rate: float = Field(default=2e-4, gt=0, lt=1)
    """The peak value. After the warm-up, the schedule determines how it falls."""

    schedule: Schedule = "linear"
    """How the learning rate falls: linearly to 0, along a cosine, or not at all."""

    warmup: float = Field(default=0.0, ge=0, lt=1)
    """Share of the steps in which the learning rate rises from 0."""

    batch_size: int = Field(default=8, ge=1, le=4096)
    """Question pairs per batch."""

    gradient_accumulation: int = Field(default=1, ge=1, le=4096)
    """Number of batches per step. Raise it if the device only has memory for small batches."""

    max_length: int = Field(default=1024, ge=8, le=131_072)
    """Maximum number of tokens in a question and its answer together. Longer pairs are left out."""

    gradient_checkpointing: bool = True
    """Recomputes activations instead of storing them: less memory, more time."""

    four_bit: bool = False
    """Keeps the base model's weights in 4 bits (QLoRA), for a GPU with little memory. Needs the
    package bitsandbytes and a GPU."""

    chat_template: bool = True
    """Uses the tokenizer's chat template. False: the plain question, for a base model without a
    chat template.
    """

    @field_validator("targets", "modules_to_save", mode="before")
    @classmethod
    def _names(cls, value: Any) -> Any:
        if value is None:
            return ()
        if isinstance(value, str):
            return tuple(name for part in value.split(",") if (name := part.strip()))
        return value

    @field_validator("targets", "modules_to_save")
    @classmethod
    def _plain_names(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for name in value:
            if not name.replace("-", "_").replace(".", "_").isidentifier():
                raise ValueError("expected names of modules, such as q_proj,v_proj")
        return tuple(dict.fromkeys(value))

    @field_validator("targets")
    @classmethod
    def _some_target(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if not value or (ALL_LINEAR in value and len(value) > 1):
            raise ValueError(f"expected names of layers, or {ALL_LINEAR} alone")
        return value

    _one_sentence = model_validator(mode="wrap")(in_one_sentence)

    def sampled(self, pairs: int) -> int:
        """The number of pairs that are used for training."""
        return min(pairs, self.max_pairs or pairs)

    def steps(self, pairs: int) -> int:
        """The number of training steps for this many sampled pairs."""
        batches = math.ceil(pairs / self.batch_size)
        return math.ceil(self.epochs * math.ceil(batches / self.gradient_accumulation))
