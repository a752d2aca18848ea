"""The request of a run for opinions, and the reviewer for its model."""

from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator
from sqlalchemy.orm import Session

from curation.decisions.reviewers import get_reviewer
from curation.diagnostics.opinions import judge_name
from curation.generation.prompts import JUDGE, prompt_versions
from curation.generation.request import ModelRequest
from db.errors import HedgerowError
from db.models import PromptVersion, Reviewer, Status

KIND = "judge"
"""The kind of these runs."""

MAX_REPEATS = 20


class JudgeSelection(BaseModel):
    """The variants of a run, except those that this judge has already judged.

    Attributes:
        types: ids of variant types; empty for all.
        status: only variants with this status; None for all except superseded variants.
        flagged: only flagged variants.
        limit: maximum number of variants, in the queue's random order; None for all.
        variants: uids; empty for all variants that meet the other conditions.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    types: tuple[str, ...] = ()
    status: Status | None = Status.PENDING
    flagged: bool = False
    limit: int | None = Field(default=None, ge=1)
    variants: tuple[str, ...] = Field(default=(), max_length=10_000)


class JudgeRequest(ModelRequest):
    """All parameters of a run for opinions, except the API key.

    Attributes:
        prompt: number of the prompt version (``PromptVersion.id``); None for the newest.
        repeats: how often to ask about every variant, to see how far the model agrees with itself.
            The answers are stored but don't count as opinions. 0 asks for opinions.
    """

    temperature: float | None = Field(default=0.0, ge=0, le=2)
    max_tokens: int = Field(default=500, ge=16, le=32_000)
    prompt: int | None = None
    repeats: int = Field(default=0, ge=0, le=MAX_REPEATS)
    selection: JudgeSelection = JudgeSelection()

    @model_validator(mode="after")
    def _repeats_can_differ(self) -> Self:
        if self.repeats == 1:
            raise ValueError("expected at least 2 answers for each variant")
        if self.repeats and self.temperature == 0:
            raise ValueError(
                "expected a temperature above 0 for repeated calls, since answers cannot "
                "differ otherwise"
            )
        return self


def prompt_of(session: Session, request: JudgeRequest) -> PromptVersion | None:
    """Return the prompt that a request names, or the newest; None if there is none yet.

    Raises:
        HedgerowError: the request names a version that is not a prompt for opinions.
    """
    versions = prompt_versions(session, JUDGE)
    if request.prompt is None:
        return versions[0] if versions else None
    found = next((row for row in versions if row.id == request.prompt), None)
    if found is None:
        raise HedgerowError(
            f"Expected a prompt for opinions, found no version {request.prompt}; choose another "
            "version."
        )
    return found


def judge_of(session: Session, request: JudgeRequest) -> Reviewer | None:
    """Return the reviewer for a request's model; None if it has not judged anything yet."""
    prompt = prompt_of(session, request)
    return get_reviewer(session, judge_name(request.model, prompt.version)) if prompt else None
