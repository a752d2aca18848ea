"""A user's choice of a model to benchmark, and what determines its scores besides its files."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from curation.encoders.checkpoint_files import base_folder, read_json
from curation.generation.request import ModelRequest, Price
from curation.validation import Missing
from training.benchmarks.scorers.architecture import SCORERS, WITHOUT_MODEL, scorer_class
from training.benchmarks.scorers.dpr import Dpr, halves_of
from training.benchmarks.scorers.embedding_models import BiEncoder
from training.benchmarks.scorers.interface import OWN_PROMPTS, Prompts, Takes
from training.benchmarks.scorers.prompted.causal import Causal
from training.benchmarks.scorers.prompted.chat import Chat
from training.benchmarks.scorers.prompted.wording import Wording
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


# -- scoring --------------------------------------------------------------------------------------
#
# What determines a model's scores besides its files and architecture. It is part of a result's key.
#
# This includes the similarity of a bi-encoder (if it is not the cosine), prompts that replace the
# model's own, and for language models the prompts and the number of orders.


PROMPTED = (Chat.architecture, Causal.architecture)
"""Architectures that get prompts."""

SIMILARITIES = {
    "dot": "dot product",
    "euclidean": "Euclidean distance",
    "manhattan": "Manhattan distance",
}
"""Sentence-transformers' similarities other than the cosine, and our names for them."""

BOTH_ORDERS = "both orders"
"""Marks results of chat models. Older results without it used a single order."""

PROMPT_SHOWN = 60
"""Maximum number of characters of a prompt in a model's title."""


def scoring_of(
    folder: Path | None, architecture: str, prompts: Prompts, wording: Wording | None = None
) -> str:
    """The key that a result is stored with, at most 40 characters; '' for the default.

    Args:
        folder: the folder of the model; None if it has none on this machine.
        wording: the prompts of a language model.

    Raises:
        HedgerowError: its configuration is damaged.
    """
    parts = []
    if folder is not None and architecture == BiEncoder.architecture:
        config = read_json((base_folder(folder) or folder) / "config_sentence_transformers.json")
        named = config.get("similarity_fn_name")
        parts += [name for name in SIMILARITIES if name == named]
    if prompts != OWN_PROMPTS:
        parts.append(f"prompts {_digest(prompts)}")
    if architecture == Chat.architecture:
        parts.append(BOTH_ORDERS)
    if architecture in PROMPTED and wording is not None and wording.digest:
        parts.append(f"prompts {wording.digest}")
    return ", ".join(parts)


def scoring_description(
    scoring: str, prompts: Prompts, edited: Mapping[str, int | None] | None = None
) -> list[str]:
    """The same for people: 'dot product', 'query prompt "query: "', 'relevance prompt 2'.

    Args:
        edited: as in `Wording.edited`.
    """
    known = SIMILARITIES | {BOTH_ORDERS: BOTH_ORDERS}
    parts = [known[part] for part in scoring.split(", ") if part in known]
    given = prompts._asdict().items()
    parts += [f"{side} prompt {_quoted(text)}" for side, text in given if text is not None]
    words = (edited or {}).items()
    return parts + [f"{name.replace('_', ' ')} prompt {version}" for name, version in words]


def _quoted(prompt: str) -> str:
    """A prompt in quotation marks, with escaped line breaks. A shortened prompt gets a hash."""
    quoted = json.dumps(prompt, ensure_ascii=False)
    if len(quoted) <= PROMPT_SHOWN:
        return quoted
    return f'{quoted[:PROMPT_SHOWN]}…" [{_digest(Prompts(prompt))[:4]}]'


def _digest(prompts: Prompts) -> str:
    return hashlib.sha256(json.dumps(prompts).encode()).hexdigest()[:8]
