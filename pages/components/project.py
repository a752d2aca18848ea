"""The project that the app shows: its settings and database, opened once for all sessions."""

import streamlit as st
from sqlalchemy import Engine

from curation.project import open_project
from curation.taxonomy import VariantType
from curation.types import list_types
from db.engine import reading
from db.settings import Settings, load_settings


@st.cache_resource(show_spinner=False)
def settings() -> Settings:
    """The settings this app was started with."""
    return load_settings()


@st.cache_resource(show_spinner=False)
def engine() -> Engine:
    """The project's database."""
    return open_project(settings())


@st.cache_data(ttl=30, show_spinner=False)
def types() -> list[VariantType]:
    """The variant types in use."""
    with reading(engine()) as session:
        return list_types(session)
