"""The project that the app shows: its settings and database, opened once for all sessions.

Pages never open a database session or write SQL. They read with ``ask`` and write with ``tell``,
through functions in ``curation``, ``training`` or ``db``.
"""

from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeAlias, TypeVar

import streamlit as st
from sqlalchemy import Engine
from sqlalchemy.orm import Session

from curation.decisions.roles import for_the_project
from curation.overview.project_settings import open_project
from curation.taxonomy.built_in import VariantType
from curation.taxonomy.project_types import all_types, types_version
from db.engine import reading, writing
from db.settings import Settings, load_settings

_P = ParamSpec("_P")
_T = TypeVar("_T")

Asked: TypeAlias = Callable[Concatenate[Session, _P], _T]
"""A library function whose first argument is a session."""


@st.cache_resource(show_spinner=False)
def settings() -> Settings:
    """The settings this app was started with."""
    return load_settings()


@st.cache_resource(show_spinner=False)
def engine() -> Engine:
    """The project's database."""
    return open_project(settings())


def ask(question: Asked[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
    """Return ``question(session, ...)``, which reads one consistent state of the database."""
    with reading(engine()) as session:
        return question(session, *args, **kwargs)


def tell(change: Asked[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
    """Run ``change(session, ...)`` in a transaction: an error undoes all of its changes."""
    with writing(engine()) as session:
        return change(session, *args, **kwargs)


def tell_for_the_project(change: Asked[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
    """Like ``tell``, but without a check of the role: for changes that follow from opening a page
    or from an action that was allowed."""
    with for_the_project():
        return tell(change, *args, **kwargs)


@st.cache_data(show_spinner=False, max_entries=2)
def _types(version: str) -> dict[str, VariantType]:
    return ask(all_types)


def every_type() -> dict[str, VariantType]:
    """All variant types by id, retired ones last. Changes made elsewhere appear at once."""
    return _types(ask(types_version))


def types() -> list[VariantType]:
    """The variant types in use."""
    return [entry for entry in every_type().values() if not entry.retired]


def type_names() -> dict[str, str]:
    """The labels of all types by id, including retired ones. Labels are untrusted text."""
    return {
        entry.id: f"{entry.label} (retired)" if entry.retired else entry.label
        for entry in every_type().values()
    }
