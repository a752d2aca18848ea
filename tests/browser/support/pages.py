"""Actions of a person in front of a page, and what does not fit there or cannot be used."""

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Error, FloatRect, Locator, Page, expect

from tests.browser.support.chromium import PATIENCE_MS
from tests.support.checkout import ROOT

PAGES = sorted(path.stem for path in (ROOT / "pages").glob("*.py"))
ADDRESSES = {"overview": "", "compare": "compare?set=Own+probes"}
"""Addresses of pages whose path is not their name, or that show more under another address."""


_BOX = """index => {
    const chart = [...document.querySelectorAll('[data-testid=stVegaLiteChart]')]
        .filter(chart => chart.checkVisibility())[index];
    chart?.scrollIntoView({block: 'center'});
    return chart?.getBoundingClientRect().toJSON();
}"""
_PARTS = ".stMain [role=tab], .stMain [role=radiogroup][aria-label=Section] [role=radio]"
_UNFOLD = """() => document.querySelectorAll('.stMain details:not([open]) > summary')
    .forEach(summary => summary.click())"""
_MISFITS = """() => [
    ...['html', '.stMain', '[data-testid=stSidebarContent]'].filter(name => {
        const element = document.querySelector(name);
        return element && element.scrollWidth > element.clientWidth;
    }),
    ...[...document.querySelectorAll('h1, .hg-card, .stPageLink a')]
        .filter(e => !e.checkVisibility() && !e.closest('details, [role="tabpanel"]'))
        .map(e => e.outerHTML.slice(0, 200)),
]"""
"""Elements that are wider than their place, or that cannot be seen."""

_REPORT = {"resultTypes": ["violations"]}
REPORTED = {"serious", "critical", "heading-order"}
"""Impacts, and a rule that axe considers less than serious, but that screen-reader users need for
navigation."""

_DRAWN = """() => [...document.querySelectorAll('[data-testid=stVegaLiteChart]')]
    .filter(chart => chart.checkVisibility()).every(chart => chart.querySelector('canvas, svg'))"""
_STILL = "* { transition: none !important; animation: none !important }"
"""Switches off transitions, so that no colour or place is measured halfway."""


def go(page: Page, address: str) -> None:
    """Open a page and wait until it is complete."""
    page.goto(address)
    page.add_style_tag(content=_STILL)
    settle(page)


def settle(page: Page) -> None:
    """Wait until the page has stopped running, its charts are drawn and its card accepts keys."""
    expect(page.locator("h1").first).to_be_visible()
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")
    expect(page.get_by_test_id("stSkeleton")).to_have_count(0)
    page.wait_for_function(_DRAWN)
    expect(page.locator("[class*=st-key-] button:visible, input:visible").first).to_be_visible()
    page.wait_for_timeout(400)


def visit(page: Page, address: str, path: str, *, name: str = "Ada") -> None:
    """Open a page in a browser in which somebody has signed in before."""
    page.context.add_cookies([{"name": "hedgerow_reviewer", "value": name, "url": address}])
    go(page, address + path)


def come(page: Page, address: str, path: str = "/review", *, name: str = "Ada") -> str:
    """Open a page with a card. Returns the card's variant."""
    visit(page, address, path, name=name)
    see(card(page))
    return shown(page)


def card(page: Page) -> Locator:
    return page.locator("article.hg-card").first


def shown(page: Page) -> str:
    return card(page).get_attribute("data-variant") or ""


def said(page: Page) -> Locator:
    """The message about the latest action."""
    return page.locator(".hg-message")


def see(*parts: Locator) -> None:
    """Wait until these are visible, and the page has settled."""
    for part in parts:
        expect(part).to_be_visible()
    settle(parts[0].page)


def gone(*parts: Locator) -> None:
    """Wait until these are no longer there, and the page has settled."""
    for part in parts:
        expect(part).to_have_count(0)
    settle(parts[0].page)


def shows(page: Page, variant: object) -> None:
    """Wait until the page shows this card, and has settled."""
    expect(card(page)).to_have_attribute("data-variant", str(variant))
    settle(page)


def key(page: Page, *keys: str) -> None:
    """Press keys one after another, each when the page has reacted to the one before."""
    for one in keys:
        page.keyboard.press(one)
        settle(page)


