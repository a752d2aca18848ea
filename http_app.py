"""The browser app with the HTTP interface for other tools: what `hedgerow app --http` runs."""

import streamlit as st

from pages.api.mount import routes

app = st.App("app.py", routes=routes())
