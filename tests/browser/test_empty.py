"""An empty project: every page says what to do next, and can be used."""

from typing import NamedTuple

import pytest
from playwright.sync_api import expect

from db.engine import writing
from tests.browser.conftest import Share
from tests.browser.support.accessibility import axe
from tests.browser.support.app import let_comparing_wait
from tests.browser.support.chromium import Chromium
from tests.browser.support.walk import PAGES, go, go_on, misfits
from tests.support.databases import Copies, opened

NEXT = {
    "overview": ("Load the starter corpus", "Add your own anchors"),
    "anchors": ("There are no anchors yet", "Add your own anchors"),
    "review": ("Load the starter corpus on the Overview page", "Go to Overview"),
    "adjudicate": ("Load the starter corpus on the Overview page", "Go to Overview"),
    "diagnostics": ("Load the starter corpus on the Overview page", "Go to Overview"),
    "release": ("Load the starter corpus on the Overview page", "Go to Overview"),
    "team": ("Load the starter corpus on the Overview page", "Go to Overview"),
    "train": ("Load the starter corpus on the Overview page", "Go to Overview"),
    "compare": ("You can compare your own model, too.", "Train a model"),
    "benchmarks": ("Choose at least one benchmark, suite or task.",),
    "generate": ("There are no anchors yet", "Add your own anchors"),
    "taxonomy": ("Type", "Add a type"),
    "settings": ("No model has reviewed yet.",),
}
"""The text and the next step on each page of an empty project."""


class Seen(NamedTuple):
    """What was found on a page."""

    said: str
    failed: int
    misfits: list[str]
    barriers: list[str]


@pytest.fixture(scope="module")
def visits(
    chromium: Chromium, share: Share, copies: Copies, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Seen]:
    """Every page of an app with an empty project, in wide and narrow windows."""
    home = tmp_path_factory.mktemp("empty")
    with opened(copies.project(home / "hedgerow.db")) as engine, writing(engine) as session:
        let_comparing_wait(session)
    address, seen = share(home), {}
    with chromium.page() as page:
        go(page, address, "review")
        page.get_by_label("Your name").fill("Ada")
        page.keyboard.press("Enter")
        expect(page.get_by_text("Reviewing as Ada")).to_be_visible()
        for name in PAGES:
            go_on(page, address, "" if name == "overview" else name)
            seen[name] = Seen(
                page.locator(".stMain").inner_text(),
                page.locator("[class*=st-key-error-box]").count(),
                misfits(page),
                axe(page),
            )
    return seen


def test_every_page_says_what_to_do_next(visits: dict[str, Seen]) -> None:
    assert set(visits) == set(NEXT) == set(PAGES)
    for name, seen in visits.items():
        assert seen.failed == 0
        for sentence in NEXT[name]:
            assert sentence in seen.said, name


def test_every_page_fits_and_can_be_used_by_everybody(visits: dict[str, Seen]) -> None:
    found = {name: seen.misfits + seen.barriers for name, seen in visits.items()}
    assert {name: lines for name, lines in found.items() if lines} == {}
