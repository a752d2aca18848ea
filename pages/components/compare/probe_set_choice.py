"""Probe sets on the Compare page: choose, create, extend, rename, delete."""

from collections.abc import Sequence

import streamlit as st

from db.errors import HedgerowError
from db.models import TeamRole
from pages.components.shared.shell import current_user, error_messages, open_project
from training.evaluation.probe_files import Pasted, parse_file, parse_pasted
from training.evaluation.probe_sets import (
    FIGURE_1_SET,
    GROUPS_SET,
    MAX_NAME,
    OpenSet,
    SetKind,
    add_to_set,
    create_set,
    delete_set,
    list_sets,
    remove_from_set,
    rename_set,
)
from training.models.known import newest_trained

SETS, SENTENCES = "Probe set", "Sentences"

MAX_FILE = 5
"""Largest size in megabytes of a file of probes."""

# Both are in the URL, where a name means the same on all pages: Review uses "view".
_VIEW, _SET = "what", "set"
_NEW, _MORE, _SAVE = "compare-new", "compare-more", "compare-save"


def view() -> str:
    """Whether a probe set or typed sentences are compared."""
    return (
        st.segmented_control(
            "What to compare",
            [SETS, SENTENCES],
            default=SETS,
            key=_VIEW,
            bind="query-params",
            required=True,
            label_visibility="collapsed",
        )
        or SETS
    )


def chosen() -> str:
    """The name of the chosen probe set; draws a form for a new set next to it.

    Figure 1 is the default until a model has been trained.
    """
    names = open_project.ask(list_sets)
    row = st.container(horizontal=True, vertical_alignment="bottom")
    first = GROUPS_SET if open_project.ask(newest_trained) else FIGURE_1_SET
    name = row.selectbox(
        "Probe set", names, index=names.index(first), key=_SET, bind="query-params"
    )
    with row:
        _new_set()
    return name or first


@current_user.for_leads()
def _new_set() -> None:
    with st.popover("New set", icon=":material/add:"):
        st.text_input("Name", key=f"{_NEW}-name", max_chars=MAX_NAME)
        _brought(_NEW)
        st.button("Create set", key=f"{_NEW}-make", type="primary", on_click=_make)
        error_messages.show_kept(_NEW)


def _brought(key: str) -> None:
    """Boxes for pasted text or a file."""
    st.text_area(
        "Sentences, pairs or groups",
        key=f"{key}-text",
        height=150,
        help="One sentence per line compares every pair of them. Or paste columns from a "
        "spreadsheet, or separate them with |: two columns are a pair; four are an anchor and its "
        "contradicted, weakened and affirmed forms.",
    )
    st.file_uploader(
        "Or a file",
        key=_file_key(key),
        max_upload_size=MAX_FILE,
        help="A table with the columns anchor and text, or anchor, contradicted, weakened and "
        "affirmed; or plain text in the format above.",
    )


def _content(key: str) -> Pasted:
    """The content of the boxes; a file takes precedence over text."""
    file = st.session_state.get(_file_key(key))
    if file is not None:
        return parse_file(file.name, file.getvalue())
    return parse_pasted(st.session_state.get(f"{key}-text", ""))


def _file_key(key: str) -> str:
    """The file box's key; a new one after each use, because a box can't be emptied."""
    return f"{key}-file-{st.session_state.get(f'{key}-used', 0)}"


def _empty(key: str) -> None:
    """Empty the boxes after their content was stored."""
    st.session_state[f"{key}-text"] = ""
    st.session_state[f"{key}-used"] = st.session_state.get(f"{key}-used", 0) + 1


def _make() -> None:
    with error_messages.kept_for(_NEW):
        _create(st.session_state.get(f"{_NEW}-name", ""), _content(_NEW))
        st.session_state[f"{_NEW}-name"] = ""
        _empty(_NEW)


def _create(name: str, content: Pasted) -> None:
    author = current_user.reviewer_id()
    st.session_state[_SET] = open_project.tell(
        create_set, name=name, content=content, author_id=author
    )


@current_user.for_leads()
def save(sentences: Sequence[str]) -> None:
    """Save typed sentences as a named probe set."""
    with st.popover("Save as a probe set", icon=":material/bookmark_add:"):
        st.text_input("Name", key=f"{_SAVE}-name", max_chars=MAX_NAME)
        st.button(
            "Save", key=f"{_SAVE}-make", type="primary", on_click=_save, args=(list(sentences),)
        )
        error_messages.show_kept(_SAVE)


def _save(sentences: list[str]) -> None:
    with error_messages.kept_for(_SAVE):
        _create(st.session_state.get(f"{_SAVE}-name", ""), Pasted([], sentences))
        st.session_state[_VIEW] = SETS


def edit(opened: OpenSet) -> None:
    """The content of the set, with controls to change it if it is not bundled."""
    waiting = error_messages.has_kept(_MORE)
    with st.expander("Sentences in this set", icon=":material/list:", expanded=waiting):
        if opened.bundled or not current_user.may(TeamRole.LEAD):
            st.dataframe(_listed(opened), hide_index=True)
            message = "This set comes with Hedgerow and can't be changed."
            st.caption(message if opened.bundled else "Only leads can change probe sets.")
            return
        event = st.dataframe(
            _listed(opened),
            hide_index=True,
            on_select="rerun",
            selection_mode="multi-row",
            key=f"compare-rows-{opened.name}-{len(opened.probes)}",
        )
        ids = [opened.probes[row].id for row in event.selection.rows if row < len(opened.probes)]
        with st.container(horizontal=True):
            st.button(
                f"Remove {len(ids)} selected" if ids else "Remove selected",
                key="compare-remove",
                disabled=not ids,
                on_click=_remove,
                args=(opened.name, ids),
            )
            with st.popover("Add more", icon=":material/add:"):
                _brought(_MORE)
                st.button("Add", key=f"{_MORE}-add", on_click=_add, args=(opened.name,))
            with st.popover("Rename", icon=":material/edit:"):
                st.text_input("New name", opened.name, key="compare-rename", max_chars=MAX_NAME)
                st.button("Rename", key="compare-renamed", on_click=_rename, args=(opened.name,))
            with st.popover("Delete", icon=":material/delete:"):
                st.text("This deletes the set and its measurements for everyone.")
                st.button(
                    "Delete the set", key="compare-delete", on_click=_delete, args=(opened.name,)
                )
        error_messages.show_kept(_MORE)


def _listed(opened: OpenSet) -> list[dict[str, str]]:
    if opened.kind is SetKind.SENTENCES:
        return [{"Sentence": sentence} for sentence in opened.sentences]
    return [
        {"Anchor": stored.probe.anchor, "Sentence": stored.probe.text, "Label": stored.probe.label}
        for stored in opened.probes
    ]


def _add(name: str) -> None:
    with error_messages.kept_for(_MORE):
        author = current_user.reviewer_id()
        if not open_project.tell(add_to_set, name, _content(_MORE), author_id=author):
            raise HedgerowError("The set already contains all of these.")
        _empty(_MORE)


def _remove(name: str, ids: list[int]) -> None:
    with error_messages.kept_for(_MORE):
        open_project.tell(remove_from_set, name, ids)


def _rename(name: str) -> None:
    with error_messages.kept_for(_MORE):
        new = st.session_state.get("compare-rename", "")
        st.session_state[_SET] = open_project.tell(rename_set, name, new)


def _delete(name: str) -> None:
    with error_messages.kept_for(_MORE):
        open_project.tell(delete_set, name)
        st.session_state[_SET] = open_project.ask(list_sets)[0]
