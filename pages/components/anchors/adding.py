"""Add anchors: choose a file or paste text, preview the result, then add what was chosen."""

import hashlib
from dataclasses import replace
from typing import NamedTuple

import streamlit as st

from curation.formatting import counted
from curation.generation.request import Which
from curation.importing.anchor_preview import RowStatus, changed
from curation.importing.anchor_storing import Added
from curation.importing.anchors import ADD_ANCHORS, AddAnchors, AnchorFile, Plan, places, plan
from curation.importing.labels import LabelledTable, read_file, read_pasted
from curation.importing.variant_preview import project_state
from curation.tables.files import ACCEPTED, MAX_BYTES
from curation.tables.table import PASTED, Format
from curation.validation import checked
from db.errors import HedgerowError
from pages.components.anchors import file_questions, file_rows
from pages.components.shared import links, page_runs
from pages.components.shared.shell import current_user, error_messages, open_project

FORMATS = {
    Format.CSV: "CSV",
    Format.TSV: "TSV",
    Format.JSONL: "JSON Lines",
    Format.PARQUET: "Parquet",
    Format.TEXT: "Plain text, one sentence per line",
}
FILE, PASTE = "file", "paste"
WAYS = {FILE: "File", PASTE: "Pasted text"}
_TURN, _DONE, _LEFT = "anchors-turn", "anchors-done", "anchors-left"

HOW = (
    f"Add one sentence per row, as plain text, {ACCEPTED}. Text must be UTF-8, or UTF-16 with a "
    f"byte-order mark. Files can be up to {MAX_BYTES >> 20} MB. You see a preview before anything "
    "is added."
)


class Given(NamedTuple):
    """The uploaded file or pasted text, identified by a hash."""

    data: bytes | str
    name: str
    key: str


@error_messages.fragment
@current_user.for_leads("add anchors")
def adder() -> None:
    """The whole form, as a fragment that reruns on its own."""
    if st.session_state.pop(_LEFT, False):
        st.rerun()
    if _DONE in st.session_state:
        _done()
        return
    st.caption(HOW)
    given = _given()
    if given is None:
        return
    try:
        _below_file(given)
    except HedgerowError as error:
        error_messages.show(str(error), key="file")


def _given() -> Given | None:
    turn = st.session_state.setdefault(_TURN, 0)
    way = st.segmented_control(
        "From",
        list(WAYS),
        key="anchors-way",
        format_func=lambda key: WAYS[key],
        default=FILE,
        required=True,
        label_visibility="collapsed",
    )
    if way == PASTE:
        text = st.text_area(
            "Pasted text",
            key=f"anchors-text-{turn}",
            height=180,
            label_visibility="collapsed",
            placeholder="One sentence per line, or table rows copied with their header",
        )
        if not text or not text.strip():
            return None
        return Given(text, PASTED, hashlib.sha256(text.encode("utf-8", "replace")).hexdigest())
    file = st.file_uploader(
        "File",
        key=f"anchors-file-{turn}",
        max_upload_size=MAX_BYTES >> 20,
        label_visibility="collapsed",
    )
    return Given(file.getvalue(), file.name, file.file_id) if file is not None else None


@st.cache_resource(max_entries=4, ttl=3600, show_spinner="Reading …")
def _table(key: str, format: Format | None, labels: dict[str, str], _given: Given) -> LabelledTable:
    """Cached without copying, because it is never changed."""
    if isinstance(_given.data, str):
        return read_pasted(_given.data, format=format, meanings=labels)
    return read_file(_given.data, name=_given.name, format=format, meanings=labels)


@st.cache_resource(max_entries=4, ttl=3600, show_spinner="Checking every row …")
def _plan(key: tuple[object, ...], _request: AddAnchors, _file: AnchorFile) -> Plan:
    """The plan for each row with all choices that take long; recomputed when the project changes.

    Args:
        key: the choices, and what the plan depends on in the project.
    """
    return plan(current_user.project(), _request, _file)


@st.cache_resource(max_entries=8, ttl=3600, show_spinner=False)
def _planned(
    key: tuple[object, ...], _request: AddAnchors, _file: AnchorFile, _known: Plan
) -> Plan:
    """The same with all choices."""
    return plan(current_user.project(), _request, _file, known=_known)


