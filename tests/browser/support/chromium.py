"""One Chromium for all tests of a process, and a page in it that goes from test to test."""

import re
from asyncio import events
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, Error, Page, expect, sync_playwright

from bench.browsing import FLAGS

SIZE = (1440, 900)
PATIENCE_MS = 60_000
"""How long a test waits for something to appear on a page; these machines are slow at times."""


class Chromium:
    """Lends pages to tests.

    A page in a browser context of its own compiles all of Streamlit's scripts again, which takes
    more than half of the time that the first visit takes. So there is one page, which ``page``
    lends and clears.
    """

    def __init__(self, browser: Browser) -> None:
        """Take a browser, in the thread that Playwright was started in."""
        self._browser = browser
        self._loop = events.get_running_loop()
        self._kept: list[Page] = []
        expect.set_options(timeout=PATIENCE_MS)

    @contextmanager
    def page(self) -> Iterator[Page]:
        """The page with nothing remembered from another test; another one if that is lent.

        A test that gives it listeners takes them away again. Scripts that run at every visit
        (``add_init_script``) cannot be taken away; they need a ``new_page``.
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
        """A page that nobody had before."""
        with self.at_work():
            page = self._new()
            yield page
            page.context.close()

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Let Playwright's event loop be the one that runs, but only meanwhile.

        Playwright leaves it running while tests go on, and no test could run one of its own.
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
    """Leave the place that the page shows, and forget what was kept there.

    Returns:
        Whether another test can have the page: one whose server has ended still goes to where the
        browser says so.
    """
    page.unroute_all()
    if place := re.match(r"http://[^/]+", page.url):
        try:
            # Something of the same address without scripts, which could still write meanwhile.
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
