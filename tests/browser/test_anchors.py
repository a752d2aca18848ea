"""Adding anchors in Chromium: a file is looked at, then added once; a renamed image is refused."""

import sqlite3
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, expect
from sqlalchemy.engine import URL

from db.engine import create_engine
from db.migrate import upgrade

HOSTILE = '<img src=x onerror="window.hacked=1">'
CSV = f"text,genre\nThe bridge is safe.,news\nIs it open?,news\n{HOSTILE} is **bold** here.,law\n"
PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"


def test_a_file_is_looked_at_and_added_once(
    home: Path, share: Callable[[Path], str], page: Page, tmp_path: Path
) -> None:
    engine = create_engine(URL.create("sqlite", database=str(home / "hedgerow.db")))
    upgrade(engine)
    engine.dispose()
    page.set_viewport_size({"width": 800, "height": 900})
    page.goto(share(home) + "/anchors?part=Add")
    chooser = page.locator("input[type=file]")
    image, table = tmp_path / "photo.csv", tmp_path / "**mine**.csv"
    image.write_bytes(PNG)
    table.write_text(CSV, "utf-8")
    chooser.set_input_files(image)
    told = page.get_by_text("photo.csv is a PNG image; choose another file.")
    expect(told).to_be_visible()
    chooser.set_input_files(table)
    button = page.get_by_role("button", name="Add 2 anchors")
    expect(button).to_be_visible()
    expect(told).not_to_be_visible()
    expect(page.get_by_text("Suspicious 1", exact=True)).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 800
    button.dblclick()
    expect(page.get_by_text("Added 2 anchors of the source '**mine**'.")).to_be_visible()
    page.get_by_role("button", name="Browse them").click()
    expect(page.get_by_role("tab", name="Browse")).to_have_attribute("aria-selected", "true")
    expect(page.get_by_text("2 anchors.")).to_be_visible()
    assert page.evaluate("window.hacked") is None
    with sqlite3.connect(home / "hedgerow.db") as connection:
        texts = [text for (text,) in connection.execute("SELECT text FROM anchor_revision")]
    assert texts == ["The bridge is safe.", f"{HOSTILE} is **bold** here."]
