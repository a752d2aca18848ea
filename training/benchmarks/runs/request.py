"""Requests for benchmark runs (kind benchmark): checks, and an estimate of time and cost."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from pydantic import Field
from sqlalchemy.orm import Session

from curation.actions import Action, OpenProject, Request
from curation.formatting import tokens
from curation.generation.prompts import seed_prompts
from curation.generation.providers.chat.completions import require_key
from curation.generation.request import Budget, Price
from db.engine import writing
from db.errors import HedgerowError
from db.models import Run
from db.runs import create_run, refuse_equal
from db.settings import Settings
from training.benchmarks.catalogue import benchmark
from training.benchmarks.harness_tasks import require_task
from training.benchmarks.runs.measured_models import (
    CHAT,
    ModelChoice,
    clean_model,
    may_be_asked,
    may_do_general,
    may_do_language,
    usable_model,
)
from training.benchmarks.runs.model_choice import PROMPTED
from training.benchmarks.runs.paces import RunPace, Size, pace_of, paces, size, units
from training.benchmarks.scorers.architecture import architecture_of
from training.benchmarks.scorers.embedding_models import BiEncoder
from training.benchmarks.scorers.interface import OWN_PROMPTS
from training.benchmarks.scorers.prompted.causal import Causal
from training.benchmarks.scorers.prompted.wording import (
    NEWEST_PROMPTS,
    PromptVersions,
    Wording,
    wording_of,
)
from training.benchmarks.sources import DataChoice, require_data, require_hub
from training.benchmarks.tasks.general import SUITES, require_tasks
from training.models.known import folder_of, weight_of

KIND = "benchmark"


class BenchmarkRequest(Request):
    """A request to measure every model with every benchmark and task.

    Attributes:
        suites: mteb suites, by their names in ``general.SUITES``.
        tasks: single mteb tasks, by mteb's names.
        language_tasks: lm_eval tasks, for language models.
        tasks_folder: the folder with definitions of tasks that are not in ``harness_names.KNOWN``.
        budget: US dollars for the chat models; the run pauses when it is spent.
        asked_with: the prompt versions for language models; a stored run names all of them.
    """

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


def store(project: OpenProject, request: BenchmarkRequest) -> Run:
    """Store a benchmark run, after everything that takes too long for a transaction.

    Raises:
        HedgerowError: a task does not exist, a chat model needs a key, data can't be downloaded, or
            as in `request_benchmarks`.
    """
    require_all_tasks(request)
    for model in request.models:
        if model.architecture == CHAT:
            require_key(model.base_url, project.settings, project.keys)
    for choice in request.benchmarks:
        require_hub(choice)
    with writing(project.engine) as session:
        author = project.author(session)
        return request_benchmarks(session, project.settings, request, requested_by=author)


BENCHMARK = Action("benchmark", BenchmarkRequest, store)


def require_all_tasks(request: BenchmarkRequest) -> None:
    """Check that the tasks of mteb and lm_eval exist. This can be slow.

    Raises:
        HedgerowError: one does not.
    """
    require_tasks(request.tasks)
    for name in request.language_tasks:
        require_task(name, request.folder_of_tasks)


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
    refuse_equal(session, run, doing="measuring the same; wait until it has ended")
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
    require_all_tasks(request)
    general_asked = bool(request.suites or request.tasks)
    if general_asked and not any(may_do_general(m.architecture, m.prompts) for m in models):
        raise HedgerowError(
            "Expected an embedding model with its own prompts for mteb tasks, found none; "
            "choose another model, or remove these tasks."
        )
    if request.language_tasks and not any(may_do_language(m.architecture) for m in models):
        raise HedgerowError(
            f"Expected a language model ({Causal.architecture}) for lm_eval tasks, found none; "
            "choose another model, or remove these tasks."
        )
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


def _require_suite(name: str) -> None:
    if name not in SUITES:
        raise HedgerowError(
            f"Expected a suite of mteb tasks ({', '.join(SUITES)}), found {name[:60]!r}."
        )


# -- Estimates for a benchmark run before it starts: texts, prompts, time and cost ----------------
#
# Time is estimated from earlier results on this machine. For a new model, the estimate comes from
# another model of the same architecture or from the built-in encoder, scaled by their sizes. There
# is no estimate for a model that is not on this machine yet.


LOADING = 10.0
"""Seconds until a model starts to compute."""

SHORTEST_ANSWER = 5.0
"""Tokens of a short answer, such as '1' or '0.85'."""


class Chats(NamedTuple):
    """The prompts of a chat model, and their cost.

    Attributes:
        tokens_in, tokens_out: the approximate numbers of tokens.
        cost: US dollars for these tokens; None without a price.
        most: US dollars if every answer has the maximum length; None without a price, or if earlier
            answers show their usual length.
    """

    prompts: int
    tokens_in: float
    tokens_out: float
    cost: float | None
    most: float | None


class ModelPlan(NamedTuple):
    """The estimate for one model; ``seconds`` is None if it is unknown."""

    name: str
    seconds: float | None
    chats: Chats | None = None


class BenchmarkPlan(NamedTuple):
    """The estimate for a run.

    Attributes:
        texts: the number of distinct texts of each benchmark.
        unknown: titles of benchmarks whose data is not downloaded yet or can't be read.
    """

    items: int
    questions: int
    texts: int
    unknown: tuple[str, ...]
    models: tuple[ModelPlan, ...]


def plan_benchmarks(
    session: Session,
    settings: Settings,
    models: Sequence[ModelChoice],
    data: Iterable[DataChoice],
    *,
    asked_with: PromptVersions = NEWEST_PROMPTS,
) -> BenchmarkPlan:
    """The estimate for measuring these models with these benchmarks, without mteb tasks.

    Args:
        asked_with: the versions of the prompts for language models.

    Raises:
        HedgerowError: there is no such version.
    """
    wording = wording_of(session, asked_with)
    sizes: list[Size] = []
    unknown = []
    for choice in data:
        found = _size(session, settings.data_folder, choice)
        if found is None:
            unknown.append(benchmark(choice.benchmark).title)
        else:
            sizes.append(found)
    earlier = paces(session) if sizes else []
    return BenchmarkPlan(
        items=sum(one.items for one in sizes),
        questions=sum(one.questions for one in sizes),
        texts=sum(one.texts for one in sizes),
        unknown=tuple(unknown),
        models=tuple(_model(session, settings, model, sizes, earlier, wording) for model in models),
    )


def _size(session: Session, data_folder: Path, choice: DataChoice) -> Size | None:
    try:
        return size(session, data_folder, choice)
    except HedgerowError:  # the run reports it
        return None


def _model(
    session: Session,
    settings: Settings,
    choice: ModelChoice,
    sizes: Sequence[Size],
    earlier: Sequence[RunPace],
    wording: Wording,
) -> ModelPlan:
    try:
        choice = clean_model(session, choice)
    except HedgerowError:  # the run reports it
        return ModelPlan(choice.name, None)
    if choice.architecture == CHAT:
        return _chat(choice, sizes, earlier, wording)
    if choice.takes == "nothing":
        return ModelPlan(choice.name, 0.0)
    architecture, weight = _here(session, settings, choice)
    work = sum(units(one, architecture) for one in sizes)
    pace = pace_of(earlier, choice.name, architecture, weight)
    return ModelPlan(choice.name, LOADING + work / pace if pace else None)


def _chat(
    choice: ModelChoice, sizes: Sequence[Size], earlier: Sequence[RunPace], wording: Wording
) -> ModelPlan:
    prompts = sum(one.prompts for one in sizes)
    before = next((p for p in earlier if (p.model, p.architecture) == (choice.name, CHAT)), None)
    each = before.tokens_out / before.units if before else 0.0
    tokens_in = tokens(sum(one.letters_asked(wording) for one in sizes))
    tokens_out = prompts * (each or SHORTEST_ANSWER)
    cost = most = None
    if choice.price != Price():
        cost = choice.price.cost(tokens_in, round(tokens_out))
        most = None if each else choice.price.cost(tokens_in, prompts * choice.max_tokens)
    seconds = prompts * before.seconds / before.units if before else None
    return ModelPlan(choice.name, seconds, Chats(prompts, tokens_in, tokens_out, cost, most))


def _here(session: Session, settings: Settings, choice: ModelChoice) -> tuple[str, float]:
    """The architecture and the weight of a model, if its files are on this machine."""
    if choice.takes == "name":
        return choice.architecture, 0.0
    try:
        folder = folder_of(session, settings, choice.parts[0])
        architecture = choice.architecture or (
            architecture_of(folder) if folder else BiEncoder.architecture
        )
    except HedgerowError:
        return choice.architecture or BiEncoder.architecture, 0.0
    return architecture, weight_of(folder) if folder else 0.0
