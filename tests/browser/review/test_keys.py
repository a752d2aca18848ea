"""The review page in Chromium: keys, panels, and that no key decides what nobody saw."""

import time
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, expect
from sqlalchemy import Engine

from tests.browser.support.reviewing import (
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


def test_a_held_key_decides_only_what_was_seen(desk: Page, home: Path) -> None:
    """Chromium repeats a held key; only the first press may count."""
    desk.keyboard.down("a")
    for _ in range(30):
        desk.keyboard.down("a")  # Playwright marks these as repeats
        time.sleep(0.033)
    desk.keyboard.up("a")
    settle(desk)
    assert rows(home, "SELECT count(*) FROM decision") == [(1,)]


def test_keys_faster_than_a_card_can_be_read_are_ignored(desk: Page, home: Path) -> None:
    """Separate presses, 20 ms apart: a card takes none in its first 200 ms."""
    start = time.monotonic()
    for _ in range(25):
        desk.keyboard.press("a")
        time.sleep(0.02)
    took = time.monotonic() - start
    settle(desk)
    (count,) = rows(home, "SELECT count(*) FROM decision")[0]
    assert 1 <= int(str(count)) <= 1 + took / 0.2
    # Whatever was decided had been on the screen for 200 ms, by the server's clock.
    times = rows(home, "SELECT (julianday(decided_at) - julianday(shown_at)) * 86400 FROM decision")
    assert all(float(str(seconds)) >= 0.199 for (seconds,) in times)


SLOW_LINE = """
const Socket = window.WebSocket;
window.WebSocket = class extends Socket {
  addEventListener(type, listener, ...more) {
    const late = type === "message" ? (event) => setTimeout(() => listener(event), 600) : listener;
    super.addEventListener(type, late, ...more);
  }
};"""
"""All that the server sends arrives 600 ms later."""
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
"""Accept, and press a key or click on Accept again just after the next card's buttons have come:
that card, and for how many milliseconds it had been there.
"""


def test_on_a_slow_line_too_a_card_takes_nothing_before_it_could_be_read(
    project: Engine, home: Path, share: Callable[[Path], str], page: Page
) -> None:
    """The server has drawn the card long ago then: only the browser can know."""
    page.add_init_script(SLOW_LINE)
    visit(page, share(home), "/review")
    expect(card(page)).to_be_visible()
    accepted = 0
    for act in ("a", "1", "s", "f", "click"):
        after = 200.0
        while after > 170:  # the machine was busy, and the card there long enough
            settle(page)
            before = shown(page)
            second, after = page.evaluate(AT_ONCE, [act, before])
            accepted = rows(home, "SELECT count(*) FROM decision")[0][0]
            page.wait_for_timeout(1500)
        assert shown(page) == second != before
        assert rows(home, "SELECT count(*) FROM decision") == [(accepted,)]
        said = "getComputedStyle(document.querySelector('.hg-message'), '::after').content"
        assert "passed over" in page.evaluate(said)


def test_no_key_decides_while_a_text_box_has_the_focus(desk: Page, home: Path) -> None:
    before = shown(desk)
    box = editor(desk, "e", "New wording")
    box.press_sequentially(" axestz 123 a really long addition")
    settle(desk)
    assert shown(desk) == before
    assert rows(home, "SELECT count(*) FROM decision") == [(0,)]
    desk.keyboard.press("Escape")
    expect(box).not_to_be_visible()
    assert rows(home, "SELECT count(*) FROM decision") == [(0,)]


def test_letters_are_text_as_soon_as_the_panel_is_open(desk: Page, home: Path) -> None:
    """Even if the cursor is not in the box: nobody types 'a' into an editor to accept."""
    desk.keyboard.press("0")
    desk.keyboard.type("axs")  # before the panel is there
    expect(desk.get_by_label("Note")).to_be_focused()
    desk.get_by_label("Note").blur()
    desk.keyboard.type("axs1")
    settle(desk)
    assert rows(home, "SELECT count(*) FROM decision") == [(0,)]


def test_each_way_to_decide_is_stored(desk: Page, home: Path) -> None:
    press(desk, "a")
    press(desk, "2")
    desk.keyboard.press("x")
    expect(desk.get_by_text("Reject with a note, because:")).to_be_visible()
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
    expect(desk.get_by_text("It is of the type:")).to_be_visible()
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


def test_a_key_means_the_same_on_a_keyboard_of_another_script(desk: Page, home: Path) -> None:
    before = shown(desk)
    desk.evaluate(PRESS, [["ф", "KeyA"]])
    expect(card(desk)).not_to_have_attribute("data-variant", before)
    settle(desk)
    desk.evaluate(PRESS, [["&", "Digit1"]])  # a French keyboard without Shift
    eventually(desk, lambda: len(rows(home, VERDICTS)) == 2)
    assert rows(home, VERDICTS) == [("accept", "", ""), ("reject", "wrong_type", "")]


def test_what_was_being_written_survives_a_reload(desk: Page) -> None:
    box = editor(desk, "e", "New wording")
    box.press_sequentially(" Half a thought")
    desk.reload()
    expect(card(desk)).to_be_visible()
    settle(desk)
    desk.keyboard.press("e")
    expect(box).to_have_value("The bridge is not safe. Half a thought")


def test_a_new_browser_is_asked_for_a_name(
    project: Engine, home: Path, share: Callable[[Path], str], page: Page
) -> None:
    """One person is known; that says nothing about who sits at this browser."""
    page.goto(share(home) + "/review")
    expect(page.get_by_label("Your name")).to_be_focused()
    settle(page)
    page.keyboard.type("<img src=x onerror=alert(1)>'; x")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Reviewing as <img src=x onerror=alert(1)>'; x")).to_be_visible()
    page.reload()
    expect(page.get_by_text("Reviewing as <img src=x onerror=alert(1)>'; x")).to_be_visible()
