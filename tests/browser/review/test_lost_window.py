"""A window that is lost with its server: the next one shows its card and the typed text."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import Engine

from tests.browser.support.app import App
from tests.browser.support.chromium import Chromium
from tests.browser.support.reviewing import editor, eventually, press, rows, settle, shown, visit

DRAFTS = "SELECT count(*) FROM draft WHERE fields LIKE '%{}%'"


@pytest.fixture
def app(project: Engine, home: Path) -> Iterator[App]:
    """An app that a test may kill."""
    app = App(home)
    try:
        app.start()
        yield app
    finally:
        app.end()


def kept(home: Path, text: str) -> bool:
    return rows(home, DRAFTS.format(text)) == [(1,)]


def test_after_the_server_was_killed_another_browser_shows_the_card_and_what_was_typed(
    app: App, page: Page, chromium: Chromium, home: Path
) -> None:
    visit(page, app.address, "/review?type=Affixal+negation&order=Random")
    settle(page)
    press(page, "a")
    here = shown(page)
    box = editor(page, "e", "New wording")
    box.fill("The bridge is far from")
    eventually(page, lambda: kept(home, "far from"))
    page.goto("about:blank")  # otherwise it would reconnect and continue
    app.end(signal.SIGKILL)
    app.start()
    with chromium.page() as other:
        visit(other, app.address, "/review")
        box = other.get_by_label("New wording")
        expect(box).to_have_value("The bridge is far from")
        assert shown(other) == here
        expect(other.get_by_role("button", name="Type: Affixal negation")).to_be_visible()
        box.fill("The bridge is far from safe.")
        other.keyboard.press("Control+Enter")
        expect(
            other.locator(".hg-checks.hg-asked")
        ).to_be_visible()  # it asks for a confirmation first
        settle(other)
        other.keyboard.press("Control+Enter")
        expect(box).not_to_be_visible()
        eventually(other, lambda: rows(home, "SELECT count(*) FROM draft") == [(0,)])


def test_a_window_left_open_during_a_restart_reconnects(app: App, page: Page, home: Path) -> None:
    visit(page, app.address, "/review")
    settle(page)
    press(page, "a")
    here = shown(page)
    editor(page, "e", "New wording").fill("The bridge is far from")
    eventually(page, lambda: kept(home, "far from"))
    app.end(signal.SIGKILL)
    app.start()
    eventually(page, lambda: len(rows(home, "SELECT window FROM review_position")) == 1)
    expect(page.get_by_label("New wording")).to_have_value("The bridge is far from")
    assert shown(page) == here


@pytest.mark.parametrize(
    ("keys", "label"), [(("n",), "Note on this variant"), (("x", "1"), "Note")]
)
def test_an_unfinished_note_survives_a_restart(
    keys: tuple[str, ...], label: str, app: App, page: Page, chromium: Chromium, home: Path
) -> None:
    visit(page, app.address, "/review")
    settle(page)
    for key in keys:
        page.keyboard.press(key)
        settle(page)
    page.get_by_label(label).fill("a bridge, of all things")
    eventually(page, lambda: kept(home, "of all things"))
    page.goto("about:blank")  # otherwise it would reconnect and continue
    app.end(signal.SIGKILL)
    app.start()
    with chromium.page() as other:
        visit(other, app.address, "/review")
        box = other.get_by_role("textbox", name=label)
        expect(box).to_have_value("a bridge, of all things")
        settle(other)
        other.keyboard.press("Control+Enter")
        expect(box).not_to_be_visible()
        eventually(other, lambda: rows(home, "SELECT count(*) FROM draft") == [(0,)])
