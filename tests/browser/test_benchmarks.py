"""The Benchmarks page in Chromium: a run with the built-in model, scores, a record in Review."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from curation.project.opening import open_project
from curation.release.freezing import create_release
from db.engine import writing
from db.models import Split
from db.settings import Settings
from tests.browser.conftest import Share
from tests.browser.support.walk import go, settle, sign_in
from tests.curation.support.families import add_plain_family
from tests.support.factories import person
from tests.training.benchmarks.support.running import semantoneg

RUN_MS = 120_000
"""Loading the model and PyTorch takes some seconds, or a minute on a busy machine."""


@pytest.fixture
def project(home: Path) -> None:
    """A stored SemAntoNeg file, and a release with three families in its test split."""
    settings = Settings(home=home, database_url="")
    engine = open_project(settings)
    with writing(engine) as session:
        person(session)
        for number in range(3):
            add_plain_family(session, number, split=Split.TEST)
        create_release(session)
    engine.dispose()
    semantoneg(settings)


def pick_first(page: Page) -> None:
    """Select the box before the first row of the list of items, which is drawn on a canvas."""
    table = page.get_by_test_id("stDataFrame").last
    table.scroll_into_view_if_needed()
    place = table.bounding_box()
    assert place is not None
    page.mouse.click(place["x"] + 16, place["y"] + 52)
    settle(page)


@pytest.mark.slow
def test_from_a_run_over_its_scores_to_a_record_in_review(
    project: None, home: Path, share: Share, page: Page
) -> None:
    address = share(home)
    sign_in(page, address)
    go(page, address, "benchmarks")
    expect(page.get_by_role("checkbox", name="Hedgerow")).to_be_checked()
    page.get_by_text("SemAntoNeg", exact=True).click()
    expect(page.get_by_text("on 2 benchmarks (9 items")).to_be_visible()
    settle(page)
    page.get_by_role("button", name="Run", exact=True).click()
    # A new project has two encoders to compare: the built-in one and the one trained from it.
    models = "hedgerow-minilm, all-MiniLM-L6-v2"
    message = rf"^Run \d+ is done\. It has 4 results: SemAntoNeg, Hedgerow with {models}\.$"
    done = page.get_by_text(re.compile(message))
    expect(done).to_be_visible(timeout=RUN_MS)
    settle(page)

    page.get_by_role("button", name="Show the scores").click()
    table = page.get_by_role("region", name="Scores")
    expect(table.get_by_role("rowheader", name="all-MiniLM-L6-v2").first).to_be_visible()
    expect(table.get_by_role("columnheader")).to_contain_text(["Model", "SemAntoNeg", "Hedgerow"])
    settle(page)

    page.get_by_role("radio", name="Items").click()
    expect(page.get_by_text("6 items of sample.jsonl")).to_be_visible()
    settle(page)
    pick_first(page)
    expect(page.locator(".hg-item")).to_contain_text("The soup is not")

    settle(page)  # redrawing the list closes it
    which = page.get_by_role("combobox", name="Benchmark")
    which.click()
    which.press("ArrowDown")
    which.press("Enter")
    expect(which).to_have_value("Hedgerow")
    expect(page.get_by_text("3 items of release 1, test split")).to_be_visible()
    settle(page)
    pick_first(page)
    link = page.get_by_role("link", name="Open in Review").first
    uid = (link.get_attribute("href") or "").partition("variant=")[2]
    link.click()
    expect(page.locator("article.hg-card").first).to_have_attribute("data-variant", uid)
    expect(page.locator("article.hg-card").first).to_contain_text("Door")
