"""The review page in Chromium: keys and panels. No key decides on a card that nobody saw."""

import time
from pathlib import Path

from playwright.sync_api import Page, expect
from sqlalchemy import Engine

from tests.browser.conftest import Share
from tests.browser.support.chromium import Chromium
from tests.browser.support.reviewing import (
    SLOW_LINE,
    card,
    editor,
    eventually,
    press,
    rows,
    settle,
    shown,
    visit,
)

VERDICTS = "SELECT verdict, reason, note FROM decision ORDER BY id"


COUNT = "SELECT count(*) FROM decision"


def count(home: Path) -> int:
    """The number of stored decisions."""
    return int(str(rows(home, COUNT)[0][0]))


def test_held_keys_and_rapid_presses_do_not_decide_unread_cards(desk: Page, home: Path) -> None:
    """Chromium repeats a held key, and only the first press counts. A card ignores keys for 200
    ms."""
    before = shown(desk)
    desk.keyboard.down("a")
    for _ in range(30):
        desk.keyboard.down("a")  # Playwright marks these as repeats
        time.sleep(0.033)
    desk.keyboard.up("a")
    expect(card(desk)).not_to_have_attribute("data-variant", before)
    settle(desk)
    assert count(home) == 1
    start = time.monotonic()
    for _ in range(25):
        desk.keyboard.press("a")
        time.sleep(0.02)
    took = time.monotonic() - start
    eventually(desk, lambda: count(home) > 1)
    settle(desk)
    assert count(home) <= 2 + took / 0.2
    # By the server's clock, every decided card had been on the screen for 200 ms.
    times = rows(home, "SELECT (julianday(decided_at) - julianday(shown_at)) * 86400 FROM decision")
    assert all(float(str(seconds)) >= 0.199 for (seconds,) in times)


AT_ONCE = """([act, first]) => new Promise((resolve) => {
  const shown = () => document.querySelector("article").dataset.variant;
  const button = () => document.querySelector('[class*="st-key-f-"] button'); // the last one
  const before = button();
  let since = null;
  const go = () => {
    if (act === "click") document.querySelector(".st-key-decide button").click();
    const code = (act < "a" ? "Digit" : "Key") + act.toUpperCase();
    const press = new KeyboardEvent("keydown", {key: act, code, bubbles: true});
    if (act !== "click") document.body.dispatchEvent(press);
    resolve([shown(), performance.now() - since]);
  };
  const observer = new MutationObserver(() => {
    if (shown() !== first) since ??= performance.now();
    if (since === null || button() === before || !button()) return;
    observer.disconnect();
    setTimeout(go, 20); // until its buttons listen
  });
  observer.observe(document.body, {childList: true, subtree: true});
  document.querySelector(".st-key-decide button").click();
})"""
"""Accept, and press a key or click Accept again just after the next card's buttons appear. Returns
that card, and how many milliseconds it had been visible.
"""


SLOW_CLOCK = "const now = performance.now.bind(performance); performance.now = () => now() / 10;"
"""Makes cards ignore keys for two seconds, enough for a busy machine to handle a press."""


def test_on_a_slow_connection_a_card_ignores_keys_until_it_can_be_read(
    project: Engine, home: Path, share: Share, chromium: Chromium
) -> None:
    """The server drew the card long ago, so only the browser can know."""
    with chromium.new_page() as page:
        page.add_init_script(SLOW_LINE + SLOW_CLOCK)
        visit(page, share(home), "/review")
        expect(card(page)).to_be_visible()
        for act in ("a", "1", "s", "f", "click"):
            settle(page)
            page.wait_for_timeout(2500)
            before = shown(page)
            second, after = page.evaluate(AT_ONCE, [act, before])
            assert after < 200
            accepted = count(home)
            page.wait_for_timeout(1500)
            assert shown(page) == second != before
            assert count(home) == accepted
            content = "getComputedStyle(document.querySelector('.hg-message'), '::after').content"
            assert "Key ignored" in page.evaluate(content)


