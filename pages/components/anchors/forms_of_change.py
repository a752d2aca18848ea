"""Forms that change an anchor: correct it, apply the correction to variants, add a variant."""

import uuid
from collections.abc import Sequence
from typing import NamedTuple

import streamlit as st
from markupsafe import Markup

from curation.anchors.lookup import FoundAnchor
from curation.anchors.revisions import MAX_ANCHOR
from curation.editing.anchors import (
    Carried,
    SuspiciousText,
    carry_over,
    correct_anchor,
    count_second_looks,
    proposals,
)
from curation.editing.cues import MAX_CUE
from curation.editing.own_variants import write_variant
from curation.editing.variants import MAX_TEXT
from curation.formatting import counted
from curation.review.edit_preview import SavePreview, preview_own
from db.errors import HedgerowError
from db.models import Status
from pages.components.shared import formatting, guidance, page_runs
from pages.components.shared.shell import current_user, error_messages, open_project

_DONE = "anchor-done"


class ActionResult(NamedTuple):
    """The result of an action, shown once; ``variant_id`` is a variant that it wrote."""

    uid: str
    message: str
    variant_id: int | None = None


class Doubted(NamedTuple):
    """A text that needs confirmation, and the reason."""

    text: str
    why: str


def doing(uid: str) -> str:
    """Key of the control that says which form of an anchor is open; a new key closes it."""
    return f"anchor-do-{uid}-{st.session_state.get('anchor-forms', 0)}"


def finish(uid: str, message: str, variant_id: int | None = None) -> None:
    """Close the form, and show what was done on the next rerun.

    Args:
        said: our own text; shown as Markdown.
    """
    st.session_state["anchor-forms"] = st.session_state.get("anchor-forms", 0) + 1
    st.session_state[_DONE] = ActionResult(uid, message, variant_id)
    st.rerun()


def take_done(uid: str) -> ActionResult | None:
    """The last action on this anchor, shown once."""
    done: ActionResult | None = st.session_state.pop(_DONE, None)
    return done if done is not None and done.uid == uid else None


def correct(anchor: FoundAnchor, reviewer_id: int) -> None:
    """Ask for the corrected text, and say first which decisions it reopens."""
    form_id = f"{anchor.uid}-{st.session_state.get('anchor-forms', 0)}"
    # The revision that the reviewer saw when the form was opened.
    seen = st.session_state.setdefault(f"anchor-seen-{form_id}", anchor.revision)
    looks = open_project.ask(count_second_looks, anchor.id)
    doubted: Doubted | None = st.session_state.get(f"anchor-doubted-{form_id}")
    with (
        st.container(key=f"type-here-correct-{anchor.uid}"),
        st.form(f"correct-{form_id}", border=False),
    ):
        text = st.text_area(
            "Corrected text", anchor.text, max_chars=MAX_ANCHOR, key=f"wording-{form_id}"
        )
        st.caption(_consequence(looks))
        if refused := st.session_state.pop(f"anchor-refused-{form_id}", ""):
            error_messages.show(refused, key="anchor-correct")
        if doubted:
            error_messages.show(f"{doubted.why} Nothing has been saved yet.", key="anchor-doubted")
        with st.container(horizontal=True):
            save = st.form_submit_button("Save correction", type="primary")
            insist = doubted is not None and st.form_submit_button("Save anyway")
    if not (save or insist):
        return
    try:
        done = open_project.tell(
            correct_anchor,
            anchor.id,
            text,
            reviewer_id=reviewer_id,
            expected_revision=seen,
            insist=insist and doubted is not None and doubted.text == text,
        )
    except SuspiciousText as suspicious:
        # Ask inside the form, so that text typed meanwhile is checked again and not lost.
        st.session_state[f"anchor-doubted-{form_id}"] = Doubted(text, str(suspicious))
        st.rerun()
    except HedgerowError as error:
        # Also shown in the form, where it replaces the question about an earlier text.
        st.session_state.pop(f"anchor-doubted-{form_id}", None)
        st.session_state[f"anchor-refused-{form_id}"] = str(error)
        # Saving the same text again confirms it.
        st.session_state[f"anchor-seen-{form_id}"] = anchor.revision
        st.rerun()
    if anchor.variants:
        page_runs.measure()
    again = f"{_variants(done.second_looks)} came back for a second look."
    finish(anchor.uid, f"Corrected. {again if done.second_looks else ''}".rstrip())


def _consequence(looks: int) -> str:
    if not looks:
        return "None of its variants has been decided, so nothing needs another review."
    return (
        f"{_variants(looks)} will be pending again for a second look. Their decisions stay in the "
        "history but no longer count, and new releases leave these variants out until they are "
        "accepted again."
    )


def _variants(number: int) -> str:
    return "1 decided variant" if number == 1 else f"{number} decided variants"


