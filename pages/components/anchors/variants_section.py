"""Import variants: choose a file, assign its columns, preview the result, import."""

from collections.abc import Mapping, Sequence

import streamlit as st

from curation.editing.attributes import moved_rows
from curation.formatting import counted
from curation.importing.anchor_preview import changed
from curation.importing.column_roles import ColumnRole
from curation.importing.staged import Staged
from curation.importing.variant_entries import LeftOut
from curation.importing.variant_preview import (
    Example,
    Preview,
    against,
    amount,
    left_out,
    nothing_left,
    project_state,
)
from curation.importing.variants import (
    IMPORT_VARIANTS,
    KIND,
    ImportVariants,
    Plan,
    VariantFile,
    plan,
    read,
)
from curation.tables.delimited import not_used
from curation.tables.files import ACCEPTED, MAX_BYTES, parts_of_upload
from curation.tables.table import open_table
from curation.taxonomy.built_in import VariantType
from curation.taxonomy.project_types import types_version
from curation.validation import checked
from db.errors import HedgerowError
from db.models import Run, RunState, Verdict
from db.runs import UNFINISHED, get_run
from pages.components.anchors import file_questions, variant_columns
from pages.components.shared import page_runs
from pages.components.shared.shell import current_user, error_messages, open_project
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
@current_user.for_leads("import variants")
def importer() -> None:
    """The whole import form, as a fragment that reruns on its own."""
    if (run := page_runs.active(KIND)) is not None:
        page_runs.follow(run)
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
        _below_file(_opened(file.file_id, file.name, file.getvalue()), key=file.file_id)
    except HedgerowError as error:
        error_messages.show(variant_columns.in_fields(error), key="variants-file")


@st.cache_resource(max_entries=2, ttl=3600, show_spinner="Reading …")
def _opened(key: str, name: str, _data: bytes) -> VariantFile:
    parts = parts_of_upload(_data, name)
    return VariantFile(parts, open_table(parts, is_prose=False), file_questions.NAMELESS)


@st.cache_resource(max_entries=3, ttl=3600, show_spinner="Reading every row …")
def _staged(key: tuple[object, ...], _request: ImportVariants, _file: VariantFile) -> Staged:
    """Cached without copying and never changed; it owns its file.

    Args:
        key: the file, the choices on which its rows depend, and the version of the types.
    """
    return read(current_user.project(), _request, _file)


@st.cache_resource(max_entries=8, ttl=3600, show_spinner="Comparing with the project …")
def _plan(
    key: tuple[object, ...], _request: ImportVariants, _file: VariantFile, _staged: Staged
) -> Plan:
    """Recomputed when the project changes.

    Args:
        key: all choices, and what the plan depends on in the project.
    """
    return plan(current_user.project(), _request, _file, staged=_staged)


def _below_file(file: VariantFile, *, key: str) -> None:
    """Everything below the file: columns, questions, preview and button."""
    table = file.table
    if table.tool:
        st.text(f"Read as an export of {table.tool}, with one row per answer.")
    for note in table.notes:
        st.text(note)
    types = open_project.every_type()
    roles = variant_columns.roles_of(table, types, key=key)
    words = variant_columns.meanings(roles, key=key)
    about = file_questions.questions(
        table.name, key=f"variants-{key}", has_genres=ColumnRole.GENRE in roles.values()
    )
    accept = st.checkbox(
        "Accept variants without a verdict",
        key=f"variants-accept-{key}",
        help="If selected, the model reviewer 'data set labels' accepts them, but a person's "
        "verdict still outranks it. Otherwise, they stay pending until somebody reviews them.",
    )
    # The code below can fail. The fields above keep their input because they are already rendered.
    request = checked(
        ImportVariants,
        about
        | {
            "mapping": roles,
            "verdicts": variant_columns.parsed_meanings(words),
            "accept": accept,
            "reviewer": st.session_state.get("reviewer_name", ""),
        },
    )
    version = open_project.ask(types_version)
    staged = _staged((key, *roles.items(), words, request.language, version), request, file)
    undecided = variant_columns.undecided(staged, types, key=key)
    if not request.source:
        st.caption("Enter the name of the source.")
        return
    if _has_nameless(staged) and current_user.reviewer_id() is None:
        st.write("The file has verdicts without a reviewer name. They will be stored under yours.")
        current_user.name_form("Your name", key="signin-variants", button="Use this name")
        return
    request = request.model_copy(update={"undecided": tuple(undecided.values())})
    state = open_project.ask(project_state)
    planned = _plan((key, staged.path, repr(request), state), request, file, staged)
    draw_found(planned.preview, staged, types, table.columns)
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
    if page_runs.active(KIND) is not None:
        return
    run = IMPORT_VARIANTS.perform(current_user.project(), planned)
    st.session_state[_RUN] = run.id
    page_runs.start_process_of(run)


