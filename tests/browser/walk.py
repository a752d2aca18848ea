"""Going through all pages of the app, each with all its parts, as somebody does who looks round."""

from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Locator, Page, expect

PAGES = sorted(path.stem for path in (Path(__file__).parents[2] / "pages").glob("*.py"))
WIDTHS = (1440, 800)
PATIENCE = 30
"""Tenths of a second that a page may take to follow its window."""

_CHART = "[data-testid=stVegaLiteChart]:visible"
_PARTS = ".stMain [role=tab], .stMain [role=radiogroup][aria-label=Section] [role=radio]"
_UNFOLD = """() => document.querySelectorAll('.stMain details:not([open]) > summary')
    .forEach(summary => summary.click())"""
_TOO_WIDE = """() => ['html', '.stMain', '[data-testid=stSidebarContent]'].filter(name => {
    const element = document.querySelector(name);
    return element && element.scrollWidth > element.clientWidth;
})"""
_HIDDEN = """() => [...document.querySelectorAll('h1, .hg-card, .stPageLink a')]
    .filter(element => !element.checkVisibility() && !element.closest('details, [role="tabpanel"]'))
    .map(element => element.outerHTML.slice(0, 200))"""


def sign_in(page: Page, address: str, name: str = "Ada") -> None:
    """Make it a browser in which somebody has signed in before."""
    page.context.add_cookies([{"name": "hedgerow_reviewer", "value": name, "url": address}])


def go(page: Page, address: str, path: str) -> None:
    """Open a page and wait until everything on it is drawn."""
    page.goto(f"{address}/{path}")
    settle(page)


def settle(page: Page) -> None:
    """Wait until the page has stopped running and its charts are drawn."""
    expect(page.locator("h1")).to_be_visible()
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")
    expect(page.get_by_test_id("stSkeleton")).to_have_count(0)
    for chart in page.locator(_CHART).all():
        expect(chart.locator("canvas, svg").first).to_be_attached()


def look_round(page: Page, address: str) -> Iterator[str]:
    """Open each page and each part of it with everything unfolded; gives what is open."""
    for name in PAGES:
        go(page, address, "" if name == "overview" else name)
        _unfold(page)
        yield name
        for part in page.locator(_PARTS).all()[1:]:
            part.click()
            _unfold(page)
            yield f"{name}, {part.inner_text()}"


def _unfold(page: Page) -> None:
    settle(page)
    page.evaluate(_UNFOLD)
    settle(page)


def hover_charts(page: Page) -> None:
    """Go over every chart, so that its tooltips are drawn."""
    for chart in page.locator(_CHART).all():
        _hover(page, chart)


def _hover(page: Page, chart: Locator) -> None:
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    assert box
    for share in (0.3, 0.5, 0.7):
        page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + box["height"] * share)
        page.wait_for_timeout(60)


def misfits(page: Page) -> list[str]:
    """What reaches beyond the window, or cannot be seen, in a wide window or in a narrow one."""
    found = []
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        found += [f"{width}: {what}" for what in _lasting_misfits(page)]
    page.set_viewport_size({"width": WIDTHS[0], "height": 900})
    return found


def _lasting_misfits(page: Page) -> list[str]:
    """What doesn't fit, but for a moment: charts follow the width of the window with a delay."""
    for _ in range(PATIENCE):
        page.wait_for_timeout(100)
        found: list[str] = [*page.evaluate(_TOO_WIDE), *page.evaluate(_HIDDEN)]
        if not found:
            break
    return found
