"""What our scripts and style sheets rely on in Streamlit's own elements.

None of it is documented; it was found in Streamlit 1.67.0. If a test fails here, look for the
replacement in the installed version. What Python relies on is in tests/pages/shared/shell. The
journeys show that drafts, themes, a hidden sidebar and lost connections work.
"""

import re
import sys
from importlib.metadata import version
from pathlib import Path

from playwright.sync_api import Page, expect

from bench.browsing import free_port, serving
from tests.support.checkout import ROOT

FOUND_IN = "1.67.0"
CHANGED = f"Streamlit {version('streamlit')} does not do as {FOUND_IN} did"
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
    '[data-testid="InputInstructions"]': "theme.css: it would cover the name",
}
"""Elements that must exist on the page of ``SCRIPT``, and what relies on them."""

PRIVATE = re.compile(
    r'\.st[A-Z]\w+|data-testid="?\w+|data-test-[\w-]+|dataset\.test\w+|\[kind="\w+"|data-selected'
    r"|data-collapsed|aria-selected|aria-checked"
)


def test_hedgerow_relies_on_no_other_internals() -> None:
    known = {name.replace('"', "") for name in PRIVATE.findall(" ".join(SELECTORS))}
    files = [path for path in (ROOT / "pages").rglob("*") if path.suffix in (".js", ".css")]
    found = {
        name.replace('"', "") for path in files for name in PRIVATE.findall(path.read_text("utf-8"))
    }
    assert len(files) > 5
    assert found <= known | {"dataset.testConnectionState"}


def test_streamlit_draws_the_elements_that_hedgerow_relies_on(page: Page, tmp_path: Path) -> None:
    port = free_port()
    command = [sys.executable, "-m", "streamlit", "run", str(SCRIPT), f"--server.port={port}"]
    quiet = {"STREAMLIT_SERVER_HEADLESS": "1", "STREAMLIT_BROWSER_GATHER_USAGE_STATS": "0"}
    with serving(command, port=port, folder=tmp_path, environment=quiet) as address:
        page.goto(address)
        page.get_by_label("Short").press_sequentially("typed")
        for selector, place in SELECTORS.items():
            message = f"{CHANGED}: no {selector} ({place})"
            expect(page.locator(selector).first, message).to_be_attached()
