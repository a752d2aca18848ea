"""The Generate page in Chromium with a chat server: a trial, the run, a pause, the first review."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import select

from curation.project.opening import open_project
from db.engine import reading, writing
from db.models import Decision, ModelCall, Source, Variant
from db.settings import Settings
from tests.browser.conftest import Share
from tests.browser.support.app import let_measuring_wait
from tests.browser.support.walk import go, settle, sign_in
from tests.support.factories import add_anchor, person
from tests.support.generating import Serve
from tests.support.generating import serve_chat as serve_chat

ANCHORS = 60
KEY = "sk-typed-in-7d1f"


@pytest.fixture
def anchors(home: Path) -> None:
    """Anchors without variants, and a reviewer."""
    engine = open_project(Settings(home=home, database_url=""))
    with writing(engine) as session:
        session.add(Source(id=1, name="test"))
        person(session)
        for number in range(ANCHORS):
            add_anchor(session, f"The bridge number {number} is safe.")
        let_measuring_wait(session)
    engine.dispose()


def test_a_trial_a_run_a_pause_and_the_first_review(
    anchors: None, home: Path, share: Share, serve_chat: Serve, page: Page
) -> None:
    chat, server = serve_chat(delay=0.3, key=KEY)
    address = share(home)
    sign_in(page, address)
    go(page, address, "generate")
    model = page.get_by_role("combobox", name="Model")
    model.fill("fake")
    model.press("Enter")
    settle(page)
    box = page.get_by_role("textbox", name="Address")
    box.fill(chat)
    box.press("Enter")
    key = page.locator("input[type=password]")
    # A key belongs to the address that is entered at the time.
    expect(key).to_have_attribute("placeholder", "Usually not needed for your own server")
    settle(page)
    key.fill(KEY)
    key.press("Enter")
    expect(page.get_by_text("API key: entered for this session and this address.")).to_be_visible()
    expect(key).to_have_count(0)
    settle(page)
    page.get_by_text("Temperature, concurrency, batches").click()
    pace = page.get_by_role("spinbutton", name="Concurrent calls")
    pace.fill("2")
    pace.press("Enter")
    expect(page.get_by_text("not known yet")).to_be_visible()
    page.get_by_role("button", name="Try on three anchors").click()
    expect(page.get_by_role("heading", name="Trial")).to_be_visible()
    expect(page.get_by_text("By verbal it is not so that").first).to_be_visible()
    expect(page.get_by_text(f"{ANCHORS - 3} anchors, {2 * ANCHORS - 6} calls")).to_be_visible()
    assert KEY not in page.content()

    page.get_by_role("button", name="Start", exact=True).click()
    expect(page.get_by_text(re.compile("requests sent · .* in the last minute"))).to_be_visible()
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_text(re.compile("^Paused"))).to_be_visible()
    settle(page)
    server.delay = 0.0
    page.get_by_role("button", name="Resume").click()
    # The run measures what it wrote before it ends, which takes a minute on a busy machine.
    expect(page.get_by_text("Nothing to generate")).to_be_visible(timeout=120_000)
    assert set(server.asked.values()) == {1} and len(server.asked) == 2 * ANCHORS

    page.get_by_text("Results", exact=True).click()
    page.get_by_role("button", name="Review variants").click()
    expect(page.get_by_role("article", name="Variant")).to_be_visible()
    expect(page.locator(".st-key-keyboard")).to_be_attached()  # the keys come after the card
    page.wait_for_timeout(500)
    page.keyboard.press("a")
    engine = open_project(Settings(home=home, database_url=""))
    for _ in range(50):
        with reading(engine) as session:
            if session.execute(select(Decision)).first():
                break
        page.wait_for_timeout(100)
    with reading(engine) as session:
        assert len(session.execute(select(Decision)).all()) == 1
        assert len(session.execute(select(Variant)).all()) == 6 * ANCHORS
        assert len(session.execute(select(ModelCall)).all()) == 2 * ANCHORS
    engine.dispose()
    for file in home.rglob("*"):
        if file.is_file():
            assert KEY.encode() not in file.read_bytes(), file
