"""A page as somebody uses it: opened at a section, read, filled in; and the runs behind it."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy.orm import Session
from streamlit.testing.v1 import AppTest

from db.models import Run
from db.runs import get_run, list_runs
from pages.components.shared.shell import open_project
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


def use(app: AppTest, values: Mapping[str, object], *, press: str = "") -> AppTest:
    """Set the widgets with these keys, like somebody who fills in a form, and press a button.

    The page runs when a widget that is needed next is not there yet, and before and after the
    button is pressed.
    """
    for key, value in values.items():
        if not any(getattr(node, "key", None) == key for node in app):
            app.run()
        app.get_by_key(key).set_value(value)
    app.run()
    return app.get_by_key(press).click().run() if press else app


def newest(kind: str = "train") -> Run:
    """The project's newest run of a kind, by default an encoder's training."""
    return open_project.ask(list_runs, kind=kind)[0]


def change(run_id: int, **values: Any) -> None:
    """Change a run's row, as its process would."""

    def apply(session: Session) -> None:
        run = get_run(session, run_id)
        for name, value in values.items():
            setattr(run, name, value)

    open_project.tell_for_the_project(apply)
