"""What our scripts and style sheets rely on in Streamlit's own elements.

None of it is documented; it was found in Streamlit 1.67.0. If a test fails here, look for the
replacement in the installed version. What Python relies on is in tests/pages/shared/shell.
"""

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

import pytest
import streamlit as st
from playwright.sync_api import Page, expect

from bench.browsing import free_port, serving
from tests.browser.support.chromium import Chromium
from tests.support.checkout import ROOT

FOUND_IN = "1.67.0"
CHANGED = f"Streamlit {st.__version__} does not do as {FOUND_IN} did"
SCRIPT = Path(__file__).with_name("streamlit_page.py")

SELECTORS = {
    '[data-testid="stApp"][data-test-connection-state="CONNECTED"]': "page.js, after a lost server",
    '.stApp [data-testid="stSidebar"][data-collapsed="false"]': "menus.js, review.css",
    '.stApp [data-testid="stHeader"]': "review.css",
    '[data-testid="stMain"]': "page.js, keys.js: what scrolls",
    ".stMain .stMainBlockContainer > .stVerticalBlock": "style.css, review.css",
    '[data-testid="stLayoutWrapper"] > .st-key-head [data-testid="stCaptionContainer"] p': (
        "review.css"
    ),
    ".stElementContainer > .stHtml > script:only-child": "style.css: it needs no room",
    '[data-testid="stText"]': "style.css",
    '.stButtonGroup [role="radiogroup"] button[role=radio][data-selected="true"] p': "theme.css",
    '.stButtonGroup [role="radiogroup"] [role=radio][aria-checked=true]': "menus.js",
    '.stButtonGroup [role="radio"] > div': "review.css",
    '.stButtonGroup [role="toolbar"] button:not([data-selected="true"])': "theme.css",
    'button[kind="secondary"] p': "theme.css",
    'button[kind="tertiary"] p': "theme.css",
    '.stSlider [data-testid="stSliderThumbValue"] p': "theme.css",
    ".stExpander summary p": "theme.css",
    ".stExpander .stMarkdown": "theme.css",
    '.stTabs [aria-selected="true"] p': "theme.css",
    ".stPageLink a p": "theme.css",
    '.stElementContainer [data-testid="stElementToolbar"]': "style.css",
    'textarea[aria-label="Long"]': "editor.js knows drafts by the labels of their boxes",
    'input[type=text][aria-label="Short"]:not([role=combobox])': "editor.js",
    "input[role=combobox]": "editor.js: a list takes Enter itself",
}
"""Elements that must exist on the page of ``SCRIPT``, and what relies on them."""

PRIVATE = re.compile(
    r'\.st[A-Z]\w+|data-testid="?\w+|data-test-[\w-]+|dataset\.test\w+|\[kind="\w+"|data-selected'
    r"|data-collapsed|aria-selected|aria-checked"
)


def server(folder: Path) -> Callable[[], AbstractContextManager[str]]:
    """Serves the page of ``SCRIPT`` at each call, always at the same address."""
    port = free_port()
    command = [sys.executable, "-m", "streamlit", "run", str(SCRIPT), "--server.headless=true"]
    command += ["--browser.gatherUsageStats=false", f"--server.port={port}"]
    return partial(serving, command, port=port, folder=folder, environment={})


@pytest.fixture(scope="module")
def drawn(chromium: Chromium, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """This page, once it is complete."""
    serve = server(tmp_path_factory.mktemp("streamlit"))
    with serve() as address, chromium.page() as page:
        page.goto(address)
        expect(page.get_by_text("Short is .")).to_be_visible()
        yield page


@pytest.mark.parametrize("selector", SELECTORS)
def test_the_page_has_the_elements_that_hedgerow_relies_on(drawn: Page, selector: str) -> None:
    message = f"{CHANGED}: no {selector} ({SELECTORS[selector]})"
    expect(drawn.locator(selector).first, message).to_be_attached()


def test_hedgerow_relies_on_no_other_internals() -> None:
    known = {name.replace('"', "") for name in PRIVATE.findall(" ".join(SELECTORS))}
    known |= {"dataset.testConnectionState", "data-testid=InputInstructions"}
    files = [path for path in (ROOT / "pages").rglob("*") if path.suffix in (".js", ".css")]
    found = {
        name.replace('"', "") for path in files for name in PRIVATE.findall(path.read_text("utf-8"))
    }
    assert len(files) > 5
    assert found <= known


def test_ctrl_enter_submits_the_text_of_a_box(drawn: Page) -> None:
    """editor.js sends it at every pause, and before it saves."""
    drawn.get_by_label("Long").fill("kept")
    key = '{key: "Enter", ctrlKey: true, bubbles: true}'
    drawn.get_by_label("Long").evaluate(
        f"box => box.dispatchEvent(new KeyboardEvent('keydown', {key}))"
    )
    expect(drawn.get_by_text("Long is kept.")).to_be_visible()


def test_leaving_a_box_submits_the_text_that_a_script_wrote(drawn: Page) -> None:
    """editor.js restores drafts in this way."""
    drawn.get_by_label("Short").evaluate(
        """box => {
          const value = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(box), "value");
          value.set.call(box, "draft");
          box.dispatchEvent(new Event("input", {bubbles: true}));
          setTimeout(() => box.dispatchEvent(new FocusEvent("focusout", {bubbles: true})), 0);
        }"""
    )
    expect(drawn.get_by_text("Short is draft.")).to_be_visible()


def test_a_hidden_sidebar_says_so(drawn: Page) -> None:
    sidebar = drawn.get_by_test_id("stSidebar")
    sidebar.hover()
    drawn.get_by_test_id("stSidebarCollapseButton").get_by_role("button").click()
    expect(sidebar).to_have_attribute("data-collapsed", "true")


def test_a_theme_is_kept_for_each_address(drawn: Page) -> None:
    """theme.js writes it there, because no documented function sets a theme."""
    drawn.evaluate("localStorage.setItem('stActiveTheme-/-v2', JSON.stringify('Dark'))")
    drawn.reload()
    expect(drawn.get_by_text("Short is .")).to_be_visible()
    assert drawn.evaluate("matchMedia('(prefers-color-scheme: dark)').matches") is False
    colour = drawn.get_by_test_id("stApp").evaluate("app => getComputedStyle(app).backgroundColor")
    assert sum(map(int, re.findall(r"\d+", colour)[:3])) < 150, CHANGED


def test_the_page_says_that_the_server_is_lost(chromium: Chromium, tmp_path: Path) -> None:
    """page.js waits until this disappears, and then reruns the page."""
    serve = server(tmp_path)
    with chromium.page() as page:
        app = page.get_by_test_id("stApp")
        with serve() as address:
            page.goto(address)
            expect(app).to_have_attribute("data-test-connection-state", "CONNECTED")
        expect(app).not_to_have_attribute("data-test-connection-state", "CONNECTED")
        with serve():
            expect(app).to_have_attribute("data-test-connection-state", "CONNECTED")


def test_a_box_with_typed_text_says_to_press_enter(drawn: Page) -> None:
    """theme.css hides this where it would cover the name."""
    drawn.get_by_label("Short").press_sequentially("typed")
    expect(drawn.get_by_test_id("InputInstructions")).to_be_visible()
