"""One Chromium for all journeys, with pages that they reuse."""

import re
from asyncio import events
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, Error, Page, expect, sync_playwright

from bench.browsing import FLAGS

WIDE, NARROW = {"width": 1440, "height": 900}, {"width": 800, "height": 900}
PATIENCE_MS = 60_000
"""The timeout for something to appear on a page; these machines are sometimes slow."""


class Chromium:
    """Lends pages to journeys.

    A page in a new browser context compiles all of Streamlit's scripts again, which takes more than
    half of the time of the first visit. Therefore ``page`` lends and clears the same pages.
    """

    def __init__(self, browser: Browser) -> None:
        """Take a running browser."""
        self._browser = browser
        self._kept: list[Page] = []

    @contextmanager
    def page(self, *scripts: str) -> Iterator[Page]:
        """A page of 1440 by 900 pixels without any state from others.

        It is a new one if scripts must run at every visit. A test that adds listeners must remove
        them.
        """
        page = self._kept.pop() if self._kept and not scripts else self._browser.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.set_viewport_size(WIDE)
        for script in scripts:
            page.add_init_script(script)
        yield page
        if not scripts and _cleared(page):  # only if nothing went wrong
            self._kept.append(page)
        else:
            page.context.close()


@contextmanager
def launched(path: str) -> Iterator[Chromium]:
    """Chromium, until the end of the journeys."""
    expect.set_options(timeout=PATIENCE_MS)
    before = events._get_running_loop()
    try:
        with sync_playwright() as driver:
            yield Chromium(driver.chromium.launch(executable_path=path, args=list(FLAGS)))
    finally:
        # Playwright leaves its own running, and then no other test could run one.
        events._set_running_loop(before)


def _cleared(page: Page) -> bool:
    """Leave the current page, and delete its stored data.

    Returns:
        Whether another test can use the page. If its server has ended, the browser shows an error
        page.
    """
    page.unroute_all()
    if place := re.match(r"http://[^/]+", page.url):
        try:
            # A file from the same address, without scripts that could write meanwhile.
            page.goto(f"{place[0]}/_stcore/health")
            page.evaluate("localStorage.clear(); sessionStorage.clear()")
        except Error:
            return False
    page.goto("about:blank")
    page.context.clear_cookies()
    page.context.clear_permissions()
    page.emulate_media(color_scheme="light")
    return True
