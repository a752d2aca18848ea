"""Carry out a stored run in this process and show its progress."""

from typing import Any

from sqlalchemy import Engine

from cli.shared.run_facts import incomplete
from db.engine import reading
from db.errors import RunIncomplete
from db.runs import get_run
from db.settings import Settings
from hedgerow.runs.running import carry_out


def carry_out_run(settings: Settings, engine: Engine, run_id: int) -> dict[str, Any]:
    """Carry out a stored run in this process and show its progress.

    Returns:
        Its number, its state and its result, with absolute paths.

    Raises:
        RunEnded: the run ended early; with its figures so far.
        RunIncomplete: the run is done, but some answers are missing; with its result.
    """
    facts = carry_out(settings, engine, run_id)
    if facts.get("complete", True):
        return facts
    with reading(engine) as session:
        sentence = incomplete(get_run(session, run_id), facts)
    lacking = RunIncomplete(sentence, run=run_id, state=facts["state"], message=sentence)
    lacking.facts |= facts
    raise lacking
