"""The picked anchors: one with its revisions and variants, or actions on several at once."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import streamlit as st
from markupsafe import Markup

from curation.anchors.lookup import FoundAnchor, Revision
from curation.decisions.status import status_label
from curation.editing.anchors import restore_anchor, restore_anchors, retire_anchor, retire_anchors
from curation.editing.attributes import MAX_GENRE, MAX_LANGUAGE, set_facts
from curation.formatting import counted
from curation.review.cards import Card, measured_card, whole_anchor
from db.errors import HedgerowError
from db.models import Status
from pages.components.anchors import forms_of_change
from pages.components.shared import card as cards
from pages.components.shared import formatting, links, tables
from pages.components.shared.shell import current_user, error_messages, open_project

_CORRECT, _WRITE = "Correct the text", "Write a variant"
_DESCRIBE = "Set genre and language"
_NAME = "anchor-name"


def draw_one(uid: str, reviewer_id: int | None) -> None:
    """Show the anchor with this uid, if it exists."""
    found = open_project.ask(whole_anchor, uid)
    if found is None:
        st.text(f"There is no anchor '{uid}'.")
        return
    anchor, variants, revisions = found
    with st.container(border=True, key="anchor-detail"):
        _head(anchor)
        _show_result(anchor)
        _actions(anchor, reviewer_id)
        if anchor.retired_at is None and anchor.revision > 1:
            forms_of_change.carry_over_form(anchor, reviewer_id)
        _variants(anchor, variants)
        if len(revisions) > 1:
            _revisions(revisions)


def _head(anchor: FoundAnchor) -> None:
    facts = [anchor.source, anchor.licence, anchor.genre, anchor.language, anchor.split.value]
    facts += [f"document {anchor.document_id}"] * bool(anchor.document_id)
    facts += [f"row {anchor.row_id}"] * bool(anchor.row_id)
    formatting.emit(
        Markup(
            '<div class="hg-variant"><span class="hg-text" dir="auto">{}</span></div>'
            '<div class="hg-head"><span>{}</span></div>'
        ).format(anchor.text, " · ".join(fact for fact in (*facts, anchor.uid) if fact))
    )
    if anchor.retired_at is not None:
        st.text(
            f"Retired on {formatting.local(anchor.retired_at):%Y-%m-%d}: it and its variants are "
            "no longer in use."
        )


def _show_result(anchor: FoundAnchor) -> None:
    """Report the last action on this anchor once."""
    done = forms_of_change.take_done(anchor.uid)
    if done is None:
        return
    st.success(done.message)
    if done.variant_id is not None:
        written, threshold = open_project.ask(measured_card, done.variant_id)
        entry = open_project.every_type()[written.variant.type_id]
        formatting.emit(cards.chips(written, entry, threshold=threshold))


@current_user.for_leads()
def _actions(anchor: FoundAnchor, reviewer_id: int | None) -> None:
    if anchor.retired_at is not None:
        if st.button("Restore", key="anchor-restore", icon=":material/undo:"):
            _set_retired(anchor, reviewer_id, retired=False)
        return
    key = forms_of_change.doing(anchor.uid)
    with st.container(horizontal=True, vertical_alignment="center", key="anchor-actions"):
        doing = st.segmented_control(
            "Action", (_CORRECT, _WRITE, _DESCRIBE), key=key, label_visibility="collapsed"
        )
        retire = st.button("Retire", key="anchor-retire", icon=":material/inventory_2:")
    retire = current_user.kept_press(retire, key=_NAME, of=(anchor.uid, doing))
    if not (doing or retire):
        return
    if reviewer_id is None:
        current_user.name_form(
            "Your changes are stored under your name.", key=_NAME, button="Continue"
        )
    elif retire:
        _set_retired(anchor, reviewer_id, retired=True)
    elif doing == _CORRECT:
        forms_of_change.correct(anchor, reviewer_id)
    elif doing == _WRITE:
        forms_of_change.write(anchor, reviewer_id)
    elif doing == _DESCRIBE:
        message = facts_form([anchor.id], genre=anchor.genre, language=anchor.language)
        if message:
            forms_of_change.finish(anchor.uid, message)


def _set_retired(anchor: FoundAnchor, reviewer_id: int | None, *, retired: bool) -> None:
    open_project.tell(retire_anchor if retired else restore_anchor, anchor.id)
    message = (
        "Retired. The anchor and its variants are no longer in use. Existing releases do not "
        "change."
        if retired
        else "The anchor and its variants are restored."
    )
    forms_of_change.finish(anchor.uid, message)


def _variants(anchor: FoundAnchor, variants: Sequence[Card]) -> None:
    if not variants:
        st.text("This anchor has no variants yet.")
        return
    labels = open_project.type_names()
    rows = (
        (
            tables.card_link(item.variant.uid),
            tables.sentence(item.variant.text),
            labels.get(item.variant.type_id, item.variant.type_id),
            _status(item),
            item.variant.cue or "",
        )
        for item in variants
    )
    heads = ("Card", "Variant", "Type", "Status", "Cue")
    formatting.emit(tables.sentences(heads, rows, narrow=True))
    pending = [item.variant.id for item in variants if item.variant.status is Status.PENDING]
    if pending and anchor.retired_at is None:
        label = (
            "Review the pending variant"
            if len(pending) == 1
            else f"Review the {len(pending)} pending variants"
        )
        if st.button(label, key="anchor-review", icon=":material/rate_review:"):
            links.open_in_review(pending, f"Anchor: {anchor.text}")


def _status(item: Card) -> str:
    if item.variant.verdicts_by:  # those who are to decide on it, too, do so without knowing it
        return "in review"
    return "second look" if item.variant.second_look else status_label(item.variant.status)


def _revisions(revisions: Sequence[Revision]) -> None:
    with st.expander(f"Revisions ({len(revisions)})"):
        for revision in reversed(revisions):
            by = f"{revision.author}, " if revision.author else ""
            st.text(f"{revision.text}\n{by}{formatting.local(revision.created_at):%Y-%m-%d %H:%M}")


# -- Actions on several anchors at once: retire, restore, set genre and language ------------------


_DONE, _FORM = "anchors-bulk-done", "anchors-bulk-form"
_BULK_NAME = "anchors-name"


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


@current_user.for_leads("retire or describe anchors")
def draw_several(anchors: Sequence[FoundAnchor], reviewer_id: int | None) -> None:
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
        retire = current_user.kept_press(retire, key=_BULK_NAME, of=(*ids, describe))
        if (describe or retire) and reviewer_id is None:
            current_user.name_form(
                "Your changes are stored under your name.", key=_BULK_NAME, button="Continue"
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
    changed = retire_anchors(open_project.engine(), ids)
    _finish(_Done(f"{counted(len(changed), 'anchor')} and their variants retired.", tuple(changed)))


def _finish(done: _Done) -> None:
    st.session_state[_DONE] = done
    st.rerun()


def _restore(ids: Sequence[int]) -> None:
    changed = restore_anchors(open_project.engine(), ids)
    st.session_state[_DONE] = _Done(f"{counted(len(changed), 'anchor')} restored.")
