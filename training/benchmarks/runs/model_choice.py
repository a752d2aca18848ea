"""A user's choice of a model to benchmark, as runs store it."""

from __future__ import annotations

from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from curation.generation.request import ModelRequest, Price
from curation.validation import Missing
from training.benchmarks.scorers.architecture import SCORERS, WITHOUT_MODEL, scorer_class
from training.benchmarks.scorers.dpr import Dpr, halves_of
from training.benchmarks.scorers.interface import Prompts, Takes
from training.benchmarks.scorers.prompted.chat import Chat
from training.models.known import MAX_ENCODER_NAME

CHAT = Chat.architecture

MAX_PROMPT = 1000
"""Maximum number of characters of a prompt."""


class ModelChoice(BaseModel):
    """A model to run benchmarks with.

    Attributes:
        name: for an encoder, a name as in `clean_name`; for DPR, both encoders; for a chat model,
            the name that its server uses; '' for a baseline.
        architecture: one of `known_architectures`; '' means the architecture in the model's files.
            A stored run may name a plug-in that is no longer installed; `require_known` refuses it.
        query_prompt, document_prompt: prompts before queries and documents; None means the model's
            own prompts.
        base_url: address of a chat model's server; '' means that of the environment, or else
            OpenAI's.
        max_tokens: maximum length of a chat model's answer; a model that writes its reasoning first
            needs thousands.
        price: the price of a chat model at the time of the request.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(default="", max_length=MAX_ENCODER_NAME)
    architecture: str = ""
    query_prompt: str | None = Field(default=None, max_length=MAX_PROMPT)
    document_prompt: str | None = Field(default=None, max_length=MAX_PROMPT)
    base_url: str = Field(default="", max_length=500)
    max_tokens: int = Field(default=500, ge=16, le=32_000)
    price: Price = Price()

    @model_validator(mode="after")
    def _complete(self) -> Self:
        plugged_in = self.architecture and self.architecture not in SCORERS
        if not (self.name.strip() or plugged_in or self.architecture in WITHOUT_MODEL):
            raise Missing("name", "enter the model's name")
        if self.architecture == CHAT:
            self.request()
        return self

    @property
    def prompts(self) -> Prompts:
        """The prompts that replace the model's own."""
        return Prompts(self.query_prompt, self.document_prompt)

    @property
    def takes(self) -> Takes:
        """The input that its scorer needs.

        Raises:
            HedgerowError: as in `scorer_class`.
        """
        return scorer_class(self.architecture).takes if self.architecture else "model"

    @property
    def parts(self) -> tuple[str, ...]:
        """The names of its models: two for DPR, otherwise one."""
        may_be_dpr = self.architecture in ("", Dpr.architecture)
        return (may_be_dpr and halves_of(self.name)) or (self.name,)

    @property
    def needs_device(self) -> bool:
        """Whether it needs much computation on this machine."""
        return self.takes != "nothing" and self.architecture != CHAT

    def request(self) -> ModelRequest:
        """The request for a chat model: temperature 0, and plain text instead of JSON."""
        return ModelRequest(
            model=self.name,
            base_url=self.base_url,
            max_tokens=self.max_tokens,
            temperature=0.0,
            structured=False,
        )
