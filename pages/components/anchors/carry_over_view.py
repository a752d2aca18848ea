"""Apply a correction to variants: those with the corrected words, each with its new text."""

from collections.abc import Sequence

import streamlit as st
from markupsafe import Markup

from curation.anchors.lookup import FoundAnchor
from curation.editing.carry_over import Carried, carry_over, proposals
from curation.formatting import counted
from db.errors import HedgerowError
from db.models import Status
from pages.components.anchors import forms_of_change
from pages.components.shared.formatting import markup
from pages.components.shared.formatting.diff import diff
from pages.components.shared.runs import background
from pages.components.shared.shell import error_messages, open_project, rights, signin

_NAME = "carry-name"
_WAS = {Status.ACCEPTED: "was accepted", Status.CONFLICT: "reviewers disagreed"}


@rights.for_leads()
def draw(anchor: FoundAnchor, reviewer_id: int | None) -> None:
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
        save = signin.kept_press(save, key=_NAME, of=(anchor.uid, anchor.revision))
        if not (save and chosen):
            return
        if reviewer_id is None:
            signin.name_form(
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
        before, after = diff(carried.text, carried.new_text)
        markup.show(Markup("<div>{}<br>{}</div>").format(before, after))
        if ticked:
            chosen[carried.variant_id] = carried.new_text
    return chosen


def _save(anchor: FoundAnchor, chosen: dict[int, str], reviewer_id: int) -> None:
    try:
        done = open_project.tell(carry_over, anchor.id, chosen, reviewer_id=reviewer_id)
    except HedgerowError as error:
        error_messages.show(str(error), key="anchor-carry")
        return
    background.measure()
    message = (
        f"{counted(len(done.children), 'variant')} edited and accepted. Pressing Z in Review takes "
    )
    forms_of_change.finish(anchor.uid, f"{message}{'them' if len(chosen) > 1 else 'it'} back.")
