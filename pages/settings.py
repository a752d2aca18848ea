"""Settings: the settings of the project and of this machine, and what the project contains."""

import streamlit as st

from curation.formatting import counted
from curation.upkeep.backup_file import KIND as BACKUP
from curation.upkeep.checking import KIND as CHECK
from curation.upkeep.checking import CheckResult
from curation.upkeep.facts import (
    Backup,
    DatabaseFacts,
    FolderFacts,
    data_folder_facts,
    database_facts,
    made_backups,
    size_text,
)
from db.models import Run, RunState
from db.runs import UNFINISHED, list_runs, package_versions
from db.settings import setting_facts
from pages.components.settings import project_panels
from pages.components.shared import formatting, page_runs, tables
from pages.components.shared.shell import current_user, error_messages, frame, open_project
from training.plug_ins import list_plug_ins
from training.runs.kinds import kind_of

FACTS_SECONDS = 60  # sizes and counts are cached: computing them takes a moment in a large project


@st.cache_data(ttl=FACTS_SECONDS, show_spinner=False)
def _database() -> DatabaseFacts:
    return open_project.ask(database_facts)


@st.cache_data(ttl=FACTS_SECONDS, show_spinner=False)
def _folder() -> FolderFacts:
    return data_folder_facts(open_project.settings())


def _machine() -> None:
    st.header("This machine", anchor=False)
    st.caption(
        "Hedgerow reads these settings at startup from the environment or from a file named .env "
        "in the directory where you start it. For secrets, the table only shows whether they are "
        "set."
    )
    st.dataframe(
        [
            {"Setting": fact.label, "Value": fact.shown, "Environment variable": fact.name}
            for fact in setting_facts(open_project.settings())
        ],
        hide_index=True,
        key="machine",
    )


def _database_part() -> None:
    st.header("Database", anchor=False)
    facts, folder = _database(), _folder()
    size = "" if facts.size is None else f", {size_text(facts.size)}"
    st.text(facts.address)
    st.text(f"{facts.engine}, {facts.journal}{size}; schema {facts.schema[0]}.")
    st.text(
        f"Models, exports and logs: {folder.path}, {size_text(folder.size)}. "
        f"{size_text(folder.free)} free on this disk."
    )
    _backups(facts.backups + made_backups(open_project.settings()))
    _upkeep()


def _contents() -> None:
    st.header("Contents", anchor=False)
    st.dataframe(
        [{"Rows": name.capitalize(), "Count": count} for name, count in _database().rows.items()],
        hide_index=True,
        key="rows",
        width="content",
        height="content",
        column_config={
            "Rows": st.column_config.TextColumn(width="medium"),
            "Count": tables.COUNT,
        },
    )


def _backups(copies: list[Backup]) -> None:
    if not copies:
        st.text("No backups yet. Upgrading Hedgerow creates one.")
        return
    st.dataframe(
        [
            {"Created": copy.made_at, "Size": size_text(copy.size), "Backup": str(copy.path)}
            for copy in copies
        ],
        hide_index=True,
        key="backups",
        column_config={"Created": tables.times()},
    )


def _versions() -> None:
    st.header("Versions", anchor=False)
    st.dataframe(
        [{"Package": name, "Version": version} for name, version in package_versions().items()],
        hide_index=True,
        key="versions",
        width="content",
        height="content",
        column_config={"Package": st.column_config.TextColumn(width="medium")},
    )


@current_user.for_leads("back up and check the project")
def _upkeep() -> None:
    """The actions, and the results of the last backup and the last check."""
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
    elif run.state != RunState.DONE:
        st.text(page_runs.why(run))
    else:
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


def _plug_ins() -> None:
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


frame.begin("Settings", "View and change settings, back up the project and check it.")
project_panels.draw()
frame.theme_choice()
_machine()
_database_part()
columns = st.container(key="columns-contents", gap="medium")
with columns.container():
    _contents()
with columns.container():
    _versions()
_plug_ins()
