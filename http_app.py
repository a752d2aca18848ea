"""The browser app with the HTTP interface for other tools: what `hedgerow app --http` runs."""

from streamlit.starlette import App

from pages.api.routes import routes

app = App("app.py", routes=routes())