def _ended(run: Run) -> None:
    """Report how the import that was started here ended."""
    if run.state in UNFINISHED:
        page_runs.follow(run)
        return
    if run.state != RunState.DONE:
        page_runs.stopped(run, again=lambda: page_runs.start_again(run), label="Resume")
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


# -- variants found -------------------------------------------------------------------------------


_SHOWN = 300
"""Maximum number of characters in a cell."""

_ROW = 84
"""Row height in pixels for four lines. Streamlit wraps text only in rows higher than 64."""

_NUMBER = st.column_config.NumberColumn(format="localized", width="small")
_VERDICTS = {Verdict.ACCEPT: "Accepted", Verdict.REJECT: "Rejected"}
_FATES = {
    LeftOut.UNDECIDED: "Left out: no type",
    LeftOut.THERE: "Already exists",
    LeftOut.OTHER_SOURCE: "Left out: its anchor belongs to another source",
    LeftOut.RETIRED: "Left out: its anchor is retired",
    LeftOut.EARLIER_REVISION: "Left out: its anchor was corrected",
}


def draw_found(
    found: Preview, staged: Staged, types: Mapping[str, VariantType], columns: Sequence[str]
) -> None:
    """Show the counts, and sample variants with their result."""
    st.text(
        f"{counted(staged.facts.rows, 'row')}: {counted(found.anchors, 'new anchor')}, "
        f"{counted(found.variants, 'new variant')}, {counted(found.decisions, 'new verdict')}."
    )
    unused = [column for column in columns if column not in staged.facts.roles]
    for sentence in [*not_used(unused), *moved_rows(found.moved), *changed(found.changed)]:
        st.text(sentence)
    places = iter(st.columns(2) if found.types or found.verdicts else ())
    if found.types:
        with next(places):
            _by_type(found, types)
    if found.verdicts:
        with next(places):
            _by_reviewer(found)
    if differing := against(found):
        st.text(differing)
    _left_out(found)
    _examples(found, types)


def _by_type(found: Preview, types: Mapping[str, VariantType]) -> None:
    rows = [{"Type": _label(types, id_), "Variants": n} for id_, n in found.types.items()]
    _table(rows, key="types")


def _by_reviewer(found: Preview) -> None:
    rows = [
        {"Reviewer": name, "Verdict": _VERDICTS[verdict], "Variants": count}
        for (name, verdict), count in found.verdicts.items()
    ]
    _table(rows, key="reviewers")


def _left_out(found: Preview) -> None:
    """One line each, because the reasons are too long for a table in a narrow window."""
    if found.left_out:
        lines = [
            f"• {one.what}: {one.number:,}" + f" (first: {one.first})" * bool(one.first)
            for one in left_out(found)
        ]
        st.text("\n".join(["Left out:", *lines]))


def _examples(found: Preview, types: Mapping[str, VariantType]) -> None:
    rows = [
        {
            "Result": _fate(example),
            "Anchor": example.anchor[:_SHOWN],
            "Variant": example.variant.text[:_SHOWN],
            "Type": _label(types, example.type_id) or "Unknown",
            "Cue": example.variant.cue or "",
            "New verdicts": ", ".join(_VERDICTS[verdict] for verdict in example.verdicts),
        }
        for example in found.examples
    ]
    st.dataframe(
        rows,
        hide_index=True,
        key="variants-examples",
        row_height=_ROW,
        height="auto" if len(rows) < 6 else 460,
        column_config={
            "Result": st.column_config.TextColumn(width=112),
            "Anchor": st.column_config.TextColumn(width=145),
            "Variant": st.column_config.TextColumn(width=170),
        },
    )


def _fate(example: Example) -> str:
    if example.reason is None:
        return "New"
    if example.reason is LeftOut.THERE and example.verdicts:
        return "Already exists; new verdict"
    return _FATES[example.reason]


def _table(rows: list[dict[str, object]], *, key: str) -> None:
    st.dataframe(rows, hide_index=True, key=f"variants-{key}", column_config={"Variants": _NUMBER})


def _label(types: Mapping[str, VariantType], type_id: str) -> str:
    return types[type_id].label if type_id in types else type_id
