"""How to train: everything but the release and the seed, as a validated, versioned value."""

from __future__ import annotations

import difflib
import hashlib
import json
import math
import reprlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

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

from curation.encoders import DEFAULT_ENCODER
from db.errors import HedgerowError

RECIPE_VERSION = 1

LARGEST_FILE = 64 * 1024
"""Bytes; a recipe is some lines, so a larger file is something else."""


class Recipe(BaseModel):
    """How an encoder is trained. A recipe, a release and a seed determine a run.

    Every constructor checks the values, alone and together, and raises HedgerowError in one
    sentence. The defaults come from a few trials on four fifths of the starter corpus (one seed,
    two CPU cores), judged by Figure 1; they forget some general ability.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, str_strip_whitespace=True
    )

    version: int = Field(default=RECIPE_VERSION, ge=RECIPE_VERSION, le=RECIPE_VERSION)
    """Of the recipe's format; an older Hedgerow refuses a newer one."""

    base_encoder: str = Field(default=DEFAULT_ENCODER, min_length=1)
    """What training starts from: the built-in encoder, a folder, or a model on the Hub."""

    loss: Literal["triples"] = "triples"
    """'triples': MultipleNegativesRankingLoss on flat (anchor, positive, negative), the
    paper's Equation 1 (§3.2) with the batch's other texts as further negatives."""

    scale: float = Field(default=10.0, gt=0, le=1000)
    """What cosines are multiplied by before the softmax; the reciprocal of the temperature. In
    single trials 10 gave Figure 1 a wider margin than the library's 20; on the held-out fifth
    the two were alike."""

    epochs: float = Field(default=1.0, gt=0, le=1000)
    """Passes over the triples; may be a fraction."""

    max_steps: int | None = Field(default=150, ge=1)
    """Ends the training earlier than `epochs` would; None: it does not. The default keeps a
    large release to minutes: the gain comes in the first hundred steps."""

    max_triples: int | None = Field(default=None, ge=2)
    """Trains on that many triples, drawn by the seed; None: on all."""

    batch_size: int = Field(default=32, ge=2, le=8192)
    """Triples a step; no two of a batch share a text."""

    learning_rate: float = Field(default=5e-5, gt=0, lt=1)
    """Its peak: it rises from 0 during the warm-up and falls to 0 in a line."""

    warmup_ratio: float = Field(default=0.1, ge=0, lt=1)
    """Share of the steps during which the learning rate rises."""

    weight_decay: float = Field(default=0.01, ge=0, lt=1)

    max_seq_length: int | None = Field(default=128, ge=8)
    """Longest training text in tokens (the rest is cut), at most the encoder's own limit, which
    the trained encoder keeps; None: that limit."""

    precision: Literal["fp32", "bf16"] = "fp32"
    """'bf16' computes in bfloat16 and keeps the weights in float32; faster on recent GPUs."""

    @field_validator("*", mode="before")
    @classmethod
    def _no_truth_values(cls, value: Any) -> Any:
        if isinstance(value, bool):  # pydantic would read true as 1
            raise ValueError("expected a number or a text")
        return value

    @model_validator(mode="after")
    def _a_batch_can_be_filled(self) -> Recipe:
        if self.max_triples is not None and self.max_triples < self.batch_size:
            raise ValueError(
                f"max_triples ({self.max_triples}) must be at least batch_size ({self.batch_size})"
            )
        return self

    # Below the other validators, since the last one defined goes around them.
    @model_validator(mode="wrap")
    @classmethod
    def _one_sentence(cls, data: Any, handler: ModelWrapValidatorHandler[Recipe]) -> Recipe:
        if isinstance(data, Mapping):
            _refuse_unknown(data)
            _refuse_other_version(data)
        try:
            return handler(data)
        except ValidationError as error:
            raise HedgerowError(_sentence(error)) from error

    @property
    def hash(self) -> str:
        """SHA-256 (64 hex digits) of the content; equal recipes have equal hashes."""
        content = json.dumps(self.model_dump(mode="json"), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(content.encode()).hexdigest()

    def steps(self, triples: int) -> int:
        """Steps of a training on so many triples (after the draw of max_triples).

        A batch is always full: what remains of an epoch's triples is left out.
        """
        steps = max(1, math.ceil(self.epochs * (triples // self.batch_size)))
        return steps if self.max_steps is None else min(steps, self.max_steps)

    @classmethod
    def from_yaml(cls, path: Path) -> Recipe:
        """Read a recipe; keys it leaves out have their defaults.

        Raises:
            HedgerowError: the file can't be read, is no YAML mapping, or holds a wrong value.
        """
        try:
            if path.stat().st_size > LARGEST_FILE:
                raise HedgerowError(f"{str(path)!r} is too large for a recipe; check the path.")
            text = path.read_text(encoding="utf-8")
        except OSError as error:
            raise HedgerowError(
                f"Could not read the recipe {str(path)!r}: {error.strerror}."
            ) from error
        except UnicodeDecodeError as error:
            raise HedgerowError(f"Expected UTF-8 text in the recipe {str(path)!r}.") from error
        try:
            values = yaml.safe_load(text)
        except yaml.YAMLError as error:
            where = getattr(error, "problem_mark", None)
            line = f" at line {where.line + 1}" if where else ""
            raise HedgerowError(f"The recipe {str(path)!r} is not YAML{line}.") from error
        if not isinstance(values, dict) or not all(isinstance(key, str) for key in values):
            raise HedgerowError(
                f"Expected 'key: value' lines in the recipe {str(path)!r}, such as "
                f"'epochs: 1', found {_shown(values)}."
            )
        return cls(**values)

    def to_yaml(self) -> str:
        """The recipe as YAML text with every key, in the order of the fields."""
        return yaml.safe_dump(self.model_dump(mode="json"), sort_keys=False, allow_unicode=True)

    def with_overrides(self, assignments: Sequence[str]) -> Recipe:
        """A copy with `key=value` texts applied in order, as from `--set`; 'none' is no limit.

        Raises:
            HedgerowError: an assignment without '=', an unknown key or a wrong value.
        """
        changes: dict[str, str | None] = {}
        for assignment in assignments:
            key, equals, value = (part.strip() for part in assignment.partition("="))
            if not key or not equals:
                raise HedgerowError(
                    f"Expected key=value, such as epochs=1, found {_shown(assignment)}."
                )
            changes[key] = None if value.lower() in {"none", "null"} else value
        return Recipe(**{**self.model_dump(), **changes})


def _refuse_unknown(values: Mapping[str, Any]) -> None:
    known = list(Recipe.model_fields)
    for key in values:
        if key not in known:
            nearest = difflib.get_close_matches(key, known, n=1, cutoff=0.0)[0]
            raise HedgerowError(
                f"The recipe has no key {_shown(key)}; the nearest one is {nearest!r}."
            )


def _refuse_other_version(values: Mapping[str, Any]) -> None:
    version = values.get("version", RECIPE_VERSION)
    if str(version) != str(RECIPE_VERSION):
        raise HedgerowError(
            f"The recipe has version {_shown(version)}, expected {RECIPE_VERSION}; "
            "a newer version needs a newer Hedgerow."
        )


def _sentence(error: ValidationError) -> str:
    """All that is wrong with a recipe, in one sentence."""
    parts = []
    for detail in error.errors(include_url=False):
        problem = detail["msg"].removeprefix("Value error, ")
        if detail["loc"]:
            problem = problem.removeprefix("Input ").removeprefix("String ")
            parts.append(f"{detail['loc'][0]} {problem}, found {_shown(detail['input'])}")
        else:
            parts.append(problem)
    return f"The recipe is wrong: {'; '.join(parts)}."


def _shown(value: object) -> str:
    """A value as it may stand in a message: quoted, and never long."""
    return reprlib.repr(value)
