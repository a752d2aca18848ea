"""Settings: the settings of the project and of this machine, and what the project contains."""

import streamlit as st

from curation.upkeep.facts import (
    Backup,
    DatabaseFacts,
    FolderFacts,
    data_folder_facts,
    database_facts,
    made_backups,
    size_text,
)
from db.runs import package_versions
from db.settings import setting_facts
from pages.components.settings import project_panels, upkeep_panel
from pages.components.shared.shell import frame, open_project

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
    upkeep_panel.draw()


def _contents_and_versions() -> None:
    columns = st.container(key="columns-contents", gap="medium")
    with columns.container():
        _contents()
    with columns.container():
        _versions()


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
            "Count": st.column_config.NumberColumn(format="localized"),
        },
    )


def _backups(copies: list[Backup]) -> None:
    if not copies:
        st.text("No backups yet. Upgrading Hedgerow creates one.")
        return
    made = st.column_config.DatetimeColumn(
        format="YYYY-MM-DD HH:mm", timezone=st.context.timezone or "UTC"
    )
    st.dataframe(
        [
            {"Created": copy.made_at, "Size": size_text(copy.size), "Backup": str(copy.path)}
            for copy in copies
        ],
        hide_index=True,
        key="backups",
        column_config={"Created": made},
    )


def _versions() -> None:
    st.header("Versions", anchor=False)
    rows = [{"Package": name, "Version": version} for name, version in package_versions().items()]
    st.dataframe(
        rows,
        hide_index=True,
        key="versions",
        width="content",
        height="content",
        column_config={"Package": st.column_config.TextColumn(width="medium")},
    )


frame.begin("Settings", "View and change settings, back up the project and check it.")
project_panels.draw()
frame.theme_choice()
_machine()
_database_part()
_contents_and_versions()
upkeep_panel.plug_ins()
