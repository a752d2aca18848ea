"""Two people in two browsers: a card on one screen, a conflict, and a lead who settles it."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect
from sqlalchemy import Engine

from db.engine import writing
from tests.browser.conftest import Share
from tests.browser.support.chromium import Chromium
from tests.browser.support.reviewing import (
    card,
    eventually,
    press,
    rows,
    settle,
    shown,
    visit,
)
from tests.support.factories import person

STATUS = "SELECT status FROM variant WHERE uid = ?"
GIVEN = """
SELECT name, verdict, adjudicates FROM decision
JOIN reviewer ON reviewer.id = reviewer_id JOIN variant ON variant.id = variant_id
WHERE uid = ? ORDER BY decision.id
"""
LEASED = "SELECT uid FROM lease JOIN variant ON variant.id = variant_id ORDER BY uid"


@pytest.fixture
def address(project: Engine, home: Path, share: Share) -> str:
    """The app's address for Ada, Bert and Lea."""
    with writing(project) as session:
        for name in ("Bert", "Lea"):
            person(session, name)
    return share(home)


@pytest.fixture
def two(chromium: Chromium) -> Iterator[tuple[Page, Page]]:
    """A page in each of two browsers."""
    with ExitStack() as stack:
        yield stack.enter_context(chromium.page()), stack.enter_context(chromium.page())


def come(page: Page, address: str, path: str, name: str) -> str:
    """Open a page as this person. Returns the shown card."""
    visit(page, address, path, name=name)
    expect(card(page)).to_be_visible()
    settle(page)
    return shown(page)


def said(page: Page) -> Locator:
    return page.locator(".hg-message")


def test_no_card_is_on_two_screens_and_a_closed_window_releases_its_card(
    address: str, home: Path, page: Page, chromium: Chromium
) -> None:
    with chromium.new_page() as other:
        left = come(other, address, "/review", "Ada")
        assert come(page, address, "/review", "Bert") != left
        for _ in range(2):
            press(other, "a")
            assert shown(page) != shown(other)
            press(page, "a")
            assert shown(page) != shown(other)
        left = shown(other)
        assert rows(home, LEASED) == [(uid,) for uid in sorted([left, shown(page)])]
    with chromium.new_page() as third:
        # The server learns a moment later that the browser has gone.
        def has_it() -> bool:
            third.context.clear_cookies()
            return come(third, address, "/review", "Lea") == left

        eventually(third, has_it)
        assert shown(third) != shown(page)


def test_accepting_and_rejecting_by_permalink_is_reported_to_both(
    address: str, home: Path, two: tuple[Page, Page]
) -> None:
    ada, bert = two
    uid = come(ada, address, "/review", "Ada")
    assert come(bert, address, f"/review?variant={uid}", "Bert") == uid
    expect(said(bert)).to_contain_text("Ada also has this card on screen.")
    press(ada, "a")
    bert.keyboard.press("1")
    expect(said(bert)).to_contain_text("Meanwhile, Ada had accepted it. Both decisions are stored.")
    assert rows(home, STATUS, uid) == [("conflict",)]
    assert rows(home, GIVEN, uid) == [("Ada", "accept", 0), ("Bert", "reject", 0)]
    settle(ada)
    ada.keyboard.press("g")
    expect(said(ada)).to_contain_text("rejected it (wrong type) after you. It is now in conflict.")


def test_a_lead_settles_by_keyboard_and_the_other_browser_shows_it(
    address: str, home: Path, two: tuple[Page, Page]
) -> None:
    ada, lea = two
    uid = come(ada, address, "/review", "Ada")
    press(ada, "a")
    come(ada, address, f"/review?variant={uid}", "Bert")
    press(ada, "1")
    come(ada, address, f"/review?variant={uid}", "Ada")
    expect(card(ada)).to_contain_text("In conflict. Ada accepted it. Bert rejected it (wrong type)")
    visit(lea, address, "/adjudicate", name="Lea")
    expect(lea.get_by_text("The remaining card is on another screen.")).to_be_visible()
    visit(ada, address, "/adjudicate", name="Ada")
    ada.get_by_role("radio", name="Settled").click()  # leaves the conflict to others
    expect(ada.get_by_text("No conflict has been settled yet.")).to_be_visible()
    lea.get_by_role("button", name="Check again").click()
    expect(card(lea)).to_have_attribute("data-variant", uid)
    settle(lea)
    lea.keyboard.press("2")
    eventually(lea, lambda: rows(home, STATUS, uid) == [("rejected",)])
    assert rows(home, GIVEN, uid)[-1] == ("Lea", "reject", 1)
    ada.get_by_role("radio", name="In conflict").click()
    expect(ada.get_by_text("No variant is in conflict.")).to_be_visible()
    ada.get_by_role("radio", name="Settled").click()
    expect(ada.locator(".hg-trail")).to_contain_text("settled it as rejected (not contradictory)")
    expect(ada.locator(".hg-trail")).to_contain_text("Lea")
