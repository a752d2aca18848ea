"""Taxonomy: the built-in variant types and the ones a project adds."""

import streamlit as st

from curation.editing.own_types import add_type, change_type
from curation.editing.type_drafts import OwnType, as_written
from curation.formatting import counted
from curation.review.queue import status_counts
from curation.taxonomy.built_in import VariantType
from db.errors import HedgerowError
from db.models import Status
from pages.components.shared import page_runs, tables
from pages.components.shared.shell import (
    count_cache,
    current_user,
    error_messages,
    frame,
    open_project,
)
from pages.components.taxonomy import type_detail, type_form

TYPES, ADD = "Types", "Add a type"
PART, PICKED = "part", "shown"
_ADDED = "own-type-added"  # number of types added, so that each form starts empty
_NEXT = "own-type-next"


def _variants() -> dict[str, int]:
    """Number of variants by type; an edited variant counts once."""
    counts = open_project.ask(status_counts)
    return {
        type_id: sum(count for status, count in numbers.items() if status != Status.SUPERSEDED)
        for type_id, numbers in counts.items()
    }


def _state(entry: VariantType) -> str:
    if entry.retired:
        return "retired"
    if entry.imported:
        return "imported"
    if entry.own:
        return "your own"
    return "built in (paper)" if entry.of_paper else "built in (Hedgerow)"


def _types() -> None:
    types, variants = open_project.every_type(), _variants()
    st.dataframe(
        [
            {
                "Type": entry.label,
                "Role": entry.role,
                "State": _state(entry),
                "Variants": variants.get(entry.id, 0),
                "Example": entry.example,
            }
            for entry in types.values()
        ],
        hide_index=True,
        key="types",
        height="content",
        column_config={
            "Example": st.column_config.TextColumn(width="large"),
            "Variants": tables.COUNT,
        },
    )
    names = open_project.type_names()
    if st.session_state.get(PICKED) not in types:
        st.session_state[PICKED] = next(iter(types))
    picked = st.selectbox(
        "Type",
        list(types),
        format_func=lambda key: names[key],
        key=PICKED,
        bind="query-params",
    )
    entry = types[picked]
    with st.container(border=True, key="type-detail"):
        if entry.own and st.session_state.get(type_detail.CHANGE) == entry.id:
            _form(type_form.Form(f"{entry.id}-{entry.version}", as_written(entry)), entry)
        else:
            type_detail.draw(entry, variants.get(entry.id, 0))


@current_user.for_leads("add types")
def _add() -> None:
    st.text(
        "Your own type works like a built-in one: every prompt for its role asks for it, and its "
        "variants are checked, reviewed with its definition and guideline, released and used for "
        "training."
    )
    _form(type_form.Form(f"new-{st.session_state.get(_ADDED, 0)}", None), None)


@error_messages.fragment
def _form(form: type_form.Form, entry: VariantType | None) -> None:
    """The form to write, try and save a type. If saving fails, it says why and keeps the input."""
    type_id = entry.id if entry else ""
    try:
        wanted = type_form.fields(form)
        type_detail.try_type(wanted, key=form.key, type_id=type_id)
    except HedgerowError as error:
        error_messages.show(str(error), key="type-form")
        return
    with st.container(horizontal=True, vertical_alignment="center", key="type-form-acts"):
        label = "Save as the next version" if entry else "Add the type"
        save = st.button(label, key="type-save", type="primary")
        if entry and st.button("Cancel", key="type-cancel"):
            st.session_state.pop(type_detail.CHANGE, None)
            st.rerun()
    if save:
        _store(wanted, entry)


def _store(wanted: OwnType, entry: VariantType | None) -> None:
    try:
        if entry is None:
            _store_new(wanted)
        else:
            _store_change(wanted, entry)
    except HedgerowError as error:
        error_messages.show(str(error), key="type-form")
        return
    count_cache.forget()
    st.rerun()


def _store_new(wanted: OwnType) -> None:
    added = open_project.tell(add_type, wanted)
    st.session_state[_ADDED] = st.session_state.get(_ADDED, 0) + 1
    st.session_state[_NEXT] = {PICKED: added.id, PART: TYPES}
    st.session_state[type_detail.SHOWN] = (
        f"Added {added.label}. Prompts ask for it from now on. Reviewers can write variants of it "
        "and change a variant's type to it."
    )


def _store_change(wanted: OwnType, entry: VariantType) -> None:
    done = open_project.tell(change_type, entry.id, wanted)
    st.session_state.pop(type_detail.CHANGE, None)
    message = f"{done.entry.label} is now at version {done.entry.version}."
    if done.to_measure:
        page_runs.measure()
        message += f" Hedgerow now applies the new check to {counted(done.to_measure, 'variant')}."
    st.session_state[type_detail.SHOWN] = message


frame.begin(
    "Taxonomy",
    "The variant types that you generate, review and train on. You can add your own.",
)
# Show the type just added: a widget cannot be changed once it is rendered.
st.session_state.update(st.session_state.pop(_NEXT, {}))
part = frame.section((TYPES, ADD), key=PART)
error_messages.show_once(type_detail.SHOWN)
if part == ADD:
    _add()
else:
    _types()
