"""The Team page's section Audit: its list, filters and pages."""

import pytest
from sqlalchemy import Engine
from streamlit.testing.v1 import AppTest

from curation.review.notes import add_note
from db.engine import writing
from pages.components.team import audit_section
from tests.curation.support.deciding import accept, reject
from tests.pages.conftest import OpenPage
from tests.support.factories import add_family, person

HOSTILE = "<img src=x onerror=alert(1)> =1+1"


@pytest.fixture
def done(with_source: Engine) -> str:
    """Ada accepted three variants and rejected one, on which Bea left a note. Returns its uid."""
    with writing(with_source) as session:
        ada, bea = person(session, "Ada"), person(session, "Bea")
        family = add_family(session)
        for type_id in ("verbal", "lexical", "affixal"):
            accept(session, family[type_id], ada)
        reject(session, family["word"], ada)
        add_note(session, family["word"].id, reviewer_id=bea, text=HOSTILE)
        return family["word"].uid


def opened(open_page: OpenPage) -> AppTest:
    app = open_page("team")
    app.session_state["show"] = "Audit"
    return app.run()


def listed(app: AppTest) -> str:
    found = [h.value for h in app.get("html") if h.value.startswith('<div class="hg-found')]
    return found[-1] if found else ""


def test_it_lists_what_was_done_with_a_link_to_each_card(done: str, open_page: OpenPage) -> None:
    app = opened(open_page)
    assert not app.exception
    table = listed(app)
    assert table.count("<tr>") == 1 + 5
    assert f'href="review?variant={done}"' in table
    assert table.index("<b>note</b>") < table.index("<b>reject</b>") < table.index("<b>accept</b>")
    assert "&lt;img src=x" in table and "<img" not in table


def test_without_actions_there_is_nothing_to_filter(
    with_source: Engine, open_page: OpenPage
) -> None:
    app = opened(open_page)
    assert "No actions have been recorded yet." in [text.value for text in app.text]
    assert not app.selectbox and not app.get("download_button")


def test_filters_narrow_the_list(done: str, open_page: OpenPage) -> None:
    app = opened(open_page)
    app.selectbox(key="audit-what").set_value("reject").run()
    assert listed(app).count("<tr>") == 1 + 1
    app.selectbox(key="audit-what").set_value("release").run()
    assert listed(app) == ""
    assert "No actions match the filters." in [text.value for text in app.text]


def test_pages_are_turned(done: str, open_page: OpenPage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_section, "SHOWN", 2)
    app = opened(open_page)
    first = listed(app)
    assert app.button(key="audit-newer").disabled
    app.button(key="audit-older").click().run()
    app.button(key="audit-older").click().run()
    assert listed(app).count("<tr>") == 1 + 1
    assert app.button(key="audit-older").disabled
    app.selectbox(key="audit-type").set_value("word").run()
    assert app.button(key="audit-newer").disabled
    app.selectbox(key="audit-type").set_value("").run()
    assert listed(app) == first
