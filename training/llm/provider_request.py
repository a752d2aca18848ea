"""Requests for finetuning at a provider: checks, estimates, and the progress of their jobs."""

import json
import os
import uuid
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from sqlalchemy.orm import Session

from curation.actions import Action, OpenProject, Request
from curation.formatting import counted, tokens
from curation.generation.prices import DATED, dollars, training_price_of
from curation.generation.providers.chat.completions import address_of, is_own, require_key
from curation.generation.request import Address
from curation.release.export.file_formats import LEAST
from curation.release.freezing import get_release
from curation.release.question_pairs import Arm, count_questions, question_pairs, require_questions
from db import LARGEST_NUMBER
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import Run, Split
from db.runs import create_run, list_runs, refuse_equal
from db.settings import Settings

# -- Requests for finetuning at a provider: their checks and estimates ----------------------------


KIND = "finetune-provider"
"""Kind of these runs."""

LARGEST_SEED = 2**31 - 1

MOST_EPOCHS = 50
"""OpenAI's maximum number of epochs."""


class ProviderRequest(Request):
    """Everything that determines a finetuning at a provider, except for the key."""

    model: str = Field(default="", max_length=200, validate_default=True)
    """The model's name on the server."""

    base_url: Address = ""
    """The server's address (default: HEDGEROW_OPENAI_BASE_URL)."""

    release: int | None = Field(default=None, ge=1, le=LARGEST_NUMBER)
    """Default: the newest."""

    arm: Arm = "both"
    """Variants for the questions: all, those of the paper's six types, or, for an ablation, only
    negations or only hedges."""

    epochs: int | None = Field(default=None, ge=1, le=MOST_EPOCHS)
    """Number of epochs. Default: the provider chooses."""

    seed: int | None = Field(default=None, ge=0, le=LARGEST_SEED)
    """Seed. Default: the provider chooses one."""

    price: float | None = Field(default=None, ge=0)
    """US dollars per million training tokens at the time of the request; None if unknown."""

    @field_validator("model")
    @classmethod
    def _is_named(cls, value: str) -> str:
        if not value.strip():
            raise ValueError("name the model")
        return value.strip()


class Plan(NamedTuple):
    """The estimate for a request.

    Attributes:
        release: the release's number.
        train, validation: the numbers of question pairs for training and for evaluation.
        tokens: the approximate number of tokens of the training pairs, for one epoch.
        epochs: the number of epochs; None if the provider decides.
        price: US dollars per million training tokens; None if unknown.
    """

    release: int
    train: int
    validation: int
    tokens: int
    epochs: int | None
    price: float | None

    @property
    def cost(self) -> float | None:
        """The approximate cost in US dollars: for all epochs, or for one if the provider decides
        the number."""
        if self.price is None:
            return None
        return self.tokens * (self.epochs or 1) * self.price / 1e6

    @property
    def facts(self) -> dict[str, Any]:
        """The same, ready for JSON."""
        return self._asdict() | {"cost": self.cost}

    def sentences(self) -> list[str]:
        """The same for people."""
        measured = f" and is validated on {self.validation:,} others" if self.validation else ""
        lines = [
            f"It trains on {self.train:,} question pairs of release {self.release}{measured}. "
            f"That is about {self.tokens:,} tokens per epoch."
        ]
        if self.cost is None:
            return [*lines, "Its price is not known. Check the provider's prices for training."]
        epochs = counted(self.epochs, "epoch") if self.epochs else "each epoch"
        decides = "" if self.epochs else "; the provider chooses the number of epochs"
        return [
            *lines,
            f"About {dollars(self.cost)} for {epochs}, by the price list of {DATED}{decides}.",
        ]


def plan(project: OpenProject, request: ProviderRequest) -> Plan:
    """The estimate for a request.

    Raises:
        HedgerowError: there is no such release, or it gives too few question pairs.
    """
    with reading(project.engine) as session:
        return _plan(session, project.settings, request)


