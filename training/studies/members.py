"""Runs that consist of other runs, which one process executes one after another.

Each member is an ordinary run with its own number and result. Its group is the whole. The
parameters of the whole contain for each member: its number (``run``), how it differs from the
others (``label``), and its estimated time (``seconds``).
"""

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from sqlalchemy.orm import Session

from db.engine import reading, writing
from db.errors import HedgerowError
from db.execution import HEARTBEAT_SECONDS, RunContext, Work, execute
from db.models import Run, RunState
from db.runs import UNFINISHED, get_run, request_cancel, requeue
from training.finetune.compute.devices import STUDY, free_memory

Members = Sequence[Mapping[str, Any]]


class Trial(NamedTuple):
    """One of the training runs of a stored study.

    Attributes:
        label: how it differs from the others; may contain a user's name of a type.
        run: the run in its current state.
    """

    label: str
    run: Run


def study_of(run: Run) -> int | None:
    """The number of the study that a training run is part of, if any."""
    found = STUDY.fullmatch(run.group)
    return int(found[1]) if found else None


def trials(session: Session, run: Run) -> list[Trial]:
    """The training runs of a study, in its order."""
    return [Trial(m["label"], get_run(session, m["run"])) for m in run.parameters["members"]]


def carry_out_members(context: RunContext, *, work: Work) -> dict[int, RunState]:
    """Execute the members that are not done yet, one after another.

    A member that fails or is cancelled is skipped. If the whole is stopped, the current member
    stops. The others then wait for another attempt, or are cancelled as well.

    Args:
        work: does the work of one member.

    Returns:
        The state of each member, by its number.

    Raises:
        HedgerowError: no member has finished.
    """
    members: Members = context.parameters["members"]
    if context.run.attempt > 1:
        _queue_again(context, members)
    try:
        for place in range(len(members)):
            _carry_out(context, members, place, work)
    finally:
        if context.stop.is_set() and context.stop_reason == RunState.CANCELLED:
            _cancel_waiting(context, members)
    states = {int(member["run"]): _stored(context, member).state for member in members}
    if RunState.DONE not in states.values():
        last = _stored(context, members[-1])
        raise HedgerowError(f"None of the {len(members)} runs succeeded: {last.message}")
    return states


def _stored(context: RunContext, member: Mapping[str, Any]) -> Run:
    with reading(context.engine) as session:
        return get_run(session, member["run"])


def _queue_again(context: RunContext, members: Members) -> None:
    """Set the members that an earlier attempt did not finish to waiting."""
    for member in members:
        with writing(context.engine) as session:
            if get_run(session, member["run"]).state not in (*UNFINISHED, RunState.DONE):
                requeue(session, member["run"])


def _cancel_waiting(context: RunContext, members: Members) -> None:
    with writing(context.engine) as session:
        for member in members:
            if get_run(session, member["run"]).state == RunState.QUEUED:
                request_cancel(session, member["run"])


def _carry_out(context: RunContext, members: Members, place: int, work: Work) -> None:
    """Execute one training run unless it is done or cancelled. Its row has the outcome."""
    member, progress = members[place], MemberProgress(context, members, place)
    progress(0, 0, "Starting.")
    while (found := _stored(context, member)).state == RunState.RUNNING:
        progress(0, 0, f"Another process is working on run {found.id}.")
        context.check()
        time.sleep(HEARTBEAT_SECONDS)

    def train(own: RunContext) -> dict[str, Any]:
        own.listener = progress
        return work(own)

    if found.state in (RunState.QUEUED, RunState.INTERRUPTED):
        with suppress(HedgerowError):  # its row and its log have the details
            execute(context.engine, context.settings, member["run"], {found.kind: train}, context)
        free_memory()
    context.check()


class MemberProgress:
    """The progress of a member or of the following benchmarks, as a part of the whole, weighted by
    the expected seconds."""

    def __init__(self, context: RunContext, members: Members, place: int) -> None:
        expected = [max(1, member["seconds"]) for member in members]
        expected.append(context.parameters.get("benchmark_seconds", 0))
        self._context = context
        self._before, self._own, self._total = sum(expected[:place]), expected[place], sum(expected)
        self._name = "Benchmarks"
        if place < len(members):
            self._name = f"{place + 1} of {len(members)}, {members[place]['label']}"

    def __call__(self, step: int, total: int, message: str) -> None:
        """Report the number of steps; there are none while the run is being prepared."""
        done = round(self._own * step / total) if total else 0
        self._context.progress(self._before + done, self._total, f"{self._name}: {message}")
