"""What a generation run is asked to do; validated once, stored as the run's parameters."""

from enum import StrEnum
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from curation.taxonomy import Role

Provider = Literal["openai", "rules"]

KIND = "generate"
"""Of the runs."""

MAX_CONCURRENCY = 512


class Which(StrEnum):
    """Which anchors are asked about."""

    WITHOUT = "without"
    """Those that have no variant of the types that a call asks for."""
    SLOTS = "slots"
    """Those with a type of which no variant is accepted or pending; only these types are asked."""
    FAILED = "failed"
    """Those of an earlier run whose call failed or whose answer lacked something."""


class Selection(BaseModel):
    """The anchors of a run.

    Attributes:
        search: words that the anchor's text must hold; '' for all.
        limit: at most so many anchors, drawn by a hash of the seed; None for all.
        run: the earlier run, for ``Which.FAILED``.
        anchors: uids; none for all that the rest describes.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    which: Which = Which.WITHOUT
    search: str = Field(default="", max_length=200)
    source_id: int | None = None
    limit: int | None = Field(default=None, ge=1)
    run: int | None = None
    anchors: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _run_is_named(self) -> Self:
        if (self.which is Which.FAILED) != (self.run is not None):
            raise ValueError("name the earlier run to retry what failed in it, and only then")
        return self


class Price(BaseModel):
    """US dollars per million tokens."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    prompt: float = Field(default=0.0, ge=0)
    completion: float = Field(default=0.0, ge=0)

    def cost(self, prompt_tokens: int | None, completion_tokens: int | None) -> float:
        """US dollars for so many tokens; tokens that were not reported cost nothing here."""
        return (
            (prompt_tokens or 0) * self.prompt + (completion_tokens or 0) * self.completion
        ) / 1e6


class Budget(BaseModel):
    """Where a run stops by itself; None for no cap."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    calls: int | None = Field(default=None, ge=1)
    money: float | None = Field(default=None, gt=0, description="US dollars")


class GenerationRequest(BaseModel):
    """All that decides what a run does, but for the key.

    Attributes:
        prompts: by role, the number of the prompt version (``PromptVersion.id``).
        price: as it was when the run was requested, so that a later change leaves it alone.
        attempts: at most so many for one call, failures of the server included.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    provider: Provider = "openai"
    model: str = Field(default="", max_length=200)
    base_url: str = Field(default="", max_length=500)
    roles: tuple[Role, ...] = ("negation", "hedge")
    prompts: dict[Role, int] = Field(default_factory=dict)
    temperature: float | None = Field(default=1.0, ge=0, le=2)
    max_tokens: int = Field(default=1000, ge=16, le=32_000)
    structured: bool = True
    concurrency: int = Field(default=16, ge=1, le=MAX_CONCURRENCY)
    attempts: int = Field(default=5, ge=1, le=20)
    timeout: float = Field(default=120.0, gt=0, le=3600)
    seed: int = 0
    batch: bool = False
    selection: Selection = Selection()
    price: Price = Price()
    budget: Budget = Budget()

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if not self.roles or len(set(self.roles)) != len(self.roles):
            raise ValueError("name each call once, and at least one")
        if self.provider == "openai" and not self.model.strip():
            raise ValueError("name the model")
        return self
