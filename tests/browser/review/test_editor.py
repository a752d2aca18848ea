"""The editors of the review page in Chromium: checks while one writes, asked about once."""

from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, expect
from sqlalchemy import Engine

from tests.browser.review.test_keys import SLOW_LINE
from tests.browser.support.reviewing import card, editor, eventually, rows, settle, visit

COUNT = "SELECT count(*) FROM decision"
FLAGGED = "The bridge number 0 is unsafe, they say."


def test_the_checks_are_shown_while_one_writes(desk: Page, home: Path) -> None:
    box = editor(desk, "e", "New wording")
    box.fill("")
    box.press_sequentially(FLAGGED, delay=20)
    expect(desk.locator(".hg-checks")).to_contain_text("No new verbal negator")
    expect(box).to_be_focused()
    expect(box).to_have_value(FLAGGED)
    box.fill("The bridge number 0 isn't safe.")
    expect(desk.locator(".hg-checks")).to_have_count(0)
    assert rows(home, COUNT) == [(0,)]


def test_what_the_checks_flag_is_asked_about_once(desk: Page, home: Path) -> None:
    box = editor(desk, "e", "New wording")
    box.fill(FLAGGED)
    desk.keyboard.press("Control+Enter")
    expect(desk.locator(".hg-checks.hg-asked")).to_contain_text("Not saved yet")
    expect(desk.get_by_role("button", name="Save anyway")).to_be_visible()
    settle(desk)
    assert rows(home, COUNT) == [(0,)]
    expect(box).to_be_focused()
    desk.keyboard.press("Control+Enter")
    eventually(desk, lambda: rows(home, COUNT) == [(2,)])
    expect(box).not_to_be_visible()
    kept = "SELECT text, status FROM variant WHERE parent_id IS NOT NULL"
    assert rows(home, kept) == [(FLAGGED, "accepted")]


def test_what_is_typed_just_before_saving_is_what_is_saved(desk: Page, home: Path) -> None:
    box = editor(desk, "e", "New wording")
    box.fill("The bridge number 0 is")
    box.press_sequentially(" not safe!")
    desk.keyboard.press("Control+Enter")
    kept = "SELECT text FROM variant WHERE parent_id IS NOT NULL"
    eventually(desk, lambda: rows(home, kept) == [("The bridge number 0 is not safe!",)])
    expect(box).not_to_be_visible()
    settle(desk)
    assert desk.evaluate("Object.keys(sessionStorage).filter((k) => k.startsWith('hedge'))") == []


def test_ctrl_enter_saves_from_every_field(desk: Page, home: Path) -> None:
    for number, label in enumerate(("Type", "Note", "New wording"), start=1):
        box = editor(desk, "e", "New wording")
        box.fill(f"The bridge number {number - 1} isn't safe.")
        field = desk.get_by_label(label, exact=True).last
        field.focus()
        before = card(desk).get_attribute("data-variant") or ""
        desk.keyboard.press("Control+Enter")
        eventually(desk, lambda n=number: rows(home, COUNT) == [(2 * n,)])
        expect(card(desk)).not_to_have_attribute("data-variant", before)
        settle(desk)


def test_on_a_slow_line_no_typed_letter_is_lost_to_the_checks(
    project: Engine, home: Path, share: Callable[[Path], str], page: Page
) -> None:
    """Answers come 600 ms late, while the next words are being typed."""
    page.add_init_script(SLOW_LINE)
    visit(page, share(home), "/review")
    expect(card(page)).to_be_visible()
    settle(page)
    box = editor(page, "e", "New wording")
    box.fill("")
    words = "The bridge number 0 has never in all these years been called safe by anybody."
    for word in words.split():
        box.press_sequentially(f"{word} ", delay=30)
        page.wait_for_timeout(400 if len(word) < 4 else 800)
    expect(box).to_have_value(f"{words} ")
    expect(box).to_be_focused()


