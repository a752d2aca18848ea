"""What the person at this page may do. What they may not is not offered; the library refuses it
in any case (see ``curation.review.people.roles``)."""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

import streamlit as st

from curation.review.people.roles import Role, acting_role, allows
from pages.components.shared.shell import open_project

_P = ParamSpec("_P")


def may(least: Role) -> bool:
    """Whether they may do what needs at least this role."""
    return allows(open_project.ask(acting_role), least)


def only_leads(do: str) -> bool:
    """Whether they are a lead; otherwise says that only leads do this.

    Args:
        do: what leads do here; '' to say nothing.
    """
    if may(Role.LEAD):
        return True
    if do:
        st.caption(f"Only leads {do}.")
    return False


def for_leads(do: str = "") -> Callable[[Callable[_P, None]], Callable[_P, None]]:
    """Have a part of a page drawn for leads; others see that only leads do this.

    Args:
        do: as in ``only_leads``.
    """

    def of(draw: Callable[_P, None]) -> Callable[_P, None]:
        @wraps(draw)
        def drawn(*args: _P.args, **kwargs: _P.kwargs) -> None:
            if only_leads(do):
                draw(*args, **kwargs)

        return drawn

    return of
