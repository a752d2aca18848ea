"""Working at the desk of the review page, as a person does."""

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect


def visit(page: Page, address: str, path: str) -> None:
    """Open a page in a browser in which Ada has signed in before."""
    page.context.add_cookies([{"name": "hedgerow_reviewer", "value": "Ada", "url": address}])
    page.goto(address + path)


def card(page: Page) -> Locator:
    return page.locator("article.hg-card").first


def shown(page: Page) -> str:
    return card(page).get_attribute("data-variant") or ""


def settle(page: Page) -> None:
    """Wait until the page is drawn, buttons and all, and then as long as a card takes no key."""
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
    """Choose a queue, type, order or view with the mouse: open its list, and click on it."""
    page.get_by_role("button", name=f"{what}: ").click()
    page.get_by_role("radiogroup", name=what).get_by_role("radio", name=label).click()


def rows(home: Path, query: str) -> list[tuple[object, ...]]:
    with sqlite3.connect(home / "hedgerow.db") as connection:
        return connection.execute(query).fetchall()


def editor(page: Page, key: str, label: str) -> Locator:
    """Open an editor and wait, as a person does, until one can write in it."""
    page.keyboard.press(key)
    box = page.get_by_label(label)
    expect(box).to_be_focused()
    settle(page)
    return box


def eventually(page: Page, condition: Callable[[], bool]) -> None:
    """Wait for what a key press shall have stored."""
    for _ in range(100):
        if condition():
            return
        page.wait_for_timeout(100)
    pytest.fail("it was not stored within ten seconds")