def _below_file(given: Given) -> None:
    """Everything below the file: columns, questions, preview and button."""
    row = st.container(horizontal=True, key="filters-file", vertical_alignment="bottom")
    format = row.selectbox(
        "Read as",
        [None, *FORMATS],
        key="anchors-format",
        format_func=lambda kind: FORMATS[kind] if kind else "Detect automatically",
    )
    labels = file_questions.known_meanings(given.key)
    table = _table(given.key, format, labels, given)
    columns = file_questions.columns(table, row, key=given.key)
    if table.tool:
        st.text(f"Read as an export of {table.tool}, with one row per answer.")
    for note in table.notes:
        st.text(note)
    file_questions.meanings(table, key=given.key)
    if not columns:
        file_rows.candidates(table)
        return
    about = file_questions.questions(
        given.name, key=given.key, has_genres=bool(columns.get("genre_column"))
    )
    file = AnchorFile(table, file_questions.NAMELESS)
    first = checked(AddAnchors, columns | about)
    state = open_project.ask(project_state)[:2]  # new verdicts change nothing here
    key = (given.key, format, *labels.items(), repr(first), state)
    known = _plan(key, first, file)
    shown = known.preview
    notes = st.container()
    for sentence in changed(shown.changed):
        st.text(sentence)
    if before := known.earlier:
        st.text(
            f"This file has already been added, as the source '{before.source}': "
            f"{file_rows.anchors(before.added)}."
        )
    ticked = file_rows.draw(shown, table, key=given.key)
    columns_of_facts = st.container(key="columns-file", gap="medium")
    facts = columns_of_facts.container(), columns_of_facts.container()
    rows = file_questions.rows_to_add(shown, ticked, key=given.key)
    planned = _planned((key, repr(rows)), first.model_copy(update=rows), file, known)
    for sentence in places(planned):
        notes.text(sentence)
    texts, accept = file_questions.accept_originals(planned, key=given.key)
    with facts[0]:
        file_rows.lengths_chart(planned.rows)
    with facts[1]:
        file_rows.reasons(shown, key=given.key)
    request = planned.request.model_copy(update={"accept_originals": accept})
    _button(replace(planned, request=request), texts)


def _button(planned: Plan, texts: int) -> None:
    count, is_named = len(planned.rows), bool(planned.request.source)
    if not is_named:
        st.caption("Enter the name of the source.")
    if not count and not texts:
        st.text(
            "Nothing is chosen: tick suspicious rows, or add all of them."
            if planned.preview.statuses[RowStatus.SUSPICIOUS]
            else "Nothing to add: every row already exists or is left out."
        )
    st.button(
        f"Add {_amount(count, texts)}",
        type="primary",
        key="anchors-add",
        disabled=not is_named or not (count or texts),
        on_click=_add,
        args=(planned,),
    )


def _amount(count: int, texts: int) -> str:
    anchors = file_rows.anchors(count)
    return f"{anchors} and {counted(texts, 'variant')}" if texts else anchors


def _add(planned: Plan) -> None:
    """Add the planned rows once: a second click finds nothing to do."""
    if _DONE in st.session_state:
        return
    added = ADD_ANCHORS.perform(current_user.project(), planned)
    st.session_state[_DONE] = added
    if added.originals.total:
        page_runs.measure()


def _done() -> None:
    added: Added = st.session_state[_DONE]
    texts = added.originals.total
    with st.container(border=True, key="anchors-added"):
        st.text(f"Added {_amount(added.added, texts)} from the source '{added.source}'.")
        st.write(
            "The variants are being measured. Pending ones are in the review queue."
            if texts
            else "They have no variants yet. A language model or the built-in rules can write "
            "them, or you can write them by hand under **Browse**."
        )
        with st.container(horizontal=True):
            generate = added.added and st.button(
                "Generate variants",
                key="anchors-generate",
                type="primary",
                icon=":material/edit_note:",
            )
            review = texts and st.button(
                "Review variants",
                key="anchors-review",
                icon=":material/rate_review:",
                type="secondary" if added.added else "primary",
            )
            st.button(
                "Browse anchors",
                key="anchors-browse",
                on_click=_browse,
                args=(added.source, "In use" if texts else "Without variants"),
            )
            st.button("Add more", key="anchors-more", on_click=_leave)
    if generate:
        links.to_generate(Which.SLOTS if texts else Which.WITHOUT, source=added.source)
    if review:
        st.switch_page("pages/review.py", query_params={})  # see `links.to_generate`


def _browse(source: str, show: str) -> None:
    """Show the added anchors under Browse."""
    _leave()
    st.session_state.update({"part": "Browse", "anchors-source": source, "show": show})


def _leave() -> None:
    """Clear the result and start with an empty form."""
    st.session_state.pop(_DONE, None)
    st.session_state[_TURN] += 1
    st.session_state[_LEFT] = True  # the tabs are outside this fragment
