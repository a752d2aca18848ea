"""One Chromium for all tests of a process, with a page that the tests reuse."""

import re
from asyncio import events
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, Error, Page, expect, sync_playwright

from bench.browsing import FLAGS

SIZE = (1440, 900)
PATIENCE_MS = 60_000
"""The timeout for something to appear on a page; these machines are sometimes slow."""


class Chromium:
    """Lends pages to tests.

    A page in a new browser context compiles all of Streamlit's scripts again, which takes more than
    half of the time of the first visit. Therefore ``page`` lends and clears a single page.
    """

    def __init__(self, browser: Browser) -> None:
        """Take a browser, in the thread in which Playwright was started."""
        self._browser = browser
        self._loop = events.get_running_loop()
        self._kept: list[Page] = []
        expect.set_options(timeout=PATIENCE_MS)

    @contextmanager
    def page(self) -> Iterator[Page]:
        """The page without any state from other tests, or another page if this one is in use.

        A test that adds listeners must remove them. Scripts that run at every visit
        (``add_init_script``) cannot be removed; they need a ``new_page``.
        """
        with self.at_work():
            page = self._kept.pop() if self._kept else self._new()
            yield page
            if _cleared(page):  # only if nothing went wrong
                self._kept.append(page)
            else:
                page.context.close()

    @contextmanager
    def new_page(self) -> Iterator[Page]:
        """A page that no test has used."""
        with self.at_work():
            page = self._new()
            yield page
            page.context.close()

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Make Playwright's event loop the running one, but only within this context.

        Playwright leaves it running during the tests, and then no test could run its own.
        """
        before = events._get_running_loop()
        events._set_running_loop(self._loop)
        try:
            yield
        finally:
            events._set_running_loop(before)

    def _new(self) -> Page:
        context = self._browser.new_context()
        context.set_default_timeout(PATIENCE_MS)
        page = context.new_page()
        _resize(page)
        return page


@contextmanager
def launched(path: str) -> Iterator[Chromium]:
    """Chromium, until the end of the tests."""
    before = events._get_running_loop()
    driver = sync_playwright().start()
    try:
        browser = driver.chromium.launch(executable_path=path, args=list(FLAGS))
        chromium = Chromium(browser)
        events._set_running_loop(before)
        yield chromium
        with chromium.at_work():
            browser.close()
            driver.stop()
    finally:
        events._set_running_loop(before)


def _resize(page: Page) -> None:
    width, height = SIZE
    page.set_viewport_size({"width": width, "height": height})


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
    _resize(page)
    return True
