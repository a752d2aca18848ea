"""Executing benchmark runs (kind ``benchmark``). Each result is stored as soon as it is ready."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlmodel import col

from db.engine import reading, writing
from db.errors import HedgerowError
from db.execution import WAITING, RunContext
from db.models import BenchmarkResult
from training.benchmarks.file_reading import asked_once
from training.benchmarks.harness_names import LM_EVAL, title_of
from training.benchmarks.harness_tasks import load_task
from training.benchmarks.runs.jobs import (
    Job,
    Step,
    general_jobs,
    language_job,
    negation_job,
    stopping,
)
from training.benchmarks.runs.measured_models import (
    FoundModel,
    ModelChoice,
    find_model,
    scorer_of,
)
from training.benchmarks.runs.model_choice import PROMPTED
from training.benchmarks.runs.request import BenchmarkRequest
from training.benchmarks.scorers.interface import Scorer
from training.benchmarks.scorers.prompted.chat import Chat
from training.benchmarks.scorers.prompted.costs import Account
from training.benchmarks.sources import open_data
from training.finetune.compute.devices import (
    announced,
    device_to_oneself,
    free_memory,
    share_the_processor,
    visible_gpus,
)

ResultKey = tuple[str, str, str, str, str]
"""Model, architecture, scoring, benchmark and hash of the data."""


class NotMeasured(HedgerowError):
    """Parts of a run could not be measured.

    Attributes:
        problems: the model and one sentence for each failure.
        measured: the number of results that the run stored.
    """

    def __init__(self, problems: Sequence[tuple[str, str]], *, measured: int) -> None:
        super().__init__(_summary([sentence for _, sentence in problems], measured=measured))
        self.problems, self.measured = problems, measured


logger = logging.getLogger(__name__)


def work(context: RunContext) -> dict[str, Any]:
    """Measure everything that the run has no result for yet (run kind ``benchmark``).

    Parameters of the run: those of `BenchmarkRequest`. After a failure, the run continues with the
    rest and ends as failed. A second attempt only measures what is missing.

    Returns:
        ``run``, ``measured`` (results of this run), ``left_out`` (models that can't do some of the
        tasks for general ability); with chat models also ``cost`` (US dollars) and
        ``cost_is_estimate``.

    Raises:
        NotMeasured: something could not be measured.
        RunPaused: the budget of the chat models is spent; the answers so far are kept.
    """
    share_the_processor()
    request = BenchmarkRequest.model_validate(context.parameters)
    context.update(0, 0, "Reading the benchmarks.")
    task = _Work(context, request)
    task.carry_out()
    if not (task.problems or task.stored):
        raise HedgerowError(
            "None of these models can run any of these tasks: mteb tasks need embedding models, "
            "lm_eval tasks language models; choose others."
        )
    if task.problems:
        raise NotMeasured(task.problems, measured=len(task.stored))
    result = {"run": context.run.id, "measured": len(task.stored), "left_out": task.left_out}
    return result | _cost(task.accounts)


def _cost(accounts: Sequence[Account]) -> dict[str, Any]:
    """The cost of a run's chat models. The last account includes the others."""
    if not accounts:
        return {}
    ledger = accounts[-1].ledger
    return {"cost": round(ledger.money, 6), "cost_is_estimate": ledger.is_estimate}


def _summary(problems: Sequence[str], *, measured: int) -> str:
    """One sentence about the failures. The log lists all of them."""
    if len(problems) == 1 and not measured:
        return problems[0]
    number = len(problems)
    kept = f"{measured} result{'' if measured == 1 else 's'} stored" if measured else "none stored"
    return f"{number} could not be measured ({kept}; the log lists all). First: {problems[0]}"


