"""Back up and check the project, and plug-ins from other packages."""

import streamlit as st

from curation.formatting import counted
from curation.upkeep.backup_file import KIND as BACKUP
from curation.upkeep.checking import KIND as CHECK
from curation.upkeep.checking import CheckResult
from db.models import Run, RunState
from db.runs import UNFINISHED, list_runs
from pages.components.shared import (
    formatting,
    page_runs,
)
from pages.components.shared.shell import current_user, error_messages, open_project
from training.plug_ins import list_plug_ins
from training.runs.kinds import kind_of

_STOPPED = (RunState.FAILED, RunState.INTERRUPTED, RunState.CANCELLED)


@current_user.for_leads("back up and check the project")
def draw() -> None:
    """Show the actions and the results of the last backup and the last check."""
    _backup()
    _check()


def _newest(kind: str) -> Run | None:
    return next(iter(open_project.ask(list_runs, kind=kind, limit=1)), None)


def _backup() -> None:
    with st.container(border=True, key="backup-panel"):
        st.text("Backup")
        st.caption(
            "Saves the whole project as one file in the folder 'backups' of the working "
            "directory. Others can keep working while it runs. To restore the project, run "
            "'hedgerow db restore'."
        )
        newest = _newest(BACKUP)
        _last_result(newest)
        artifacts = st.checkbox(
            "Include models, exports and logs", value=True, key="backup-artifacts"
        )
        st.button(
            "Back up",
            key="backup",
            disabled=_is_under_way(newest),
            on_click=page_runs.ensure,
            args=(BACKUP, {"artifacts": artifacts}),
        )


def _check() -> None:
    with st.container(border=True, key="check-panel"):
        st.text("Check")
        st.caption(
            "Looks for damaged or missing rows and files, statuses that do not match the "
            "decisions, releases that have changed, and runs marked as running whose process has "
            "ended."
        )
        newest = _newest(CHECK)
        _last_result(newest)
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
                on_click=page_runs.ensure,
                args=(CHECK, {"repair": False}),
            )
            if result is not None and result.can_be_repaired:
                st.button(
                    "Repair",
                    key="repair",
                    disabled=busy,
                    on_click=page_runs.ensure,
                    args=(CHECK, {"repair": True}),
                    help="Recomputes values that can be derived from other data. Decisions, "
                    "texts and files are not changed.",
                )


def _is_under_way(run: Run | None) -> bool:
    return run is not None and run.state in UNFINISHED


def _last_result(run: Run | None) -> None:
    """Show the progress of an unfinished run, or the result of the last one."""
    if run is None:
        return
    if _is_under_way(run):
        page_runs.follow(run)
    elif run.state in _STOPPED:
        st.text(page_runs.why(run))
    elif run.state == RunState.DONE:
        when = formatting.local(run.finished_at or run.created_at)
        st.text(f"{when:%Y-%m-%d %H:%M}: {kind_of(run.kind).sum_up(run.result)}")


def _findings(run: Run, result: CheckResult) -> None:
    """List what is or was wrong, one line each; lines may contain user text."""
    for finding in result.findings:
        if finding.number:
            st.text(finding.sentence())
    number = len(result.findings)
    st.caption(f"{counted(number, 'check')} {'was' if number == 1 else 'were'} run.")


# -- Plug-ins from other packages -----------------------------------------------------------------


def plug_ins() -> None:
    """Show the plug-ins as a table, with any problems."""
    st.header("Plug-ins", anchor=False)
    found = list_plug_ins()
    if not found:
        st.text(
            "No plug-ins are installed. A plug-in can add a provider, an export format, an "
            "encoder, a benchmark or a scorer. docs/plug_ins.md shows how to write one."
        )
        return
    st.caption("Added by installed packages. Restart the app after you install or update one.")
    st.dataframe(
        [
            {
                "Plug-in": one.name,
                "Kind": one.kind,
                "Package": one.package,
                "Version": one.version,
                "Usable": "no" if one.problem else "yes",
            }
            for one in found
        ],
        hide_index=True,
        key="plug-ins",
        width="content",
    )
    for number, problem in enumerate(one.problem for one in found if one.problem):
        error_messages.show(problem, key=f"plug-in-{number}")
