"""The two editors of the Review page: for the card's variant, and for a reviewer's own variant.

They are not forms, so that the checks appear during typing: editor.js submits the text when the
writer pauses. Ctrl+Enter saves from every field.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import streamlit as st

from curation.decisions.shown_card import MAX_NOTE
from curation.editing.cues import MAX_CUE
from curation.editing.variants import MAX_TEXT
from curation.review.browser_window.key_actions import ReviewState
from curation.review.cards import Card
from curation.review.deciding import ShownCard
from curation.review.edit_preview import CUE, SavePreview, preview_edit, preview_own
from pages.components.shared import guidance
from pages.components.shared.shell import open_project

KEEP, DISCARD = "Keep draft (Esc)", "Discard draft"
"""The two ways to close a panel without saving."""


class _Written(NamedTuple):
    """The contents of the fields. If ``cue`` is None, the text decides it or the type has none."""

    text: str
    type_id: str
    cue: str | None
    note: str


def edit(state: ReviewState, focus: Card, shown: ShownCard) -> None:
    """Edit the variant. Saving is one action: the original is superseded, the new text accepted."""
    variant, offered, form = focus.variant, state.suggested, state.form_id
    labels = {entry.id: entry.label for entry in state.types}
    labels |= {variant.type_id: open_project.type_names()[variant.type_id]}
    with st.container(key=f"type-here-text-{form}"):
        # The label differs from the one without a suggestion: editor.js stores drafts by it.
        label = "New wording, from the second opinion" if offered else "New wording"
        initial = {
            "text": offered.suggestion if offered else variant.text,
            "type": state.retyping_to or variant.type_id,
            "note": f"Suggested by {offered.reviewer}" if offered else "",
        }
        draft = initial | state.drafts.begin(state.form_id, variant.id, state.draft_kind)
        st.text_area(label, draft["text"], max_chars=MAX_TEXT, key=f"text-{form}")
        left, middle, right = st.columns(3)
        with left:
            _type(state, labels, state.retyping_to or draft["type"], otherwise=initial["type"])
        middle.text_input("Note", draft["note"], max_chars=MAX_NOTE, key=f"note-{form}")
        _begin_cue(state, variant.cue or "", draft.get("cue"))
        seen = _check_edit(state, focus, shown)
        with right:
            _cue(state, seen)
        _keep(state, shown, initial)
        _buttons(state, shown, "Save", seen, lambda: _save_edit(state, focus, shown))
        _checks(state, seen)


def _check_edit(state: ReviewState, focus: Card, shown: ShownCard) -> SavePreview:
    """Preview saving. On a blind card, the checks appear only after the decision."""
    variant, now = focus.variant, _written(state)
    if (now.text, now.type_id, now.cue) == (variant.text, variant.type_id, None):
        return SavePreview()
    seen = open_project.ask(
        preview_edit, shown.variant_id, text=now.text, type_id=now.type_id, cue=now.cue
    )
    return replace(seen, concerns=()) if shown.blind else seen


def _save_edit(state: ReviewState, focus: Card, shown: ShownCard) -> None:
    if not state.asks(_check_edit(state, focus, shown)):
        now = _written(state)
        state.edit(shown, text=now.text, type_id=now.type_id, cue=now.cue, note=now.note)


def own(state: ReviewState, focus: Card, shown: ShownCard) -> None:
    """Write another variant of the card's anchor."""
    form = state.form_id
    labels = {entry.id: entry.label for entry in state.types}
    chosen = focus.variant.type_id if focus.variant.type_id in labels else next(iter(labels))
    with st.container(key=f"type-here-text-{form}"):
        label = "A variant of your own"
        initial = {"text": focus.anchor, "type": chosen, "note": ""}
        draft = initial | state.drafts.begin(state.form_id, shown.variant_id, state.draft_kind)
        st.text_area(label, draft["text"], max_chars=MAX_TEXT, key=f"text-{form}")
        left, right = st.columns(2)
        with left:
            _type(state, labels, draft["type"], otherwise=chosen)
        _begin_cue(state, "", draft.get("cue"))
        seen = _check_own(state, focus)
        with right:
            _cue(state, seen)
        _keep(state, shown, initial)
        _buttons(state, shown, "Add variant", seen, lambda: _save_own(state, focus, shown))
        _checks(state, seen)


