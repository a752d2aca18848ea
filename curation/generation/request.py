"""What a generation run is asked to do; validated once, stored as the run's parameters."""

from enum import StrEnum
from typing import Annotated, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from curation.taxonomy.roles import Role
from curation.validation import Missing

OPENAI = "openai"
"""The provider that is a server which speaks OpenAI's protocol; all others are classes."""

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


class AnchorSelection(BaseModel):
    """The anchors of a run.

    Attributes:
        search: words that the anchor's text must hold; '' for all.
        limit: at most so many anchors, drawn by a hash of the seed; None for all.
        run: the earlier run, for ``Which.FAILED``.
        types: only these types of the roles; none for all but those that a run has to name.
        anchors: uids; none for all that the rest describes.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    which: Which = Which.WITHOUT
    search: str = Field(default="", max_length=200)
    source_id: int | None = None
    limit: int | None = Field(default=None, ge=1)
    run: int | None = None
    types: tuple[str, ...] = ()
    anchors: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _run_is_named(self) -> Self:
        if (self.which is Which.FAILED) != (self.run is not None):
            raise ValueError("name the earlier run when you retry failed calls, and only then")
        return self


BATCH_SHARE = 0.5
"""What a call in a batch costs of one that is answered at once, at OpenAI."""


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

    def times(self, share: float) -> "Price":
        """The price with this share of it paid."""
        return Price(prompt=self.prompt * share, completion=self.completion * share)


class Budget(BaseModel):
    """Where a run stops by itself; None for no cap."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    calls: int | None = Field(default=None, ge=1)
    money: float | None = Field(default=None, gt=0, description="US dollars")


def _without_secrets(value: str) -> str:
    """The address of a server, which is stored and shown, so that it may not hold a password."""
    if not value:
        return value
    parts = urlsplit(value)  # raises ValueError where it is none
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("expected an address such as http://127.0.0.1:8000/v1")
    try:
        port = parts.port
    except ValueError:
        port = 0
    if port == 0:
        raise ValueError("expected a port from 1 to 65535 after the host")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ValueError("leave out user name, password and query; enter a key as the API key")
    return value


Address = Annotated[str, Field(max_length=500), AfterValidator(_without_secrets)]
"""Of a server; '' for the environment's, else OpenAI's."""


class ModelRequest(BaseModel):
    """All that decides how a model is asked, but for the key.

    Attributes:
        provider: `OPENAI`, or another one (`curation.generation.providers.installed`).
        price: of a call that is answered at once, as it was when the run was requested, so that a
            later change leaves it alone.
        batch: whether calls go through the provider's Batch API.
        attempts: at most so many for one call, failures of the server included.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    provider: str = Field(default=OPENAI, max_length=40)
    model: str = Field(default="", max_length=200)
    base_url: Address = ""
    temperature: float | None = Field(default=1.0, ge=0, le=2)
    max_tokens: int = Field(default=1000, ge=16, le=32_000)
    structured: bool = True
    concurrency: int = Field(default=16, ge=1, le=MAX_CONCURRENCY)
    attempts: int = Field(default=5, ge=1, le=20)
    timeout: float = Field(default=120.0, gt=0, le=3600)
    seed: int = 0
    batch: bool = False
    price: Price = Price()
    budget: Budget = Budget()

    @model_validator(mode="after")
    def _model_is_named(self) -> Self:
        if self.provider == OPENAI and not self.model.strip():
            raise Missing("model", "name the model")
        return self

    @property
    def charged(self) -> Price:
        """What the calls of this run are charged at; the one place where batches become cheaper."""
        return self.price.times(BATCH_SHARE) if self.batch else self.price


class GenerationRequest(ModelRequest):
    """All that decides what a generation run does, but for the key.

    Attributes:
        prompts: by role, the number of the prompt version (``PromptVersion.id``).
        measure: whether the run measures its variants; a trial leaves that to another run, since
            somebody waits for its variants.
    """

    roles: tuple[Role, ...] = ("negation", "hedge")
    prompts: dict[Role, int] = Field(default_factory=dict)
    selection: AnchorSelection = AnchorSelection()
    measure: bool = True

    @model_validator(mode="after")
    def _roles_are_distinct(self) -> Self:
        if not self.roles or len(set(self.roles)) != len(self.roles):
            raise ValueError("name at least one call, and each only once")
        return self
