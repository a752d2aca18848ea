"""Set up a run: what, by which model, cost; a trial first, then the run."""

from collections.abc import Collection
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from curation.anchors.lookup import has_anchors, source_ids
from curation.generation.estimate import TRIAL, trial_of
from curation.generation.missing_variants import count_wanted
from curation.generation.prompts import types_of
from curation.generation.request import (
    KIND,
    OPENAI,
    AnchorSelection,
    Budget,
    GenerationRequest,
    Price,
    Which,
)
from curation.generation.run import GENERATE, checked_request
from curation.taxonomy.surface_check import ROLES, Role
from db.errors import HedgerowError
from db.runs import UNFINISHED, list_runs
from pages.components.generate import live_run
from pages.components.shared import links, model_choice, page_runs, run_cost
from pages.components.shared.shell import count_cache, current_user, error_messages, open_project


@current_user.for_leads("start runs")
def box(counts: count_cache.CachedCounts) -> None:
    """Show the form, or what to do if there are no anchors."""
    if not open_project.ask(has_anchors):
        links.no_anchors()
        return
    with st.container(border=True, key="generate-what"):
        st.header("Anchors and types", anchor=False)
        choice = choose_calls()
    with st.container(border=True, key="generate-who"):
        st.header("Writer", anchor=False)
        values = model_choice.draw(choice.roles if choice else ())
    with st.container(border=True, key="generate-cost"):
        st.header("Cost and time", anchor=False)
        if choice is not None:
            _cost(choice, values, counts)


def _cost(
    choice: model_choice.CallChoice, values: dict[str, Any], counts: count_cache.CachedCounts
) -> None:
    is_model = values["provider"] == OPENAI
    wanted = counts.get(count_wanted, choice.selection, choice.roles, seed=choice.seed)
    if wanted is not None:
        st.text(run_cost.what_is_asked(wanted))
    if is_model and not values["model"]:
        if wanted is None or wanted.total:
            st.text("Choose a model to see the cost.")
        return
    price = run_cost.price(values["model"]) if is_model else Price()
    budget = run_cost.budget() if is_model else Budget()
    try:
        request = checked_request(values | choice._asdict() | {"price": price, "budget": budget})
    except HedgerowError as error:
        error_messages.show(str(error), key="generate-request")
        return
    if wanted is None:  # the page reruns when the count is ready
        return
    found = run_cost.estimated(request, wanted)
    for line in run_cost.in_words(found, request):
        st.text(line)
    lacks_key = is_model and model_choice.lacks_key(request.base_url)
    if lacks_key:
        st.text(
            "OpenAI needs an API key. Enter one above, or enter the address of your own server."
        )
    _buttons(request, disabled=lacks_key or not found.total_calls, known=found.cost is not None)


def _buttons(request: GenerationRequest, *, disabled: bool, known: bool) -> None:
    """These are not callbacks, which would start the choice of the previous rerun."""
    with st.container(horizontal=True):
        tried = st.button(
            f"Try on {'three' if TRIAL == 3 else TRIAL} anchors",
            key="generate-try",
            disabled=disabled,
            type="secondary" if known else "primary",
            icon=":material/science:",
        )
        asked = st.button(
            "Start",
            key="generate-start",
            disabled=disabled,
            icon=":material/play_arrow:",
            type="primary" if known else "secondary",
        )
    if disabled or not (tried or asked):
        return
    try:
        with st.spinner("Storing the calls."):
            _start(trial_of(request) if tried else request)
    except HedgerowError as error:
        error_messages.show(str(error), key="generate")
    else:
        st.rerun()


def _start(request: GenerationRequest) -> None:
    """Store a run with its calls and start its process."""
    page_runs.begin(GENERATE, request, model_choice.key_environment(request.base_url))
    count_cache.forget()  # the number of variants left to generate changes


# -- What to generate: which anchors, and which calls for each ------------------------------------


RUN = "generate-run"
RUNS = 50
"""Number of earlier runs offered for retrying failed calls."""

ALL_ANCHORS = {
    Which.WITHOUT: "Anchors without variants of these types",
    Which.SLOTS: "Anchors missing accepted or pending variants",
    Which.FAILED: "Anchors with failed calls in an earlier run",
}


def choose_calls() -> model_choice.CallChoice | None:
    """Show the fields; None while the choice is incomplete, which the page says."""
    sources = open_project.ask(source_ids)
    newest = open_project.ask(list_runs, kind=KIND, limit=RUNS)
    runs = {run.id: live_run.named(run) for run in newest if run.state not in UNFINISHED}
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
        types=only_types(roles),
    )
    return model_choice.CallChoice(selection, roles, int(st.session_state.get("generate-seed", 0)))


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


# -- Choose the types to ask for: all types of the chosen calls, or some of them ------------------


def only_types(roles: Collection[Role]) -> tuple[str, ...]:
    """Show the field; an empty choice means all types of these calls."""
    types = open_project.types()
    names = {
        entry.id: f"{entry.label} (on request)" if entry.on_request else entry.label
        for entry in types
        if entry.role in roles and not entry.imported
    }
    kept = [
        type_id for type_id in st.session_state.get(links.GENERATE_TYPES, ()) if type_id in names
    ]
    if links.GENERATE_TYPES in st.session_state and kept != list(
        st.session_state[links.GENERATE_TYPES]
    ):
        st.session_state[links.GENERATE_TYPES] = (
            kept  # its call is no longer chosen, or it is retired
        )
    chosen = st.multiselect(
        "Only these types",
        list(names),
        format_func=lambda key: names[key],
        key=links.GENERATE_TYPES,
        placeholder="All types of these roles, except optional ones",
        persist_state="session",
    )
    return tuple(chosen)
