"""Failures in a real browser: killed and restarted servers, two windows, a missing database."""

import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import Engine
from sqlmodel import Session

from curation.review import actions
from db.engine import writing
from tests.browser.conftest import Share
from tests.browser.support.app import App, let_measuring_wait
from tests.browser.support.chromium import Chromium
from tests.browser.support.reviewing import card, rows, shown, visit
from tests.support.databases import Copies, Fill, opened
from tests.support.factories import add_family, person

DELAYS_MS = (0, 50, 130)
"""Times from a key press to killing the server: before, while and after the decision is stored."""


@pytest.fixture
def engine(copies: Copies, home: Path, fill: Fill) -> Iterator[Engine]:
    """Twenty families, and two people."""

    def made(session: Session) -> None:
        for number in range(20):
            add_family(session, f"The bridge number {number} is safe.")
        person(session, "Ada")
        person(session, "Bert")
        let_measuring_wait(session)

    with opened(copies.project(home / "hedgerow.db")) as engine:
        fill(engine, made)
        yield engine


@pytest.fixture
def server(home: Path, engine: Engine) -> Iterator[App]:
    """An app that can be killed."""
    app = App(home)
    app.start()
    yield app
    app.end()


def wait_for_card(page: Page) -> str:
    """Wait until a card accepts keys. Returns its variant's uid."""
    expect(card(page)).to_be_visible()
    page.wait_for_timeout(400)
    return shown(page)


def press_until(page: Page, key: str, seen: Callable[[], bool]) -> None:
    """Press a key repeatedly: on a busy machine, a card may be visible before it accepts keys."""
    for _ in range(20):
        page.keyboard.press(key)
        for _ in range(15):
            if seen():
                return
            page.wait_for_timeout(100)
    pytest.fail(f"the key {key} had no effect")


DECIDED = """SELECT v.uid, r.name, d.verdict FROM decision d JOIN variant v ON v.id = d.variant_id
JOIN reviewer r ON r.id = d.reviewer_id ORDER BY d.id"""


PRESSED = """() => {
  window.pressed = [];
  window.addEventListener("keydown",
    () => window.pressed.push(document.querySelector("article.hg-card").dataset.variant), true);
}"""
"""Record which card was shown at each key press. A query before the press may see another card."""


@pytest.mark.slow
def test_a_permalink_works_after_a_restart_and_a_killed_server_loses_no_decision(
    server: App, home: Path, page: Page
) -> None:
    """Either the decision is stored or its card appears again: never neither, never both."""
    asked: list[str] = []
    page.on("request", hear := lambda request: asked.append(request.url))
    (uid,) = rows(home, "SELECT uid FROM variant WHERE type_id = 'lexical' LIMIT 1 OFFSET 7")[0]
    visit(page, server.address, f"/review?variant={uid}")
    expect(card(page)).to_have_attribute("data-variant", str(uid))
    # The first visitor follows a deep link. Streamlit must not run the page without app.py.
    expect(page.get_by_test_id("stSidebarNavLink").first).to_be_visible()
    assert [url for url in asked if not url.startswith((server.address, "data:", "blob:"))] == []
    page.remove_listener("request", hear)
    page.goto(server.address + "/review")
    stored = []
    for delay in DELAYS_MS:
        uid = wait_for_card(page)
        page.keyboard.press("a")
        time.sleep(delay / 1000)
        server.end(signal.SIGKILL)
        stored.append((uid, "Ada", "accept") in rows(home, DECIDED))
        status = rows(home, "SELECT status FROM variant WHERE uid = ?", uid)
        assert status == [("accepted" if stored[-1] else "pending",)]
        server.start()
        page.goto(server.address + "/review")
        assert (wait_for_card(page) != uid) is stored[-1]
    assert len(rows(home, DECIDED)) == sum(stored)


