"""The provider's key: from the environment, or typed in for this session and one address.

A typed key is only kept in the session, and a run's process gets it through its environment. It is
stored nowhere, never sent back to the browser, and sent only to the address that it was typed in
for. The environment's key is sent to the environment's address and to OpenAI.
"""

import streamlit as st

from curation.generation.providers.chat.completions import (
    ADDRESS_VARIABLE,
    KEY_VARIABLE,
    address_of,
    comparable,
    is_own,
    key_for,
)
from db.settings import without_login
from pages.components.shared.shell import open_project

_TYPED, _BOX = "generate_typed_keys", "generate-key"


def environment(base_url: str) -> dict[str, str]:
    """Environment variables for a run's process that sends requests to this address."""
    typed = _typed().get(_place(base_url), "")
    if not typed:
        return {}
    return {KEY_VARIABLE: typed} | ({ADDRESS_VARIABLE: base_url} if base_url else {})


def is_set(base_url: str) -> bool:
    """Whether there is a key for this address."""
    return bool(environment(base_url) or _of_the_environment(base_url))


def lacks(base_url: str) -> bool:
    """Whether calls to this address go to OpenAI itself, but there is no key for them."""
    return is_own(address_of(base_url, open_project.settings())) and not is_set(base_url)


def draw(base_url: str, place: str = "") -> None:
    """Show whether there is a key for an address, with a box to enter one or a button to remove it.

    Args:
        place: distinguishes these boxes from others on the same page.
    """
    if environment(base_url):
        with st.container(
            horizontal=True, vertical_alignment="center", key=f"generate-key-typed{place}"
        ):
            st.text("API key: entered for this session and this address.", width="content")
            st.button(
                "Remove",
                key=f"generate-key-forget{place}",
                type="tertiary",
                on_click=_forget,
                args=(base_url,),
            )
        return
    if _of_the_environment(base_url):
        st.text(f"API key: set in the environment ({KEY_VARIABLE}).")
        return
    st.text_input(
        "API key, for this session only",
        key=_BOX + place,
        type="password",
        autocomplete="off",
        on_change=_keep,
        args=(_BOX + place, base_url),
        placeholder="" if lacks(base_url) else "Usually not needed for your own server",
        help=f"To set it for all sessions, use {KEY_VARIABLE} in the environment or in .env. It is "
        "never stored in the database or a log, and is sent only to this address.",
    )
    if open_project.settings().openai_api_key.get_secret_value():
        own = without_login(address_of("", open_project.settings()))
        st.text(f"The key in the environment is for {own}; it is not sent to another address.")


def _typed() -> dict[str, str]:
    """The keys of this session by address."""
    keys: dict[str, str] = st.session_state.setdefault(_TYPED, {})
    return keys


def _place(base_url: str) -> str:
    return comparable(address_of(base_url, open_project.settings()))


def _of_the_environment(base_url: str) -> bool:
    return bool(key_for(base_url, open_project.settings()).get_secret_value())


def _keep(box: str, base_url: str) -> None:
    if typed := st.session_state[box].strip():
        _typed()[_place(base_url)] = typed
    st.session_state[box] = ""


def _forget(base_url: str) -> None:
    _typed().pop(_place(base_url), None)
