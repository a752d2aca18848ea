"""Add anchors: choose a file or paste text, preview the result, then add all or nothing."""

import hashlib
from typing import NamedTuple

import streamlit as st

from curation.anchors.importing.decoding import MAX_BYTES
from curation.anchors.importing.file_table import FileTable, Format
from curation.anchors.importing.formats import PASTED, read_file, read_pasted
from curation.anchors.importing.insert import (
    About,
    Added,
    PairedTexts,
    add_anchors,
    before_import,
)
from curation.anchors.importing.nli_texts import Originals, read_originals
from curation.anchors.importing.preview import FileRow, Preview, preview
from curation.generation.request import Which
from curation.language.english import is_english
from curation.plurals import counted
from db.errors import HedgerowError
from pages.components.anchors import file_questions, file_rows
from pages.components.shared import links
from pages.components.shared.runs import background
from pages.components.shared.shell import error_messages, open_project, rights

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
    "Add one sentence per row, as CSV or TSV with a header, JSON Lines, Parquet or plain text. "
    "Text must be UTF-8, or UTF-16 with a byte-order mark. Files can be up to "
    f"{MAX_BYTES >> 20} MB. You see a preview before anything is added."
)


class Given(NamedTuple):
    """The uploaded file or pasted text, identified by a hash."""

    data: bytes | str
    name: str
    key: str


class ImportPlan(NamedTuple):
    """What the button will add."""

    shown: Preview
    rows: list[FileRow]
    about: About
    paired: PairedTexts | None
    file: str
    parameters: dict[str, object]


@error_messages.fragment
@rights.for_leads("add anchors")
def adder(reviewer_id: int | None) -> None:
    """The whole form, as a fragment that reruns on its own.

    Args:
        reviewer_id: the signed-in reviewer, if any; stored as the author.
    """
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
        _below_file(given, reviewer_id)
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
def _table(key: str, format: Format | None, _given: Given) -> FileTable:
    """Cached without copying, because it is never changed."""
    if isinstance(_given.data, str):
        return read_pasted(_given.data, format=format)
    return read_file(_given.data, name=_given.name, format=format)


@st.cache_resource(max_entries=4, ttl=3600, show_spinner="Checking every row …")
def _preview(
    key: str,
    format: Format | None,
    column: str,
    genre_column: str | None,
    language: str,
    revisions: int,
    _table: FileTable,
) -> Preview:
    """The plan for each row; recomputed when the anchors in the database change."""
    return open_project.ask(
        preview, _table, column=column, genre_column=genre_column, language=language
    )


@st.cache_resource(max_entries=4, ttl=3600, show_spinner="Checking the paired texts …")
def _originals(
    key: tuple[object, ...],
    sentence: str,
    columns: dict[str, str],
    source: str,
    language: str,
    newest: int,
    _shown: Preview,
    _table: FileTable,
) -> Originals:
    """Recomputed when variants have been added."""
    return open_project.ask(
        read_originals,
        _table,
        _shown,
        sentence=sentence,
        columns=columns,
        source=source,
        language=language,
    )


@st.cache_resource(max_entries=8, ttl=3600, show_spinner=False)
def _chosen(
    key: tuple[object, ...], include: bool, size: int, seed: int, _shown: Preview
) -> list[FileRow]:
    return _shown.chosen(include_suspicious=include, sample=size or None, seed=seed)


def _below_file(given: Given, reviewer_id: int | None) -> None:
    """Everything below the file: columns, questions, preview and button."""
    row = st.container(horizontal=True, key="filters-file")
    format = row.selectbox(
        "Read as",
        [None, *FORMATS],
        key="anchors-format",
        format_func=lambda kind: FORMATS[kind] if kind else "Detect automatically",
    )
    table = _table(given.key, format, given)
    column = row.selectbox(
        "Sentence column",
        table.columns,
        index=table.columns.index(table.sentence_column()),
        key=f"anchors-column-{given.key}",
    )
    genres = [name for name in table.text_columns if name != column]
    guessed = table.genre_column()
    genre_column = row.selectbox(
        "Genre column",
        [None, *genres],
        index=1 + genres.index(guessed) if guessed in genres else 0,
        format_func=lambda name: "No column" if name is None else name,
        key=f"anchors-genres-{given.key}",
    )
    columns = file_questions.original_columns(table, column, key=given.key)
    for note in table.notes:
        st.text(note)
    about = file_questions.questions(given.name, key=given.key, has_genres=genre_column is not None)
    revisions, newest, before = open_project.ask(before_import, table.content_hash, about)
    language = "en" if about is None or is_english(about.language) else about.language
    key = (given.key, format, column, genre_column, language, revisions)
    shown = _preview(*key, table)
    if before is not None:
        st.text(
            f"This file has already been added, as the source '{before.source}': "
            f"{file_rows.anchors(before.added)}."
        )
    file_rows.draw(shown, table, key=given.key)
    columns_of_facts = st.container(key="columns-file", gap="medium")
    facts = columns_of_facts.container(), columns_of_facts.container()
    include, size, seed = file_questions.rows_to_add(shown, key=given.key)
    rows = _chosen(key, include, size, seed, shown)
    originals = _originals(
        key,
        column,
        columns,
        about.source if about else "",
        language,
        newest,
        shown,
        table,
    )
    texts, accept = file_questions.accept_originals(originals, rows, key=given.key)
    with facts[0]:
        file_rows.lengths_chart(rows)
    with facts[1]:
        file_rows.reasons(shown, key=given.key)
    parameters: dict[str, object] = {
        "column": column,
        "genre_column": genre_column,
        "sample": size or None,
        "seed": seed,
        "include_suspicious": include,
    }
    paired = PairedTexts(originals, accept) if columns else None
    plan = ImportPlan(shown, rows, about, paired, given.name, parameters) if about else None
    _button(plan, len(rows), texts, reviewer_id)


def _button(plan: ImportPlan | None, count: int, texts: int, reviewer_id: int | None) -> None:
    if plan is None:
        st.caption("Enter the name of the source.")
    if not count and not texts:
        st.text("Nothing to add: every row already exists or is left out.")
    st.button(
        f"Add {_amount(count, texts)}",
        type="primary",
        key="anchors-add",
        disabled=plan is None or not (count or texts),
        on_click=_add,
        args=(plan, reviewer_id),
    )


def _amount(count: int, texts: int) -> str:
    anchors = file_rows.anchors(count)
    return f"{anchors} and {counted(texts, 'variant')}" if texts else anchors


def _add(plan: ImportPlan | None, reviewer_id: int | None) -> None:
    """Add the planned rows once: a second click finds nothing to do."""
    if plan is None or _DONE in st.session_state:
        return
    added = open_project.tell(
        add_anchors,
        plan.shown,
        plan.rows,
        about=plan.about,
        paired=plan.paired,
        file=plan.file,
        parameters=plan.parameters,
        author_id=reviewer_id,
    )
    st.session_state[_DONE] = added
    if added.originals.total:
        background.measure()


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
