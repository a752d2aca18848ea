"""How a run ends after its last call: done, paused or failed."""

from sqlalchemy import Engine

from curation.generation.calls import count_calls, reopen
from curation.generation.providers.chat.throttling import PASSING
from curation.generation.run_report import progress
from db.engine import reading, writing
from db.errors import HedgerowError, RunPaused
from db.models import CallState


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
