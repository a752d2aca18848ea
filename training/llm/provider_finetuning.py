"""Runs that finetune at a provider: uploading files, starting and following a job, its results.

The job continues at the provider whatever happens here. Only cancelling the run stops it.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from openai.types.fine_tuning import FineTuningJob

from curation.generation.providers.chat.client import ChatModel, run_to_end
from curation.generation.providers.chat.completions import CallError, key_for, require_key
from curation.generation.providers.waiting import Waiting
from curation.release.export.file_formats import (
    LEAST,
    FinetuningFile,
    check_finetuning_file,
    write_jsonl,
)
from curation.release.export.table_rows import TABLES, read_table
from curation.release.freezing import get_release
from curation.release.question_pairs import count_questions
from db.engine import reading
from db.errors import HedgerowError, RunCancelled
from db.execution import RunContext
from db.models import Run, Split
from db.run_process import run_folder
from db.settings import Settings
from training.llm.provider_api import (
    ENDED,
    FinetuningApi,
    figures_of,
    rows_of_file,
    step_of,
    steps_of,
)
from training.llm.provider_request import (
    Job,
    ProviderRequest,
    keep_job,
    new_job,
    read_job,
    request_of,
)

Result = TypeVar("Result")

CANCEL_SECONDS = 15.0
"""Seconds for which a cancelled run tries to cancel its job."""

RESULTS = "provider_results.csv"
"""The file in the run's folder with the metrics of the steps, as sent by the provider."""


def work(context: RunContext) -> dict[str, Any]:
    """Finetune a model at a provider (run kind ``finetune-provider``).

    Parameters of the run: those of `ProviderRequest`. A second attempt continues with the existing
    files and job.

    Returns:
        ``run``, ``job``, ``fine_tuned_model``, ``base``, ``base_url``, ``release``, ``arm``,
        ``train`` and ``validation`` (numbers of question pairs), ``tokens`` (training tokens as
        counted by the provider; None if it does not report them), ``cost`` (US dollars; None
        without a known price), ``epochs``, ``seed``, ``steps``.

    Raises:
        RunPaused: the provider does not answer.
        HedgerowError: it refuses the key, the files or the model, or the job failed.
    """
    request = request_of(context.run)
    require_key(request.base_url, context.settings)
    return run_to_end(_Follower(context, request).run())


def model_of(request: ProviderRequest, settings: Settings) -> ChatModel:
    """The model of a request, with this process's key if it may be sent to the address."""
    return ChatModel(
        model=request.model,
        key=key_for(request.base_url, settings),
        base_url=request.base_url or settings.openai_base_url,
    )


