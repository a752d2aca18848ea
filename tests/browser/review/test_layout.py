"""The review page shows its card and keys on the first screen, even with long sentences."""

from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import FloatRect, Locator, Page, expect
from sqlalchemy import Engine, select
from sqlmodel import col

from curation.diagnostics.cosines import save_cosines
from curation.diagnostics.measures import Flag
from curation.diagnostics.measuring import measure_variants
from curation.encoders.registered import register_encoder
from curation.project.opening import ACTIVE_ENCODER, get_setting
from curation.review.notes import add_note
from db.engine import writing
from db.models import Diagnostic
from tests.browser.conftest import Share
from tests.browser.support.accessibility import axe
from tests.browser.support.reviewing import card, choose, press, settle, shown, visit
from tests.support.factories import add_anchor, add_variant, person

LONG = (
    "The municipal engineers who inspected the suspension bridge after the winter storms reported "
    "to the council that its cables, its towers and its concrete anchorages are safe for all the "
    "traffic which the ministry expects."
)
HEDGED = f"Although I am not entirely sure, it would seem that {LONG[0].lower()}{LONG[1:]}"

WIDE, NARROW = (1440, 900), (800, 900)


@pytest.fixture
def long_card(project: Engine) -> str:
    """The uid of a variant of some 45 words with every chip; its anchor has 36 words."""
    with writing(project) as session:
        variant = add_variant(session, add_anchor(session, LONG), "phrase", HEDGED)
        number = variant.id
        measure_variants(session, [number])
        measured = session.execute(
            select(Diagnostic).where(col(Diagnostic.variant_id) == number)
        ).scalar_one()
        measured.flags = sum(Flag)
        name = get_setting(session, ACTIVE_ENCODER)
        encoder = register_encoder(session, name=name, hash_="f" * 64)
        save_cosines(session, {number: 0.87}, encoder_id=encoder.id)
        add_note(session, number, reviewer_id=person(session), text="Is this one sentence?")
        return variant.uid


def is_in_first_screen(page: Page, part: Locator) -> bool:
    """Whether the whole element is visible in the window, without scrolling."""
    box, size = part.bounding_box(), page.viewport_size
    assert box is not None and size is not None
    whole = (
        box["x"] >= 0,
        box["y"] >= 0,
        box["x"] + box["width"] <= size["width"],
        box["y"] + box["height"] <= size["height"],
    )
    return all(whole) and page.locator(".stMain").evaluate("main => main.scrollTop") == 0


def keys(page: Page) -> Locator:
    return page.locator(".st-key-keys")


def still(page: Page) -> FloatRect:
    """The position of the card once it no longer moves."""
    before = None
    while (box := card(page).bounding_box()) is None or box != before:
        before = box
        page.wait_for_timeout(250)
    return box


def resize(page: Page, size: tuple[int, int]) -> None:
    """Resize the window, and wait until the page has adapted."""
    page.set_viewport_size({"width": size[0], "height": size[1]})
    expect(page.get_by_test_id("stApp")).to_have_css("width", f"{size[0]}px")
    still(page)


def check_first_screen(page: Page, *, guide: bool) -> None:
    parts = [card(page), keys(page), page.locator(".st-key-controls")]
    if guide:
        parts.append(page.get_by_role("complementary", name="Guideline"))
    for part in parts:
        assert is_in_first_screen(page, part), part.bounding_box()
    # The keys are below the card, not over it. Only a much longer card continues below them.
    upper, lower = card(page).bounding_box(), keys(page).bounding_box()
    assert upper is not None and lower is not None
    assert upper["y"] + upper["height"] <= lower["y"]
    # All choices are in one row.
    row = page.locator(".st-key-controls").bounding_box()
    assert row is not None and row["height"] < 40


