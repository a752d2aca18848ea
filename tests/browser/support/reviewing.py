"""Actions of a reviewer on the review page."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.support.chromium import PATIENCE_MS

SLOW_LINE = """
const Socket = window.WebSocket;
window.WebSocket = class extends Socket {
  addEventListener(type, listener, ...more) {
    const late = type === "message" ? (event) => setTimeout(() => listener(event), 600) : listener;
    super.addEventListener(type, late, ...more);
  }
};"""
"""Everything that the server sends arrives 600 ms later."""


def visit(page: Page, address: str, path: str, *, name: str = "Ada") -> None:
    """Open a page in a browser in which somebody has signed in before."""
    page.context.add_cookies([{"name": "hedgerow_reviewer", "value": name, "url": address}])
    page.goto(address + path)


def card(page: Page) -> Locator:
    return page.locator("article.hg-card").first


def shown(page: Page) -> str:
    return card(page).get_attribute("data-variant") or ""


def settle(page: Page) -> None:
    """Wait until the page has its buttons and its card accepts keys."""
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")
    expect(page.get_by_test_id("stSkeleton")).to_have_count(0)
    expect(page.locator("[class*=st-key-] button:visible, input:visible").first).to_be_visible()
    page.wait_for_timeout(400)


def press(page: Page, key: str) -> None:
    """Press a key and wait for another card."""
    before = shown(page)
    page.keyboard.press(key)
    expect(card(page)).not_to_have_attribute("data-variant", before)
    settle(page)


def choose(page: Page, what: str, label: str) -> None:
    """Choose a queue, type, order or view with the mouse: open its list, and click the entry."""
    page.get_by_role("button", name=f"{what}: ").click()
    page.get_by_role("radiogroup", name=what).get_by_role("radio", name=label).click()


def rows(home: Path, query: str, *values: object) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(home / "hedgerow.db")) as connection:
        return connection.execute(query, values).fetchall()


def editor(page: Page, key: str, label: str) -> Locator:
    """Open an editor and wait until its field accepts text."""
    page.keyboard.press(key)
    box = page.get_by_label(label)
    expect(box).to_be_focused()
    settle(page)
    return box


def eventually(page: Page, condition: Callable[[], bool]) -> None:
    """Wait until the result of a key press is stored."""
    for _ in range(PATIENCE_MS // 100):
        if condition():
            return
        page.wait_for_timeout(100)
    pytest.fail(f"it was not stored within {PATIENCE_MS} ms")
