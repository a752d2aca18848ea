"""The versions of a prompt: choose one, read it, and edit a copy of it."""

from collections.abc import Mapping
from contextlib import suppress

import streamlit as st

from curation.decisions.reviewers import reviewer_name
from curation.formatting import counted
from curation.generation.prompts import (
    MAX_TEMPLATE,
    PLACES,
    PromptName,
    checked_template,
    needs_prompts,
    prompt_versions,
    save_draft,
    seed_prompts,
)
from db.errors import HedgerowError
from db.models import PromptVersion
from pages.components.shared import formatting
from pages.components.shared.shell import current_user, error_messages, open_project


def ensure() -> None:
    """Store the installed prompts, so that there is a version to choose."""
    if open_project.ask(needs_prompts):
        open_project.tell_for_the_project(seed_prompts)


def choose(labels: Mapping[PromptName, str], *, place: str) -> tuple[PromptName, PromptVersion]:
    """Draw the boxes for a prompt and its version.

    Args:
        labels: the labels of the prompts.
        place: begins the keys of the widgets.
    """
    first = next(iter(labels))
    name = (
        st.segmented_control(
            "Prompt for",
            list(labels),
            default=first,
            format_func=lambda name: labels[name],
            key=f"{place}-prompt-of",
            required=True,
            persist_state="session",
        )
        or first
    )
    versions = {row.version: row for row in open_project.ask(prompt_versions, name)}
    version = st.selectbox(
        "Version",
        list(versions),
        format_func=lambda number: _named(versions[number]),
        key=f"{place}-version-{name}-{len(versions)}",
    )
    return name, versions[version]


def _named(row: PromptVersion) -> str:
    origin = "built in" if row.parent_id is None else "edited"
    if row.examples:
        origin += f", {counted(len(row.examples), 'example')}"
    return f"Version {row.version}, {origin}, {formatting.local(row.created_at):%Y-%m-%d %H:%M}"


def author_of(chosen: PromptVersion) -> str:
    """One sentence about the editor of this version; '' if it was not edited."""
    if chosen.author_id is None:
        return ""
    return f"Edited by {open_project.ask(reviewer_name, chosen.author_id)}."


def show_message(*, place: str) -> None:
    """Draw the result of the last click on *Save as new version*."""
    error_messages.show_once(_message_key(place))


def editor(chosen: PromptVersion, name: PromptName, *, place: str) -> str:
    """A box with the template. An edited copy becomes a new version. Returns the text."""
    key = f"{place}-template-{chosen.id}"
    template = st.text_area(
        "Template",
        chosen.template,
        height=260,
        key=key,
        max_chars=MAX_TEMPLATE,
        persist_state="session",
        help="Edit the template and save it as a new version. The old version is kept. "
        + " ".join(f"{where} is replaced by {what}." for where, what in PLACES[name].items()),
    )
    edited = template.strip() != chosen.template
    if not current_user.only_leads("save prompts"):
        return template
    with st.container(horizontal=True):
        st.button(
            "Save as new version",
            key=f"{place}-save-prompt",
            type="primary",
            disabled=not edited,
            on_click=_save,
            args=(chosen, key, place),
        )
        st.button(
            "Discard changes",
            key=f"{place}-undo-prompt",
            disabled=not edited,
            on_click=st.session_state.update,
            args=({key: chosen.template},),
        )
    return template


def usable(template: str, name: PromptName, *, place: str) -> str | None:
    """The template as it can be stored; None, after drawing the reason, if it can't."""
    try:
        return checked_template(template, name)
    except HedgerowError as error:
        error_messages.show(str(error), key=f"{place}-preview")
        return None


def as_sent(filled: str) -> None:
    """Draw a prompt with texts filled in."""
    with st.container(gap="xxsmall"):  # as close as the label of the field on the left
        st.markdown(":small[Example, as sent to the model]")
        st.code(filled, language=None, wrap_lines=True)


def _save(chosen: PromptVersion, key: str, place: str) -> None:
    """Store the draft. An unusable draft stays in the box, and the preview shows why."""
    author = current_user.reviewer_id()
    with suppress(HedgerowError):
        saved = open_project.tell(save_draft, chosen, st.session_state[key], author_id=author)
        st.session_state[_message_key(place)] = (
            f"Saved as version {saved.version}. Later runs use it unless you choose another."
            if saved.is_newest
            else f"This is identical to version {saved.version}. Choose that version for a run."
        )
        st.session_state[key] = chosen.template


def _message_key(place: str) -> str:
    return f"{place}_prompt_told"