def test_retyping_to_a_hedge_asks_for_its_cue(desk: Page, home: Path) -> None:
    desk.keyboard.press("t")
    expect(desk.get_by_text("It is of the type:")).to_be_visible()
    settle(desk)
    desk.keyboard.press("5")
    cue = desk.get_by_label("Hedge cue")
    expect(cue).to_be_focused()
    expect(desk.locator(".hg-message")).to_contain_text("The text has no known cue")
    settle(desk)
    assert rows(home, COUNT) == [(0,)]
    cue.fill("safe")
    desk.keyboard.press("Control+Enter")  # its surface is no hedge's: asked about once
    expect(desk.locator(".hg-checks.hg-asked")).to_be_visible()
    settle(desk)
    desk.keyboard.press("Control+Enter")
    kept = "SELECT type_id, cue FROM variant WHERE parent_id IS NOT NULL"
    eventually(desk, lambda: rows(home, kept) == [("word", "safe")])


def test_a_digit_that_is_not_for_the_type_says_so(desk: Page, home: Path) -> None:
    expect(desk.get_by_role("button", name="Not a hedge")).to_have_count(0)
    desk.keyboard.press("8")
    expect(desk.locator(".hg-message")).to_contain_text("is for hedges")
    assert rows(home, COUNT) == [(0,)]


def _write_everything(page: Page) -> None:
    """Change all four fields of the editor: wording, type, note and cue."""
    box = editor(page, "e", "New wording")
    box.fill("The bridge number 0 is perhaps safe, some say.")
    page.get_by_label("Type", exact=True).last.click()
    page.get_by_role("option", name="Hedge: single word").click()
    page.get_by_label("Hedge cue").fill("some say")
    page.get_by_label("Note", exact=True).fill("My note")
    settle(page)


def test_every_field_of_a_closed_editor_is_there_again_until_it_is_discarded(desk: Page) -> None:
    _write_everything(desk)
    desk.keyboard.press("Escape")
    expect(desk.get_by_label("New wording")).to_have_count(0)
    settle(desk)
    box = editor(desk, "e", "New wording")
    expect(box).to_have_value("The bridge number 0 is perhaps safe, some say.")
    expect(desk.get_by_label("Note", exact=True)).to_have_value("My note")
    expect(desk.get_by_label("Hedge cue")).to_have_value("some say")
    desk.get_by_role("button", name="Discard the draft").click()
    expect(box).to_have_count(0)
    settle(desk)
    box = editor(desk, "e", "New wording")
    desk.wait_for_timeout(1000)
    expect(box).to_have_value("The bridge is not safe.")
    expect(desk.get_by_label("Note", exact=True)).to_have_value("")
    expect(desk.get_by_label("Hedge cue")).to_have_count(0)


def test_a_note_and_a_cue_survive_a_reload_and_are_saved_with_the_rest(
    desk: Page, home: Path
) -> None:
    _write_everything(desk)
    desk.reload()
    expect(card(desk)).to_be_visible()
    settle(desk)
    editor(desk, "e", "New wording")
    expect(desk.get_by_label("Note", exact=True)).to_have_value("My note")
    desk.get_by_label("Type", exact=True).last.click()
    desk.get_by_role("option", name="Hedge: single word").click()
    expect(desk.get_by_label("Hedge cue")).to_have_value("some say")
    settle(desk)
    desk.get_by_label("New wording").focus()
    desk.keyboard.press("Control+Enter")
    settle(desk)
    if desk.get_by_role("button", name="Save anyway").count():
        desk.keyboard.press("Control+Enter")
    kept = "SELECT cue FROM variant WHERE parent_id IS NOT NULL"
    eventually(desk, lambda: rows(home, kept) == [("some say",)])
    assert rows(home, "SELECT note FROM decision WHERE verdict = 'edit'") == [("My note",)]
    expect(desk.get_by_label("New wording")).to_have_count(0)
    settle(desk)
    assert desk.evaluate("Object.keys(sessionStorage).filter((k) => k.startsWith('hedge'))") == []


def test_the_first_editor_of_a_browser_gives_the_cursor_to_the_wording(
    project: Engine, home: Path, share: Callable[[Path], str], page: Page
) -> None:
    """The code of a large box comes later than that of a line the first time that one is drawn."""
    late = "**/TextArea*.js"
    page.route(late, lambda route: (page.wait_for_timeout(1500), route.continue_()))
    visit(page, share(home), "/review")
    expect(card(page)).to_be_visible()
    settle(page)
    page.keyboard.press("e")
    expect(page.get_by_label("New wording")).to_be_focused(timeout=10_000)
    page.keyboard.type("xyz")
    expect(page.get_by_label("Note", exact=True)).to_have_value("")
