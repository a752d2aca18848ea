"""Backing the project up and checking it."""

import streamlit as st

from curation.plurals import counted
from curation.upkeep.backup_run import KIND as BACKUP
from curation.upkeep.check_run import KIND as CHECK
from curation.upkeep.checking import CheckResult
from db.models import Run, RunState
from db.runs import list_runs
from pages.components.shared.formatting.clock import local
from pages.components.shared.runs import background, progress_view
from pages.components.shared.shell import open_project, rights
from training.runs.kinds import kind_of

_STOPPED = (RunState.FAILED, RunState.INTERRUPTED, RunState.CANCELLED)


@rights.for_leads("back up and check the project")
def draw() -> None:
    """Draw what can be done, and what the last backup and the last check came to."""
    _backup()
    _check()


def _newest(kind: str) -> Run | None:
    return next(iter(open_project.ask(list_runs, kind=kind, limit=1)), None)


def _backup() -> None:
    with st.container(border=True, key="backup-panel"):
        st.text("Backup")
        st.caption(
            'One file with the whole project, written to the folder "backups" of the working '
            'directory while others go on working. "hedgerow db restore" makes the project '
            "again from it."
        )
        newest = _newest(BACKUP)
        _told(newest)
        artifacts = st.checkbox("With models, exports and logs", value=True, key="backup-artifacts")
        st.button(
            "Make a backup",
            key="backup",
            disabled=_is_under_way(newest),
            on_click=background.ensure,
            args=(BACKUP, {"artifacts": artifacts}),
        )


def _check() -> None:
    with st.container(border=True, key="check-panel"):
        st.text("Check")
        st.caption(
            "Looks for what contradicts itself: damaged or missing rows and files, a status that "
            "is not what the decisions add up to, releases that were changed, runs whose process "
            "is gone."
        )
        newest = _newest(CHECK)
        _told(newest)
        result = None
        if newest is not None and newest.state == RunState.DONE:
            result = CheckResult.of_facts(newest.result)
            _findings(newest, result)
        busy = _is_under_way(newest)
        with st.container(horizontal=True):
            st.button(
                "Check the project",
                key="check",
                disabled=busy,
                on_click=background.ensure,
                args=(CHECK, {"repair": False}),
            )
            if result is not None and result.can_be_repaired:
                st.button(
                    "Repair",
                    key="repair",
                    disabled=busy,
                    on_click=background.ensure,
                    args=(CHECK, {"repair": True}),
                    help="Puts right what follows from what is stored. Decisions, texts and files "
                    "stay as they are.",
                )


def _is_under_way(run: Run | None) -> bool:
    return run is not None and run.state in (RunState.QUEUED, RunState.RUNNING)


def _told(run: Run | None) -> None:
    """What the last run came to; one at work is followed at the top of the page."""
    if run is None:
        return
    if run.state in _STOPPED:
        st.text(progress_view.why(run))
    elif run.state == RunState.DONE:
        when = local(run.finished_at or run.created_at)
        st.text(f"{when:%Y-%m-%d %H:%M}: {kind_of(run.kind).sum_up(run.result)}")


def _findings(run: Run, result: CheckResult) -> None:
    """What is or was wrong, a line each; possibly somebody's text."""
    for finding in result.findings:
        if finding.number:
            st.text(finding.sentence())
    st.caption(f"{counted(len(result.findings), 'check')} were made.")
