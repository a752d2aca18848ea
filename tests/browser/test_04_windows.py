"""A narrow window and a wide one: nothing overlaps, everything can be reached and read. An empty
project, and one full of hostile texts, which must not run."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import FloatRect, Locator, Page, expect
from sqlalchemy import Engine, update

from curation.diagnostics.measures import Flag
from curation.diagnostics.measuring import measure_variants
from curation.encoders.model_folders import BUILT_IN
from db.engine import writing
from db.models import Diagnostic
from db.settings import Settings
from tests.browser.conftest import Share
from tests.browser.support.chromium import NARROW, WIDE
from tests.browser.support.pages import (
    PAGES,
    axe,
    card,
    choose,
    come,
    editor,
    go,
    go_on,
    gone,
    hover_charts,
    key,
    look_round,
    misfits,
    place,
    press,
    rows,
    said,
    see,
    settle,
    visit,
)
from tests.support.benchmark_results import add_hostile_results
from tests.support.databases import Copies, opened
from tests.support.factories import add_anchor, add_variant, person
from tests.support.hostile import FOREIGN, stored
from tests.support.hostile_project import fill
from tests.training.support.trainings import perform, write
from training.evaluation.probe_sets import FIGURE_1_SET
from training.evaluation.similarity_run import COMPARE, Compare

LONG = (
    "The municipal engineers who inspected the suspension bridge after the winter storms reported "
    "to the council that its cables, its towers and its concrete anchorages are safe for all the "
    "traffic which the ministry expects."
)
HEDGED = f"Although I am not entirely sure, it would seem that {LONG[0].lower()}{LONG[1:]}"
DARK = "rgb(23, 29, 24)"
LEFT = [
    f"getComputedStyle(document.querySelector('{number}'), '::after').content"
    for number in (".st-key-menu-queue .hg-open i", ".st-key-type [role=radio]:nth-of-type(12)")
]
"""How many variants are left: in the queue, and of all types."""
PANELS = {"h": ".st-key-keys-list", "g": ".st-key-all-details", "l": ".st-key-last"}

# Elements that a text would create if it were read as HTML, Markdown or LaTeX.
MADE = f"""() => [...document.querySelectorAll(
    '[href*="{FOREIGN}"], [src*="{FOREIGN}"], [href^="javascript:"], [srcdoc], base, mglyph, '
    + 'meta[http-equiv="refresh"], body link[rel="stylesheet"], .katex, '
    + '.stMarkdownColoredText, [formaction], .hg-card script, .hg-card style'
)].map(element => element.outerHTML.slice(0, 200))"""


def add_long_cards(engine: Engine) -> tuple[str, str]:
    """Two variants: of some 45 words with every chip, and of some 400 words."""
    with writing(engine) as session:
        long = add_variant(session, add_anchor(session, LONG), "phrase", HEDGED)
        measure_variants(session, [long.id])
        session.execute(update(Diagnostic).values(flags=sum(Flag)))  # each is a chip
        anchor = add_anchor(session, " ".join([LONG] * 8))
        return long.uid, add_variant(session, anchor, text=" ".join([HEDGED] * 8)).uid


def assert_in_first_screen(page: Page, *parts: Locator) -> None:
    """The whole elements are visible, without scrolling."""
    assert page.locator(".stMain").evaluate("main => main.scrollTop") == 0
    for part in parts:
        box, size = place(part), page.viewport_size
        assert size is not None and box["x"] >= 0 and box["y"] >= 0
        assert box["x"] + box["width"] <= size["width"], box
        assert box["y"] + box["height"] <= size["height"], box


def assert_above(upper: Locator, lower: Locator) -> None:
    assert place(upper)["y"] + place(upper)["height"] <= place(lower)["y"]


def still(page: Page) -> FloatRect:
    """The position of the card once it no longer moves."""
    before = None
    while (box := card(page).bounding_box()) is None or box != before:
        before = box
        page.wait_for_timeout(250)
    return box


def resize(page: Page, size: Any) -> None:
    """Resize the window, and wait until the page has adapted."""
    page.set_viewport_size(size)
    expect(page.get_by_test_id("stApp")).to_have_css("width", f"{size['width']}px")
    still(page)


def test_a_narrow_window(project: Engine, home: Path, share: Share, page: Page) -> None:
    long, longest = add_long_cards(project)
    address = share(home)
    use_the_menus(page, address)
    see_the_first_screen(page, address, long, longest)
    open_panels_below_the_card(page, address, long)
    toggle_the_sidebar(page, address)


def use_the_menus(page: Page, address: str) -> None:
    """A choice returns the keys to the card. A small window needs no mouse either."""
    come(page, address)
    press(page, "a")
    page.get_by_role("button", name="Type: Verbal negation").click()
    see(every := page.get_by_role("radio", name="All types"))
    assert [page.evaluate(number) for number in LEFT] == ['"281"'] * 2
    assert axe(page) == []
    page.keyboard.press("Escape")
    expect(every).not_to_be_visible()
    choose(page, "Type", "Hedge: phrase")
    expect(page.locator(".hg-type").first).to_have_text("Hedge: phrase")
    settle(page)
    assert page.evaluate("document.activeElement.tagName") == "BODY"
    press(page, "a")
    resize(page, NARROW)
    page.get_by_role("button", name="Queue: Pending").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("radio", name="Pending")).to_be_focused()
    key(page, "ArrowDown", "Enter")
    gone(card(page))
    key(page, "Shift+U")
    see(card(page))
    page.get_by_role("button", name="Tools").click()
    menu = page.locator(".st-key-look")
    expect(menu).to_be_in_viewport(ratio=1)
    assert axe(page) == []
    menu.get_by_role("button", name="Details").click()
    see(page.locator(".st-key-details"))
    expect(menu).not_to_be_visible()
    page.keyboard.press("g")  # its key works while the list is closed
    gone(page.locator(".st-key-details"))


def see_the_first_screen(page: Page, address: str, long: str, longest: str) -> None:
    """The keys are below the card, not over it. All choices are in one row."""
    keys, controls = page.locator(".st-key-keys"), page.locator(".st-key-controls")
    for query in ("type=Hedge%3A+phrase", f"variant={long}", f"variant={longest}"):
        come(page, address, f"/review?{query}")
        for size in (WIDE, NARROW):
            resize(page, size)
            if longest in query:  # it continues below the keys
                assert_in_first_screen(page, keys)
                continue
            assert_in_first_screen(page, card(page), keys, controls)
            assert_above(card(page), keys)
            assert place(controls)["height"] < 40
            if size is WIDE:
                assert_in_first_screen(page, page.locator(".hg-guide"))
    resize(page, WIDE)
    press(page, "a")
    assert_above(said(page), card(page))


def open_panels_below_the_card(page: Page, address: str, long: str) -> None:
    """A panel scrolls into view, and the card returns. So does every new card."""
    resize(page, NARROW | {"height": 560})
    come(page, address, f"/review?variant={long}")
    page.keyboard.press("End")  # scrolls without a click
    expect(card(page)).not_to_be_in_viewport()
    page.keyboard.press("Home")
    expect(card(page)).to_be_in_viewport(ratio=0.5)
    for letter, panel in PANELS.items():
        page.keyboard.press(letter)
        expect(page.locator(panel)).to_be_in_viewport(ratio=0.3)
        settle(page)
        page.keyboard.press(letter)
        gone(page.locator(panel))
        expect(card(page)).to_be_in_viewport(ratio=0.5)
    page.keyboard.press("g")
    see(page.locator(PANELS["g"]))
    page.keyboard.press("End")  # a wheel's scrolling would go on under the next card
    expect(card(page)).not_to_be_in_viewport()
    press(page, "s")
    expect(card(page)).to_be_in_viewport(ratio=0.5)
    see(page.locator(PANELS["g"]))


def toggle_the_sidebar(page: Page, address: str) -> None:
    """The card keeps its position."""
    come(page, address, "/review?type=Hedge%3A+phrase")
    sidebar, back = page.get_by_test_id("stSidebar"), page.get_by_test_id("stExpandSidebarButton")
    parts = [card(page), *map(page.locator, (".st-key-keys", "h1", ".st-key-controls"))]
    for size in (WIDE, NARROW):
        resize(page, size)
        before = still(page)
        sidebar.hover()
        page.get_by_test_id("stSidebarCollapseButton").get_by_role("button").click()
        expect(sidebar).to_have_attribute("data-collapsed", "true")
        alone = still(page)
        if size is WIDE:
            assert alone == pytest.approx(before, abs=1)
        else:  # it has no room for both
            assert abs(alone["y"] - before["y"]) <= 1 and alone["width"] > before["width"]
        assert_in_first_screen(page, *parts)
        back.click()
        expect(sidebar).to_have_attribute("data-collapsed", "false")
        assert still(page) == pytest.approx(before, abs=1)
        press(page, "a")  # the keys apply to the card again


def test_every_page_of_an_empty_project_can_be_used_by_everybody(
    copies: Copies, home: Path, share: Share, page: Page
) -> None:
    with opened(copies.project(home / "hedgerow.db")) as engine:
        write(engine, person)
        # Otherwise, Compare would measure it in a project without a trained model.
        perform(engine, COMPARE, Compare(models=tuple(BUILT_IN), set_name=FIGURE_1_SET))
    address, found = share(home), {}
    page.set_viewport_size(NARROW)
    visit(page, address, "/settings")
    for name in PAGES:
        go_on(page, address, "" if name == "overview" else name)
        gone(page.locator("[class*=st-key-error-box]"))
        found[name] = misfits(page) + axe(page)
    assert {name: lines for name, lines in found.items() if lines} == {}
    # A theme applies to every page, and survives a reload.
    visit(page, address, "/settings")
    page.get_by_role("radio", name="Dark").or_(page.get_by_text("Dark", exact=True)).first.click()
    for path in ("/settings", "/release", "/"):
        expect(page.get_by_test_id("stApp")).to_have_css("background-color", DARK)
        page.goto(address + path)
    expect(page.get_by_test_id("stApp")).to_have_css("background-color", DARK)


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


def test_hostile_texts(copies: Copies, home: Path, share: Share, page: Page) -> None:
    """Nothing runs, everything fits and is readable, and every text is shown as it is stored."""
    with opened(copies.migrated(home / "hedgerow.db")) as engine, writing(engine) as session:
        fill(session)
        folder = Settings(home=home, database_url="").data_folder
        add_hostile_results(session, folder, list(stored().values()))
        anchor = add_anchor(session, f"The {'donaudampf' * 30} is safe.").uid
    address = share(home)
    visit(page, address, "/settings")
    with noted(page, address) as found:
        look_at_every_page(page, address)
        review_a_region(page, address)
        read_and_edit_cards(page, home, address, anchor)
    assert found == []


def look_at_every_page(page: Page, address: str) -> None:
    """In two widths, and with every other part in dark colours."""
    seen: dict[str, list[str]] = {}
    for part in look_round(page, address):
        page.emulate_media(color_scheme="dark" if len(seen) % 2 else "light")
        page.wait_for_timeout(300)  # until the page shows it
        settle(page)
        hover_charts(page)
        seen[part] = made(page) + axe(page)
        for size in (NARROW, WIDE):
            page.set_viewport_size(size)
            seen[part] += misfits(page)
    assert {part.partition(",")[0] for part in seen} == set(PAGES)
    assert {part: what for part, what in seen.items() if what} == {}


def review_a_region(page: Page, address: str) -> None:
    """Of the scatter on the Diagnostics page, marked with the mouse."""
    go(page, f"{address}/diagnostics?show=Pairs")
    charts = page.get_by_test_id("stVegaLiteChart")
    cells = charts.nth(7).locator(".mark-rect.role-mark.marks").first  # of a free-form type
    cells.scroll_into_view_if_needed()
    box = place(cells)
    page.mouse.move(box["x"] + 1, box["y"] + 1)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] - 1, box["y"] + box["height"] - 1, steps=4)
    page.mouse.up()
    see(page.locator(".hg-found tbody tr").first)
    page.get_by_role("button", name="Review these").click()
    see(card(page))


def read_and_edit_cards(page: Page, home: Path, address: str, anchor: str) -> None:
    texts = stored()
    first_ones = "SELECT min(uid) FROM variant WHERE length(text) < 9999 GROUP BY anchor_id"
    read: list[str] = []
    for (uid,) in rows(home, first_ones):
        come(page, address, f"/review?variant={uid}")
        page.keyboard.press("g")  # its siblings, their notes and history
        see(page.locator(".hg-siblings .hg-text").first)
        read += page.locator(".hg-variant .hg-text, .hg-siblings .hg-text").all_text_contents()
        for size in (WIDE, NARROW):
            resize(page, size)
            assert made(page) + misfits(page) == []
    assert sorted(read) == sorted(texts.values())
    for name in ("latex", "bidirectional"):  # an editor is opened and saved without changes
        ((uid,),) = rows(home, "SELECT uid FROM variant WHERE text = ?", texts[name])
        come(page, address, f"/review?variant={uid}")
        box = editor(page, "e", "New wording")
        expect(box).to_have_value(texts[name])
        box.press("Control+Enter")
        expect(page.locator(".st-key-keys .hg-message")).not_to_be_empty()
    visit(page, address, f"/anchors?anchor={anchor}")
    assert made(page) + misfits(page) == []
    kept = rows(home, "SELECT text FROM variant WHERE length(text) < 9999")
    assert sorted(kept) == sorted((text,) for text in texts.values())
