"""Adding anchors: choose a file or paste, look at what would happen, add all or nothing."""

import hashlib
from typing import NamedTuple

import streamlit as st
from sqlalchemy import Engine

from curation.anchor_bytes import MAX_BYTES
from curation.anchor_files import PASTED, read_file, read_pasted
from curation.anchor_import import (
    MAX_LANGUAGE,
    MAX_LICENCE,
    MAX_SOURCE,
    About,
    add_anchors,
    check_source,
    earlier_import,
)
from curation.anchor_preview import (
    MAX_GENRE,
    Fate,
    Preview,
    Row,
    count_wordings,
    is_english,
    preview,
)
from curation.anchor_table import Format, Table
from db.engine import reading, writing
from db.errors import HedgerowError
from pages.components import anchor_rows, errors, project

FORMATS = {
    Format.CSV: "CSV",
    Format.TSV: "TSV",
    Format.JSONL: "JSON lines",
    Format.PARQUET: "Parquet",
    Format.TEXT: "Plain text, one sentence a line",
}
FILE, PASTE = "file", "paste"
WAYS = {FILE: "A file", PASTE: "Pasted text"}
_SIDE = 490
"""Pixels: two of them fill the page."""

_TURN, _DONE, _LEFT = "anchors-turn", "anchors-done", "anchors-left"

HOW = (
    "One sentence a row: CSV or TSV with a header, JSON lines, Parquet, or plain text with one "
    f"sentence a line, in UTF-8, at most {MAX_BYTES >> 20} MB. Nothing is added before you have "
    "seen what would be."
)


class Given(NamedTuple):
    """What a person gave: a file or a text, told apart by a hash."""

    data: bytes | str
    name: str
    key: str


class Plan(NamedTuple):
    """What the button adds."""

    shown: Preview
    rows: list[Row]
    about: About
    file: str
    parameters: dict[str, object]


