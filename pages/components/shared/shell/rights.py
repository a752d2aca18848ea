"""What the current user may do. Pages do not offer anything else, and the library refuses it anyway
(see ``curation.decisions.roles``)."""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

import streamlit as st

from curation.decisions.roles import Role, acting_role, allows
from pages.components.shared.shell import open_project

_P = ParamSpec("_P")


def may(least: Role) -> bool:
    """Whether the user has at least this role."""
    return allows(open_project.ask(acting_role), least)


def only_leads(do: str) -> bool:
    """Whether the user is a lead. If not, say that only leads can do this.

    Args:
        do: a verb phrase for what leads can do here; '' to say nothing.
    """
    if may(Role.LEAD):
        return True
    if do:
        st.caption(f"Only leads can {do}.")
    return False


def for_leads(do: str = "") -> Callable[[Callable[_P, None]], Callable[_P, None]]:
    """Decorate a part of a page that is only for leads. Others see a sentence that says so.

    Args:
        do: as in ``only_leads``.
    """

    def of(draw: Callable[_P, None]) -> Callable[_P, None]:
        @wraps(draw)
        def draw_for_leads(*args: _P.args, **kwargs: _P.kwargs) -> None:
            if only_leads(do):
                draw(*args, **kwargs)

        return draw_for_leads

    return of