def _check_own(state: ReviewState, focus: Card) -> SavePreview:
    now, anchor_id = _written(state), focus.variant.anchor_id
    if now.text == focus.anchor:
        return SavePreview()
    return open_project.ask(preview_own, anchor_id, type_id=now.type_id, text=now.text, cue=now.cue)


def _save_own(state: ReviewState, focus: Card, shown: ShownCard) -> None:
    if not state.asks(_check_own(state, focus)):
        now = _written(state)
        state.write(shown, type_id=now.type_id, text=now.text, cue=now.cue)


def _type(state: ReviewState, labels: dict[str, str], initial: str, *, otherwise: str) -> None:
    """The type. ``otherwise`` is used if the initial type has been retired since then."""
    st.selectbox(
        "Type",
        list(labels),
        index=list(labels).index(initial if initial in labels else otherwise),
        format_func=lambda one: labels[one],
        key=f"type-{state.form_id}",
    )


def _needs_cue(state: ReviewState) -> bool:
    return open_project.every_type()[st.session_state[f"type-{state.form_id}"]].needs_cue


def _begin_cue(state: ReviewState, initial: str, drafted: str | None) -> None:
    """Fill the cue field before the text is checked.

    Args:
        initial: the variant's cue.
        drafted: the cue that the reviewer had entered before the editor was closed or lost.
    """
    key = f"cue-{state.form_id}"
    if _needs_cue(state):
        if state.proposed:
            st.session_state[key] = state.proposed
        elif key not in st.session_state:
            state.given_cue = initial
            st.session_state[key] = initial if drafted is None else drafted
        state.proposed = ""


def _cue(state: ReviewState, seen: SavePreview) -> None:
    """The field for the cue, if the chosen type needs one.

    Until the reviewer enters a cue, it shows the one found in the text.
    """
    key = f"cue-{state.form_id}"
    if not _needs_cue(state):
        return
    if seen.cue is not None and _written(state).cue is None:
        st.session_state[key] = state.given_cue = seen.cue
    with st.container(key=f"{'asked' if CUE in state.asked else 'for'}-cue-{state.form_id}"):
        st.text_input(
            "Hedge cue", max_chars=MAX_CUE, key=key, placeholder="The hedging word or phrase"
        )


def _written(state: ReviewState) -> _Written:
    """The current contents of the fields. A cue that the reviewer has not changed is None."""
    text, type_id, cue, note = (
        st.session_state.get(f"{field}-{state.form_id}")
        for field in ("text", "type", "cue", "note")
    )
    is_named = CUE in state.asked or cue != state.given_cue
    return _Written(text or "", type_id or "", cue if is_named else None, note or "")


def _keep(state: ReviewState, shown: ShownCard, initial: dict[str, str]) -> None:
    """Store the fields as a draft (see ``curation.review.drafts``)."""
    now = _written(state)
    fields = {"text": now.text, "type": now.type_id, "note": now.note}
    if now.cue is not None:
        fields["cue"] = now.cue
    state.keep_draft(shown.variant_id, fields, untouched=initial)


def _buttons(
    state: ReviewState, shown: ShownCard, label: str, seen: SavePreview, save: Callable[[], None]
) -> None:
    anyway = " anyway" if not seen.refusal and state.asked & seen.kinds else ""
    buttons(state, shown, f"{label}{anyway}", save)


def buttons(state: ReviewState, shown: ShownCard, label: str, save: Callable[[], None]) -> None:
    """Draw the buttons to save, to close the panel, and to discard the draft."""
    with st.container(horizontal=True):
        st.button(
            f"{label} (Ctrl+Enter)",
            key=f"save-{state.form_id}",
            type="primary",
            on_click=save,
        )
        st.button(KEEP, key=f"cancel-{state.form_id}", on_click=state.toggle, args=(state.panel,))
        st.button(
            DISCARD,
            key=f"discard-{state.form_id}",
            type="tertiary",
            on_click=state.discard,
            args=(shown,),
        )


def _checks(state: ReviewState, seen: SavePreview) -> None:
    guidance.show_warnings(
        seen, state.asked, key=state.form_id, shown=state.message, open_card=state.pin
    )