def write(anchor: FoundAnchor, reviewer_id: int) -> None:
    """Ask for another variant, next to the guideline of its type; flags are shown once."""
    form_id = f"{anchor.uid}-{st.session_state.get('anchor-forms', 0)}"
    action_id = st.session_state.setdefault(f"anchor-action-{form_id}", str(uuid.uuid4()))
    asked: set[str] = st.session_state.setdefault(f"anchor-asked-{form_id}", set())
    types = {entry.id: entry for entry in open_project.types()}
    left, right = st.columns([3, 2])
    with left, st.container(key=f"type-here-write-{anchor.uid}"):
        type_id = st.selectbox(
            "Type", list(types), format_func=lambda key: types[key].label, key=f"type-{form_id}"
        )
        text = st.text_area("Your variant", anchor.text, max_chars=MAX_TEXT, key=f"text-{form_id}")
        cue = (
            st.text_input(
                "Hedge cue",
                max_chars=MAX_CUE,
                key=f"cue-{form_id}",
                placeholder="The hedging word or phrase",
            )
            if types[type_id].needs_cue
            else None
        )
        seen = SavePreview()
        if text != anchor.text:
            seen = open_project.ask(preview_own, anchor.id, type_id=type_id, text=text, cue=cue)
        save = st.button("Add and accept", key=f"save-{form_id}", type="primary")
        new = {concern.kind for concern in seen.concerns} - asked
        if save:
            asked |= new
        guidance.show_warnings(seen, asked, key=form_id, shown=seen.refusal if save else "")
    with right:
        formatting.emit(guidance.guide(types[type_id]))
    if not save or new:
        return
    try:
        written = open_project.tell(
            write_variant,
            anchor_id=anchor.id,
            type_id=type_id,
            text=text,
            cue=cue,
            reviewer_id=reviewer_id,
            action_id=action_id,
        )
    except HedgerowError as error:
        with left:
            error_messages.show(str(error), key="anchor-write")
        return
    page_runs.measure()
    message = (
        "Added and accepted in your name. Z in Review undoes your decision; the variant stays, "
        f"undecided. {formatting.plain(written.remark)}"
    )
    finish(anchor.uid, message.strip(), written.variant.id)


# -- carry over view ------------------------------------------------------------------------------


_NAME = "carry-name"
_WAS = {Status.ACCEPTED: "was accepted", Status.CONFLICT: "reviewers disagreed"}


@current_user.for_leads()
def carry_over_form(anchor: FoundAnchor, reviewer_id: int | None) -> None:
    """Offer the new texts; show nothing if there are none."""
    found = open_project.ask(proposals, anchor.id)
    if not found:
        return
    with st.container(border=True, key="anchor-carry"):
        st.markdown("**Apply the correction to variants**")
        st.caption(
            "These pending variants contain the corrected words. The texts you select are saved "
            "as your edits and accepted. The others keep their text and stay in the queue."
        )
        chosen = _choice(found, key=f"{anchor.uid}-{anchor.revision}")
        save = st.button(
            f"Save {counted(len(chosen), 'edit')}" if chosen else "Save edits",
            type="primary",
            key="anchor-carry-save",
            disabled=not chosen,
        )
        save = current_user.kept_press(save, key=_NAME, of=(anchor.uid, anchor.revision))
        if not (save and chosen):
            return
        if reviewer_id is None:
            current_user.name_form(
                "Your changes are stored under your name.", key=_NAME, button="Continue"
            )
        else:
            _save(anchor, chosen, reviewer_id)


def _choice(found: Sequence[Carried], *, key: str) -> dict[int, str]:
    """Variant id → new text, for the selected variants; accepted ones are preselected."""
    labels = open_project.type_names()
    chosen: dict[int, str] = {}
    for carried in found:
        was = _WAS.get(carried.was, "not reviewed yet")
        ticked = st.checkbox(
            f"{labels.get(carried.type_id, carried.type_id)}, {was}",
            carried.was is Status.ACCEPTED,
            key=f"carry-{key}-{carried.variant_id}",
        )
        before, after = formatting.diff(carried.text, carried.new_text)
        formatting.emit(Markup("<div>{}<br>{}</div>").format(before, after))
        if ticked:
            chosen[carried.variant_id] = carried.new_text
    return chosen


def _save(anchor: FoundAnchor, chosen: dict[int, str], reviewer_id: int) -> None:
    try:
        done = open_project.tell(carry_over, anchor.id, chosen, reviewer_id=reviewer_id)
    except HedgerowError as error:
        error_messages.show(str(error), key="anchor-carry")
        return
    page_runs.measure()
    finish(
        anchor.uid,
        f"{counted(len(done.children), 'variant')} edited and accepted. Pressing Z in Review takes "
        f"{'them' if len(chosen) > 1 else 'it'} back.",
    )
