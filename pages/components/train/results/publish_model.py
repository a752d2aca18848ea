"""A finished run's model card, and the form to publish the model on the Hub."""

import streamlit as st

from db.models import Run
from pages.components.shared.hub import push_box
from pages.components.shared.shell import open_project
from training.hub.push_run import Subject, card_to_publish


def show(run: Run) -> None:
    """The card and the push form of a run's model; nothing if its folder is gone."""
    folder = open_project.settings().data_folder / run.result["model"]
    if not folder.is_dir():
        return
    card = open_project.ask(card_to_publish, run, folder)
    st.header("Publish", anchor=False)
    with st.expander("Model card", icon=":material/description:"):
        st.text(
            "This is README.md in the model's folder. It is published with the model. Edit "
            "it before you push."
        )
        st.code(card, language=None, wrap_lines=True, height=420)
    push_box.show(Subject(run=run.id), what="the model")
