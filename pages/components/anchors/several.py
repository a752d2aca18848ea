"""Actions on several anchors at once: retire, restore, set genre and language."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import streamlit as st

from curation.anchors.lookup import FoundAnchor
from curation.editing.anchors import restore_anchors, retire_anchors
from curation.editing.attributes import MAX_GENRE, MAX_LANGUAGE, set_facts
from curation.formatting import counted
from db.errors import HedgerowError
from pages.components.shared.shell import error_messages, open_project, rights, signin

_DONE, _FORM = "anchors-bulk-done", "anchors-bulk-form"
_DESCRIBE = "Set genre and language"
_NAME = "anchors-name"


class _Done(NamedTuple):
    """The last action; ``retired`` has the ids that the undo button restores."""

    message: str
    retired: tuple[int, ...] = ()


def show_result() -> None:
    """Report the last action, with an undo button if anchors were retired."""
    done: _Done | None = st.session_state.get(_DONE)
    if done is None:
        return
    if not done.retired:
        st.session_state.pop(_DONE)
    with st.container(horizontal=True, vertical_alignment="center", key="anchors-bulk-told"):
        st.success(done.message)
        if done.retired:
            st.button(
                "Undo",
                key="anchors-bulk-undo",
                icon=":material/undo:",
                on_click=_restore,
                args=(done.retired,),
            )


@rights.for_leads("retire or describe anchors")
def draw(anchors: Sequence[FoundAnchor], reviewer_id: int | None) -> None:
    """Actions on the selected anchors, which are all in use or all retired."""
    ids = [anchor.id for anchor in anchors]
    with st.container(border=True, key="anchors-bulk"):
        st.text(f"{counted(len(ids), 'anchor')} selected.")
        if anchors[0].retired_at is not None:
            st.button(
                "Restore",
                key="anchors-bulk-restore",
                icon=":material/undo:",
                on_click=_restore,
                args=(ids,),
            )
            return
        with st.container(horizontal=True, vertical_alignment="center"):
            describe = st.segmented_control(
                "Action",
                [_DESCRIBE],
                key=f"anchors-bulk-do-{_turn()}",
                label_visibility="collapsed",
            )
            retire = st.button("Retire", key="anchors-bulk-retire", icon=":material/inventory_2:")
        retire = signin.kept_press(retire, key=_NAME, of=(*ids, describe))
        if (describe or retire) and reviewer_id is None:
            signin.name_form(
                "Your changes are stored under your name.", key=_NAME, button="Continue"
            )
        elif retire:
            _retire(ids)
        elif describe:
            message = facts_form(
                ids,
                genre=_common(a.genre for a in anchors),
                language=_common(a.language for a in anchors),
            )
            if message:
                _finish(_Done(message))


def facts_form(ids: Sequence[int], *, genre: str | None, language: str | None) -> str:
    """Ask for genre and language; return what was done, or '' before that.

    Args:
        genre: the genre of all of them; None if they differ. ``language`` likewise.
    """
    differ = "Different values; leave empty to keep them"
    turn = _turn()
    with st.container(key="type-here-facts"), st.form(f"facts-{turn}", border=False):
        left, right = st.columns(2)
        new_genre = left.text_input(
            "Genre",
            genre or "",
            max_chars=MAX_GENRE,
            key=f"facts-genre-{turn}",
            placeholder=differ if genre is None else "None",
        )
        new_language = right.text_input(
            "Language",
            language or "",
            max_chars=MAX_LANGUAGE,
            key=f"facts-language-{turn}",
            placeholder=differ if language is None else "",
            help="A tag such as en or de-CH. The checks for negations, hedges and the like only "
            "work for English.",
        )
        save = st.form_submit_button("Save genre and language", type="primary")
    if not save:
        return ""
    wanted_genre = None if genre is None and not new_genre.strip() else new_genre
    wanted_language = None if language is None and not new_language.strip() else new_language
    try:
        changed = open_project.tell(set_facts, ids, genre=wanted_genre, language=wanted_language)
    except HedgerowError as error:
        error_messages.show(str(error), key="anchor-facts")
        return ""
    st.session_state[_FORM] = turn + 1
    return f"{counted(len(changed), 'anchor')} changed."


def _turn() -> int:
    """A new key empties and closes the form."""
    return int(st.session_state.get(_FORM, 0))


def _common(values: Iterable[str]) -> str | None:
    different = set(values)
    return different.pop() if len(different) == 1 else None


def _retire(ids: Sequence[int]) -> None:
    changed = open_project.tell(retire_anchors, ids)
    message = f"{counted(len(changed), 'anchor')} and their variants retired."
    _finish(_Done(message, tuple(changed)))


def _finish(done: _Done) -> None:
    st.session_state[_DONE] = done
    st.rerun()


def _restore(ids: Sequence[int]) -> None:
    changed = open_project.tell(restore_anchors, ids)
    st.session_state[_DONE] = _Done(f"{counted(len(changed), 'anchor')} restored.")
