"""Searching while reviewing, without a browser."""

import pytest
from sqlalchemy import Engine
from streamlit.testing.v1 import AppTest

from curation.project.search import Hit, SearchKind
from curation.review.notes import add_note
from db.engine import writing
from db.models import Anchor
from pages.components.review.search_box import hit_markup
from tests.pages.conftest import TIMEOUT
from tests.pages.review.test_review import html
from tests.support.factories import add_family, add_variant, person

HOSTILE = "It is not <b>bold</b> **here**."


@pytest.fixture
def family(with_source: Engine) -> dict[str, str]:
    """The uids of a family by type, one variant with a note, and a hostile text as 'hostile'."""
    with writing(with_source) as session:
        variants = add_family(session)
        ada = person(session)
        add_note(session, variants["word"].id, reviewer_id=ada, text="See the BRÜCKE.")
        anchor = session.get_one(Anchor, variants["word"].anchor_id)
        hostile = add_variant(session, anchor, text=HOSTILE)
        return {key: variant.uid for key, variant in variants.items()} | {"hostile": hostile.uid}


def script(blind: bool) -> None:
    """Draw the content of the dialog. This kind of test draws a dialog only while its button is
    pressed."""
    import streamlit as st
    from sqlalchemy import select
    from sqlmodel import col

    from curation.review.browser_window.key_actions import ReviewState
    from curation.review.people.reviewers import ensure_reviewer
    from db.engine import reading, writing
    from db.models import Variant
    from pages.components.review.search_box import contents
    from pages.components.shared.shell import open_project

    if "state" not in st.session_state:
        with writing(open_project.engine()) as session:
            ada = ensure_reviewer(session, "Ada").id
        st.session_state["state"] = ReviewState(
            open_project.engine(), ada, open_project.types(), blind=blind
        )
    state = st.session_state["state"]
    contents(state)
    with reading(open_project.engine()) as session:
        query = select(col(Variant.uid)).where(col(Variant.id) == state.pinned)
        st.text(f"pinned: {session.execute(query).scalar()}")


def searched(text: str, kind: SearchKind = SearchKind.VARIANTS, *, blind: bool = False) -> AppTest:
    """The dialog after searching for this."""
    app = AppTest.from_function(script, kwargs={"blind": blind}, default_timeout=TIMEOUT)
    app.run()
    if kind is not SearchKind.VARIANTS:
        app.button_group("search-in").set_value(kind)
    app.text_input("search-text").input(text).run()
    assert not app.exception
    return app


def test_a_hit_is_marked_and_opens_its_card(family: dict[str, str]) -> None:
    app = searched("UNSAFE")
    assert '<mark class="hg-match">unsafe</mark>' in html(app)
    assert "Affixal negation · pending" in html(app)
    app.button("hit-0").click().run()
    assert f"pinned: {family['affixal']}" in [text.value for text in app.text]


def test_the_hits_can_be_reviewed_together(family: dict[str, str]) -> None:
    assert searched("dangerous").button("review-found").label == "Review these 2"


def test_a_note_links_to_its_card(family: dict[str, str]) -> None:
    app = searched("brücke", SearchKind.NOTES)
    assert '<mark class="hg-match">BRÜCKE</mark>' in html(app)
    assert "note on: The bridge is probably safe." in html(app)
    app.button("hit-0").click().run()
    assert f"pinned: {family['word']}" in [text.value for text in app.text]


def test_blind_reviewers_find_no_notes_and_no_verdicts(family: dict[str, str]) -> None:
    app = searched("safe", blind=True)
    options = next(list(e.options) for e in app.get("button_group") if e.key == "search-in")
    assert options == ["Variants", "Anchors"]
    assert "hg-hit" in html(app)
    assert "· pending" not in html(app)


def test_hostile_texts_and_queries_are_shown_as_they_are(family: dict[str, str]) -> None:
    app = searched("<b>")
    assert '<mark class="hg-match">&lt;b&gt;</mark>bold&lt;/b&gt; **here**' in html(app)
    assert any("1 variant found." in text.value for text in app.text)
    hit = Hit(SearchKind.NOTES, "<i>", "0" * 16, about="<u>")
    assert "<i>" not in hit_markup(hit, "i", facts="<u>")
    assert "<u>" not in hit_markup(hit, "i", facts="<u>")
