"""Generation as a run: requested on a page or the command line, carried out by its own process."""

from collections.abc import Callable, Mapping
from typing import Any

from sqlalchemy import Engine, Select, Text, cast, delete, func, insert, select, update
from sqlalchemy.orm import Session, aliased
from sqlmodel import col

from curation.actions import Action, OpenProject
from curation.diagnostics import measuring
from curation.generation.answers import PASSING, AnswerProblem
from curation.generation.budget import Ledger, read_ledger
from curation.generation.calls import close_retired, count_calls, is_open, planned_calls, reopen
from curation.generation.prompts import prompt_versions, seed_prompts
from curation.generation.providers.batch.polling import BatchWorker
from curation.generation.providers.chat.client import ChatModel, run_to_end
from curation.generation.providers.chat.completions import key_for, require_key
from curation.generation.providers.chat.retries import Asker
from curation.generation.providers.provider_run import (
    carry_out_provider,
    check_provider,
    seed_provider,
)
from curation.generation.request import KIND as KIND
from curation.generation.request import OPENAI, GenerationRequest, ModelRequest
from curation.generation.run_report import missing_types, progress
from curation.generation.worker import Worker
from curation.taxonomy.project_types import list_types
from curation.taxonomy.surface_check import Role
from curation.validation import FieldPath, checked, in_words
from db.engine import reading, write_in_pieces, writing
from db.errors import HedgerowError, RunPaused
from db.execution import RunContext
from db.models import Answer, CallState, ModelCall, Run, RunState
from db.runs import UNFINISHED, create_run, get_run
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
    engine: Engine, request: GenerationRequest, *, requested_by: int | None = None
) -> Run:
    """Store a run with all its calls; prompts that are not named are the newest ones.

    The calls are stored in pieces. Until the last one is, the run counts as cancelled.

    Raises:
        HedgerowError: there is nothing to generate, or another run is making the same calls.
    """
    with writing(engine) as session:
        if request.provider != OPENAI:
            check_provider(list_types(session), request)
        request = request.model_copy(update={"prompts": _prompts(session, request)})
    with reading(engine) as session:
        calls = planned_calls(session, request)
    with writing(engine) as session:
        run = create_run(
            session,
            kind=KIND,
            parameters=request.model_dump(mode="json"),
            requested_by=requested_by,
        )
        run.state, run.message = RunState.CANCELLED, "Interrupted while its calls were stored."

    def store(session: Session, some: list[dict[str, Any]]) -> None:
        session.execute(insert(ModelCall), [call | {"run_id": run.id} for call in some])

    try:
        write_in_pieces(engine, calls, store)
        with writing(engine) as session:
            check_alone(session, run.id)
            stored = session.get_one(Run, run.id)
            stored.state, stored.message = RunState.QUEUED, ""
            return stored
    except BaseException:
        with writing(engine) as session:
            session.execute(delete(ModelCall).where(col(ModelCall.run_id) == run.id))
            session.execute(delete(Run).where(col(Run.id) == run.id))
        raise


def generate(project: OpenProject, request: GenerationRequest) -> Run:
    """Store a run that generates variants.

    Raises:
        HedgerowError: OpenAI's API key is missing, or as in ``request_generation``.
    """
    if request.provider == OPENAI:
        require_key(request.base_url, project.settings, project.keys)
    with writing(project.engine) as session:
        author_id = project.author(session)
    return request_generation(project.engine, request, requested_by=author_id)


GENERATE = Action("generate variants", GenerationRequest, generate)


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
    worker = BatchWorker if request.batch else Worker
    run_to_end(worker(context, request, asker, ledger).run())
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
    if by_model:  # rules that apply nowhere have still done their work
        require_success(context.engine, run_id)
    with reading(context.engine) as session:
        counts = count_calls(session, run_id)
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


# -- How a run ends after its last call: done, paused or failed -----------------------------------


