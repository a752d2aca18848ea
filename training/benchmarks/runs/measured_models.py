"""The models that benchmarks are run with: what was chosen, what it is, and its scorer."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator
from sqlalchemy.orm import Session

from curation.encoders.model_folders import encoder_folder
from curation.generation.request import Budget, ModelRequest, Price
from curation.generation.run import chat_model
from curation.validation import Missing
from db.errors import HedgerowError
from db.settings import Settings
from training.benchmarks.scorers.architecture import (
    ARCHITECTURES,
    WITHOUT_MODEL,
    architecture_of,
    fitting,
    load_scorer,
)
from training.benchmarks.scorers.chat_costs import Account
from training.benchmarks.scorers.chat_prompts import Chat
from training.benchmarks.scorers.embedding_models import BiEncoder, Cross, Sparse
from training.benchmarks.scorers.interface import Scorer
from training.benchmarks.scorers.late_interaction import LateInteraction, TokenMatrix
from training.benchmarks.scorers.lexical import Random, TfIdf
from training.models.known import MAX_ENCODER_NAME, clean_name, folder_of, location_of

CHAT = Chat.architecture

BASELINES = {TfIdf.architecture: "TF-IDF", Random.architecture: "random scores"}
"""Architectures that need no model, and the names of their results."""

_WITH_MODEL = (BiEncoder, Sparse, LateInteraction, Cross)
GENERAL = tuple(scorer.architecture for scorer in _WITH_MODEL)
"""Architectures that mteb's tasks can be run with; a cross-encoder only does reranking."""


class ModelChoice(BaseModel):
    """A model that benchmarks shall be run with.

    Attributes:
        name: of an encoder, as `clean_name` takes it; of a chat model, as its server calls it; ''
            for a baseline.
        architecture: one of `ARCHITECTURES`; '' for what the model's files say.
        base_url: of a chat model's server; '' for the environment's, else OpenAI's.
        max_tokens: of a chat model's answer; one that thinks aloud first needs thousands.
        price: of a chat model, as it was when the run was requested.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(default="", max_length=MAX_ENCODER_NAME)
    architecture: str = ""
    base_url: str = Field(default="", max_length=500)
    max_tokens: int = Field(default=500, ge=16, le=32_000)
    price: Price = Price()

    @field_validator("architecture")
    @classmethod
    def _known(cls, value: str) -> str:
        if value and value not in ARCHITECTURES:
            raise ValueError(f"there are the architectures {', '.join(ARCHITECTURES)}")
        return value

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if not self.name.strip() and self.architecture not in WITHOUT_MODEL:
            raise Missing("name", "name the model")
        if self.architecture == CHAT:
            self.request()
        return self

    @property
    def needs_device(self) -> bool:
        """Whether it computes on this machine what takes a while."""
        return self.architecture not in (*WITHOUT_MODEL, CHAT)

    def request(self) -> ModelRequest:
        """How a chat model is asked: without chance, and for words rather than JSON."""
        return ModelRequest(
            model=self.name,
            base_url=self.base_url,
            max_tokens=self.max_tokens,
            temperature=0.0,
            structured=False,
        )


class FoundModel(NamedTuple):
    """A model that is there.

    Attributes:
        name: of its results.
        hash: fingerprint of its files; '' where it has none here.
        place: as `load_scorer` takes it.
    """

    choice: ModelChoice
    name: str
    architecture: str
    hash: str
    place: str

    @property
    def title(self) -> str:
        """For people."""
        return model_title(self.name, self.architecture)


def model_title(name: str, architecture: str) -> str:
    """How a result's model is called: with its architecture where that is not the usual one."""
    usual = architecture == BiEncoder.architecture or name in BASELINES.values()
    return name if usual else f"{name} ({architecture})"


def clean_model(session: Session, choice: ModelChoice) -> ModelChoice:
    """The choice as it is stored, its name as results have it.

    Raises:
        HedgerowError: as `clean_name`.
    """
    if choice.architecture in BASELINES:
        return ModelChoice(name=BASELINES[choice.architecture], architecture=choice.architecture)
    if choice.architecture == CHAT:
        return choice.model_copy(update={"name": choice.name.strip()})
    return ModelChoice(name=clean_name(session, choice.name), architecture=choice.architecture)


def find_model(session: Session, settings: Settings, choice: ModelChoice) -> FoundModel:
    """What a choice, as `clean_model` gives it, means now; downloads a model of the hub.

    Raises:
        HedgerowError: its files are gone, have changed, or can't be downloaded.
    """
    if not choice.needs_device:
        return FoundModel(choice, choice.name, choice.architecture, "", "")
    place = location_of(session, settings, choice.name)
    hash_ = place.checked()
    architecture = choice.architecture or architecture_of(encoder_folder(place.name))
    return FoundModel(choice, choice.name, architecture, hash_, place.name)


def require_fitting(session: Session, settings: Settings, choice: ModelChoice) -> None:
    """Refuse a model whose files are here and say that it has another architecture, or none.

    Args:
        choice: as `clean_model` gives it.

    Raises:
        HedgerowError: that, or its files are gone.
    """
    if choice.needs_device and (folder := folder_of(session, settings, choice.name)):
        fitting(folder, choice.architecture, name=choice.name)


ACCOUNT = "spent.txt"
"""In the folder of a run."""


def scorer_of(
    found: FoundModel,
    settings: Settings,
    *,
    folder: Path | None = None,
    budget: Budget | None = None,
) -> Scorer:
    """Load the model.

    Args:
        folder: of a run; there a chat model's answers are kept, so that none is paid for twice,
            and what they cost.
        budget: at which the run pauses.

    Raises:
        HedgerowError: it can't be loaded, or has another architecture.
    """
    if found.architecture == CHAT:
        model = chat_model(found.choice.request(), settings)
        if folder is None:
            return Chat(model)
        account = Account(folder / ACCOUNT, found.choice.price, budget or Budget())
        memory = folder / f"answers-{_digest(found.choice)}.txt"
        return Chat(model, memory=memory, account=account)
    return load_scorer(found.place, found.architecture)


def _digest(choice: ModelChoice) -> str:
    """What tells chat models apart; the same answers at another price are the same."""
    asked = choice.model_dump_json(exclude={"price"})
    return hashlib.sha256(asked.encode()).hexdigest()[:12]


def inner_model(scorer: Scorer) -> Any:
    """The model that mteb is handed: one of sentence-transformers'.

    Raises:
        HedgerowError: the scorer has none.
    """
    if not isinstance(scorer, _WITH_MODEL):
        raise HedgerowError(
            f"Expected a model that embeds texts for mteb's tasks, found {scorer.architecture}; "
            "choose another model, or leave them out."
        )
    return scorer.model


def token_matrix(
    session: Session, settings: Settings, name: str, query: str, document: str
) -> TokenMatrix:
    """Which tokens of a pair find each other, to a late-interaction model (NevIR's Figure 9).

    The model that was asked last stays loaded.

    Args:
        name: as results have it.

    Raises:
        HedgerowError: it can't be loaded, or is no late-interaction model.
    """
    place = location_of(session, settings, name)
    hash_ = place.checked()
    return _late(place.name, hash_).tokens(query, document)


@lru_cache(maxsize=1)
def _late(place: str, hash_: str) -> LateInteraction:
    scorer = load_scorer(place, LateInteraction.architecture)
    assert isinstance(scorer, LateInteraction)  # another architecture is refused
    return scorer
