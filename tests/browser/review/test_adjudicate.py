"""The Adjudicate page in Chromium: its keys settle conflicts, except while somebody types."""

from pathlib import Path

from playwright.sync_api import Page, expect
from sqlalchemy import Engine, select
from sqlmodel import col

from curation.review import actions
from curation.review.shown_card import shown
from db.engine import writing
from db.models import Variant
from tests.browser.conftest import Share
from tests.browser.support.reviewing import card, editor, eventually, press, rows, settle, visit
from tests.browser.support.walk import misfits
from tests.support.factories import person

_LATEST = "SELECT verdict, adjudicates, note FROM decision ORDER BY id DESC LIMIT 1"


def test_keys_settle_but_are_text_while_typing(
    project: Engine, home: Path, share: Share, page: Page
) -> None:
    with writing(project) as session:
        query = select(Variant).where(col(Variant.type_id) == "verbal").order_by(col(Variant.id))
        for variant in session.execute(query.limit(3)).scalars():
            card_shown = shown(variant)
            actions.accept(session, card_shown, reviewer_id=person(session, "Bert"))
            session.refresh(variant)
            cleo = person(session, "Cleo")
            actions.reject(session, shown(variant), reviewer_id=cleo, reason="wrong_scope")
    visit(page, share(home), "/adjudicate")
    expect(card(page)).to_be_visible()
    settle(page)
    assert misfits(page) == []
    press(page, "a")
    eventually(page, lambda: rows(home, _LATEST) == [("accept", 1, "")])
    page.keyboard.press("x")
    settle(page)
    box = editor(page, "4", "Note")
    page.keyboard.type("asz")
    expect(box).to_have_value("asz")
    page.keyboard.press("Control+Enter")
    eventually(page, lambda: rows(home, _LATEST) == [("reject", 1, "asz")])
    settle(page)
    page.keyboard.press("z")
    eventually(page, lambda: rows(home, _LATEST)[0][0] == "retract")
    settle(page)
    box = editor(page, "d", "What do you want to discuss? (optional)")
    page.keyboard.type("all of it")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_text("Ada wants to discuss this: all of it")).to_be_visible()
    assert rows(home, "SELECT kind, remark FROM discuss_mark") == [("mark", "all of it")]