def press(page: Page, *keys: str) -> None:
    """Press keys, each of which brings another card."""
    for one in keys:
        before = shown(page)
        page.keyboard.press(one)
        expect(card(page)).not_to_have_attribute("data-variant", before)
        settle(page)


def editor(page: Page, key: str, label: str) -> Locator:
    """Open an editor and wait until its field accepts text."""
    page.keyboard.press(key)
    box = page.get_by_label(label, exact=True)
    expect(box).to_be_focused()
    settle(page)
    return box


def close(page: Page, box: Locator) -> None:
    page.keyboard.press("Escape")
    gone(box)


def discard(page: Page, box: Locator) -> None:
    page.get_by_role("button", name="Discard draft").click()
    gone(box)


def confirm(page: Page) -> None:
    """Save what the checks have flagged: once to be asked, and once to confirm."""
    page.keyboard.press("Control+Enter")
    see(page.locator(".hg-checks.hg-asked"), page.get_by_role("button", name="Save anyway"))
    press(page, "Control+Enter")


def choose(page: Page, what: str, label: str) -> None:
    """Choose a queue, type, order or view with the mouse: open its list, and click the entry."""
    page.get_by_role("button", name=f"{what}: ").click()
    page.get_by_role("radiogroup", name=what).get_by_role("radio", name=label).click()


def place(part: Locator) -> FloatRect:
    """Where it is in the window."""
    return part.bounding_box() or pytest.fail("it is not visible")


def tick(page: Page, *numbers: int) -> None:
    """Click the boxes of rows of the last table, which is drawn on a canvas."""
    table = page.get_by_test_id("stDataFrame").last
    table.scroll_into_view_if_needed()
    for number in numbers:
        box = place(table)
        page.mouse.click(box["x"] + 18, box["y"] + 52 + 35 * number)
        page.wait_for_timeout(500)
        settle(page)


def rows(home: Path, query: str, *values: object) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(home / "hedgerow.db")) as connection:
        return connection.execute(query, values).fetchall()


def eventually(page: Page, condition: Callable[[], bool]) -> None:
    """Wait until the result of a key press is stored."""
    end = time.monotonic() + PATIENCE_MS / 1000
    while not condition():
        assert time.monotonic() < end
        page.wait_for_timeout(100)


def go_on(page: Page, address: str, path: str) -> None:
    """Open a page with a link in the sidebar, if there is one and a page is already open."""
    link = page.locator(f"[data-testid=stSidebarNavLink][href='{address}/{path}']")
    if link.count() != 1:
        go(page, f"{address}/{path}")
        return
    before = page.locator("h1").inner_text()
    link.click()
    expect(page.locator("h1")).not_to_have_text(before)  # each page has its own title
    settle(page)


def look_round(page: Page, address: str) -> Iterator[str]:
    """Open each page and each of its sections with everything expanded. Yields what is open."""
    for name in PAGES:
        go_on(page, address, ADDRESSES.get(name, name))
        for part in [None, *page.locator(_PARTS).all()[1:]]:
            if part is not None:
                part.click()
                settle(page)
            page.evaluate(_UNFOLD)
            settle(page)
            yield f"{name}, {part.inner_text() if part else 'first part'}"


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
    """Elements that do not fit or cannot be seen. Short-lived ones are ignored, because charts
    adapt to a window with a delay."""
    with suppress(Error):
        page.wait_for_function(f"() => !({_MISFITS})().length", timeout=3_000)
    return list(page.evaluate(_MISFITS))


def axe(page: Page) -> list[str]:
    """Accessibility problems on the page, one line per element. Temporary ones are ignored: a page
    that reruns is pale for a moment."""
    if not _found(page):
        return []
    page.wait_for_timeout(500)  # a page that is about to rerun has started to
    settle(page)
    return _found(page)


def _found(page: Page) -> list[str]:
    # It is large, so each page loads it only once.
    tool = Axe(axe_script="0") if page.evaluate("'axe' in window") else Axe()
    return [
        f"{violation['id']}: {node['html'][:160]}"
        for violation in tool.run(page, options=_REPORT).response["violations"]
        if REPORTED & {violation["impact"], violation["id"]}
        for node in violation["nodes"]
        # Vega gives the marks of a chart roles without names. The chart as a whole has our label.
        if violation["id"] != "svg-img-alt"
        or not page.locator(node["target"][0]).first.evaluate(
            "part => part.matches('[data-testid=stVegaLiteChart] svg *')"
        )
    ]
