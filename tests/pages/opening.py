"""Opening a page at one of its sections, and reading it."""

from collections.abc import Mapping

from streamlit.testing.v1 import AppTest

from tests.pages.conftest import TIMEOUT
from tests.support.checkout import APP


def opened(name: str, state: Mapping[str, object], **address: str) -> AppTest:
    """A page of a session with this state, at the URL with these parameters."""
    app = AppTest.from_file(str(APP), default_timeout=TIMEOUT).switch_page(f"pages/{name}.py")
    for key, value in state.items():
        app.session_state[key] = value
    for key, value in address.items():
        app.query_params[key] = value
    return app.run()


def page_text(app: AppTest) -> str:
    """The page's plain texts. They may quote what users wrote."""
    assert not app.exception
    return "\n".join(element.value for element in app.text)
