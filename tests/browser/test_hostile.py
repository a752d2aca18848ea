"""Hostile texts in Chromium: nothing runs, nothing is loaded, nothing breaks the layout."""

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from db.engine import writing
from tests.databases import Copies, opened
from tests.hostile import FOREIGN
from tests.hostile_project import fill

PAGES = sorted(path.stem for path in (Path(__file__).parents[2] / "pages").glob("*.py"))
WIDTHS = (1440, 800)

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
def watched(
    home: Path, copies: Copies, serve: Callable[[Path], str], page: Page
) -> Watched:
    with opened(copies.migrated(home / "hedgerow.db")) as engine, writing(engine) as session:
        fill(session)
    return Watched(page, serve(home))


def rows(home: Path, query: str) -> list[tuple[object, ...]]:
    with sqlite3.connect(home / "hedgerow.db") as connection:
        return connection.execute(query).fetchall()


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
