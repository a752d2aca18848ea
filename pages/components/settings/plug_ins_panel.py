"""What other packages add to Hedgerow."""

import streamlit as st

from pages.components.shared.shell import error_messages
from training.plug_ins import list_plug_ins


def draw() -> None:
    """The plug-ins as a table, and what is wrong with some."""
    st.header("Plug-ins", anchor=False)
    found = list_plug_ins()
    if not found:
        st.text(
            "No package adds a provider, export format, encoder, benchmark or scorer here. "
            "docs/plug_ins.md shows how to write one."
        )
        return
    st.caption("What installed packages add. Restart the app after you install or update one.")
    st.dataframe(
        [
            {
                "Plug-in": one.name,
                "Kind": one.kind,
                "Package": one.package,
                "Version": one.version,
                "Usable": "no" if one.problem else "yes",
            }
            for one in found
        ],
        hide_index=True,
        key="plug-ins",
        width="content",
    )
    for number, problem in enumerate(one.problem for one in found if one.problem):
        error_messages.show(problem, key=f"plug-in-{number}")
