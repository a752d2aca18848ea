"""What other packages add to Hedgerow."""

import streamlit as st

from training.plug_ins import list_plug_ins


def draw() -> None:
    """The plug-ins as a table, and what is wrong with one."""
    st.header("Plug-ins", anchor=False)
    found = list_plug_ins()
    if not found:
        st.text(
            "No package adds a provider, benchmark, scorer, encoder or export format here. "
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
                "Problem": one.problem,
            }
            for one in found
        ],
        hide_index=True,
        key="plug-ins",
    )
