"""Hostile texts in Chromium: nothing runs, nothing is loaded, nothing breaks the layout."""

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from db.engine import writing
from tests.databases import Copies, opened
from tests.hostile import FOREIGN, stored
from tests.hostile_project import fill

PAGES = sorted(path.stem for path in (Path(__file__).parents[2] / "pages").glob("*.py"))
WIDTHS = (1440, 800)

EDITED = ("script", "latex", "bidirectional", "quoted formula")
"""Names of texts that an editor is opened for and saved unchanged."""

# What a text would have made if it had been read as HTML, Markdown or LaTeX.
MADE = f"""() => [...document.querySelectorAll(
    '[href*="{FOREIGN}"], [src*="{FOREIGN}"], [href^="javascript:"], [srcdoc], base, mglyph, '
    + 'meta[http-equiv="refresh"], body link[rel="stylesheet"], .katex, '
    + '.stMarkdownColoredText, [formaction], .hg-card script, .hg-card style'
)].map(element => element.outerHTML.slice(0, 200))"""
TOO_WIDE = """() => ['html', '.stMain', '[data-testid=stSidebarContent]'].filter(name => {
    const element = document.querySelector(name);
    return element && element.scrollWidth > element.clientWidth;
})"""
HIDDEN = """() => [...document.querySelectorAll('h1, .hg-card, .stPageLink a')]
    .filter(element => !element.checkVisibility() && !element.closest('details, [role="tabpanel"]'))
    .map(element => element.outerHTML.slice(0, 200))"""

CHART = "[data-testid=stVegaLiteChart]:visible"
PARTS = ".stMain [role=tab], .stMain [role=radiogroup][aria-label=Section] [role=radio]"
OPEN_ALL = """() => document.querySelectorAll('.stMain details:not([open]) > summary')
    .forEach(summary => summary.click())"""


class Watched:
    """A page on which everything is noted that a text must not be able to do."""

    def __init__(self, page: Page, address: str) -> None:
        self.page, self.address = page, address
        self.seen: list[str] = []
        page.context.add_cookies([{"name": "hedgerow_reviewer", "value": "Ada", "url": address}])
        page.on("request", lambda request: self._asked(request.url))
        page.on("dialog", lambda dialog: (self.seen.append(dialog.message), dialog.dismiss()))
        page.on("pageerror", lambda error: self.seen.append(str(error)))
        page.on("framenavigated", lambda frame: self._asked(frame.url))

    def _asked(self, url: str) -> None:
        if not url.startswith((self.address, "data:", "blob:", "about:")):
            self.seen.append(url)

    def open(self, path: str) -> None:
        """Open a page and wait until everything on it is drawn."""
        self.page.goto(f"{self.address}/{path}")
        self.settle()

    def settle(self) -> None:
        """Wait until the page has stopped running and its charts are drawn."""
        expect(self.page.locator("h1")).to_be_visible()
        expect(self.page.get_by_test_id("stApp")).to_have_attribute(
            "data-test-script-state", "notRunning"
        )
        expect(self.page.get_by_test_id("stSkeleton")).to_have_count(0)
        for chart in self.page.locator(CHART).all():
            expect(chart.locator("canvas, svg").first).to_be_attached()

    def check(self) -> None:
        """Nothing ran, nothing was loaded, and the page is as wide as the window."""
        for width in WIDTHS:
            self.page.set_viewport_size({"width": width, "height": 900})
            self.page.wait_for_timeout(150)  # charts follow the width
            assert self.page.evaluate(TOO_WIDE) == [], (self.page.url, width)
            assert self.page.evaluate(HIDDEN) == [], (self.page.url, width)
        assert self.page.evaluate(MADE) == [], self.page.url
        assert self.page.evaluate("window.hacked") is None
        assert self.seen == []


@pytest.fixture
def watched(home: Path, copies: Copies, serve: Callable[[Path], str], page: Page) -> Watched:
    with opened(copies.migrated(home / "hedgerow.db")) as engine, writing(engine) as session:
        fill(session)
    return Watched(page, serve(home))


def rows(home: Path, query: str, *values: str) -> list[tuple[str, ...]]:
    with sqlite3.connect(home / "hedgerow.db") as connection:
        return connection.execute(query, values).fetchall()


def hover(watched: Watched, chart: Locator) -> None:
    """Go over a chart, so that its tooltips are drawn."""
    box = chart.bounding_box()
    assert box
    for share in (0.3, 0.5, 0.7):
        watched.page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + box["height"] * share)
        watched.page.wait_for_timeout(60)


def look_at_all(watched: Watched) -> None:
    """Open whatever is folded, go over every chart, and check."""
    watched.settle()
    watched.page.evaluate(OPEN_ALL)
    watched.settle()
    for chart in watched.page.locator(CHART).all():
        chart.scroll_into_view_if_needed()
        hover(watched, chart)
    watched.check()


def test_no_page_takes_a_text_for_more_than_text(watched: Watched, home: Path) -> None:
    for name in PAGES:
        watched.open("" if name == "overview" else name)
        look_at_all(watched)
        for part in watched.page.locator(PARTS).all()[1:]:
            part.click()
            look_at_all(watched)


def open_card(watched: Watched, uid: str) -> None:
    """Open a variant by its permalink and wait as long as a card takes no key."""
    watched.open(f"review?variant={uid}")
    expect(watched.page.locator("article.hg-card").first).to_have_attribute("data-variant", uid)
    watched.page.wait_for_timeout(400)


def test_every_text_is_shown_and_edited_as_it_is_stored(watched: Watched, home: Path) -> None:
    first_ones = "SELECT uid FROM variant WHERE type_id = 'verbal' AND status = 'accepted'"
    shown = []
    for (uid,) in rows(home, first_ones + " ORDER BY id"):
        open_card(watched, uid)
        watched.page.keyboard.press("g")  # its siblings, their notes and history
        siblings = watched.page.locator(".hg-siblings .hg-text")
        expect(siblings.first).to_be_visible()
        shown += watched.page.locator(
            ".hg-variant .hg-text, .hg-siblings .hg-text"
        ).all_text_contents()
        watched.check()
    assert sorted(shown) == sorted(stored().values())
    for text in EDITED:
        query = "SELECT uid FROM variant WHERE text = ?"
        (uid,) = rows(home, query, stored()[text])[0]
        open_card(watched, uid)
        watched.page.keyboard.press("e")
        box = watched.page.get_by_label("New wording")
        expect(box).to_have_value(stored()[text])
        watched.page.wait_for_timeout(400)
        box.press("Control+Enter")
        expect(watched.page.locator(".hg-message")).not_to_be_empty()
    watched.check()
    texts = [text for (text,) in rows(home, "SELECT text FROM variant WHERE length(text) < 9999")]
    assert sorted(texts) == sorted(stored().values())
