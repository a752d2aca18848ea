"""The one place where the app turns an error into a sentence."""

import functools
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar, overload

import streamlit as st
from streamlit.runtime.state.session_state import WStates

from db.errors import HedgerowError

logger = logging.getLogger(__name__)

Draw = TypeVar("Draw", bound=Callable[..., Any])

_FROM_CALLBACKS = "callback_errors"
_call_callback = WStates.call_callback


@contextmanager
def shown_as_one_sentence(place: str = "page") -> Iterator[None]:
    """Show what goes wrong inside as one sentence; the rest of the app stays usable.

    What a person can put right is said as it is; anything else goes to the log in full.

    Args:
        place: what failed, unlike any other on the page.
    """
    try:
        yield
    except Exception as error:
        show(_sentence(error), key=place)
        # Draws the page, or the part of it that failed, once more.
        st.button("Try again", key=f"try-again-{place}")


def _sentence(error: Exception) -> str:
    if isinstance(error, HedgerowError):
        return str(error)
    logger.error("a page failed", exc_info=error)
    if isinstance(error, ImportError):  # a running app that imports a part of a newer version
        return (
            f"This page could not import a part of the program ({error.name}). If Hedgerow has "
            "just been upgraded, restart it. The log in the app's terminal shows where."
        )
    return f"This page failed ({type(error).__name__}). The log in the app's terminal shows where."


def show(sentence: str, *, key: str = "told") -> None:
    """One sentence in an error box. It may quote hostile text, so it is never read as Markdown."""
    with st.container(border=True, key=f"error-box-{key}"):
        st.text(sentence)


@contextmanager
def kept_for(place: str) -> Iterator[None]:
    """Keep the sentence of a ``HedgerowError`` inside for ``show_kept``; for callbacks.

    Args:
        place: names the part of a page that shows it, unlike any other of the app.
    """
    try:
        yield
    except HedgerowError as error:
        keep(place, str(error))


def keep(place: str, sentence: str) -> None:
    """Have ``show_kept`` show a sentence the next time that this part of a page is drawn."""
    st.session_state[_kept(place)] = sentence


def show_kept(place: str) -> None:
    """Show, once, what was kept for this part of a page."""
    if sentence := st.session_state.pop(_kept(place), ""):
        show(sentence, key=place)


def has_kept(place: str) -> bool:
    """Whether ``show_kept`` has something to show."""
    return _kept(place) in st.session_state


def _kept(place: str) -> str:
    return f"problem-{place}"


@overload
def fragment(draw: Draw) -> Draw: ...
@overload
def fragment(*, run_every: float | None = None) -> Callable[[Draw], Draw]: ...
def fragment(draw: Any = None, *, run_every: float | None = None) -> Any:
    """As ``st.fragment``; what goes wrong while it is drawn alone is one sentence in its place."""
    if draw is None:
        return functools.partial(fragment, run_every=run_every)

    @functools.wraps(draw)
    def guarded(*args: Any, **more: Any) -> None:
        with shown_as_one_sentence(draw.__qualname__):
            show_callback_errors()
            draw(*args, **more)

    return st.fragment(guarded, run_every=run_every)


def dialog(draw: Callable[[], None], *, title: str) -> None:
    """Open a large ``st.dialog``; what goes wrong in it is one sentence in its place."""

    def guarded() -> None:
        with shown_as_one_sentence(title):
            show_callback_errors()
            draw()

    st.dialog(title, width="large")(guarded)()


def guard_callbacks() -> None:
    """Have what goes wrong when a widget is used told by ``show_callback_errors``.

    Streamlit draws no page at all after a callback that failed, and has no hook for it that works
    for ``streamlit run``.
    """
    WStates.call_callback = _guarded_callback  # type: ignore[method-assign, assignment]  # for all sessions


def _guarded_callback(states: WStates, widget_id: str) -> None:
    with message_kept():
        _call_callback(states, widget_id)


@contextmanager
def message_kept() -> Iterator[None]:
    """Keep what goes wrong inside for ``show_callback_errors``."""
    try:
        yield
    except Exception as error:
        st.session_state.setdefault(_FROM_CALLBACKS, []).append(_sentence(error))


def show_callback_errors() -> None:
    """Show, once, what went wrong when a widget was used."""
    for number, sentence in enumerate(st.session_state.pop(_FROM_CALLBACKS, [])):
        show(sentence, key=f"callback-{number}")
