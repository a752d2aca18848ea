"""Importing variants: choose a file, say what its columns hold, see what it brings, import it."""

from typing import NamedTuple

import streamlit as st

from curation.anchors.importing.insert import About
from curation.taxonomy.project_types import types_version
from curation.variants.importing.choices import Choices
from curation.variants.importing.import_run import KIND, create_import
from curation.variants.importing.in_words import amount, nothing_left
from curation.variants.importing.preview import Preview, preview, project_state
from curation.variants.importing.roles import Role, check_roles
from curation.variants.importing.staged import Staged
from curation.variants.importing.staging import stage
from curation.variants.importing.tables.parts import ACCEPTED, MAX_BYTES, Parts, parts_of_upload
from curation.variants.importing.tables.table import Table, open_table
from db.errors import HedgerowError
from db.models import Run, RunState
from db.runs import UNFINISHED, get_run
from pages.components.anchors import file_questions, variant_columns, variants_found
from pages.components.shared.runs import background, progress_view
from pages.components.shared.shell import error_messages, open_project, rights, signin
from training.runs.kinds import kind_of

HOW = (
    f"Variants that were made or judged elsewhere, with their anchors: {ACCEPTED}. Pack the folder "
    f"of an export into a zip file. UTF-8, at most {MAX_BYTES >> 20} MB. Nothing is stored before "
    "you have seen what it brings."
)

_TURN, _RUN = "variants-turn", "variants-run"
"""Session: a new file box for each; the number of the run that this session started last."""


class _Opened(NamedTuple):
    """A file whose columns are known."""

    parts: Parts
    table: Table


@error_messages.fragment
@rights.for_leads("import variants")
def importer() -> None:
    """The whole of importing; redrawn on its own."""
    if (run := background.active(KIND)) is not None:
        progress_view.follow(run)
        return
    if _RUN in st.session_state:
        _ended(open_project.ask(get_run, st.session_state[_RUN]))
        return
    st.caption(HOW)
    turn = st.session_state.setdefault(_TURN, 0)
    file = st.file_uploader(
        "File",
        key=f"variants-file-{turn}",
        max_upload_size=MAX_BYTES >> 20,
        label_visibility="collapsed",
    )
    if file is None:
        return
    try:
        _look(_opened(file.file_id, file.name, file.getvalue()), key=file.file_id)
    except HedgerowError as error:
        error_messages.show(variant_columns.in_fields(error), key="variants-file")


@st.cache_resource(max_entries=2, ttl=3600, show_spinner="Reading …")
def _opened(key: str, name: str, _data: bytes) -> _Opened:
    parts = parts_of_upload(_data, name)
    return _Opened(parts, open_table(parts))


@st.cache_resource(max_entries=3, ttl=3600, show_spinner="Reading every row …")
def _staged(key: str, roles: dict[str, str], meanings: str, types: str, _file: _Opened) -> Staged:
    """Shared and never changed; its file goes with it."""
    return stage(
        _file.table,
        _file.parts,
        roles=roles,
        types=open_project.every_type(),
        meanings=variant_columns.parsed_meanings(meanings),
    )


@st.cache_resource(max_entries=8, ttl=3600, show_spinner="Comparing with the project …")
def _preview(
    key: tuple[object, ...], state: tuple[object, ...], _staged: Staged, _choices: Choices
) -> Preview:
    """Made again when the project has changed."""
    return open_project.ask(preview, _staged, _choices)


def _look(file: _Opened, *, key: str) -> None:
    """Everything below the file: the columns, the questions, what it brings, the button."""
    table = file.table
    if table.kind != "table":
        st.text(f"Read as an export of {table.kind}: a row for each answer.")
    types = open_project.every_type()
    roles = variant_columns.roles_of(table, types, key=key)
    meanings = variant_columns.meanings(roles, key=key)
    about = file_questions.questions(
        table.name, key=f"variants-{key}", has_genres=Role.GENRE in roles.values()
    )
    accept = st.checkbox(
        "Accept variants without a verdict as their data set has them",
        key=f"variants-accept-{key}",
        help="Otherwise they are pending, to be reviewed. The model reviewer 'data set labels' "
        "accepts them; a person's verdict outranks it.",
    )
    # What follows can fail. The fields above keep what was typed, as they are drawn already.
    check_roles(roles, columns=table.columns, name=table.name)
    staged = _staged(key, roles, meanings, open_project.ask(types_version), file)
    undecided = variant_columns.undecided(staged, types, key=key)
    if about is None:
        st.caption("Name the source to go on.")
        return
    if _has_nameless(staged) and signin.reviewer_id() is None:
        st.write("The file has verdicts without a name. Decisions are stored under one.")
        signin.name_form("Your name", key="signin-variants")
        return
    choices = _choices(about, undecided, accept)
    state = open_project.ask(project_state)
    found = _preview((key, staged.path, repr(choices)), state, staged, choices)
    variants_found.draw(found, staged, types)
    nothing = nothing_left(found)
    if nothing:
        st.text(nothing)
    st.button(
        "Import" if nothing else f"Import {amount(found)}",
        type="primary",
        key="variants-import",
        disabled=bool(nothing),
        on_click=_start,
        args=(staged, choices),
    )


def _has_nameless(staged: Staged) -> bool:
    return any(not reviewer and by != "model" for reviewer, by in staged.verdicts())


def _choices(about: About, undecided: dict[str, str], accept: bool) -> Choices:
    return Choices(about, undecided, accept, st.session_state.get("reviewer_name", ""))


def _start(staged: Staged, choices: Choices) -> None:
    """Store the run and start its process, once: a second click finds it at work."""
    if background.active(KIND) is not None:
        return
    run = open_project.tell(
        create_import,
        open_project.settings(),
        staged,
        choices,
        requested_by=signin.reviewer_id(),
    )
    st.session_state[_RUN] = run.id
    background.start_process_of(run)


def _ended(run: Run) -> None:
    """What became of the import that was started here."""
    if run.state in UNFINISHED:
        progress_view.follow(run)
        return
    if run.state != RunState.DONE:
        progress_view.stopped(run, again=lambda: background.start_again(run), label="Resume")
        st.caption("What it has stored so far is whole: each anchor with all its variants.")
        st.button("Choose another file", key="variants-other", on_click=_leave)
        return
    with st.container(border=True, key="variants-imported"):
        st.text(kind_of(run.kind).sum_up(run.result))
        if run.result.get("decisions"):
            st.caption(
                "'hedgerow review undo --reviewer NAME', or Z on the Review page, takes the "
                "verdicts of one reviewer back, as one action."
            )
        with st.container(horizontal=True):
            review = st.button(
                "Review variants",
                key="variants-review",
                type="primary",
                icon=":material/rate_review:",
            )
            st.button("Import more", key="variants-more", on_click=_leave)
    if review:
        st.switch_page("pages/review.py")


def _leave() -> None:
    """Forget what was imported, and start with an empty form."""
    st.session_state.pop(_RUN, None)
    st.session_state[_TURN] += 1
