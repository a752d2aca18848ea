"""The project that the app shows: its settings and database, opened once for all sessions.

Pages open no database session and write no SQL. A page asks one question with ``ask`` and makes
one change with ``tell``; the function that does it is in ``curation``, ``training`` or ``db``.
"""

from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeAlias, TypeVar

import streamlit as st
from sqlalchemy import Engine
from sqlalchemy.orm import Session

from curation.project.opening import open_project
from curation.review.people.roles import for_the_project
from curation.taxonomy.built_in import VariantType
from curation.taxonomy.project_types import all_types, types_version
from db.engine import reading, writing
from db.settings import Settings, load_settings

_P = ParamSpec("_P")
_T = TypeVar("_T")

Asked: TypeAlias = Callable[Concatenate[Session, _P], _T]
"""A function of the library that takes a session first."""


@st.cache_resource(show_spinner=False)
def settings() -> Settings:
    """The settings this app was started with."""
    return load_settings()


@st.cache_resource(show_spinner=False)
def engine() -> Engine:
    """The project's database."""
    return open_project(settings())


def ask(question: Asked[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
    """What ``question(session, ...)`` answers; all that it reads is of one moment."""
    with reading(engine()) as session:
        return question(session, *args, **kwargs)


def tell(change: Asked[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
    """Store what ``change(session, ...)`` changes: all of it, or nothing if it raises an error."""
    with writing(engine()) as session:
        return change(session, *args, **kwargs)


def tell_for_the_project(change: Asked[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
    """As ``tell``, for what nobody asks for: it follows from opening a page or from what was
    allowed before, so that it needs no role."""
    with for_the_project():
        return tell(change, *args, **kwargs)


@st.cache_data(show_spinner=False, max_entries=2)
def _types(version: str) -> dict[str, VariantType]:
    return ask(all_types)


def every_type() -> dict[str, VariantType]:
    """Every variant type by its id, retired ones last; a change shows at once, whoever made it."""
    return _types(ask(types_version))


def types() -> list[VariantType]:
    """The variant types in use."""
    return [entry for entry in every_type().values() if not entry.retired]


def type_names() -> dict[str, str]:
    """What each type is called, retired ones too: somebody's words, like any other text."""
    return {
        entry.id: f"{entry.label} (retired)" if entry.retired else entry.label
        for entry in every_type().values()
    }
