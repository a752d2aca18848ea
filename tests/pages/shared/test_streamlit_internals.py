"""What the app's Python code relies on in Streamlit outside its documented interface.

It was found in Streamlit 1.67.0. If a test fails here, look for the replacement in the installed
version. What scripts and style sheets rely on is in tests/browser; the imports that the code may
use are in test_source_rules.py.
"""

import pytest
import streamlit as st
from streamlit.runtime.runtime import Runtime, RuntimeState
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.state.session_state import WStates
from streamlit.testing.v1 import AppTest

FOUND_IN = "1.67.0"
CHANGED = f"Streamlit {st.__version__} does not do as {FOUND_IN} did: "


def test_the_callback_of_a_widget_is_called_through_its_states(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """``error_messages.guard_callbacks`` replaces this."""

    def page() -> None:
        import streamlit as st

        st.button("Press", key="press", on_click=print)

    called: list[str] = []
    monkeypatch.setattr(WStates, "call_callback", lambda _, widget_id: called.append(widget_id))
    AppTest.from_function(page).run().button(key="press").click().run()
    assert len(called) == 1, f"{CHANGED}callbacks are not called by WStates.call_callback"
    assert called[0].endswith("-press")


def test_a_thread_without_a_page_is_recognised() -> None:
    """``signin.acting`` takes such a thread for the owner of the machine."""

    def page() -> None:
        import streamlit as st
        from streamlit.runtime.scriptrunner import get_script_run_ctx

        st.text(str(get_script_run_ctx(suppress_warning=True) is None))
        st.button("Press", on_click=lambda: st.session_state.update(at=get_script_run_ctx()))
        st.text(str(st.session_state.get("at") is None))

    assert get_script_run_ctx(suppress_warning=True) is None
    app = AppTest.from_function(page).run()
    assert [text.value for text in app.text] == ["False", "True"]
    app.button[0].click().run()
    assert [text.value for text in app.text] == ["False", "False"]


def test_nobody_is_signed_in_without_a_provider() -> None:
    """``signin`` reads both. The user after a sign-in is tested in tests/browser."""

    def page() -> None:
        import streamlit as st

        st.text(str(st.secrets.load_if_toml_exists()))
        st.text(str(bool(st.user.to_dict().get("is_logged_in"))))

    assert [text.value for text in AppTest.from_function(page).run().text] == ["False", "False"]


def test_the_server_reports_its_state() -> None:
    """``cli.serve`` uses it to report that the app is ready."""
    assert {"exists", "instance", "state"} <= {*dir(Runtime)}, f"{CHANGED}Runtime"
    assert RuntimeState.INITIAL.value == "INITIAL", f"{CHANGED}RuntimeState.INITIAL"
    assert {state.name for state in RuntimeState} > {"INITIAL", "NO_SESSIONS_CONNECTED"}
