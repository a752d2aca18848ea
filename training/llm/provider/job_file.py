"""The progress of a run at its provider, stored in the run's folder.

Each step is recorded before it starts and again when it is done. A resumed run therefore uploads
and starts nothing twice.
"""

from __future__ import annotations

import json
import os
import uuid
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from db.errors import HedgerowError

NAME = "provider_job.json"


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
    path = folder / NAME
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
    draft = folder / f".{NAME}.part"
    with draft.open("w", encoding="utf-8") as file:
        json.dump(job.model_dump(), file)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(folder / NAME)
