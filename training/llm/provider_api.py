"""The part of a provider's finetuning API that Hedgerow uses: files, jobs, and their losses."""

import base64
import binascii
import csv
import io
import math
from collections.abc import AsyncGenerator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, cast

import httpx2
import openai
from openai.types.fine_tuning import FineTuningJob, FineTuningJobEvent
from openai.types.fine_tuning.job_create_params import Hyperparameters

from curation.generation.answers import AnswerProblem
from curation.generation.providers.chat.client import ChatModel
from curation.generation.providers.chat.completions import CallError
from db.errors import HedgerowError
from training.finetune.curves import LOSS
from training.llm.card import HELD_OUT_LOSS

# -- The part of a provider's finetuning API that Hedgerow uses: files and jobs -------------------
#
# A process can be killed after the provider created a file or a job and before its id is stored.
# Therefore each file has a unique name by which it is found again, and a job is found by its
# training file.


ENDED = frozenset({"succeeded", "failed", "cancelled"})

NO_MODEL = "model_not_found"
"""The provider's code for a model that it does not know."""

INSPECTED = 200
"""Number of newest files and jobs to search for ours."""

EVENTS = 100
"""Page size of the requests."""


@dataclass(frozen=True)
class FinetuningApi:
    """Finetuning of one model.

    Every method raises CallError for temporary failures of the provider, and HedgerowError if it
    refuses the request.
    """

    model: ChatModel

    async def upload(self, path: Path) -> str:
        """Upload a training or validation file. Returns its id."""
        try:
            with path.open("rb") as file:
                sent = await self.model.client().files.create(
                    file=(path.name, file), purpose="fine-tune"
                )
        except openai.APIError as error:
            raise self._explained(error) from error
        return sent.id

    async def find_file(self, name: str) -> str | None:
        """The id of an earlier upload with this name, or None."""
        number = 0
        try:
            async for file in self.model.client().files.list():
                if file.filename == name:
                    return file.id
                if (number := number + 1) == INSPECTED:
                    break
        except openai.APIError as error:
            raise self._explained(error) from error
        return None

    async def create(
        self,
        *,
        training_file: str,
        validation_file: str | None,
        epochs: int | None,
        seed: int | None,
        suffix: str,
    ) -> FineTuningJob:
        """Start a job.

        Args:
            suffix: a part of the finetuned model's name.
        """
        settings: dict[str, Any] = {} if epochs is None else {"n_epochs": epochs}
        asked: dict[str, Any] = {
            "model": self.model.model,
            "training_file": training_file,
            "suffix": suffix,
        }
        if validation_file is not None:
            asked["validation_file"] = validation_file
        if seed is not None:
            asked["seed"] = seed
        method: Any = {"type": "supervised", "supervised": {"hyperparameters": settings}}
        jobs = self.model.client().fine_tuning.jobs
        try:
            if not settings:
                return await jobs.create(**asked)
            try:
                return await jobs.create(**asked, method=method)
            except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
                if "method" not in f"{error.param} {error.message}".lower():
                    raise
                # A server that still uses the parameter's older name.
                return await jobs.create(**asked, hyperparameters=cast(Hyperparameters, settings))
        except openai.APIError as error:
            raise self._explained(error) from error

    async def find_job(self, training_file: str) -> FineTuningJob | None:
        """The job that trains on this file, or None."""
        number = 0
        try:
            async for job in self.model.client().fine_tuning.jobs.list(limit=INSPECTED):
                if job.training_file == training_file:
                    return job
                if (number := number + 1) == INSPECTED:
                    break
        except openai.APIError as error:
            raise self._explained(error) from error
        return None

    async def job(self, job_id: str) -> FineTuningJob:
        """The job as it is now."""
        try:
            return await self.model.client().fine_tuning.jobs.retrieve(job_id)
        except openai.NotFoundError as error:
            raise HedgerowError(
                f"{self.model.where} does not know job '{job_id}'; use the address and key with "
                "which it was started, or cancel this run."
            ) from error
        except openai.APIError as error:
            raise self._explained(error) from error

    async def events(self, job_id: str) -> AsyncGenerator[FineTuningJobEvent]:
        """The events of the job, newest first; empty if the server has none."""
        jobs = self.model.client().fine_tuning.jobs
        try:
            async for event in jobs.list_events(job_id, limit=EVENTS):
                yield event
        except openai.NotFoundError:
            return
        except openai.APIError as error:
            raise self._explained(error) from error

    async def cancel(self, job_id: str) -> None:
        """Cancel a job. Nothing happens if it has ended or does not exist any more."""
        try:
            await self.model.client().fine_tuning.jobs.cancel(job_id)
        except (openai.BadRequestError, openai.ConflictError, openai.NotFoundError):
            return
        except openai.APIError as error:
            raise self._explained(error) from error

    async def content(self, file_id: str) -> bytes:
        """The content of a result file; empty if it was deleted."""
        try:
            file = await self.model.client().files.content(file_id)
            return await file.aread()
        except openai.NotFoundError:
            return b""
        except openai.APIError as error:
            raise self._explained(error) from error
        except httpx2.HTTPError as error:
            message = f"{self.model.where} closed the connection."
            raise CallError(AnswerProblem.CONNECTION, message) from error

    def _explained(self, error: openai.APIError) -> Exception:
        if isinstance(error, openai.NotFoundError) and error.code != NO_MODEL:
            return HedgerowError(
                f"{self.model.where} does not offer finetuning; use the address of a server that "
                "does."
            )
        return self.model.explained(error)


# -- job figures ----------------------------------------------------------------------------------
#
# The losses that a provider reports: in events during training, and in a file at the end.
#
# The names are OpenAI's. Losses that a server does not report have no curve.


_NAMES = {
    "train_loss": LOSS,
    "valid_loss": HELD_OUT_LOSS,
    "full_valid_loss": HELD_OUT_LOSS,  # over the whole validation file: comes last and is final
}


class Figure(NamedTuple):
    """The value of a metric at one step, by the name of its curve."""

    step: int
    name: str
    value: float


def step_of(row: Mapping[str, Any]) -> int | None:
    """The step of an event or of a line of the result file; None if it has none."""
    found = _number(row.get("step"))
    return None if found is None else int(found)


def steps_of(row: Mapping[str, Any]) -> int:
    """The number of steps in an event's data; 0 if it is missing."""
    return int(_number(row.get("total_steps")) or 0)


def figures_of(row: Mapping[str, Any]) -> Iterator[Figure]:
    """The losses in an event's data or a line of the result file."""
    step = step_of(row)
    for key, name in _NAMES.items():
        value = _number(row.get(key))
        if step is not None and value is not None:
            yield Figure(step, name, value)


def rows_of_file(content: bytes) -> list[dict[str, Any]]:
    """The lines of a result file: CSV, which OpenAI encodes as base64. Empty for any other file."""
    text = content.decode("utf-8", "replace")
    if not text.startswith("step,"):
        try:
            text = base64.b64decode(content, validate=True).decode("utf-8", "replace")
        except (binascii.Error, ValueError):
            return []
    return list(csv.DictReader(io.StringIO(text))) if text.startswith("step,") else []


def _number(value: Any) -> float | None:
    """A finite number; None for anything else, including an empty cell."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
