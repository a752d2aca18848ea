"""Accessibility problems that axe finds on a page."""

from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from tests.browser.support.walk import settle

REPORTED = {"serious", "critical"}
ALSO = {"heading-order"}
"""Rules that axe considers less than serious, but that screen-reader users need for navigation."""

ALL_RULES: dict[str, Any] = {"resultTypes": ["violations"]}
COLOURS: dict[str, Any] = ALL_RULES | {"runOnly": ["color-contrast", "link-in-text-block"]}
"""The rules whose outcome depends on the light or dark scheme."""

MOMENT = 500
"""Milliseconds after which a page that is about to rerun has started to."""

LET_OFF = {
    # Vega gives the marks of an SVG chart roles without names. The chart as a whole has our label.
    "svg-img-alt": "[data-testid=stVegaLiteChart] svg *",
}
"""Rule → the selector of third-party markup that is excluded from it."""


def axe(page: Page, options: dict[str, Any] = ALL_RULES) -> list[str]:
    """The problems on the page, one line per element. Temporary ones are ignored: a page that
    reruns is pale for a moment."""
    if not _found(page, options):
        return []
    page.wait_for_timeout(MOMENT)
    settle(page)
    return _found(page, options)


def _found(page: Page, options: dict[str, Any]) -> list[str]:
    # It is large, so each page loads it only once.
    tool = Axe(axe_script="0") if page.evaluate("'axe' in window") else Axe()
    return [
        f"{violation['id']}: {node['html'][:160]}"
        for violation in tool.run(page, options=options).response["violations"]
        if violation["impact"] in REPORTED or violation["id"] in ALSO
        for node in violation["nodes"]
        if not _let_off(page, violation["id"], node["target"][0])
    ]


def _let_off(page: Page, rule: str, target: str) -> bool:
    selector = LET_OFF.get(rule)
    return bool(
        selector and page.locator(target).first.evaluate("(e, s) => e.matches(s)", selector)
    )
