"""The editors of the review page in Chromium: checks while typing, and questions asked once."""

from pathlib import Path

from playwright.sync_api import Locator, Page, Route, expect
from sqlalchemy import Engine

from tests.browser.conftest import Share
from tests.browser.support.chromium import Chromium
from tests.browser.support.reviewing import (
    SLOW_LINE,
    card,
    editor,
    eventually,
    rows,
    settle,
    shown,
    visit,
)

COUNT = "SELECT count(*) FROM decision"
FLAGGED = "The bridge number 0 is unsafe, they say."
DRAFTS = "Object.keys(sessionStorage).filter((key) => key.startsWith('hedge'))"


def asked(page: Page) -> Locator:
    return page.locator(".hg-checks.hg-asked")


def test_checks_are_shown_while_typing_and_flags_need_one_confirmation(
    desk: Page, home: Path
) -> None:
    box = editor(desk, "e", "New wording")
    box.fill("")
    box.press_sequentially(FLAGGED, delay=20)
    expect(desk.locator(".hg-checks")).to_contain_text("No new verbal negator")
    expect(box).to_be_focused()
    expect(box).to_have_value(FLAGGED)
    box.fill("The bridge number 0 isn't safe.")
    expect(desk.locator(".hg-checks")).to_have_count(0)
    box.fill(FLAGGED)
    desk.keyboard.press("Control+Enter")
    expect(asked(desk)).to_contain_text("Not saved yet")
    expect(desk.get_by_role("button", name="Save anyway")).to_be_visible()
    settle(desk)
    assert rows(home, COUNT) == [(0,)]
    expect(box).to_be_focused()
    desk.keyboard.press("Control+Enter")
    eventually(desk, lambda: rows(home, COUNT) == [(2,)])
    expect(box).not_to_be_visible()
    kept = "SELECT text, status FROM variant WHERE parent_id IS NOT NULL"
    assert rows(home, kept) == [(FLAGGED, "accepted")]


def test_ctrl_enter_saves_from_every_field_with_the_latest_text(desk: Page, home: Path) -> None:
    for number, label in enumerate(("Type", "Note", "New wording")):
        box = editor(desk, "e", "New wording")
        box.fill(f"The bridge number {number} is")
        box.press_sequentially(" not safe!")
        if label != "New wording":  # also saves what was typed just before
            desk.get_by_label(label, exact=True).last.focus()
        before = shown(desk)
        desk.keyboard.press("Control+Enter")
        expect(card(desk)).not_to_have_attribute("data-variant", before)
        expect(box).not_to_be_visible()
        settle(desk)
    kept = "SELECT text FROM variant WHERE parent_id IS NOT NULL ORDER BY id"
    assert rows(home, kept) == [(f"The bridge number {n} is not safe!",) for n in range(3)]
    assert rows(home, COUNT) == [(6,)]
    assert desk.evaluate(DRAFTS) == []


def test_a_slow_connection_loses_no_letters_typed_during_checks(
    project: Engine, home: Path, share: Share, chromium: Chromium
) -> None:
    """Answers arrive 600 ms late, while the next words are being typed."""
    with chromium.new_page() as page:
        page.add_init_script(SLOW_LINE)
        visit(page, share(home), "/review")
        expect(card(page)).to_be_visible()
        settle(page)
        box = editor(page, "e", "New wording")
        box.fill("")
        words = "The bridge is in no way safe."
        for word in words.split():  # each pause submits the text so far
            box.press_sequentially(f"{word} ", delay=30)
            page.wait_for_timeout(400 if len(word) < 4 else 800)
        expect(page.locator(".hg-checks")).to_be_visible()
        page.wait_for_timeout(1500)  # until all answers are there
        expect(box).to_have_value(f"{words} ")
        expect(box).to_be_focused()


