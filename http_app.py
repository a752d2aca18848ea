"""The browser app with the HTTP interface for other tools: what `hedgerow app --http` runs."""

from streamlit.starlette import App

from pages.api.mount import routes

app = App("app.py", routes=routes())