def _plan(session: Session, settings: Settings, request: ProviderRequest) -> Plan:
    release = get_release(session, request.release)
    counts = count_questions(session, release.id, arm=request.arm)
    require_questions(release, counts, request.arm)
    train = counts.pairs.get(Split.TRAIN, 0)
    if train < LEAST:
        raise HedgerowError(
            f"Expected at least {LEAST} question pairs to train on, found {train} in release "
            f"{release.number}; accept more variants and create a new release."
        )
    letters = sum(
        len(pair.prompt) + len(pair.answer)
        for pair in question_pairs(session, release.id, split=Split.TRAIN, arm=request.arm)
    )
    return Plan(
        release.number,
        train,
        counts.pairs.get(Split.VALIDATION, 0),
        tokens(letters),
        request.epochs,
        price_of(request, settings),
    )


def price_of(request: ProviderRequest, settings: Settings) -> float | None:
    """OpenAI's price for training the model; None for other servers, whose prices are unknown."""
    if not is_own(address_of(request.base_url, settings)):
        return None
    return training_price_of(request.model)


def store(project: OpenProject, request: ProviderRequest) -> Run:
    """Store a run that finetunes a model at a provider.

    Raises:
        HedgerowError: as in `plan`, there is no key for the address, or the same finetuning is in
            progress.
    """
    require_key(request.base_url, project.settings, project.keys)
    with writing(project.engine) as session:
        found = _plan(session, project.settings, request)
        request = request.model_copy(update={"release": found.release, "price": found.price})
        run = create_run(
            session,
            kind=KIND,
            parameters=request.model_dump(mode="json"),
            inputs={"release": get_release(session, found.release).content_hash},
            requested_by=project.author(session),
        )
        same = "finetuning with the same settings; change the model, the release or a setting"
        refuse_equal(session, run, doing=same)
        return run


FINETUNE_AT_PROVIDER = Action("finetune at a provider", ProviderRequest, store, plan)


def request_of(run: Run) -> ProviderRequest:
    """The request of a run."""
    return ProviderRequest.model_validate(run.parameters)


def list_finetunings(session: Session) -> list[Run]:
    """The finetuning runs at providers, newest first."""
    return list_runs(session, kind=KIND, limit=100)


def finetuned_models(session: Session) -> list[str]:
    """The names of the finetuned models, newest first."""
    names = (run.result.get("fine_tuned_model") for run in list_finetunings(session))
    return list(dict.fromkeys(name for name in names if name))


# -- The progress of a run at its provider, stored in the run's folder ----------------------------
#
# Each step is recorded before it starts and again when it is done. A resumed run therefore uploads
# and starts nothing twice.


JOB_FILE = "provider_job.json"


class Job(BaseModel):
    """The progress of a run.

    Attributes:
        label: unique for this run; the names of its files begin with it.
        training_file, validation_file, job: their ids at the provider, once they exist.
        started: whether the job has been requested.
    """

    model_config = ConfigDict(frozen=True)

    label: str
    training_file: str = ""
    validation_file: str = ""
    started: bool = False
    job: str = ""


def read_job(folder: Path) -> Job | None:
    """The progress of a run; None before its first step.

    Raises:
        HedgerowError: the file is damaged.
    """
    path = folder / JOB_FILE
    try:
        return Job.model_validate_json(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (ValidationError, ValueError) as error:
        raise HedgerowError(
            f"{path} no longer contains the job that this run started; check the jobs at the "
            "provider, and start another run."
        ) from error


def new_job() -> Job:
    """The progress of a new run."""
    return Job(label=f"hedgerow-{uuid.uuid4().hex[:16]}")


def keep_job(folder: Path, job: Job) -> None:
    """Store the progress. It is on the disk when this returns."""
    draft = folder / f".{JOB_FILE}.part"
    with draft.open("w", encoding="utf-8") as file:
        json.dump(job.model_dump(), file)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(folder / JOB_FILE)
