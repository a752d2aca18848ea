"""Every page in Chromium, full of hostile texts: nothing runs, and everything fits and is readable.

Visiting all pages takes time, so it is done once, and the tests check what was found.
"""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from playwright.sync_api import Page, expect

from db.engine import writing
from db.settings import Settings
from tests.browser.conftest import Share
from tests.browser.support.accessibility import COLOURS, axe
from tests.browser.support.chromium import Chromium
from tests.browser.support.walk import PAGES, go, hover_charts, look_round, misfits, settle, sign_in
from tests.support.benchmark_results import add_hostile_results
from tests.support.databases import Copies, opened
from tests.support.hostile import FOREIGN, stored
from tests.support.hostile_project import fill

EDITED = ("latex", "bidirectional")
"""Names of texts for which an editor is opened and saved without changes."""

# Elements that a text would create if it were read as HTML, Markdown or LaTeX.
MADE = f"""() => [...document.querySelectorAll(
    '[href*="{FOREIGN}"], [src*="{FOREIGN}"], [href^="javascript:"], [srcdoc], base, mglyph, '
    + 'meta[http-equiv="refresh"], body link[rel="stylesheet"], .katex, '
    + '.stMarkdownColoredText, [formaction], .hg-card script, .hg-card style'
)].map(element => element.outerHTML.slice(0, 200))"""


class Seen(NamedTuple):
    """What was found in one place: a page, or a part of one."""

    place: str
    made: list[str]
    misfits: list[str]
    light: list[str]
    dark: list[str]


@contextmanager
def noted(page: Page, address: str) -> Iterator[list[str]]:
    """A list that collects everything that a text must not be able to do to this page."""
    found: list[str] = []

    def asked(url: str) -> None:
        if not url.startswith((address, "data:", "blob:", "about:")):
            found.append(url)

    listeners: dict[Any, Callable[[Any], None]] = {
        "request": lambda request: asked(request.url),
        "framenavigated": lambda frame: asked(frame.url),
        "dialog": lambda dialog: (found.append(dialog.message), dialog.dismiss()),
        "pageerror": lambda error: found.append(str(error)),
    }
    for event, listener in listeners.items():
        page.on(event, listener)
    yield found
    for event, listener in listeners.items():
        page.remove_listener(event, listener)


def made(page: Page) -> list[str]:
    """Elements that a text has created."""
    ran = page.evaluate("window.hacked")
    return [*page.evaluate(MADE), *([f"window.hacked is {ran}"] if ran is not None else [])]


@pytest.fixture(scope="module")
def events() -> list[str]:
    """Everything that ran or was loaded during the visit."""
    return []


@pytest.fixture(scope="module")
def hostile_home(copies: Copies, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A working directory in which every user-defined text is hostile."""
    home = tmp_path_factory.mktemp("hostile")
    with opened(copies.migrated(home / "hedgerow.db")) as engine, writing(engine) as session:
        fill(session)
        folder = Settings(home=home, database_url="").data_folder
        add_hostile_results(session, folder, list(stored().values()))
    return home


@pytest.fixture(scope="module")
def visits(chromium: Chromium, share: Share, hostile_home: Path, events: list[str]) -> list[Seen]:
    """Every page and every part of one, in both schemes and two widths."""
    address = share(hostile_home)
    with chromium.page() as page, noted(page, address) as found:
        sign_in(page, address)
        seen = [_seen(page, place) for place in look_round(page, address)]
    events += found
    return seen


def _seen(page: Page, place: str) -> Seen:
    hover_charts(page)
    light = axe(page)
    page.emulate_media(color_scheme="dark")
    page.wait_for_timeout(300)  # until the page shows it
    settle(page)
    dark = axe(page, COLOURS)
    page.emulate_media(color_scheme="light")
    return Seen(place, made(page), misfits(page), light, dark)


def test_every_page_was_visited(visits: list[Seen]) -> None:
    assert {seen.place.partition(",")[0] for seen in visits} == set(PAGES)


def test_every_text_is_shown_as_plain_text(visits: list[Seen], events: list[str]) -> None:
    assert {seen.place: seen.made for seen in visits if seen.made} == {}
    assert events == []


def test_every_page_fits_wide_and_narrow_windows(visits: list[Seen]) -> None:
    assert {seen.place: seen.misfits for seen in visits if seen.misfits} == {}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(visits: list[Seen], scheme: str) -> None:
    found = {seen.place: getattr(seen, scheme) for seen in visits}
    assert {place: lines for place, lines in found.items() if lines} == {}


def rows(home: Path, query: str, *values: str) -> list[tuple[str, ...]]:
    with sqlite3.connect(home / "hedgerow.db") as connection:
        return connection.execute(query, values).fetchall()


def open_card(page: Page, address: str, uid: str) -> None:
    """Open a variant by its permalink and wait until its card accepts keys."""
    go(page, address, f"review?variant={uid}")
    expect(page.locator("article.hg-card").first).to_have_attribute("data-variant", uid)
    page.wait_for_timeout(400)


def test_every_text_is_shown_and_edited_as_it_is_stored(
    page: Page, share: Share, hostile_home: Path
) -> None:
    address = share(hostile_home)
    sign_in(page, address)
    with noted(page, address) as found:
        first_ones = "SELECT min(uid) FROM variant WHERE length(text) < 9999 GROUP BY anchor_id"
        shown = []
        for (uid,) in rows(hostile_home, first_ones):
            open_card(page, address, uid)
            page.keyboard.press("g")  # its siblings, their notes and history
            expect(page.locator(".hg-siblings .hg-text").first).to_be_visible()
            texts = page.locator(".hg-variant .hg-text, .hg-siblings .hg-text")
            shown += texts.all_text_contents()
            assert made(page) + misfits(page) == []
        assert sorted(shown) == sorted(stored().values())
        for name in EDITED:
            query = "SELECT uid FROM variant WHERE text = ?"
            (uid,) = rows(hostile_home, query, stored()[name])[0]
            open_card(page, address, uid)
            page.keyboard.press("e")
            box = page.get_by_label("New wording")
            expect(box).to_have_value(stored()[name])
            page.wait_for_timeout(400)
            box.press("Control+Enter")
            expect(page.locator(".st-key-keys .hg-message")).not_to_be_empty()
        assert made(page) + found == []
    kept = rows(hostile_home, "SELECT text FROM variant WHERE length(text) < 9999")
    assert sorted(text for (text,) in kept) == sorted(stored().values())