class _Work:
    """The execution of a benchmark run in this process.

    Attributes:
        accounts: the accounts of the chat models.
        stored: (model, architecture, scoring, benchmark, data hash) of this run's results.
        problems: the model and one sentence for each failure.
        left_out: titles of models that can't do some of the tasks for general ability.
    """

    def __init__(self, context: RunContext, request: BenchmarkRequest) -> None:
        self.context = context
        self.request = request
        self.problems: list[tuple[str, str]] = []
        self.accounts: list[Account] = []
        self.left_out: list[str] = []
        with reading(context.engine) as session:
            self.stored = _stored(session, context.run.id)
            data = [
                open_data(session, context.settings.data_folder, choice)
                for choice in request.benchmarks
            ]
        self.jobs = [negation_job(opened) for opened in data]
        self.jobs += general_jobs(request.suites, request.tasks)
        for name in request.language_tasks:
            context.update(0, 0, f"Reading {title_of(LM_EVAL + name)}.")
            try:
                self.jobs.append(language_job(load_task(name, request.folder_of_tasks)))
            except HedgerowError as error:
                self._failed(request.models[0].name, name, error)
        self.items = sum(job.items for job in self.jobs)

    def carry_out(self) -> None:
        for number, choice in enumerate(self.request.models):
            try:
                self._model(number, choice)
            except HedgerowError as error:
                self._failed(choice.name, choice.name, error)
            free_memory()

    def _model(self, number: int, choice: ModelChoice) -> None:
        self._say(number, f"{choice.name}: looking for the model.")
        with reading(self.context.engine) as session:
            found = find_model(session, self.context.settings, choice, self.request.asked_with)
        todo = [job for job in self.jobs if job.suits(found)]
        if len(todo) < len(self.jobs):
            self.left_out.append(found.title)
        todo = [job for job in todo if self._key(found, job) not in self.stored]
        with asked_once() if any(job.general for job in todo) else nullcontext():
            todo = [job for job in todo if self._has_data(found, job)]
        if not todo:
            return
        is_short = found.architecture not in PROMPTED and not any(job.general for job in todo)
        with self._device(number, choice, is_short=is_short):
            self._say(number, f"{found.title}: loading the model.")
            scorer = scorer_of(
                found, self.context.settings, folder=self.context.folder, budget=self.request.budget
            )
            if isinstance(scorer, Chat) and scorer.account is not None:
                self.accounts.append(scorer.account)
            with stopping(scorer, self.context.check):
                for job in todo:
                    self._job(number, found, job, scorer)

    def _has_data(self, found: FoundModel, job: Job) -> bool:
        """Whether the data of a job is available. If not, this is recorded as a problem."""
        try:
            job.require_data(self.context, found)
        except HedgerowError as error:
            self._failed(found.title, f"{found.title}, {job.title}", error)
            return False
        return True

    def _job(self, number: int, found: FoundModel, job: Job, scorer: Scorer) -> None:
        """Do one job, unless its result exists already."""
        if (key := self._key(found, job)) in self.stored:
            return
        found = found.asked_with(job.prompt)
        before = number * self.items + sum(j.items for j in self.jobs[: self.jobs.index(job)])
        name = f"{found.title}, {job.title}"
        step = Step(self.context, before, job.items, len(self.request.models) * self.items, name)
        step(0, 1)
        try:
            row = job.run(scorer, found, step)
            if found.edited:  # for the title
                row.summary = {**row.summary, "edited": found.edited}
            with writing(self.context.engine) as session:
                session.add(row)
        except (HedgerowError, RuntimeError) as error:  # from PyTorch: out of memory, and others
            self._failed(found.title, name, error)
            return
        self.stored.add(key)

    def _failed(self, model: str, name: str, error: Exception) -> None:
        logger.error("%s: %s", name, error, exc_info=isinstance(error, RuntimeError))
        sentence = (str(error).splitlines() or [type(error).__name__])[0]
        self.problems.append((model, sentence if repr(name) in sentence else f"{name}: {sentence}"))

    def _say(self, number: int, message: str) -> None:
        total = len(self.request.models) * self.items
        self.context.update(number * self.items, total, message)

    @contextmanager
    def _device(self, number: int, choice: ModelChoice, *, is_short: bool) -> Iterator[None]:
        """Reserve a device while one model computes. Other runs may use it afterwards.

        Without a GPU, the minutes of an encoder's benchmarks share the processor with a training
        run, instead of waiting hours for it.
        """
        if not choice.needs_device or (is_short and not visible_gpus()):
            yield
            return

        def wait(holder: str) -> None:
            self._say(number, f"{WAITING} {holder}".rstrip())

        lock = self.context.settings.training_lock
        with device_to_oneself(wait, lock=lock) as device, announced(self.context, device):
            yield

    @staticmethod
    def _key(found: FoundModel, job: Job) -> ResultKey:
        scoring = found.asked_with(job.prompt).scoring
        return found.name, found.architecture, scoring, job.benchmark, job.data_hash


def _stored(session: Session, run_id: int) -> set[ResultKey]:
    """The results that a run has stored already."""
    query = select(
        col(BenchmarkResult.model),
        col(BenchmarkResult.architecture),
        col(BenchmarkResult.scoring),
        col(BenchmarkResult.benchmark),
        col(BenchmarkResult.data_hash),
    ).where(col(BenchmarkResult.run_id) == run_id)
    rows = session.execute(query)
    return {(model, kind, how, name, data) for model, kind, how, name, data in rows}
