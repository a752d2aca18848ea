"""A page as somebody uses it: opened, read, filled in; and the runs behind it."""

import json
import re
from collections.abc import Mapping
from typing import Any

from sqlalchemy.orm import Session
from streamlit.proto.WidgetStates_pb2 import WidgetState
from streamlit.testing.v1 import AppTest

from db.models import Run
from db.runs import get_run, list_runs
from pages.components.shared.shell import open_project
from tests.support.checkout import APP

TIMEOUT = 60.0
"""Seconds for one run of a page, because the machine may be busy."""


def opened(name: str, state: Mapping[str, object] | None = None, /, **address: str) -> AppTest:
    """A page of a session with this state, at the URL with these parameters."""
    app = AppTest.from_file(str(APP), default_timeout=TIMEOUT)
    if name != "overview":
        app.switch_page(f"pages/{name}.py")
    for key, value in (state or {}).items():
        app.session_state[key] = value
    for key, value in address.items():
        app.query_params[key] = value
    return app.run()


def drawn(app: AppTest, *kinds: str) -> str:
    """The values of all elements of these kinds."""
    return "\n".join(str(element.value) for kind in kinds for element in app.get(kind))


def page_text(app: AppTest) -> str:
    """The page's plain texts. They may quote what users wrote."""
    assert not app.exception
    return drawn(app, "text")


def html(app: AppTest) -> str:
    """The markup, without style sheets."""
    return re.sub("<style.*?</style>", "", drawn(app, "html"), flags=re.DOTALL)


def charts(app: AppTest) -> int:
    assert not app.exception
    return len(app.get("vega_lite_chart"))


def links(app: AppTest) -> list[str]:
    return [link.label for link in app.get("page_link")]


def keys(app: AppTest) -> set[str]:
    """The keys of the buttons."""
    return {button.key for button in app.button if button.key}


def named(app: AppTest, kind: str, name: str) -> Any:
    """The first widget of this kind whose key or label begins like this."""
    return next(
        widget
        for widget in app.get(kind)
        if (widget.key or "").startswith(name) or (widget.label or "").startswith(name)
    )


def press(app: AppTest, name: str) -> AppTest:
    """Press the button whose key or label begins like this."""
    named(app, "button", name).click().run()
    assert not app.exception
    return app


def put(app: AppTest, kind: str, name: str, value: Any) -> AppTest:
    """Set the widget whose key or label begins like this."""
    found: AppTest = named(app, kind, name).set_value(value).run()
    assert not found.exception
    return found


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


def options(app: AppTest, key: str) -> list[str]:
    """What a segmented control offers."""
    return list(named(app, "button_group", key).options)


def rows(app: AppTest, column: str) -> list[dict[str, Any]]:
    """The rows of the table that has this column."""
    (found,) = [table.value for table in app.dataframe if column in table.value.columns]
    return found.to_dict("records")


def keyboard(app: AppTest) -> Any:
    """The component through which the browser sends keys."""
    (found,) = [one for one in app.get("bidi_component") if one.key == "keyboard"]
    return found.proto


def received(app: AppTest) -> Any:
    """The data that the browser receives about keys."""
    return json.loads(keyboard(app).json)


def strike(app: AppTest, *struck: str) -> Any:
    """Send keys for the shown card, as the browser does. Returns the data that it receives."""
    data = received(app)
    on = {"variant": data["variant"], "version": data["version"]}
    sent = [{"number": n, "key": key, **on} for n, key in enumerate(struck, data["answered"] + 1)]
    events = WidgetState(
        id=f"$$STREAMLIT_INTERNAL_KEY_{keyboard(app).id}__events",
        json_trigger_value=json.dumps([{"event": "pressed", "value": sent}]),
    )
    states = app._tree.get_widget_states()
    states.widgets.append(events)
    app._run(states)
    assert not app.exception
    return received(app)


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


def _dialog(name: str, blind: bool) -> None:
    """The content of a dialog of the review page, and the uid of the card that it has opened.

    AppTest draws a dialog only while its button is pressed.
    """
    import streamlit as st
    from sqlalchemy import select
    from sqlmodel import col

    from curation.decisions.reviewers import ensure_reviewer
    from curation.review.browser_window.key_actions import ReviewState
    from db.engine import reading, writing
    from db.models import Variant
    from pages.components.review import search_box
    from pages.components.shared.shell import open_project

    engine = open_project.engine()
    with writing(engine) as session:
        ada = ensure_reviewer(session, "Ada").id
    if "state" not in st.session_state:
        types = open_project.types()
        st.session_state["state"] = ReviewState(engine, ada, types, blind=blind)
    state = st.session_state["state"]
    with reading(engine) as session:
        first = session.execute(select(Variant).order_by(col(Variant.id)).limit(1)).scalar_one()
    if name == "similar":
        search_box.similar_contents(state, first)
    else:
        search_box.search_contents(state)
    with reading(engine) as session:
        query = select(col(Variant.uid)).where(col(Variant.id) == state.pinned)
        st.text(f"opened: {session.execute(query).scalar()}")


def in_dialog(name: str, *, blind: bool = False) -> AppTest:
    values = {"name": name, "blind": blind}
    app = AppTest.from_function(_dialog, kwargs=values, default_timeout=TIMEOUT).run()
    assert not app.exception
    return app


def search(app: AppTest, text: str) -> str:
    """The hits of a search in that dialog, as markup."""
    return html(put(app, "text_input", "search-text", text))
