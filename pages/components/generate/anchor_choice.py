"""What to generate: which anchors, and which calls for each."""

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from curation.anchors.lookup import source_ids
from curation.generation.prompts import types_of
from curation.generation.request import KIND, AnchorSelection, Which
from curation.taxonomy.surface_check import ROLES, Role
from db.runs import UNFINISHED, list_runs
from pages.components.generate import run_names, type_choice
from pages.components.shared import links
from pages.components.shared.chat_models.choice import Choice
from pages.components.shared.shell import open_project

RUN = "generate-run"
RUNS = 50
"""Number of earlier runs offered for retrying failed calls."""

ALL_ANCHORS = {
    Which.WITHOUT: "Anchors without variants of these types",
    Which.SLOTS: "Anchors missing accepted or pending variants",
    Which.FAILED: "Anchors with failed calls in an earlier run",
}


def draw() -> Choice | None:
    """Show the fields; None while the choice is incomplete, which the page says."""
    sources = open_project.ask(source_ids)
    runs = _ended_runs()
    options = [which for which in Which if which is not Which.FAILED or runs]
    row = st.container(horizontal=True)
    which = row.selectbox(
        "Anchors",
        options,
        format_func=lambda which: ALL_ANCHORS[which],
        key=links.GENERATE_WHICH,
        persist_state="session",
    )
    roles = _roles(row)
    row = st.container(horizontal=True, key="filters-generate")
    search = row.text_input(
        "Search",
        key="generate-search",
        placeholder="Part of a sentence",
        max_chars=200,
        persist_state="session",
    )
    source = row.selectbox(
        "Source",
        list(sources),
        index=None,
        key=links.GENERATE_SOURCE,
        placeholder="All",
        persist_state="session",
    )
    limit = row.number_input(
        "Sample size",
        1,
        value=None,
        step=100,
        key="generate-limit",
        placeholder="All",
        help="Number of anchors to sample at random. The seed determines which ones.",
        persist_state="session",
    )
    run = None
    if which is Which.FAILED:
        run = st.selectbox(
            "Earlier run",
            list(runs),
            format_func=lambda number: runs[number],
            key=RUN,
            persist_state="session",
        )
    if not roles:
        st.text("Choose at least one kind of call.")
        return None
    selection = AnchorSelection(
        which=which,
        search=search.strip(),
        source_id=sources.get(source or ""),
        limit=limit,
        run=run,
        types=type_choice.only(roles),
    )
    return Choice(selection, roles, int(st.session_state.get("generate-seed", 0)))


def _ended_runs() -> dict[int, str]:
    """Number of an earlier run → its label."""
    runs = open_project.ask(list_runs, kind=KIND, limit=RUNS)
    return {run.id: run_names.named(run) for run in runs if run.state not in UNFINISHED}


def _roles(place: DeltaGenerator) -> tuple[Role, ...]:
    types = open_project.types()
    asked = {role: types_of(role, types) for role in ROLES}
    named = [role for role in ROLES if asked[role]]
    needed = [role for role in named if ROLES[role].polarity != "neutral"]  # for triples
    st.session_state.setdefault(links.GENERATE_ROLES, needed[:2])
    chosen = place.pills(
        "Roles",
        named,
        selection_mode="multi",
        format_func=lambda role: f"{ROLES[role].name} ({len(asked[role])})",
        key=links.GENERATE_ROLES,
        help="Makes one call per anchor for each role. The number of types is in brackets.",
        persist_state="session",
    )
    return tuple(role for role in ROLES if role in (chosen or ()))
