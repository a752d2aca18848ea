"""Adding anchors in Chromium: a file is previewed and added once; a renamed image is refused."""

import sqlite3
from pathlib import Path

from playwright.sync_api import Page, expect
from sqlalchemy import Engine
from sqlalchemy.engine import URL

from db.engine import create_engine, writing
from db.migrate import upgrade
from db.models import Anchor
from tests.browser.conftest import Share
from tests.browser.support.reviewing import rows, settle, visit
from tests.support.factories import add_anchor, add_family

HOSTILE = '<img src=x onerror="window.hacked=1">'
CSV = f"text,genre\nThe bridge is safe.,news\nIs it open?,news\n{HOSTILE} is **bold** here.,law\n"
PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"


def test_a_file_is_previewed_and_added_once(
    home: Path, share: Share, page: Page, tmp_path: Path
) -> None:
    engine = create_engine(URL.create("sqlite", database=str(home / "hedgerow.db")))
    upgrade(engine)
    engine.dispose()
    page.set_viewport_size({"width": 800, "height": 900})
    page.goto(share(home) + "/anchors?part=Add")
    chooser = page.locator("input[type=file]").first  # the next one is for variants
    image, table = tmp_path / "photo.csv", tmp_path / "**mine**.csv"
    image.write_bytes(PNG)
    table.write_text(CSV, "utf-8")
    chooser.set_input_files(image)
    message = page.get_by_text("photo.csv is a PNG image; choose another file.")
    expect(message).to_be_visible()
    chooser.set_input_files(table)
    button = page.get_by_role("button", name="Add 2 anchors")
    expect(button).to_be_visible()
    expect(message).not_to_be_visible()
    expect(page.get_by_text("Suspicious 1", exact=True)).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 800
    button.dblclick()
    expect(page.get_by_text("Added 2 anchors from the source '**mine**'.")).to_be_visible()
    page.get_by_role("button", name="Browse anchors").click()
    expect(page.get_by_role("tab", name="Browse")).to_have_attribute("aria-selected", "true")
    expect(page.get_by_text("2 anchors.")).to_be_visible()
    assert page.evaluate("window.hacked") is None
    with sqlite3.connect(home / "hedgerow.db") as connection:
        texts = [text for (text,) in connection.execute("SELECT text FROM anchor_revision")]
    assert texts == ["The bridge is safe.", f"{HOSTILE} is **bold** here."]


def test_a_very_long_word_does_not_widen_a_page(
    project: Engine, home: Path, share: Share, page: Page
) -> None:
    with writing(project) as session:
        family = add_family(session, f"The {'donaudampf' * 30} is safe.")
        uid = session.get_one(Anchor, family["verbal"].anchor_id).uid
        card = family["verbal"].uid
    address = share(home)
    for place in (f"/anchors?anchor={uid}", f"/review?variant={card}"):
        visit(page, address, place)
        for width in (1440, 800):
            page.set_viewport_size({"width": width, "height": 900})
            expect(page.locator(".hg-text").filter(has_text="donaudampf").first).to_be_visible()
            expect(page.get_by_test_id("stApp")).to_have_css("width", f"{width}px")
            settle(page)
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            wider = "e => e.scrollWidth > e.clientWidth + 1"
            main = page.get_by_test_id("stMain")
            assert not main.evaluate(wider), place


def tick(page: Page, row: int) -> None:
    """Click the box of a row. The table is a canvas."""
    box = page.get_by_test_id("stDataFrame").locator("canvas").first.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + 18, box["y"] + 52 + 35 * row)
    page.wait_for_timeout(500)
    settle(page)


def test_a_selected_anchor_stays_selected_and_is_retired(
    project: Engine, home: Path, share: Share, page: Page
) -> None:
    with writing(project) as session:
        for what in ("kettle", "ladder", "lamp"):
            add_anchor(session, f"The {what} is new.")
    visit(page, share(home), "/anchors?show=Without+variants")
    expect(page.get_by_text("3 anchors.", exact=True)).to_be_visible()
    settle(page)
    page.keyboard.press("/")
    expect(page.get_by_placeholder("Part of a sentence, or a uid")).to_be_focused()
    tick(page, 0)
    page.get_by_text("Write a variant", exact=True).click()
    page.get_by_label("Your variant").fill("The kettle isn't new.")
    page.get_by_role("button", name="Add and accept").click()
    expect(page.get_by_text("2 anchors.", exact=True)).to_be_visible()
    settle(page)
    page.get_by_role("button", name="Retire", exact=True).click()
    expect(
        page.get_by_text("Retired. The anchor and its variants are no longer in use")
    ).to_be_visible()
    retired = (
        "SELECT r.text FROM anchor a JOIN anchor_revision r ON r.anchor_id = a.id"
        " WHERE a.retired_at IS NOT NULL ORDER BY a.id"
    )
    assert rows(home, retired) == [("The kettle is new.",)]
    settle(page)
    tick(page, 0)
    tick(page, 1)
    page.get_by_role("button", name="Retire").click()
    expect(page.get_by_text("2 anchors and their variants retired.")).to_be_visible()
    assert len(rows(home, retired)) == 3
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("2 anchors restored.")).to_be_visible()
    assert rows(home, retired) == [("The kettle is new.",)]
