"""The examples of a prompt version, and new versions with examples from accepted variants."""

from collections.abc import Sequence

import streamlit as st

from curation.formatting import counted
from curation.generation.example_choice import MOST, choose_examples
from curation.generation.examples import Example, from_rows, save_with_examples
from curation.taxonomy.surface_check import Role
from db.errors import HedgerowError
from db.models import PromptVersion
from pages.components.shared.chat_models.choice import MAX_SEED
from pages.components.shared.shell import error_messages, open_project, rights, signin

OF_EACH = 3
"""Default number of examples per type."""

_ROW = 88
"""Row height in pixels for four lines. Streamlit wraps text only in rows higher than 64."""

_PROBLEM, _MESSAGE = "generate_examples_problem", "generate_examples_told"


def draw(chosen: PromptVersion, role: Role) -> None:
    """Show the examples of the version, and a form to choose others."""
    if message := st.session_state.pop(_MESSAGE, ""):
        st.text(message)
    if chosen.examples:
        with st.expander(counted(len(chosen.examples), "example"), icon=":material/list:"):
            st.dataframe(
                [_line(example) for example in from_rows(chosen.examples)],
                hide_index=True,
                key=f"generate-examples-of-{chosen.id}",
            )
    with st.expander("Add examples from reviewed variants", icon=":material/school:"):
        _form(chosen, role)


def _line(example: Example) -> dict[str, object]:
    labels = open_project.type_names()
    return {
        "Type": labels.get(example.type_id, example.type_id),
        "Anchor": example.anchor,
        "Variant": example.text,
        "Cue": example.cue,
        "Edited": example.edited,
    }


@rights.for_leads("change prompts")
def _form(chosen: PromptVersion, role: Role) -> None:
    st.caption(
        "Chooses diverse variants that people have read and accepted, starting with edited ones. "
        "All come from the training split. The prompt for an anchor never includes its own "
        "variants."
    )
    left, right = st.columns(2)
    number = left.number_input(
        "Examples per type",
        1,
        MOST,
        OF_EACH,
        key="generate-examples-number",
        persist_state="session",
    )
    seed = right.number_input(
        "Seed",
        0,
        MAX_SEED,
        0,
        key="generate-examples-seed",
        persist_state="session",
        help="Change the seed to get different examples.",
    )
    try:
        found = open_project.ask(choose_examples, role, int(number), seed=int(seed))
    except HedgerowError as error:
        st.text(str(error))
        return
    edited = st.data_editor(
        [{"Use": True} | _line(example) for example in found],
        hide_index=True,
        disabled=["Type", "Anchor", "Variant", "Cue", "Edited"],
        key=f"generate-examples-{role}-{number}-{seed}-{len(found)}",
        height="content",
        row_height=_ROW,
        column_config={
            "Use": st.column_config.CheckboxColumn(width=60, pinned=True),
            "Type": st.column_config.TextColumn(width=110),
            "Anchor": st.column_config.TextColumn(width=280),
            "Variant": st.column_config.TextColumn(width=280),
        },
    )
    kept = [example for example, row in zip(found, edited, strict=True) if row["Use"]]
    st.button(
        f"Save version with {counted(len(kept), 'example')}",
        key="generate-save-examples",
        disabled=not kept,
        on_click=_save,
        args=(chosen, kept),
    )
    error_messages.show_kept(_PROBLEM)


def _save(chosen: PromptVersion, kept: Sequence[Example]) -> None:
    with error_messages.kept_for(_PROBLEM):
        saved = open_project.tell(save_with_examples, chosen, kept, author_id=signin.reviewer_id())
        st.session_state[_MESSAGE] = f"Saved as version {saved.version}."
