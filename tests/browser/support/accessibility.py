"""What axe finds on a page, as people do who cannot see it well or at all."""

from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from tests.browser.support.walk import settle

REPORTED = {"serious", "critical"}
ALSO = {"heading-order"}
"""Less than serious to axe, but how people who listen to a page find their way on it."""

ALL_RULES: dict[str, Any] = {"resultTypes": ["violations"]}
COLOURS: dict[str, Any] = ALL_RULES | {"runOnly": ["color-contrast", "link-in-text-block"]}
"""The rules whose outcome depends on light or dark."""

MOMENT = 500
"""Milliseconds after which a page that was about to run anew is doing so."""

LET_OFF = {
    # Vega gives the marks of an SVG chart roles without names. The chart as a whole has our words.
    "svg-img-alt": "[data-testid=stVegaLiteChart] svg *",
}
"""Rule → the selector of markup that is not ours and is let off it."""


def axe(page: Page, options: dict[str, Any] = ALL_RULES) -> list[str]:
    """What axe finds on the page, one line an element; not what passes: a page that is being drawn
    anew is pale for a moment."""
    if not _found(page, options):
        return []
    page.wait_for_timeout(MOMENT)
    settle(page)
    return _found(page, options)


def _found(page: Page, options: dict[str, Any]) -> list[str]:
    # It is large: no page reads it twice.
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