def test_a_page_left_open_during_a_restart_decides_only_what_it_shows(
    server: App, engine: Engine, home: Path, page: Page
) -> None:
    """As after closing the laptop. Meanwhile, somebody else has decided on the card."""
    visit(page, server.address, "/review")
    uid = wait_for_card(page)
    server.end(signal.SIGKILL)
    with writing(engine) as session:
        variant = actions.find_variant(session, uid)
        actions.accept(session, actions.shown(variant), reviewer_id=person(session, "Bert"))
    page.keyboard.press("a")  # no browser is connected
    server.start()
    page.evaluate(PRESSED)
    for _ in range(60):
        page.keyboard.press("a")
        page.wait_for_timeout(500)
        mine = [row for row in rows(home, DECIDED) if row[1] == "Ada"]
        if len(mine) >= 2:
            break
    decided = [str(uid) for uid, _, _ in mine]
    assert len(decided) >= 2, "the page did not find its way back"
    assert len(set(decided)) == len(decided)
    assert set(decided) <= set(page.evaluate("window.pressed"))
    assert rows(home, "SELECT count(*) FROM decision WHERE shown_at IS NULL") == [(1,)]  # Bert's
    late = "SELECT count(*) FROM decision WHERE julianday(decided_at) - julianday(shown_at) < 2e-6"
    assert rows(home, late) == [(0,)]


def test_with_two_windows_on_one_variant_the_second_hears_of_the_first(
    engine: Engine, home: Path, share: Share, page: Page, chromium: Chromium
) -> None:
    address = share(home)
    visit(page, address, "/review")
    uid = wait_for_card(page)
    with chromium.page() as other:
        visit(other, address, f"/review?variant={uid}", name="Bert")
        assert wait_for_card(other) == uid
        press_until(page, "a", lambda: (uid, "Ada", "accept") in rows(home, DECIDED))
        press_until(other, "1", lambda: (uid, "Bert", "reject") in rows(home, DECIDED))
        expect(other.locator(".hg-message")).to_contain_text("Meanwhile, Ada had accepted it")
    decided = [(name, verdict) for found, name, verdict in rows(home, DECIDED) if found == uid]
    assert decided == [("Ada", "accept"), ("Bert", "reject")]
    assert rows(home, "SELECT status FROM variant WHERE uid = ?", uid) == [("conflict",)]
    page.goto(f"{address}/review?variant={uid}")
    assert wait_for_card(page) == uid
    page.get_by_role("button", name="Details").click()
    history = page.locator(".st-key-details")
    expect(history).to_contain_text("Ada")
    expect(history).to_contain_text("Bert")


def test_an_unreachable_database_is_reported_in_one_sentence(
    engine: Engine, home: Path, share: Share, page: Page
) -> None:
    visit(page, share(home), "/review")
    uid = wait_for_card(page)
    (home / "hedgerow.db").rename(home / "away.db")
    message = page.get_by_text("no longer exists; restore it").first
    press_until(page, "a", message.is_visible)
    expect(page.get_by_test_id("stException")).to_have_count(0)
    expect(page.get_by_role("link", name="Release & export")).to_be_visible()
    assert not (home / "hedgerow.db").exists()
    (home / "away.db").rename(home / "hedgerow.db")
    page.get_by_role("button", name="Try again").first.click()
    assert wait_for_card(page) == uid
    press_until(page, "a", lambda: (uid, "Ada", "accept") in rows(home, DECIDED))


def test_a_theme_survives_a_reload_and_applies_to_every_page(
    engine: Engine, home: Path, share: Share, page: Page
) -> None:
    address = share(home)
    visit(page, address, "/settings")
    page.get_by_role("radio", name="Dark").or_(page.get_by_text("Dark", exact=True)).first.click()
    expect(page.get_by_test_id("stApp")).to_have_css("background-color", "rgb(23, 29, 24)")
    for path in ("/release", "/"):
        page.goto(address + path)
        expect(page.get_by_test_id("stApp")).to_have_css("background-color", "rgb(23, 29, 24)")
