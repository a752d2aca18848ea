"""The one place where the app turns an error into a sentence."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from db.errors import HedgerowError

logger = logging.getLogger(__name__)


@contextmanager
def shown_as_one_sentence() -> Iterator[None]:
    """Show what goes wrong inside as one sentence; the rest of the app stays usable.

    What a person can put right is said as it is; anything else goes to the log in full.
    """
    try:
        yield
    except HedgerowError as error:
        show(str(error))
    except Exception as error:
        logger.exception("a page failed")
        show(f"This page failed ({type(error).__name__}); the terminal it runs in says where.")


def show(sentence: str) -> None:
    """One sentence in an error box. It may quote hostile text, so it is never read as Markdown."""
    with st.container(border=True, key="error-box"):
        st.text(sentence)
