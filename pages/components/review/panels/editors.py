"""The two editors of the review page: of the card's variant, and for a variant of one's own.

They are no forms, so that the checks are shown while one writes: editor.js hands the text over when
the writer pauses. Ctrl+Enter saves from every field.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import streamlit as st

from curation.review.actions import ShownCard
from curation.review.browser_window.key_actions import ReviewState
from curation.review.cards import Card
from curation.review.shown_card import MAX_NOTE
from curation.variants.before_saving import CUE, Look, look_at_edit, look_at_own
from curation.variants.cue_corrections import MAX_CUE
from curation.variants.edits import MAX_TEXT
from pages.components.shared.shell import open_project
from pages.components.shared.variants import draft_warnings

KEEP, DISCARD = "Close, keep the draft (Esc)", "Discard the draft"
"""The two ways out of a panel without saving."""


class _Written(NamedTuple):
    """What the fields hold. Without a cue, the text decides it, or no type needs one."""

    text: str
    type_id: str
    cue: str | None
    note: str


def edit(state: ReviewState, focus: Card, shown: ShownCard) -> None:
    """One action: the original becomes superseded, what is written here is accepted."""
    variant, offered, form = focus.variant, state.suggested, state.form_id
    labels = {entry.id: entry.label for entry in state.types}
    labels |= {variant.type_id: open_project.type_names()[variant.type_id]}
    with st.container(key=f"type-here-text-{form}"):
        # Another label than without a suggestion: drafts are kept by it (see editor.js).
        label = "New wording, from the second opinion" if offered else "New wording"
        begins = {
            "text": offered.suggestion if offered else variant.text,
            "type": state.retyping_to or variant.type_id,
            "note": f"Suggested by {offered.reviewer}" if offered else "",
        }
        draft = begins | state.draft(variant.id, state.draft_kind)
        st.text_area(label, draft["text"], max_chars=MAX_TEXT, key=f"text-{form}")
        left, middle, right = st.columns(3)
        with left:
            _type(state, labels, state.retyping_to or draft["type"], otherwise=begins["type"])
        middle.text_input("Note", draft["note"], max_chars=MAX_NOTE, key=f"note-{form}")
        _begin_cue(state, variant.cue or "", draft.get("cue"))
        seen = _check_edit(state, focus, shown)
        with right:
            _cue(state, seen)
        _keep(state, shown, begins)
        _buttons(state, shown, "Save", seen, lambda: _save_edit(state, focus, shown))
        _checks(state, seen)


def _check_edit(state: ReviewState, focus: Card, shown: ShownCard) -> Look:
    """Blind, the checks are told only after the decision, like those of the card."""
    variant, now = focus.variant, _written(state)
    if (now.text, now.type_id, now.cue) == (variant.text, variant.type_id, None):
        return Look()
    seen = open_project.ask(
        look_at_edit, shown.variant_id, text=now.text, type_id=now.type_id, cue=now.cue
    )
    return replace(seen, concerns=()) if shown.blind else seen


def _save_edit(state: ReviewState, focus: Card, shown: ShownCard) -> None:
    if not state.asks(_check_edit(state, focus, shown)):
        now = _written(state)
        state.edit(shown, text=now.text, type_id=now.type_id, cue=now.cue, note=now.note)


def own(state: ReviewState, focus: Card, shown: ShownCard) -> None:
    """A further variant of the card's anchor, by the reviewer."""
    form = state.form_id
    labels = {entry.id: entry.label for entry in state.types}
    chosen = focus.variant.type_id if focus.variant.type_id in labels else next(iter(labels))
    with st.container(key=f"type-here-text-{form}"):
        label = "A variant of your own"
        begins = {"text": focus.anchor, "type": chosen, "note": ""}
        draft = begins | state.draft(shown.variant_id, state.draft_kind)
        st.text_area(label, draft["text"], max_chars=MAX_TEXT, key=f"text-{form}")
        left, right = st.columns(2)
        with left:
            _type(state, labels, draft["type"], otherwise=chosen)
        _begin_cue(state, "", draft.get("cue"))
        seen = _check_own(state, focus)
        with right:
            _cue(state, seen)
        _keep(state, shown, begins)
        _buttons(state, shown, "Add it", seen, lambda: _save_own(state, focus, shown))
        _checks(state, seen)