@pytest.mark.parametrize("length", ["typical", "long"])
def test_card_and_keys_are_in_the_first_screen(
    length: Literal["typical", "long"], long_card: str, home: Path, share: Share, page: Page
) -> None:
    address = f"?variant={long_card}" if length == "long" else "?type=Hedge%3A+phrase"
    visit(page, share(home), f"/review{address}")
    expect(card(page)).to_be_visible()
    settle(page)
    if length == "long":
        expect(card(page)).to_have_attribute("data-variant", long_card)
        expect(card(page).locator(".hg-chip.hg-warn")).to_have_count(len(Flag))
    check_first_screen(page, guide=True)
    resize(page, NARROW)
    check_first_screen(page, guide=False)


def test_the_keys_stay_visible_below_a_card_taller_than_the_window(
    project: Engine, home: Path, share: Share, page: Page
) -> None:
    with writing(project) as session:
        anchor = add_anchor(session, " ".join([LONG] * 8))
        uid = add_variant(session, anchor, text=" ".join([HEDGED] * 8)).uid
    page.set_viewport_size({"width": NARROW[0], "height": NARROW[1]})
    visit(page, share(home), f"/review?variant={uid}")
    expect(card(page)).to_have_attribute("data-variant", uid)
    settle(page)
    assert is_in_first_screen(page, keys(page))
    resize(page, WIDE)
    assert is_in_first_screen(page, keys(page))
    page.keyboard.press("a")
    expect(page.locator(".hg-message")).to_contain_text("Accepted")
    settle(page)
    message, upper = page.locator(".hg-message").bounding_box(), card(page).bounding_box()
    assert message is not None and upper is not None
    assert message["y"] + message["height"] <= upper["y"]  # above the card in a wide window


@pytest.mark.parametrize(
    ("key", "place"),
    [("h", ".st-key-keys-list"), ("g", ".st-key-all-details"), ("l", ".st-key-last")],
)
def test_a_panel_opened_by_key_scrolls_into_view_and_the_card_returns(
    key: str, place: str, long_card: str, home: Path, share: Share, page: Page
) -> None:
    page.set_viewport_size({"width": NARROW[0], "height": 560})
    visit(page, share(home), f"/review?variant={long_card}")
    expect(card(page)).to_have_attribute("data-variant", long_card)
    settle(page)
    expect(card(page)).to_be_in_viewport()
    page.keyboard.press(key)
    expect(page.locator(place)).to_be_in_viewport(ratio=0.3)
    page.keyboard.press(key)
    expect(page.locator(place)).to_have_count(0)
    expect(card(page)).to_be_in_viewport(ratio=0.5)


def test_a_new_card_scrolls_into_view_while_its_details_stay_open(
    long_card: str, home: Path, share: Share, page: Page
) -> None:
    page.set_viewport_size({"width": NARROW[0], "height": 560})
    visit(page, share(home), f"/review?variant={long_card}")
    expect(card(page)).to_have_attribute("data-variant", long_card)
    settle(page)
    page.keyboard.press("g")
    expect(page.locator(".st-key-all-details")).to_be_in_viewport(ratio=0.3)
    settle(page)
    page.mouse.move(600, 300)
    page.mouse.wheel(0, 2000)
    expect(card(page)).not_to_be_in_viewport()
    press(page, "s")
    expect(card(page)).not_to_have_attribute("data-variant", long_card)
    expect(card(page)).to_be_in_viewport(ratio=0.5)
    expect(page.locator(".st-key-all-details")).to_have_count(1)


def test_the_page_scrolls_by_key_without_a_click(
    long_card: str, home: Path, share: Share, page: Page
) -> None:
    page.set_viewport_size({"width": NARROW[0], "height": 560})
    visit(page, share(home), f"/review?variant={long_card}")
    expect(card(page)).to_have_attribute("data-variant", long_card)
    settle(page)
    page.keyboard.press("End")
    expect(card(page)).not_to_be_in_viewport()
    page.keyboard.press("Home")
    expect(card(page)).to_be_in_viewport(ratio=0.5)