def test_typing_while_a_panel_is_open_decides_nothing(desk: Page, home: Path) -> None:
    """This also applies if the cursor is outside the box: nobody types 'a' into an editor to
    accept."""
    before = shown(desk)
    desk.keyboard.press("0")
    desk.keyboard.type("axs")  # before the panel is there
    note = desk.get_by_label("Note")
    expect(note).to_be_focused()
    note.blur()
    desk.keyboard.type("axs1")
    settle(desk)
    desk.keyboard.press("Escape")
    expect(note).not_to_be_visible()
    settle(desk)
    box = editor(desk, "e", "New wording")
    box.press_sequentially(" axestz 123 a really long addition")
    settle(desk)
    desk.keyboard.press("Escape")
    expect(box).not_to_be_visible()
    settle(desk)
    assert shown(desk) == before
    assert count(home) == 0


def test_each_way_to_decide_is_stored(desk: Page, home: Path) -> None:
    press(desk, "a")
    press(desk, "2")
    desk.keyboard.press("x")
    expect(desk.get_by_text("Reject with a note. Reason:")).to_be_visible()
    settle(desk)
    editor(desk, "4", "Note").press_sequentially("on the date")
    before = shown(desk)
    desk.keyboard.press("Control+Enter")
    expect(card(desk)).not_to_have_attribute("data-variant", before)
    settle(desk)
    editor(desk, "e", "New wording").fill("The bridge number 3 isn't safe.")
    before = shown(desk)
    desk.keyboard.press("Control+Enter")
    expect(card(desk)).not_to_have_attribute("data-variant", before)
    settle(desk)
    desk.keyboard.press("t")
    expect(desk.get_by_text("The right type is:")).to_be_visible()
    settle(desk)
    press(desk, "2")
    press(desk, "f")
    verdicts = rows(home, VERDICTS)
    assert verdicts[:5] == [
        ("accept", "", ""),
        ("reject", "not_contradictory", ""),
        ("reject", "wrong_scope", "on the date"),
        ("edit", "", ""),
        ("accept", "", ""),
    ]
    assert verdicts[5:7] == [("edit", "wrong_type", ""), ("accept", "", "")]
    assert verdicts[7:] == [("reject", "anchor_unsuitable", "")] * 7
    assert rows(home, "SELECT text, status FROM variant WHERE parent_id IS NOT NULL") == [
        ("The bridge number 3 isn't safe.", "accepted"),
        ("The bridge is not safe.", "accepted"),
    ]
    undone = "SELECT count(DISTINCT action_id) FROM decision WHERE verdict = 'retract'"
    for number in range(1, 7):
        desk.keyboard.press("z")
        eventually(desk, lambda n=number: rows(home, undone) == [(n,)])
        settle(desk)
    assert rows(home, "SELECT count(*) FROM variant WHERE status = 'accepted'") == [(0,)]


PRESS = """keys => keys.forEach(([key, code]) => document.body.dispatchEvent(
  new KeyboardEvent("keydown", {key, code, bubbles: true, cancelable: true})))"""


def test_keys_pressed_while_the_server_is_busy_all_count(desk: Page) -> None:
    """Streamlit alone would deliver the last of them."""
    desk.evaluate(PRESS, [["g", "KeyG"], ["l", "KeyL"], ["i", "KeyI"]])
    expect(desk.locator(".st-key-details")).to_be_visible()
    expect(desk.locator(".st-key-last")).to_be_visible()
    expect(desk.locator(".hg-guide")).to_have_count(0)
    settle(desk)
    desk.keyboard.press("g")
    expect(desk.locator(".st-key-details")).to_have_count(0)


def test_a_key_works_on_keyboards_of_other_scripts(desk: Page, home: Path) -> None:
    before = shown(desk)
    desk.evaluate(PRESS, [["ф", "KeyA"]])
    expect(card(desk)).not_to_have_attribute("data-variant", before)
    settle(desk)
    desk.evaluate(PRESS, [["&", "Digit1"]])  # a French keyboard without Shift
    eventually(desk, lambda: len(rows(home, VERDICTS)) == 2)
    assert rows(home, VERDICTS) == [("accept", "", ""), ("reject", "wrong_type", "")]
