"""The request of a generation run; validated once, stored as the run's parameters."""

from enum import StrEnum
from typing import Annotated, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from curation.taxonomy.surface_check import Role
from curation.validation import Missing

OPENAI = "openai"
"""The provider for servers with OpenAI's protocol; all other providers are classes."""

KIND = "generate"
"""The kind of these runs."""

MAX_CONCURRENCY = 512


class Which(StrEnum):
    """Which anchors to generate variants for."""

    WITHOUT = "without"
    """Anchors without variants of the types that a call requests."""
    SLOTS = "slots"
    """Anchors with a type that has no accepted or pending variant.

    Only those types are requested.
    """
    FAILED = "failed"
    """Anchors of an earlier run whose call failed or got an incomplete answer."""


class AnchorSelection(BaseModel):
    """The anchors of a run.

    Attributes:
        search: words that the anchor's text must contain; '' for all.
        limit: maximum number of anchors, sampled by a hash of the seed; None for all.
        run: the earlier run, for ``Which.FAILED``.
        types: only these types of the roles; empty for all except those that a run must name.
        anchors: uids; empty for all anchors that meet the other conditions.
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
"""The price of a call in a batch as a share of a direct call's, at OpenAI."""


class Price(BaseModel):
    """US dollars per million tokens."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    prompt: float = Field(default=0.0, ge=0)
    completion: float = Field(default=0.0, ge=0)

    def cost(self, prompt_tokens: int | None, completion_tokens: int | None) -> float:
        """Return US dollars for this many tokens; unreported tokens cost nothing here."""
        return (
            (prompt_tokens or 0) * self.prompt + (completion_tokens or 0) * self.completion
        ) / 1e6

    def times(self, share: float) -> "Price":
        """Return the price multiplied by this share."""
        return Price(prompt=self.prompt * share, completion=self.completion * share)


class Budget(BaseModel):
    """The limits at which a run pauses; None for no limit."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    calls: int | None = Field(default=None, ge=1)
    money: float | None = Field(default=None, gt=0, description="US dollars")


def _without_secrets(value: str) -> str:
    """Check the address of a server. It is stored and shown, so it must not contain a password."""
    if not value:
        return value
    parts = urlsplit(value)  # raises ValueError if it is invalid
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
"""The server's address; '' for the environment's or else OpenAI's."""


class ModelRequest(BaseModel):
    """All parameters of calls to a model, except the API key.

    Attributes:
        provider: `OPENAI`, or another one (`curation.generation.providers.installed`).
        price: the price of a direct call when the run was requested, which later changes don't
            affect.
        batch: whether calls go through the provider's Batch API.
        attempts: maximum attempts per call, including failures of the server.
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
        """The price that this run's calls are charged at.

        Only this accounts for cheaper batches.
        """
        return self.price.times(BATCH_SHARE) if self.batch else self.price


class GenerationRequest(ModelRequest):
    """All parameters of a generation run, except the API key.

    Attributes:
        prompts: by role, the number of the prompt version (``PromptVersion.id``).
        measure: whether the run measures its variants. A trial leaves that to another run, because
            somebody is waiting for its variants.
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
