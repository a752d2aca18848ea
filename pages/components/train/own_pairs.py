"""The user's own sentence pairs, measured before and after each training run."""

import streamlit as st

from curation.review.actions import MAX_TEXT
from pages.components.shared.shell import error_messages, open_project, rights, signin
from training.evaluation.probe_sets import StoredProbe
from training.evaluation.probes import add_own_probe, own_probes, remove_own_probe

_PROBLEM = "train_probe_problem"
_ANCHOR, _TEXT = "train-probe-anchor", "train-probe-text"

WIDTHS = [5, 5, 2]
"""Relative widths of the two sentences and the button, whose label must fit in a narrow window."""


@rights.for_leads()
def box() -> None:
    """Add, list and remove pairs; each change is stored immediately."""
    stored = open_project.ask(own_probes)
    count = f" ({len(stored)})" if stored else ""
    with st.expander(
        f"Your own sentence pairs{count}",
        icon=":material/compare_arrows:",
        expanded=error_messages.has_kept(_PROBLEM),
        key="train-probes",
    ):
        st.caption(
            "Each run measures their similarity before and after training. The Results section "
            "shows it next to Figure 1."
        )
        for pair in stored:
            _pair(pair)
        with st.form("train-probe", border=False):
            first, second, add = st.columns(WIDTHS, vertical_alignment="bottom")
            first.text_input("First sentence", key=_ANCHOR, max_chars=MAX_TEXT)
            second.text_input("Second sentence", key=_TEXT, max_chars=MAX_TEXT)
            add.form_submit_button("Add", on_click=_add, width="stretch")
        error_messages.show_kept(_PROBLEM)


def _pair(pair: StoredProbe) -> None:
    first, second, remove = st.columns(WIDTHS, vertical_alignment="center")
    first.text(pair.probe.anchor)
    second.text(pair.probe.text)
    remove.button(
        "Remove",
        key=f"train-probe-{pair.id}",
        on_click=_remove,
        args=(pair.id,),
        width="stretch",
        type="tertiary",
    )


def _add() -> None:
    with error_messages.kept_for(_PROBLEM):
        open_project.tell(
            add_own_probe,
            anchor=st.session_state[_ANCHOR],
            text=st.session_state[_TEXT],
            author_id=signin.reviewer_id(),
        )
        st.session_state[_ANCHOR] = st.session_state[_TEXT] = ""


def _remove(probe_id: int) -> None:
    open_project.tell(remove_own_probe, probe_id)
