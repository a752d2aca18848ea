"""Cancelling a run and its work on other machines, such as a provider's job."""

from sqlalchemy import Engine

from db.engine import reading, writing
from db.models import RunState
from db.runs import get_run, request_cancel
from db.settings import Settings
from training.runs.kinds import kind_of


def cancel_run(engine: Engine, settings: Settings, run_id: int) -> RunState:
    """Like `request_cancel`. A run in progress ends its own work on other machines. If a run is
    cancelled immediately, such as a paused one, this function ends that work.

    Raises:
        HedgerowError: there is no such run, or it is cancelled but its work elsewhere is not.
    """
    with writing(engine) as session:
        seen = get_run(session, run_id).state
        state = request_cancel(session, run_id)
    if state is RunState.CANCELLED and seen is not RunState.CANCELLED:
        with reading(engine) as session:
            run = get_run(session, run_id)
        kind_of(run.kind).abandon(settings, run)
    return state
