"""Two people in two browsers on variants that both should decide on."""

from pathlib import Path

from playwright.sync_api import Page, expect
from sqlalchemy import Engine

from curation.review.assignment.planning import assign
from curation.review.assignment.quotas import set_quota
from db.engine import writing
from tests.browser.conftest import Share
from tests.browser.support.chromium import Chromium
from tests.browser.support.reviewing import card, eventually, press, rows, settle, shown, visit
from tests.browser.support.walk import misfits
from tests.support.factories import person

_SAID = "SELECT verdict, blind FROM decision JOIN variant ON variant.id = variant_id WHERE uid = ?"


def test_both_are_blind_until_they_have_decided_and_then_in_conflict(
    project: Engine, home: Path, share: Share, page: Page, chromium: Chromium
) -> None:
    with writing(project) as session:
        assign(session, reviewers=2, share=1)
        set_quota(session, person(session, "Bert"), 1)
    address = share(home)
    visit(page, address, "/review")
    expect(card(page)).to_be_visible()
    settle(page)
    with chromium.new_page() as other:
        uid = shown(page)
        expect(page.locator("article.hg-card").get_by_text("blind", exact=True)).to_be_visible()
        press(page, "4")
        eventually(page, lambda: rows(home, _SAID, uid) == [("reject", 1)])
        visit(other, address, "/review", name="Bert")
        expect(card(other)).to_have_attribute("data-variant", uid)
        settle(other)
        expect(other.locator("article.hg-card").get_by_text("blind", exact=True)).to_be_visible()
        expect(other.get_by_text("Your quota: all types 0 of 1")).to_be_visible()
        other.keyboard.press("g")
        expect(other.get_by_text("Hidden until you have decided.").first).to_be_visible()
        expect(other.get_by_text("rejected", exact=False)).to_have_count(0)
        assert misfits(other) == []
        visit(page, address, "/adjudicate")
        expect(page.get_by_text("No variant is in conflict.", exact=False)).to_be_visible()
        settle(other)
        other.keyboard.press("a")
        eventually(other, lambda: len(rows(home, _SAID, uid)) == 2)
        expect(other.get_by_text("Before you, Ada rejected it", exact=False)).to_be_visible()
        expect(other.get_by_text("You have reached your quota", exact=False)).to_be_visible()
    page.reload()
    expect(card(page)).to_have_attribute("data-variant", uid)
    expect(page.get_by_text("Bert", exact=False).first).to_be_visible()
    visit(page, address, "/team?show=Assignment")
    expect(page.get_by_text("1 is finished", exact=False)).to_be_visible()
    assert misfits(page) == []