def test_retyping_to_a_hedge_asks_for_its_cue(desk: Page, home: Path) -> None:
    desk.keyboard.press("8")  # a reason that only applies to hedges
    expect(desk.locator(".hg-message")).to_contain_text("is for hedges")
    settle(desk)
    desk.keyboard.press("t")
    expect(desk.get_by_text("The right type is:")).to_be_visible()
    settle(desk)
    desk.keyboard.press("5")
    cue = desk.get_by_label("Hedge cue")
    expect(cue).to_be_focused()
    expect(desk.locator(".st-key-keys .hg-message")).to_contain_text("The text has no known cue")
    settle(desk)
    assert rows(home, COUNT) == [(0,)]
    cue.fill("safe")
    desk.keyboard.press(
        "Control+Enter"
    )  # it does not look like a hedge, so it needs a confirmation
    expect(asked(desk)).to_be_visible()
    settle(desk)
    desk.keyboard.press("Control+Enter")
    kept = "SELECT type_id, cue FROM variant WHERE parent_id IS NOT NULL"
    eventually(desk, lambda: rows(home, kept) == [("word", "safe")])


def test_every_editor_field_survives_closing_and_reloading_until_discarded_or_saved(
    desk: Page, home: Path
) -> None:
    wording, note, cue = "The bridge number 0 is perhaps safe, some say.", "My note", "some say"
    box, note_box = desk.get_by_label("New wording"), desk.get_by_label("Note", exact=True)
    cue_box = desk.get_by_label("Hedge cue")

    def write() -> None:
        """Change all four fields."""
        editor(desk, "e", "New wording").fill(wording)
        choose_hedge()
        cue_box.fill(cue)
        note_box.fill(note)
        settle(desk)

    def choose_hedge() -> None:
        desk.get_by_label("Type", exact=True).last.click()
        desk.get_by_role("option", name="Hedge: single word").click()

    write()
    desk.keyboard.press("Escape")
    expect(box).to_have_count(0)
    settle(desk)
    editor(desk, "e", "New wording")
    expect(box).to_have_value(wording)
    expect(note_box).to_have_value(note)
    expect(cue_box).to_have_value(cue)
    desk.get_by_role("button", name="Discard draft").click()
    expect(box).to_have_count(0)
    settle(desk)
    editor(desk, "e", "New wording")
    desk.wait_for_timeout(1000)  # no old value reappears later
    expect(box).to_have_value("The bridge is not safe.")
    expect(note_box).to_have_value("")
    expect(cue_box).to_have_count(0)
    desk.keyboard.press("Escape")
    expect(box).to_have_count(0)
    settle(desk)

    write()
    desk.reload()
    expect(card(desk)).to_be_visible()
    settle(desk)
    expect(box).to_have_value(wording)  # it is open again
    expect(note_box).to_have_value(note)
    expect(cue_box).to_have_value(cue)
    settle(desk)
    box.focus()
    desk.keyboard.press("Control+Enter")  # siblings have this text, so it needs a confirmation
    expect(asked(desk)).to_be_visible()
    settle(desk)
    desk.keyboard.press("Control+Enter")
    expect(box).to_have_count(0)
    kept = "SELECT text, cue FROM variant WHERE parent_id IS NOT NULL"
    assert rows(home, kept) == [(wording, cue)]
    assert rows(home, "SELECT note FROM decision WHERE verdict = 'edit'") == [(note,)]
    settle(desk)
    assert desk.evaluate(DRAFTS) == []


def test_the_first_editor_in_a_browser_puts_the_cursor_in_the_text(
    project: Engine, home: Path, share: Share, page: Page
) -> None:
    """A text area loads its code later than a text field, when it is shown for the first time."""
    held = []

    def hold(route: Route) -> None:
        held.append(route.request.url)
        page.wait_for_timeout(1500)
        route.continue_()

    page.route("**/TextArea*.js", hold)
    visit(page, share(home), "/review")
    expect(card(page)).to_be_visible()
    settle(page)
    page.keyboard.press("e")
    expect(page.get_by_label("New wording")).to_be_focused()
    assert held
    page.keyboard.type("xyz")
    expect(page.get_by_label("Note", exact=True)).to_have_value("")
