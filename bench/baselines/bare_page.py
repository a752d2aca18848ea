"""The baseline of bench/review_latency.py: a bare page that shows one row of the variant table."""

import os
import sqlite3
from pathlib import Path

import streamlit as st


@st.fragment
def row() -> None:
    if st.button("Next", shortcut="a"):
        st.session_state["row"] = st.session_state.get("row", 1) + 1
    with sqlite3.connect(Path(os.environ["HEDGEROW_HOME"]) / "hedgerow.db") as connection:
        query = "SELECT text FROM variant WHERE id = ?"
        st.text(connection.execute(query, (st.session_state.get("row", 1),)).fetchone()[0])


row()
