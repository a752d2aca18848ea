"""Requests for benchmark runs (kind ``benchmark``), which are checked before they are stored."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy.orm import Session

from curation.generation.prompts import seed_prompts
from curation.generation.request import Budget
from db.errors import HedgerowError
from db.models import Run
from db.runs import create_run, under_way
from db.settings import Settings
from training.benchmarks.catalogue import benchmark
from training.benchmarks.data.sources import DataChoice, require_data
from training.benchmarks.harness.tasks import require_task
from training.benchmarks.runs.measured_models import (
    CHAT,
    ModelChoice,
    may_be_asked,
    may_do_general,
    may_do_language,
    usable_model,
)
from training.benchmarks.scorers.interface import OWN_PROMPTS
from training.benchmarks.scorers.prompted.causal import Causal
from training.benchmarks.scorers.prompted.wording import NEWEST_PROMPTS, PromptVersions
from training.benchmarks.scorers.scoring import PROMPTED
from training.benchmarks.tasks.general import SUITES
from training.benchmarks.tasks.general_names import require_tasks

KIND = "benchmark"


class BenchmarkRequest(BaseModel):
    """A request to measure every model with every benchmark and task.

    Attributes:
        suites: mteb suites, by their names in ``general.SUITES``.
        tasks: single mteb tasks, by mteb's names.
        language_tasks: lm_eval tasks, for language models.
        tasks_folder: the folder with definitions of tasks that are not in ``harness.names.KNOWN``.
        budget: US dollars for the chat models; the run pauses when it is spent.
        asked_with: the prompt versions for language models; a stored run names all of them.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    models: tuple[ModelChoice, ...] = ()
    benchmarks: tuple[DataChoice, ...] = ()
    suites: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    language_tasks: tuple[str, ...] = ()
    tasks_folder: str = Field(default="", max_length=1000)
    budget: Budget = Budget()
    asked_with: PromptVersions = NEWEST_PROMPTS

    @property
    def folder_of_tasks(self) -> Path | None:
        """The task as in `load_task`."""
        return Path(self.tasks_folder) if self.tasks_folder else None


def request_benchmarks(
    session: Session,
    settings: Settings,
    request: BenchmarkRequest,
    *,
    requested_by: int | None,
    group: str = "",
) -> Run:
    """Store a run that measures each model with each benchmark and each task.

    Args:
        group: the group of the run that it is part of.

    Raises:
        HedgerowError: as in `checked_request`, or the same run is in progress. Roll the session
            back in this case.
    """
    request = checked_request(session, settings, request)
    request = _with_versions(session, settings, request)
    run = create_run(
        session,
        kind=KIND,
        parameters=request.model_dump(mode="json"),
        requested_by=requested_by,
        group=group,
    )
    for other in under_way(session, KIND):
        if other.id != run.id and other.parameters == run.parameters:
            raise HedgerowError(
                f"Run {other.id} is already measuring the same; wait until it has ended."
            )
    return run


def checked_request(
    session: Session, settings: Settings, request: BenchmarkRequest
) -> BenchmarkRequest:
    """The checked request in its stored form.

    Raises:
        HedgerowError: the request has no models or nothing to measure, something that it names does
            not exist, a model has another architecture, or no model can do the mteb or lm_eval
            tasks.
    """
    models = list(dict.fromkeys(usable_model(session, settings, model) for model in request.models))
    data = [require_data(session, settings.data_folder, choice) for choice in request.benchmarks]
    if not models:
        raise HedgerowError("Expected at least one model to measure, found none; choose one.")
    if not (data or request.suites or request.tasks or request.language_tasks):
        raise HedgerowError("Expected at least one benchmark, found none; choose one.")
    for name in request.suites:
        _require_suite(name)
    require_tasks(request.tasks)
    general_asked = bool(request.suites or request.tasks)
    if general_asked and not any(may_do_general(m.architecture, m.prompts) for m in models):
        raise HedgerowError(
            "Expected an embedding model with its own prompts for mteb tasks, found none; "
            "choose another model, or remove these tasks."
        )
    if request.language_tasks:
        _require_language_tasks(request, models)
    if data and not any(benchmark(choice.benchmark).asks == "relevance" for choice in data):
        _require_own_prompts(models)
    models.sort(
        key=lambda model: model.architecture == CHAT
    )  # a spent budget does not stop the others
    return request.model_copy(
        update={"models": tuple(models), "benchmarks": tuple(dict.fromkeys(data))}
    )


def _with_versions(
    session: Session, settings: Settings, request: BenchmarkRequest
) -> BenchmarkRequest:
    """The request with the newest version of every prompt for which it names none.

    Raises:
        HedgerowError: there is no such version, or no model uses prompts.
    """
    if any(may_be_asked(session, settings, model) for model in request.models):
        seed_prompts(session)
        return request.model_copy(update={"asked_with": request.asked_with.resolved(session)})
    if request.asked_with != NEWEST_PROMPTS:
        raise HedgerowError(
            f"Prompt versions need a language model (architectures {' and '.join(PROMPTED)}), "
            "found none; remove the versions."
        )
    return request


def _require_own_prompts(models: Sequence[ModelChoice]) -> None:
    """Refuse query and document prompts if no benchmark has queries and documents."""
    if any(model.prompts != OWN_PROMPTS for model in models):
        raise HedgerowError(
            "Query and document prompts need a benchmark with queries (NevIR, ExcluIR), but "
            "these compare sentences; remove the prompts."
        )


def _require_language_tasks(request: BenchmarkRequest, models: Sequence[ModelChoice]) -> None:
    """Refuse models that lm_eval can't measure, before one is loaded."""
    for name in request.language_tasks:
        require_task(name, request.folder_of_tasks)
    if not any(may_do_language(model.architecture) for model in models):
        raise HedgerowError(
            f"Expected a language model ({Causal.architecture}) for lm_eval tasks, found none; "
            "choose another model, or remove these tasks."
        )


def _require_suite(name: str) -> None:
    if name not in SUITES:
        raise HedgerowError(
            f"Expected a suite of mteb tasks ({', '.join(SUITES)}), found {name[:60]!r}."
        )
