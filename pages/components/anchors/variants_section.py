"""Import variants: choose a file, assign its columns, preview the result, import."""

from dataclasses import replace

import streamlit as st

from curation.importing.column_roles import Role
from curation.importing.staged import Staged
from curation.importing.variant_preview import amount, nothing_left, project_state
from curation.importing.variants import KIND, Plan, Request, add, plan, read
from curation.tables.decoding import ACCEPTED, MAX_BYTES
from curation.tables.files import Parts, parts_of_upload
from curation.tables.table import Table, open_table
from curation.taxonomy.project_types import types_version
from db.errors import HedgerowError
from db.models import Run, RunState
from db.runs import UNFINISHED, get_run
from pages.components.anchors import file_questions, variant_columns, variants_found
from pages.components.shared.runs import background, progress_view
from pages.components.shared.shell import error_messages, open_project, rights, signin
from training.runs.kinds import kind_of

HOW = (
    "Import variants that were written or judged elsewhere, with their anchors, as "
    f"{ACCEPTED}. If an export is a folder, zip it first. Text must be UTF-8, or UTF-16 with a "
    f"byte-order mark. Files can be up to {MAX_BYTES >> 20} MB. You see a preview before anything "
    "is stored."
)

_TURN, _RUN = "variants-turn", "variants-run"
"""Session keys: the number of the file box, and the last run that this session started."""


@error_messages.fragment
@rights.for_leads("import variants")
def importer() -> None:
    """The whole import form, as a fragment that reruns on its own."""
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
        _below_file(*_opened(file.file_id, file.name, file.getvalue()), key=file.file_id)
    except HedgerowError as error:
        error_messages.show(variant_columns.in_fields(error), key="variants-file")


@st.cache_resource(max_entries=2, ttl=3600, show_spinner="Reading …")
def _opened(key: str, name: str, _data: bytes) -> tuple[Parts, Table]:
    parts = parts_of_upload(_data, name)
    return parts, open_table(parts, is_prose=False)


@st.cache_resource(max_entries=3, ttl=3600, show_spinner="Reading every row …")
def _staged(key: tuple[object, ...], _request: Request) -> Staged:
    """Cached without copying and never changed; it owns its file.

    Args:
        key: the file, the choices on which its rows depend, and the version of the types.
    """
    return read(_request, open_project.every_type())


@st.cache_resource(max_entries=8, ttl=3600, show_spinner="Comparing with the project …")
def _plan(key: tuple[object, ...], _request: Request, _staged: Staged) -> Plan:
    """Recomputed when the project changes.

    Args:
        key: all choices, and what the plan depends on in the project.
    """
    return open_project.ask(plan, _request, _staged)


def _below_file(parts: Parts, table: Table, *, key: str) -> None:
    """Everything below the file: columns, questions, preview and button."""
    if table.tool:
        st.text(f"Read as an export of {table.tool}, with one row per answer.")
    for note in table.notes:
        st.text(note)
    types = open_project.every_type()
    roles = variant_columns.roles_of(table, types, key=key)
    words = variant_columns.meanings(roles, key=key)
    about = file_questions.questions(
        table.name, key=f"variants-{key}", has_genres=Role.GENRE in roles.values()
    )
    accept = st.checkbox(
        "Accept variants without a verdict",
        key=f"variants-accept-{key}",
        help="If selected, the model reviewer 'data set labels' accepts them, but a person's "
        "verdict still outranks it. Otherwise, they stay pending until somebody reviews them.",
    )
    # The code below can fail. The fields above keep their input because they are already rendered.
    request = Request(
        parts,
        table,
        about or file_questions.NAMELESS,
        roles=roles,
        meanings=variant_columns.parsed_meanings(words),
        accept=accept,
        reviewer=st.session_state.get("reviewer_name", ""),
    )
    version = open_project.ask(types_version)
    staged = _staged((key, *roles.items(), words, request.about.language, version), request)
    undecided = variant_columns.undecided(staged, types, key=key)
    if about is None:
        st.caption("Enter the name of the source.")
        return
    if _has_nameless(staged) and signin.reviewer_id() is None:
        st.write("The file has verdicts without a reviewer name. They will be stored under yours.")
        signin.name_form("Your name", key="signin-variants", button="Use this name")
        return
    request = replace(request, undecided=list(undecided.values()))
    state = open_project.ask(project_state)
    chosen = (*undecided.items(), repr(about), accept, request.reviewer)
    planned = _plan((key, staged.path, chosen, state), request, staged)
    variants_found.draw(planned.preview, staged, types, table.columns)
    nothing = nothing_left(planned.preview)
    if nothing:
        st.text(nothing)
    st.button(
        "Import" if nothing else f"Import {amount(planned.preview)}",
        type="primary",
        key="variants-import",
        disabled=bool(nothing),
        on_click=_start,
        args=(planned,),
    )


def _has_nameless(staged: Staged) -> bool:
    return any(not reviewer and by != "model" for reviewer, by in staged.verdicts())


def _start(planned: Plan) -> None:
    """Store the run and start its process once: a second click finds it running."""
    if background.active(KIND) is not None:
        return
    run = open_project.tell(
        add, open_project.settings(), planned, requested_by=signin.reviewer_id()
    )
    st.session_state[_RUN] = run.id
    background.start_process_of(run)


def _ended(run: Run) -> None:
    """Report how the import that was started here ended."""
    if run.state in UNFINISHED:
        progress_view.follow(run)
        return
    if run.state != RunState.DONE:
        progress_view.stopped(run, again=lambda: background.start_again(run), label="Resume")
        st.caption("What has been stored so far is complete: each anchor with all its variants.")
        st.button("Choose another file", key="variants-other", on_click=_leave)
        return
    with st.container(border=True, key="variants-imported"):
        st.text(kind_of(run.kind).sum_up(run.result))
        if run.result.get("decisions"):
            st.caption(
                "To undo the verdicts of one reviewer as one action, run 'hedgerow review undo "
                "--reviewer NAME' or press Z on the Review page."
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
        st.switch_page("pages/review.py", query_params={})  # see `links.to_generate`


def _leave() -> None:
    """Clear the result and start with an empty form."""
    st.session_state.pop(_RUN, None)
    st.session_state[_TURN] += 1
