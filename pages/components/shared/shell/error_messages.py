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
    """Show an error inside as one sentence, so that the rest of the app stays usable.

    A ``HedgerowError`` is shown as it is. Any other error goes to the log in full.

    Args:
        place: a name for the part of the page, unique on the page.
    """
    try:
        yield
    except Exception as error:
        show(_sentence(error), key=place)
        # A click redraws the page, or the part that failed.
        st.button("Try again", key=f"try-again-{place}")


def _sentence(error: Exception) -> str:
    if isinstance(error, HedgerowError):
        return str(error)
    logger.error("a page failed", exc_info=error)
    if isinstance(error, ImportError):  # a running app may import a module of a newer version
        return (
            f"This page could not import a part of the program ({error.name}). If you have just "
            "upgraded Hedgerow, restart it. For details, see the log in the app's terminal."
        )
    return (
        f"This page failed ({type(error).__name__}). For details, see the log in the app's "
        "terminal."
    )


def show(sentence: str, *, key: str = "message") -> None:
    """Draw a sentence in an error box. It may quote hostile text, so it is not Markdown."""
    with st.container(border=True, key=f"error-box-{key}"):
        st.text(sentence)


@contextmanager
def kept_for(place: str) -> Iterator[None]:
    """Keep the sentence of a ``HedgerowError`` inside for ``show_kept``. For use in callbacks.

    Args:
        place: a name for the part of a page that shows it, unique in the app.
    """
    try:
        yield
    except HedgerowError as error:
        keep(place, str(error))


def keep(place: str, sentence: str) -> None:
    """Have ``show_kept`` show a sentence when this part of a page is drawn next."""
    st.session_state[_kept(place)] = sentence


def show_kept(place: str) -> None:
    """Show, once, the sentence kept for this part of a page."""
    if sentence := st.session_state.pop(_kept(place), ""):
        show(sentence, key=place)


def show_once(key: str) -> None:
    """Show, once, the text with this key of the session."""
    if message := st.session_state.pop(key, ""):
        st.text(message)


def has_kept(place: str) -> bool:
    """Whether ``show_kept`` has a sentence to show."""
    return _kept(place) in st.session_state


def _kept(place: str) -> str:
    return f"problem-{place}"


@overload
def fragment(draw: Draw) -> Draw: ...
@overload
def fragment(*, run_every: float | None = None) -> Callable[[Draw], Draw]: ...
def fragment(draw: Any = None, *, run_every: float | None = None) -> Any:
    """Like ``st.fragment``, but an error in the fragment is shown in its place as one sentence."""
    if draw is None:
        return functools.partial(fragment, run_every=run_every)

    @functools.wraps(draw)
    def guarded(*args: Any, **more: Any) -> None:
        with shown_as_one_sentence(draw.__qualname__):
            show_callback_errors()
            draw(*args, **more)

    return st.fragment(guarded, run_every=run_every)


def dialog(draw: Callable[[], None], *, title: str) -> None:
    """Open a large ``st.dialog``, in which an error is shown as one sentence."""

    def guarded() -> None:
        with shown_as_one_sentence(title):
            show_callback_errors()
            draw()

    st.dialog(title, width="large")(guarded)()


def guard_callbacks() -> None:
    """Have ``show_callback_errors`` show errors in the callbacks of widgets.

    After an error in a callback, Streamlit draws no page at all, and it has no hook for such errors
    that works with ``streamlit run``.
    """
    WStates.call_callback = _guarded_callback  # type: ignore[method-assign, assignment]  # for all sessions


def _guarded_callback(states: WStates, widget_id: str) -> None:
    with message_kept():
        _call_callback(states, widget_id)


@contextmanager
def message_kept() -> Iterator[None]:
    """Keep an error inside for ``show_callback_errors``."""
    try:
        yield
    except Exception as error:
        st.session_state.setdefault(_FROM_CALLBACKS, []).append(_sentence(error))


def show_callback_errors() -> None:
    """Show, once, the errors in callbacks."""
    for number, sentence in enumerate(st.session_state.pop(_FROM_CALLBACKS, [])):
        show(sentence, key=f"callback-{number}")