class _Follower:
    """A finetuning job that this process starts and follows."""

    def __init__(self, context: RunContext, request: ProviderRequest) -> None:
        self._context, self._request = context, request
        self._model = model_of(request, context.settings)
        self._api = FinetuningApi(self._model)
        self._waiting = Waiting(context, self._report)
        found = read_job(context.folder)
        self._job = found or new_job()
        self._resumes = found is not None
        self._tried: set[str] = set()
        self._heard: str | None = None
        self._step = self._steps = 0

    async def run(self) -> dict[str, Any]:
        """Start the job if necessary, follow it, and fetch its results."""
        try:
            keep_job(self._context.folder, self._job)
            try:
                await self._start()
                ended = await self._waiting.until(self._poll, self._has_ended)
            except RunCancelled:
                if self._waiting.is_cancelled:
                    await self._cancel()
                raise
            return await self._fetch(ended)
        finally:
            await self._model.close()

    # -- starting -------------------------------------------------------------------------

    async def _start(self) -> None:
        """Upload the files and start the job, except for steps that an earlier attempt has done."""
        if self._job.job:
            return
        self._context.check()
        files = await asyncio.to_thread(self._write_files)
        try:
            for split, path in files.items():
                if not self._sent(split):
                    self._report(f"Sending the {split} file.")
                    sent = await self._try(partial(self._found_or_sent, path))
                    self._keep(**{_FIELDS[split]: sent})
        finally:
            for path in files.values():
                path.unlink(missing_ok=True)
        self._report("Starting the job.")
        job = await self._try(self._found_or_started)
        self._keep(job=job.id)

    def _sent(self, split: Split) -> str:
        return self._job.training_file if split is Split.TRAIN else self._job.validation_file

    async def _try(self, work: Callable[[], Awaitable[Result]]) -> Result:
        try:
            return await self._waiting.tries(work)
        except CallError as error:
            raise HedgerowError(f"The provider refused the finetuning job: {error}") from error

    async def _found_or_sent(self, path: Path) -> str:
        """The id of a file, which an earlier attempt may have uploaded already."""
        may_be_there = self._resumes or path.name in self._tried
        if may_be_there and (found := await self._api.find_file(path.name)):
            return found
        self._tried.add(path.name)
        return await self._api.upload(path)

    async def _found_or_started(self) -> FineTuningJob:
        if self._job.started and (found := await self._api.find_job(self._job.training_file)):
            return found
        self._keep(started=True)
        return await self._api.create(
            training_file=self._job.training_file,
            validation_file=self._job.validation_file or None,
            epochs=self._request.epochs,
            seed=self._request.seed,
            suffix=f"hedgerow-{self._request.release}",
        )

    def _write_files(self) -> dict[Split, Path]:
        """The checked files of the job, by split. They are kept until they are uploaded.

        Raises:
            HedgerowError: there are too few question pairs.
        """
        files: dict[Split, Path] = {}
        for split in _FIELDS:
            path = self._context.folder / f"{self._job.label}-{split}.jsonl"
            found = self._write(path, split)
            if found.examples:
                files[split] = path
            else:
                path.unlink()
        return files

    def _write(self, path: Path, split: Split) -> FinetuningFile:
        with reading(self._context.engine) as session:
            release = get_release(session, self._request.release)
            rows = read_table(session, release.id, "openai", split=split, arm=self._request.arm)
            write_jsonl(path, TABLES["openai"], rows)
        return check_finetuning_file(path, least=LEAST if split is Split.TRAIN else 0)

    def _keep(self, **changes: Any) -> None:
        self._job = Job(**{**self._job.model_dump(), **changes})
        keep_job(self._context.folder, self._job)

    # -- following ------------------------------------------------------------------------

    async def _poll(self) -> FineTuningJob:
        job = await self._api.job(self._job.job)
        await self._listen()
        return job

    async def _listen(self) -> None:
        """Report the metrics of the events since the last check."""
        newest: str | None = None
        async with aclosing(self._api.events(self._job.job)) as events:
            async for event in events:
                newest = newest or event.id
                if event.id == self._heard:
                    break
                self._note(event.data)
        self._heard = newest or self._heard

    def _note(self, data: object) -> None:
        if not isinstance(data, dict):
            return
        for figure in figures_of(data):
            self._context.metric(figure.step, figure.name, figure.value)
        self._step = max(self._step, step_of(data) or 0)
        self._steps = max(self._steps, steps_of(data))

    def _has_ended(self, job: FineTuningJob) -> bool:
        if job.status in ENDED:
            return True
        status = str(job.status).replace("_", " ")
        self._report(f"Job {job.id} at the provider: {status}.")
        return False

    async def _cancel(self) -> None:
        """Cancel the job if it was, or may have been, started."""
        if self._job.started:
            self._report("Cancelling the job at the provider.")
            await _cancel(self._api, self._job)

    # -- fetching -------------------------------------------------------------------------

    async def _fetch(self, job: FineTuningJob) -> dict[str, Any]:
        """The results of a job.

        Raises:
            HedgerowError: it failed, or was cancelled.
        """
        if job.status == "failed":
            reason = " ".join((job.error.message if job.error else "").split())[:500]
            why = self._model.without_key(reason) or "It gave no reason."
            raise HedgerowError(f"Job {job.id} failed at the provider: {why}")
        if job.status == "cancelled" or not job.fine_tuned_model:
            how = "was cancelled" if job.status == "cancelled" else "names no finetuned model"
            raise HedgerowError(f"Job {job.id} {how}; start another run.")
        await self._read_results(job)
        return self._result(job)

    async def _read_results(self, job: FineTuningJob) -> None:
        """Store the metrics of all steps. The model is usable without them, too."""
        for file_id in job.result_files or []:
            content = await self._waiting.tries(partial(self._api.content, file_id))
            for row in (rows := rows_of_file(content)):
                self._note(row)
            if rows:
                (self._context.folder / RESULTS).write_bytes(content)

    def _result(self, job: FineTuningJob) -> dict[str, Any]:
        request, tokens = self._request, job.trained_tokens
        with reading(self._context.engine) as session:
            release = get_release(session, request.release)
            pairs = count_questions(session, release.id, arm=request.arm).pairs
        return {
            "run": self._context.run.id,
            "job": job.id,
            "fine_tuned_model": job.fine_tuned_model,
            "base": request.model,
            "base_url": request.base_url,
            "release": release.number,
            "arm": request.arm,
            "train": pairs.get(Split.TRAIN, 0),
            "validation": pairs.get(Split.VALIDATION, 0),
            "tokens": tokens,
            "cost": _cost(tokens, request.price),
            "epochs": _epochs(job, request),
            "seed": job.seed,
            "steps": self._step,
        }

    def _report(self, text: str) -> None:
        steps = f" Step {self._step:,} of {self._steps:,}." if self._step else ""
        self._context.progress(self._step, self._steps, text + steps)


_FIELDS = {Split.TRAIN: "training_file", Split.VALIDATION: "validation_file"}
"""The splits to upload, and the field of `Job` with the file id of each."""


def cancel_abandoned(settings: Settings, run: Run) -> None:
    """Cancel the job of a run that was cancelled while no process followed it.

    Raises:
        HedgerowError: the provider did not accept the cancellation.
    """
    job = read_job(run_folder(settings, run))
    if job is not None and job.started:
        request = request_of(run)
        run_to_end(_cancel_alone(model_of(request, settings), job))


async def _cancel_alone(model: ChatModel, job: Job) -> None:
    try:
        await _cancel(FinetuningApi(model), job)
    finally:
        await model.close()


async def _cancel(api: FinetuningApi, job: Job) -> None:
    """Cancel a job. It may be unknown whether an earlier attempt started it.

    Raises:
        HedgerowError: the provider did not accept the cancellation.
    """
    try:
        async with asyncio.timeout(CANCEL_SECONDS):
            job_id = job.job
            if not job_id:
                found = await api.find_job(job.training_file)
                job_id = found.id if found else ""
            if job_id:
                await api.cancel(job_id)
    except (CallError, HedgerowError, TimeoutError) as error:
        why = str(error).removesuffix(".") or f"no answer within {CANCEL_SECONDS:g} seconds"
        raise HedgerowError(
            f"Job {job.job} may still be running at the provider, because the request to stop it "
            f"failed ({why}); cancel it there, or resume this run and cancel it again."
        ) from error


def _cost(tokens: int | None, price: float | None) -> float | None:
    """The cost of the tokens in US dollars; None if the tokens or the price are unknown."""
    return None if tokens is None or price is None else round(tokens * price / 1e6, 6)


def _epochs(job: FineTuningJob, request: ProviderRequest) -> int | None:
    """The number of epochs, if the provider or the request states it."""
    epochs = getattr(job.hyperparameters, "n_epochs", None)
    return epochs if isinstance(epochs, int) else request.epochs