def _check_own(state: ReviewState, focus: Card) -> Look:
    now, anchor_id = _written(state), focus.variant.anchor_id
    if now.text == focus.anchor:
        return Look()
    return open_project.ask(look_at_own, anchor_id, type_id=now.type_id, text=now.text, cue=now.cue)


def _save_own(state: ReviewState, focus: Card, shown: ShownCard) -> None:
    if not state.asks(_check_own(state, focus)):
        now = _written(state)
        state.write(shown, type_id=now.type_id, text=now.text, cue=now.cue)


def _type(state: ReviewState, labels: dict[str, str], begins: str, *, otherwise: str) -> None:
    """The type; ``otherwise`` where the one it begins with has been retired since it was chosen."""
    st.selectbox(
        "Type",
        list(labels),
        index=list(labels).index(begins if begins in labels else otherwise),
        format_func=lambda one: labels[one],
        key=f"type-{state.form_id}",
    )


def _needs_cue(state: ReviewState) -> bool:
    return open_project.every_type()[st.session_state[f"type-{state.form_id}"]].needs_cue


def _begin_cue(state: ReviewState, begins: str, drafted: str | None) -> None:
    """What the field for the cue holds before the text is looked at.

    Args:
        drafted: what the reviewer had named before the editor was closed or lost.
    """
    key = f"cue-{state.form_id}"
    if _needs_cue(state):
        if state.proposed:
            st.session_state[key] = state.proposed
        elif key not in st.session_state:
            state.given_cue = begins
            st.session_state[key] = begins if drafted is None else drafted
        state.proposed = ""


def _cue(state: ReviewState, seen: Look) -> None:
    """The field for the cue, where the chosen type needs one.

    Until the reviewer names a cue, it shows the one that the text decides.
    """
    key = f"cue-{state.form_id}"
    if not _needs_cue(state):
        return
    if seen.cue is not None and _written(state).cue is None:
        st.session_state[key] = state.given_cue = seen.cue
    with st.container(key=f"{'asked' if CUE in state.asked else 'for'}-cue-{state.form_id}"):
        st.text_input(
            "Hedge cue", max_chars=MAX_CUE, key=key, placeholder="The word or phrase that hedges"
        )


def _written(state: ReviewState) -> _Written:
    """What the fields hold now; a cue that nobody touched is none that the reviewer names."""
    text, type_id, cue, note = (
        st.session_state.get(f"{field}-{state.form_id}")
        for field in ("text", "type", "cue", "note")
    )
    is_named = CUE in state.asked or cue != state.given_cue
    return _Written(text or "", type_id or "", cue if is_named else None, note or "")


def _keep(state: ReviewState, shown: ShownCard, begins: dict[str, str]) -> None:
    """Store what the fields hold now (see ``curation.review.drafts``)."""
    now = _written(state)
    fields = {"text": now.text, "type": now.type_id, "note": now.note}
    if now.cue is not None:
        fields["cue"] = now.cue
    state.keep(shown.variant_id, state.draft_kind, fields, untouched=begins)


def _buttons(
    state: ReviewState, shown: ShownCard, label: str, seen: Look, save: Callable[[], None]
) -> None:
    anyway = " anyway" if not seen.refusal and state.asked & seen.kinds else ""
    buttons(state, shown, f"{label}{anyway}", save)


def buttons(state: ReviewState, shown: ShownCard, label: str, save: Callable[[], None]) -> None:
    """Save, or leave the panel in one of two ways."""
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


def _checks(state: ReviewState, seen: Look) -> None:
    draft_warnings.show(
        seen, state.asked, key=state.form_id, said=state.message, open_card=state.pin
    )