def require_success(engine: Engine, run_id: int) -> dict[CallState, int]:
    """Return the run's calls by state, unless every call failed.

    Raises:
        HedgerowError: calls were made, and none succeeded.
        RunPaused: the server is the reason; its calls are open again.
    """
    with reading(engine) as session:
        counts = count_calls(session, run_id)
        problems = progress(session, run_id).problems
    failed = counts[CallState.FAILED]
    if counts[CallState.DONE] or not failed or not problems:  # skipped calls have no answers
        return counts
    most = next(iter(problems))
    if most in PASSING:
        with writing(engine) as session:
            reopened = reopen(session, run_id)
        if reopened:
            raise RunPaused(
                f"Paused: none of {failed:,} calls got an answer. The most frequent problem is "
                f"'{most.value}'. Nothing is lost; resume when the server answers."
            )
    raise HedgerowError(
        f"All {failed:,} calls failed. The most frequent problem is '{most.value}'. Read the "
        "model's answers, then change the prompt or the model."
    )


# -- Prevents two runs from making the same calls -------------------------------------------------


def check_alone(session: Session, run_id: int) -> None:
    """Refuse to carry out a run while another run is making some of the same calls.

    Raises:
        HedgerowError: another run is; the message names it.
    """
    others = select(col(Run.id)).where(
        col(Run.kind) == KIND, col(Run.id) != run_id, col(Run.state).in_(UNFINISHED)
    )
    its = aliased(ModelCall)
    shared = (
        select(func.count())
        .select_from(ModelCall)
        .join(its, (col(its.key) == ModelCall.key) & (col(its.state) == CallState.OPEN))
        .where(is_open(run_id))
    )
    for other in session.execute(others).scalars().all():
        number = session.execute(shared.where(col(its.run_id) == other)).scalar_one()
        # The process of the other run must be alive.
        if number and get_run(session, other).state in UNFINISHED:
            raise HedgerowError(
                f"Run {other} is making {number:,} of the same calls, so you would pay for them "
                "twice; wait for it to finish, or cancel it."
            )


def leave_out_made(session: Session, run_id: int) -> None:
    """Remove calls that another run has made since this one was planned.

    Untried calls are deleted. Calls that failed keep their answers and are closed as made
    meanwhile. Calls in a batch stay because they are being answered.
    """
    needless = _needless(session, run_id)
    if needless is None:
        return
    untried = needless.where(col(_MINE.attempts) == 0)
    session.execute(delete(ModelCall).where(col(ModelCall.id).in_(untried)))
    session.execute(
        update(ModelCall)
        .where(col(ModelCall.id).in_(needless))
        .values(state=CallState.FAILED, problem=AnswerProblem.MADE.value)
    )


def count_left(session: Session, run_id: int) -> int:
    """Number of calls that a run would make if it continued now."""
    needless = _needless(session, run_id)
    mine = select(func.count()).where(is_open(run_id))
    if needless is not None:
        mine = mine.where(col(ModelCall.id).not_in(needless))
    return session.execute(mine).scalar_one()


_MINE, _THEIRS = aliased(ModelCall), aliased(ModelCall)


def _needless(session: Session, run_id: int) -> Select[int | None] | None:
    """SQL: ids of a run's open calls for types that another run has received answers for since."""
    planned = session.get_one(Run, run_id).created_at
    since = (col(Run.finished_at).is_(None)) | (col(Run.finished_at) > planned)
    others = select(col(Run.id)).where(
        col(Run.kind) == KIND, col(Run.id) != run_id, col(Run.attempt) > 0, since
    )
    numbers = session.execute(others).scalars().all()
    if not numbers:
        return None
    made = (
        select(col(_THEIRS.id))
        .join(Answer, col(Answer.call_id) == _THEIRS.id)
        .where(
            col(_THEIRS.run_id).in_(numbers),
            col(_THEIRS.anchor_id) == _MINE.anchor_id,
            col(_THEIRS.role) == _MINE.role,
            cast(col(_THEIRS.type_ids), Text) == cast(col(_MINE.type_ids), Text),
            col(_THEIRS.state) == CallState.DONE,
            col(Answer.created_at) > planned,
        )
        .exists()
    )
    return select(col(_MINE.id)).where(
        col(_MINE.run_id) == run_id,
        col(_MINE.state) == CallState.OPEN,
        col(_MINE.batch) == "",
        made,
    )


def calls_by_state(session: Session, run_id: int) -> dict[CallState, int]:
    """The calls of a run by state; open calls are still to be made."""
    return count_calls(session, run_id) | {CallState.OPEN: count_left(session, run_id)}
