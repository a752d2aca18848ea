"""Visits all pages of the app, with all of their sections."""

from collections.abc import Iterator

from playwright.sync_api import Page, expect

from tests.support.checkout import ROOT

PAGES = sorted(path.stem for path in (ROOT / "pages").glob("*.py"))
ADDRESSES = {"overview": "", "compare": "compare?set=Own+probes"}
"""Addresses of pages whose path is not their name, or that show more under another address."""

WIDTHS = (1440, 800)
PATIENCE = 30
"""Tenths of a second that a page may take to adapt to its window."""

_VISIBLE = """[...document.querySelectorAll('[data-testid=stVegaLiteChart]')]
    .filter(chart => chart.checkVisibility())"""
_DRAWN = f"() => {_VISIBLE}.every(chart => chart.querySelector('canvas, svg'))"
_BOX = f"""index => {{
    const chart = {_VISIBLE}[index];
    chart?.scrollIntoView({{block: 'center'}});
    return chart?.getBoundingClientRect().toJSON();
}}"""
_STILL = "* { transition: none !important; animation: none !important }"
"""Switches off transitions, so that no colour is measured halfway."""

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
    """Prepare a browser in which somebody has signed in before."""
    page.context.add_cookies([{"name": "hedgerow_reviewer", "value": name, "url": address}])


def go(page: Page, address: str, path: str) -> None:
    """Open a page and wait until it is complete."""
    page.goto(f"{address}/{path}")
    page.add_style_tag(content=_STILL)
    settle(page)


def go_on(page: Page, address: str, path: str) -> None:
    """The same with a link in the sidebar, if there is one and a page is already open."""
    link = page.locator(f"[data-testid=stSidebarNavLink][href='{address}/{path}']")
    if not page.url.startswith(address) or link.count() != 1:
        go(page, address, path)
        return
    before = page.locator("h1").inner_text()
    link.click()
    expect(page.locator("h1")).not_to_have_text(before)  # each page has its own title
    settle(page)


def settle(page: Page) -> None:
    """Wait until the page has stopped running and its charts are drawn."""
    expect(page.locator("h1")).to_be_visible()
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")
    expect(page.get_by_test_id("stSkeleton")).to_have_count(0)
    page.wait_for_function(_DRAWN)


def look_round(page: Page, address: str) -> Iterator[str]:
    """Open each page and each of its sections with everything expanded. Yields what is open."""
    for name in PAGES:
        go_on(page, address, ADDRESSES.get(name, name))
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
    """Move the mouse over every chart, to show its tooltips. A chart may be drawn again
    meanwhile."""
    index = 0
    while box := page.evaluate(_BOX, index):
        for share in (0.3, 0.5, 0.7):
            page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + box["height"] * share)
            page.wait_for_timeout(60)
        index += 1


def misfits(page: Page) -> list[str]:
    """Elements that exceed the window or cannot be seen, in a wide or a narrow window."""
    found = []
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        found += [f"{width}: {what}" for what in _lasting_misfits(page)]
    page.set_viewport_size({"width": WIDTHS[0], "height": 900})
    return found


def _lasting_misfits(page: Page) -> list[str]:
    """Elements that do not fit. Short-lived ones are ignored, because charts adapt with a delay."""
    for _ in range(PATIENCE):
        page.wait_for_timeout(100)
        found: list[str] = [*page.evaluate(_TOO_WIDE), *page.evaluate(_HIDDEN)]
        if not found:
            break
    return found
