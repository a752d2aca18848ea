"""Plug-ins from other packages."""

import streamlit as st

from pages.components.shared.shell import error_messages
from training.plug_ins import list_plug_ins


def draw() -> None:
    """Show the plug-ins as a table, with any problems."""
    st.header("Plug-ins", anchor=False)
    found = list_plug_ins()
    if not found:
        st.text(
            "No plug-ins are installed. A plug-in can add a provider, an export format, an "
            "encoder, a benchmark or a scorer. docs/plug_ins.md shows how to write one."
        )
        return
    st.caption("Added by installed packages. Restart the app after you install or update one.")
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
