"""The diagnostics page in Chromium: select a region of the scatter, and review its variants."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import Engine

from curation.diagnostics.cosines import save_cosines
from curation.diagnostics.measuring import measure_variants
from curation.encoders.registered import register_encoder
from curation.project.opening import ACTIVE_ENCODER, get_setting, open_project
from db.engine import writing
from db.models import Source
from db.settings import Settings
from tests.browser.conftest import Share
from tests.browser.support.reviewing import press, settle, visit
from tests.support.factories import add_anchor, add_variant, person

HOSTILE = '<img src=x onerror="window.hacked=1"> is **not** safe.'


@pytest.fixture
def measured(home: Path) -> Engine:
    """Forty verbal negations whose measures fill the scatter; one of them is hostile."""
    engine = open_project(Settings(home=home, database_url=""))
    with writing(engine) as session:
        person(session)
        session.add(Source(id=1, name="test"))
        session.flush()
        ids = []
        for number in range(40):
            anchor = add_anchor(session, f"Bridge number {number} is safe.")
            text = HOSTILE if number == 0 else f"Bridge number {number} is not safe."
            ids.append(add_variant(session, anchor, text=text).id)
        measure_variants(session, ids)
        name = get_setting(session, ACTIVE_ENCODER)
        encoder = register_encoder(session, name=name, hash_="f" * 64)
        cosines = {key: 0.25 + 0.7 * place / len(ids) for place, key in enumerate(ids)}
        save_cosines(session, cosines, encoder_id=encoder.id)
    return engine


def test_a_marked_region_is_listed_and_reviewed(
    measured: Engine, home: Path, share: Share, page: Page
) -> None:
    address = share(home)
    page.context.add_cookies([{"name": "hedgerow_reviewer", "value": "Ada", "url": address}])
    page.goto(f"{address}/diagnostics?show=Pairs")
    plot = page.get_by_test_id("stVegaLiteChart").locator("svg, canvas").first
    expect(plot).to_be_visible()
    page.wait_for_timeout(500)  # until the chart has its final width
    box = plot.bounding_box()
    assert box is not None
    left, right = box["x"] + 75, box["x"] + box["width"] - 1
    top, bottom = box["y"] + 8, box["y"] + box["height"] - 72
    page.mouse.move(left, top)
    page.mouse.down()
    page.mouse.move(right, bottom, steps=4)
    page.mouse.up()
    review = page.get_by_role("button", name="Review these 40")
    expect(review).to_be_visible()
    expect(page.locator(".hg-found tbody tr")).to_have_count(40)
    with page.expect_download() as saved:
        page.get_by_role("button", name="SVG", exact=True).click()
    assert saved.value.suggested_filename == "hedgerow-pairs.svg"
    assert "<svg" in Path(saved.value.path()).read_text(encoding="utf-8")
    review.click()
    expect(page.locator("article.hg-card").first).to_be_visible()
    expect(page.get_by_text("Diagnostics: Verbal negation, Levenshtein distance")).to_be_visible()
    assert page.evaluate("window.hacked") is None


def test_a_clicked_cell_is_reviewed_and_its_counter_follows_every_decision(
    measured: Engine, home: Path, share: Share, page: Page
) -> None:
    visit(page, share(home), "/diagnostics?show=Pairs")
    cells = page.get_by_test_id("stVegaLiteChart").locator(".mark-rect.role-mark.marks path")
    expect(cells.first).to_be_visible()
    settle(page)
    cells.first.click()  # the fullest one, with two variants
    expect(
        page.get_by_text("2 variants: Verbal negation, Levenshtein distance 4, cosine")
    ).to_be_visible()
    expect(page.locator(".hg-found tbody tr")).to_have_count(2)
    page.get_by_role("button", name="Review these 2").click()
    expect(page.get_by_text("2 of 2 left")).to_be_visible()
    settle(page)
    press(page, "a")
    expect(page.get_by_text("1 of 2 left")).to_be_visible()
    press(page, "z")
    expect(page.get_by_text("2 of 2 left")).to_be_visible()