def toggle_sidebar(page: Page) -> None:
    """Hide or show the sidebar with the mouse."""
    sidebar, back = page.get_by_test_id("stSidebar"), page.get_by_test_id("stExpandSidebarButton")
    hidden = back.count() > 0
    if hidden:
        back.click()
    else:
        sidebar.hover()
        page.get_by_test_id("stSidebarCollapseButton").get_by_role("button").click()
    expect(sidebar).to_have_attribute("data-collapsed", "false" if hidden else "true")
    still(page)  # it is animated


def test_the_card_keeps_its_position_when_the_sidebar_toggles(
    long_card: str, home: Path, share: Share, page: Page
) -> None:
    visit(page, share(home), "/review?type=Hedge%3A+phrase")
    expect(card(page)).to_be_visible()
    settle(page)
    for size in (WIDE, NARROW):
        resize(page, size)
        variant, before = shown(page), still(page)
        toggle_sidebar(page)
        alone = still(page)
        assert alone["y"] == pytest.approx(before["y"], abs=1)
        if size == WIDE:
            assert alone["x"] == pytest.approx(before["x"], abs=1)
            assert alone["width"] == pytest.approx(before["width"], abs=1)
        else:  # a small window has no room for it
            assert alone["width"] > before["width"]
        for part in (card(page), keys(page), page.locator("h1"), page.locator(".st-key-controls")):
            assert is_in_first_screen(page, part)
        toggle_sidebar(page)
        assert card(page).bounding_box() == pytest.approx(before, abs=1)
        assert shown(page) == variant
        press(page, "a")  # the keys apply to the card again


def test_a_choice_shows_what_is_left_and_returns_the_keys_to_the_card(desk: Page) -> None:
    opener = desk.get_by_role("button", name="Type: Verbal negation")
    number = "getComputedStyle(document.querySelector('{}'), '::after').content"
    left = number.format(".st-key-menu-queue .hg-open i")
    assert desk.evaluate(left) == '"280"'
    press(desk, "a")
    assert desk.evaluate(left) == '"279"'
    opener.click()
    expect(opener).to_have_attribute("aria-expanded", "true")
    expect(desk.get_by_role("radio", name="All types")).to_be_visible()
    assert desk.evaluate(number.format(".st-key-type [role=radio]:nth-of-type(12)")) == '"279"'
    assert not axe(desk)
    desk.keyboard.press("Escape")
    expect(desk.get_by_role("radio", name="All types")).not_to_be_visible()
    choose(desk, "Type", "Hedge: phrase")
    expect(desk.locator(".hg-type").first).to_have_text("Hedge: phrase")
    expect(desk.get_by_role("radio", name="All types")).not_to_be_visible()
    settle(desk)
    assert desk.evaluate("document.activeElement.tagName") == "BODY"
    press(desk, "a")


def test_choices_and_tools_need_no_mouse_in_a_small_window_either(desk: Page) -> None:
    desk.set_viewport_size({"width": 800, "height": 900})
    opener = desk.get_by_role("button", name="Queue: Pending")
    opener.focus()
    desk.keyboard.press("Enter")
    chosen = desk.get_by_role("radio", name="Pending")
    expect(chosen).to_be_focused()
    desk.keyboard.press("ArrowDown")
    desk.keyboard.press("Enter")
    expect(desk.get_by_text("No variant is in conflict")).to_be_visible()
    settle(desk)
    desk.keyboard.press("Shift+U")
    expect(card(desk)).to_be_visible()
    settle(desk)
    tools = desk.get_by_role("button", name="Tools")
    tools.click()
    menu = desk.locator(".st-key-look")
    expect(menu).to_be_in_viewport(ratio=1)
    assert not axe(desk)
    menu.get_by_role("button", name="Details").click()
    expect(desk.locator(".st-key-details")).to_be_visible()
    expect(menu).not_to_be_visible()
    settle(desk)
    desk.keyboard.press("g")  # its key works while the list is closed
    expect(desk.locator(".st-key-details")).not_to_be_visible()