@errors.fragment
def adder(reviewer_id: int | None) -> None:
    """The whole of adding; redrawn on its own.

    Args:
        reviewer_id: who has signed in, if anybody; kept as the author.
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
        _look(given, reviewer_id)
    except HedgerowError as error:
        errors.show(str(error), key="file")


def _given() -> Given | None:
    turn = st.session_state.setdefault(_TURN, 0)
    way = st.segmented_control(
        "From", list(WAYS), key="anchors-way", format_func=lambda key: WAYS[key],
        default=FILE, required=True, label_visibility="collapsed",
    )  # fmt: skip
    if way == PASTE:
        text = st.text_area(
            "Pasted text", key=f"anchors-text-{turn}", height=180, label_visibility="collapsed",
            placeholder="One sentence a line, or rows copied from a table with their header",
        )  # fmt: skip
        if not text or not text.strip():
            return None
        return Given(text, PASTED, hashlib.sha256(text.encode("utf-8", "replace")).hexdigest())
    file = st.file_uploader(
        "File", key=f"anchors-file-{turn}", max_upload_size=MAX_BYTES >> 20,
        label_visibility="collapsed",
    )  # fmt: skip
    return Given(file.getvalue(), file.name, file.file_id) if file is not None else None


@st.cache_resource(max_entries=4, ttl=3600, show_spinner="Reading …")
def _table(key: str, format: Format | None, _given: Given) -> Table:
    """Shared and never copied, as it is never changed."""
    if isinstance(_given.data, str):
        return read_pasted(_given.data, format=format)
    return read_file(_given.data, name=_given.name, format=format)


@st.cache_resource(max_entries=4, ttl=3600, show_spinner="Looking at every row …")
def _preview(
    key: str,
    format: Format | None,
    column: str,
    genre_column: str | None,
    language: str,
    wordings: int,
    _table: Table,
    _engine: Engine,
) -> Preview:
    """What would happen to each row; made anew when the database has got other anchors."""
    with reading(_engine) as session:
        return preview(session, _table, column=column, genre_column=genre_column, language=language)


@st.cache_resource(max_entries=8, ttl=3600, show_spinner=False)
def _chosen(
    key: tuple[object, ...], include: bool, size: int, seed: int, _shown: Preview
) -> list[Row]:
    return _shown.chosen(include_suspicious=include, sample=size or None, seed=seed)


def _look(given: Given, reviewer_id: int | None) -> None:
    """Everything below the file: which column, the questions, what would happen, the button."""
    left, middle, right = st.columns(3)
    format = left.selectbox(
        "Read as", [None, *FORMATS], key="anchors-format",
        format_func=lambda kind: FORMATS[kind] if kind else "As it looks",
    )  # fmt: skip
    table = _table(given.key, format, given)
    column = middle.selectbox(
        "Sentences in", table.columns,
        index=table.columns.index(table.sentence_column()), key=f"anchors-column-{given.key}",
    )  # fmt: skip
    genres = [name for name in table.text_columns if name != column]
    guessed = table.genre_column()
    genre_column = right.selectbox(
        "Genres in", [None, *genres],
        index=1 + genres.index(guessed) if guessed in genres else 0,
        format_func=lambda name: "No column" if name is None else name,
        key=f"anchors-genres-{given.key}",
    )  # fmt: skip
    for note in table.notes:
        st.text(note)
    about = _questions(given, has_genres=genre_column is not None)
    with reading(project.engine()) as session:
        wordings = count_wordings(session)
        before = earlier_import(session, table.content_hash)
        if about is not None:
            check_source(session, about)
    language = "en" if about is None or is_english(about.language) else about.language
    key = (given.key, format, column, genre_column, language, wordings)
    shown = _preview(*key, table, project.engine())
    if before is not None:
        st.text(
            f"This very file was added before, as the source '{before.source}': "
            f"{anchor_rows.anchors(before.added)}."
        )
    anchor_rows.draw(shown, table, key=given.key)
    with st.container(horizontal=True):  # one below the other in a narrow window
        facts = st.container(width=_SIDE), st.container(width=_SIDE)
    include, size, seed = _choices(shown, given)
    rows = _chosen(key, include, size, seed, shown)
    with facts[0]:
        anchor_rows.lengths_chart(rows)
    with facts[1]:
        anchor_rows.reasons(shown, key=given.key)
    parameters: dict[str, object] = {
        "column": column, "genre_column": genre_column, "sample": size or None, "seed": seed,
        "include_suspicious": include,
    }  # fmt: skip
    plan = Plan(shown, rows, about, given.name, parameters) if about else None
    _button(plan, len(rows), reviewer_id)


def _questions(given: Given, *, has_genres: bool) -> About | None:
    """What is said once of the file; None while the source has no name."""
    stem = "" if given.name == PASTED else given.name.rpartition(".")[0] or given.name
    first, second = st.columns(2)
    source = first.text_input(
        "Source", stem[:MAX_SOURCE], max_chars=MAX_SOURCE, key=f"anchors-source-{given.key}",
        placeholder="Where they come from",
        help="A data set, a book, a person. Anchors of one source are told apart by it.",
    )  # fmt: skip
    licence = second.text_input(
        "Licence", max_chars=MAX_LICENCE, key=f"anchors-licence-{given.key}",
        placeholder="Such as CC BY 4.0",
        help="Every release repeats it. Left empty, that of the source if it is there already.",
    )  # fmt: skip
    first, second = st.columns(2)
    genre = first.text_input(
        "Genre of rows without one" if has_genres else "Genre", max_chars=MAX_GENRE,
        key=f"anchors-genre-{given.key}", placeholder="Such as news",
    )  # fmt: skip
    language = second.text_input(
        "Language", "en", max_chars=MAX_LANGUAGE, key=f"anchors-language-{given.key}",
        help="A tag such as en or de-CH. The checks for negations, hedges and questions know "
        "English only and are left out for others.",
    )  # fmt: skip
    if not source.strip():
        return None
    return About(source, licence.strip() or None, genre, language.strip())


def _choices(shown: Preview, given: Given) -> tuple[bool, int, int]:
    """Whether suspicious rows count, the size of the sample (0: all), and its seed."""
    new, suspicious = shown.fates[Fate.NEW], shown.fates[Fate.SUSPICIOUS]
    include = st.checkbox(
        f"Add the {suspicious:,} suspicious ones, too", key=f"anchors-include-{given.key}",
        disabled=not suspicious,
    )  # fmt: skip
    most = new + (suspicious if include else 0)
    sampling = st.container(horizontal=True)
    size = sampling.number_input(
        "Sample of", width=220, min_value=1, max_value=max(most, 1), value=None, step=1,
        placeholder="All", key=f"anchors-sample-{given.key}-{most}",
        help="Drawn in proportion to lengths and genres, the same for the same seed.",
    )  # fmt: skip
    seed = sampling.number_input(
        "Seed", width=160, min_value=0, max_value=2**31, value=0, step=1,
        key=f"anchors-seed-{given.key}", disabled=size is None,
    )  # fmt: skip
    return include, int(size or 0) if most else 0, int(seed)


def _button(plan: Plan | None, count: int, reviewer_id: int | None) -> None:
    if plan is None:
        st.caption("Name the source to add them.")
    if not count:
        st.text("Every row is there already or left out, so there is nothing to add.")
    st.button(
        f"Add {anchor_rows.anchors(count)}", type="primary", key="anchors-add",
        disabled=plan is None or not count, on_click=_add, args=(plan, reviewer_id),
    )  # fmt: skip


def _add(plan: Plan | None, reviewer_id: int | None) -> None:
    """Add what was planned, once: a second click finds it done."""
    if plan is None or _DONE in st.session_state:
        return
    with writing(project.engine()) as session:
        added = add_anchors(
            session, plan.shown, plan.rows, about=plan.about, file=plan.file,
            parameters=plan.parameters, author_id=reviewer_id,
        )  # fmt: skip
    st.session_state[_DONE] = (added.added, plan.about.source)


def _done() -> None:
    count, source = st.session_state[_DONE]
    with st.container(border=True, key="anchors-added"):
        st.text(f"Added {anchor_rows.anchors(count)} of the source '{source}'.")
        st.write(
            "They have no variants yet. Under **Browse** you can look at them, correct them and "
            "write variants by hand; a variant then goes to the review."
        )
        with st.container(horizontal=True):
            st.button("Browse them", key="anchors-browse", type="primary", on_click=_browse,
                      args=(source,))  # fmt: skip
            st.button("Add more", key="anchors-more", on_click=_leave)


def _browse(source: str) -> None:
    """Show them under Browse."""
    _leave()
    st.session_state.update({"part": "Browse", "source": source, "show": "Without variants"})


def _leave() -> None:
    """Forget what was added, and start with an empty form."""
    st.session_state.pop(_DONE, None)
    st.session_state[_TURN] += 1
    st.session_state[_LEFT] = True  # the tabs lie outside what is redrawn
