"""Generation as a run: requested on a page or the command line, carried out by its own process."""

from collections.abc import Callable, Mapping
from typing import Any

from sqlalchemy.orm import Session

from curation.diagnostics import measuring
from curation.generation.calls import close_retired, count_calls, plan_calls, reopen
from curation.generation.costs.ledger import Ledger, read_ledger
from curation.generation.duplicates import check_alone, leave_out_made
from curation.generation.event_loop import run_to_end
from curation.generation.prompts import prompt_versions, seed_prompts
from curation.generation.providers.batch.polling import BatchWorker
from curation.generation.providers.chat.addresses import key_for
from curation.generation.providers.chat.client import ChatModel
from curation.generation.providers.chat.retries import Asker
from curation.generation.providers.writing_run import (
    carry_out_provider,
    check_provider,
    seed_provider,
)
from curation.generation.request import KIND as KIND
from curation.generation.request import OPENAI, GenerationRequest, ModelRequest
from curation.generation.run_ending import require_success
from curation.generation.run_report import missing_types, progress
from curation.generation.worker import Worker
from curation.taxonomy.project_types import list_types
from curation.taxonomy.roles import Role
from curation.validation import FieldPath, checked, in_words
from db.engine import reading, writing
from db.errors import RunPaused
from db.execution import RunContext
from db.models import CallState, Run
from db.runs import create_run, refuse_a_second
from db.settings import Settings


def checked_request(
    values: Mapping[str, Any], *, called: Callable[[FieldPath], str] = in_words
) -> GenerationRequest:
    """Return a request with these values.

    Args:
        called: as in `checked`.

    Raises:
        HedgerowError: one of the values is not valid.
    """
    return checked(GenerationRequest, values, called=called)


def request_generation(
    session: Session,
    request: GenerationRequest,
    *,
    requested_by: int | None = None,
    alone: bool = False,
) -> Run:
    """Store a run with all its calls; prompts that are not named are the newest ones.

    Args:
        alone: refuse it while any other run is queued or running.

    Raises:
        HedgerowError: there is nothing to generate, or another run is making the same calls.
    """
    if alone:
        refuse_a_second(session, KIND)
    if request.provider != OPENAI:
        check_provider(list_types(session), request)
    request = request.model_copy(update={"prompts": _prompts(session, request)})
    run = create_run(
        session,
        kind=KIND,
        parameters=request.model_dump(mode="json"),
        requested_by=requested_by,
    )
    plan_calls(session, run.id, request)
    check_alone(session, run.id)
    return run


def _prompts(session: Session, request: GenerationRequest) -> dict[Role, int]:
    """Return the prompt version for each role; providers without prompts have one too."""
    seed_prompts(session)
    if request.provider != OPENAI:
        return dict.fromkeys(request.roles, seed_provider(session, request.provider))
    newest = {role: prompt_versions(session, role)[0].id for role in request.roles}
    return newest | request.prompts


def chat_model(request: ModelRequest, settings: Settings) -> ChatModel:
    """Return the model that a request names, with this process's key if it may be sent there."""
    return ChatModel(
        model=request.model,
        key=key_for(request.base_url, settings),
        base_url=request.base_url or settings.openai_base_url,
        temperature=request.temperature,
        max_tokens=request.max_tokens,
        structured=request.structured,
        timeout=request.timeout,
    )


def make_calls(context: RunContext, request: ModelRequest, asker: Asker) -> Ledger:
    """Make a run's open calls, directly or in batches; return the run's spending.

    Raises:
        RunCancelled: the run was cancelled.
        RunPaused: the run was paused, or the budget is spent.
        HedgerowError: no call can succeed.
    """
    ledger = read_ledger(context.engine, context.run.id, request.budget)
    if request.batch:
        run_to_end(BatchWorker(context, request, asker, ledger).run())
    else:
        run_to_end(Worker(context, request, asker, ledger).run())
    return ledger


def work(context: RunContext) -> dict[str, Any]:
    """Make a run's open calls, and measure the resulting variants (run kind ``generate``).

    Returns:
        Counts of calls by result, the total number of calls, their cost, ``missing`` (by type,
        answers without a variant of it), ``removed`` (by kind, answers with something besides the
        variants), and whether everything requested was written. That is always true for providers
        without a model, which skip what they can't write.
    """
    request = GenerationRequest(**context.parameters)
    run_id = context.run.id
    with writing(context.engine) as session:
        reopen(session, run_id)
        leave_out_made(session, run_id)
        types = list_types(session)
    by_model = request.provider == OPENAI
    if not by_model:
        carry_out_provider(context, request.provider, types)
        ledger = read_ledger(context.engine, run_id, request.budget)
    else:
        asker = Asker(chat_model(request, context.settings), types, attempts=request.attempts)
        try:
            ledger = make_calls(context, request, asker)
        except RunPaused:  # a separate run, since nobody waits for this process to end
            measuring.work(context)
            raise
    with writing(context.engine) as session:
        close_retired(session, run_id)
    if request.measure:
        measuring.work(context)
    if by_model:
        counts = require_success(context.engine, run_id)
    else:  # rules that apply nowhere have still done their work
        with reading(context.engine) as session:
            counts = count_calls(session, run_id)
    with reading(context.engine) as session:
        missing = missing_types(session, run_id)
        removed = progress(session, run_id).removed
    return {
        "done": counts[CallState.DONE],
        "failed": counts[CallState.FAILED],
        "calls": ledger.calls,
        "cost": round(ledger.money, 6),
        "cost_is_estimate": ledger.is_estimate,
        "missing": missing,
        "removed": removed,
        "complete": not by_model or not (missing or counts[CallState.FAILED]),
    }
