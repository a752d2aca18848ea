"""The Anchors page without a browser: what it lists, and selecting and changing anchors."""

import re

from streamlit.testing.v1 import AppTest

from curation.content_uids import anchor_uid
from tests.pages.conftest import OpenPage
from tests.support.factories import ANCHOR

UID = anchor_uid(ANCHOR)
HOSTILE = "# [x](javascript:1) <b>is</b> 100% $open$."


def listed(app: AppTest) -> list[str]:
    """The anchors in the list."""
    return [text for table in app.dataframe for text in table.value.get("Anchor", [])]


def texts(app: AppTest) -> str:
    """All plain texts on the page."""
    return "\n".join(element.value for element in app.text)


def picked(open_page: OpenPage, *, doing: str = "") -> AppTest:
    """The page with a selected anchor, and the form of this action if one is named."""
    app = open_page("anchors")
    app.query_params["anchor"] = UID
    app.run()
    if doing:
        # AppTest sets a segmented control's value. The page uses a new key for every form.
        key = next(c.key for c in app.get("button_group") if c.key.startswith("anchor-do-"))
        app.session_state[key] = doing
        app.run()
    return app


def press(app: AppTest, label: str) -> AppTest:
    return next(button for button in app.button if button.label == label).click().run()


def tick(app: AppTest, *uids: str) -> AppTest:
    """Select rows as ticking them does, because AppTest cannot."""
    app.query_params["anchor"] = ",".join(uids)
    return app.run()


def give_name(app: AppTest) -> AppTest:
    """Enter a name in the form that asks for one."""
    next(
        i for i in app.text_input if i.label.startswith("Your changes are stored under your name")
    ).set_value("Ada")
    return press(app, "Continue")


def rows_of_variants(app: AppTest) -> list[str]:
    """The rows of the table of variants, as HTML."""
    (table,) = [found.value for found in app.get("html") if "<table>" in found.value]
    return table.split("<tr>")[2:]


def status_of(row: str) -> str:
    """The status in a row of that table."""
    return re.findall("<td>([^<]*)</td>", row)[1]
