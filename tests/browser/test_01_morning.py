"""A linguist's morning: a permalink, keys, editors, queues, a practice round, a slow connection."""

import re
import time
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, Route, expect
from sqlalchemy import Engine

from curation.editing.anchors import retire_anchor
from curation.project.settings import PRACTISE_FIRST, put_setting
from curation.review import deciding
from curation.review.gold.items import mark
from db.engine import writing
from db.models import GoldUse, Verdict
from tests.browser.conftest import Share
from tests.browser.support.chromium import Chromium
from tests.browser.support.pages import (
    card,
    choose,
    close,
    come,
    confirm,
    discard,
    editor,
    eventually,
    go,
    gone,
    key,
    press,
    rows,
    said,
    see,
    settle,
    shown,
    shows,
)
from tests.support.factories import person

NAME = "<img src=x onerror=alert(1)>'; x"
MINE = """FROM decision d JOIN reviewer r ON r.id = d.reviewer_id
WHERE r.name NOT IN ('Bert', 'Lea') AND NOT adjudicates"""
FLAGGED = "The bridge number 0 is unsafe, they say."
ADDED = "SELECT {} FROM variant WHERE parent_id IS NOT NULL ORDER BY id DESC LIMIT {}"

PRESS = """keys => keys.forEach(([key, code]) => document.body.dispatchEvent(
  new KeyboardEvent("keydown", {key, code, bubbles: true, cancelable: true})))"""

SLOW_LINE = """
const Socket = window.WebSocket;
window.WebSocket = class extends Socket {
  addEventListener(type, listener, ...more) {
    const late = type === "message" ? (event) => setTimeout(() => listener(event), 600) : listener;
    super.addEventListener(type, late, ...more);
  }
};"""
"""Everything that the server sends arrives 600 ms later."""

SLOW_CLOCK = "const now = performance.now.bind(performance); performance.now = () => now() / 10;"
"""Makes cards ignore keys for two seconds, enough for a busy machine to handle a press."""

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


def count(home: Path) -> int:
    """The number of stored decisions of the linguist."""
    return len(rows(home, f"SELECT 1 {MINE}"))


def test_a_linguists_morning(project: Engine, home: Path, share: Share, page: Page) -> None:
    address = share(home)
    uid = arrive_by_a_permalink(project, page, home, address)
    practise(project, page, home, address)
    write_with_checks(page, home)
    leave_drafts(page, home)
    decide_in_every_way(page, home)
    hold_and_hammer_a_key(page, home)
    type_where_letters_are_text(page, home)
    use_other_keyboards_and_a_busy_server(page, home)
    change_the_queue(page, home)
    decide_blind(page, address, uid)


def arrive_by_a_permalink(project: Engine, page: Page, home: Path, address: str) -> str:
    """The names in the project sign nobody in. Replaced, retired, unknown and rejected variants."""
    last = "SELECT uid FROM variant WHERE type_id = 'lexical' ORDER BY id DESC LIMIT 3"
    uids = [str(uid) for (uid,) in rows(home, last)]
    with writing(project) as session:
        retired, replaced, rejected = (deciding.find_variant(session, uid) for uid in uids)
        bert, texts = person(session, "Bert"), ("Meant otherwise.", "The bridge is a danger.")
        before = deciding.shown(rejected)
        deciding.reject(session, before, reviewer_id=bert, reason="wrong_type", note=texts[0])
        deciding.edit(session, deciding.shown(replaced), reviewer_id=bert, text=texts[1])
        retire_anchor(session, retired.anchor_id)
    words = ("Out of use", "has replaced", "status: rejected", "'<b>x</b>'")
    page.goto(f"{address}/review?variant={uids[2]}")
    expect(page.get_by_label("Your name")).to_be_focused()
    settle(page)
    page.keyboard.type(NAME)
    page.keyboard.press("Enter")
    shows(page, uids[2])
    for uid, state in zip([*uids, "<b>x</b>"], words, strict=True):
        go(page, f"{address}/review?variant={uid}")
        see(card(page), page.get_by_text(f"Reviewing as {NAME}"), page.get_by_text(state).first)
    return uids[2]


def decide_in_every_way(page: Page, home: Path) -> None:
    accepted = "SELECT count(*) FROM variant WHERE status = 'accepted'"
    done, before = count(home), rows(home, accepted)
    press(page, "a", "2")
    key(page, "x")
    editor(page, "4", "Note").press_sequentially("on the date")
    press(page, "Control+Enter")
    editor(page, "e", "New wording").fill("The bridge number 8 isn't safe.")
    press(page, "Control+Enter")
    key(page, "t")
    press(page, "2", "f")
    assert rows(home, f"SELECT verdict, reason, note {MINE} ORDER BY d.id")[done:] == [
        ("accept", "", ""),
        ("reject", "not_contradictory", ""),
        ("reject", "wrong_scope", "on the date"),
        ("edit", "", ""),
        ("accept", "", ""),
        ("edit", "wrong_type", ""),
        ("accept", "", ""),
        *[("reject", "anchor_unsuitable", "")] * 7,
    ]
    undone = f"SELECT count(DISTINCT action_id) {MINE} AND verdict = 'retract'"
    for number in range(1, 7):
        page.keyboard.press("z")
        eventually(page, lambda n=number: rows(home, undone) == [(n,)])
        settle(page)
    assert rows(home, accepted) == before


def hold_and_hammer_a_key(page: Page, home: Path) -> None:
    """Chromium repeats a held key, and only the first press counts. A card ignores keys for 200
    ms."""
    done = count(home)
    for _ in range(30):
        page.keyboard.down("a")  # Playwright marks all but the first as repeats
        page.wait_for_timeout(33)
    page.keyboard.up("a")
    eventually(page, lambda: count(home) > done)
    settle(page)
    assert count(home) == done + 1
    start = time.monotonic()
    for _ in range(25):
        page.keyboard.press("a")
        page.wait_for_timeout(20)
    most = done + 2 + (time.monotonic() - start) / 0.2
    eventually(page, lambda: count(home) > done + 1)
    settle(page)
    assert count(home) <= most
    # By the server's clock, every decided card had been on the screen for 200 ms.
    early = "(julianday(decided_at) - julianday(shown_at)) * 86400 < 0.199"
    assert rows(home, f"SELECT count(shown_at) > 5, sum({early}) {MINE}") == [(1, 0)]


def type_where_letters_are_text(page: Page, home: Path) -> None:
    """Nobody types 'a' into an editor to accept, even if the cursor is outside the box."""
    before, done = shown(page), count(home)
    page.keyboard.press("0")
    page.keyboard.type("axs")  # before the panel is there
    note = page.get_by_label("Note")
    expect(note).to_be_focused()
    note.blur()
    page.keyboard.type("axs1")
    settle(page)
    close(page, note)
    box = editor(page, "e", "New wording")
    box.press_sequentially(" axestz 123 a really long addition")
    settle(page)
    discard(page, box)
    page.keyboard.type("/aas1f")  # typed at once, before the box appears
    expect(page.get_by_label("Part of a sentence or a note, or a uid")).to_be_focused()
    settle(page)
    page.keyboard.press("Control+a")
    page.keyboard.type("IS UNSAFE")
    page.keyboard.press("Enter")
    hit = page.locator(".hg-hit").first
    expect(hit.locator("mark")).to_have_text("is unsafe")
    hit.click()  # the cursor has left the box
    page.keyboard.type("as1f")
    close(page, page.get_by_role("dialog"))
    assert (shown(page), count(home)) == (before, done)


def use_other_keyboards_and_a_busy_server(page: Page, home: Path) -> None:
    latest = f"SELECT reason {MINE} ORDER BY d.id DESC LIMIT 1"
    # A Cyrillic keyboard, and a French one without Shift.
    for pressed, reason in ((["ф", "KeyA"], ""), (["&", "Digit1"], "wrong_type")):
        done = count(home)
        page.evaluate(PRESS, [pressed])
        eventually(page, lambda n=done + 1: count(home) == n)
        assert rows(home, latest) == [(reason,)]
        settle(page)
    # All of several presses count. Streamlit alone would deliver the last of them.
    page.evaluate(PRESS, [["g", "KeyG"], ["l", "KeyL"], ["i", "KeyI"]])
    see(page.locator(".st-key-details"), page.locator(".st-key-last"))
    gone(page.locator(".hg-guide"))
    key(page, "i", "l", "g")
    see(page.locator(".hg-guide"))


def practise(project: Engine, page: Page, home: Path, address: str) -> None:
    """With keys and feedback. Nothing is decided."""
    with writing(project) as session:
        lea = person(session, "Lea")
        for (uid,) in rows(home, "SELECT uid FROM variant WHERE type_id = 'absolute' LIMIT 2"):
            mark(session, str(uid), Verdict.ACCEPT, reviewer_id=lea, use=GoldUse.TRAINING)
        put_setting(session, PRACTISE_FIRST, True)
    go(page, f"{address}/review")
    page.get_by_role("link", name="Start practising").click()
    for answer, verdict in {"4": "Not quite", "a": "Right"}.items():
        see(card(page))
        key(page, answer)
        expect(page.get_by_role("status", name="Feedback")).to_contain_text(verdict)
        key(page, "a", "n")  # no longer decides anything
    assert rows(home, "SELECT count(*) FROM practice_answer") == [(2,)]
    assert count(home) == 0
    page.get_by_role("link", name="Go to the queue").click()
    see(card(page))


def write_with_checks(page: Page, home: Path) -> None:
    """The checks arrive while somebody types, and Ctrl+Enter saves from every field. A text area
    loads its code later than a text field, when it is shown for the first time."""
    done, held, checks = count(home), [], page.locator(".hg-checks")

    def hold(route: Route) -> None:
        held.append(route.request.url)
        page.wait_for_timeout(1500)
        route.continue_()

    page.route("**/TextArea*.js", hold)
    box = editor(page, "e", "New wording")
    page.unroute_all()
    assert held
    page.keyboard.press("Control+a")
    page.keyboard.type(FLAGGED, delay=20)
    see(checks)
    expect(box).to_be_focused()
    expect(box).to_have_value(FLAGGED)
    confirm(page)
    for number, label in enumerate(("Type", "Note"), start=1):
        editor(page, "e", "New wording").fill(f"The bridge number {number} is")
        box.press_sequentially(" not safe!")  # also what was typed just before
        page.get_by_label(label, exact=True).last.focus()
        press(page, "Control+Enter")
    kept = ["The bridge number 2 is not safe!", "The bridge number 1 is not safe!", FLAGGED]
    assert rows(home, ADDED.format("text", 3)) == [(text,) for text in kept]
    key(page, "8", "t")  # the digit is a reason that only applies to hedges
    page.keyboard.press("5")
    cue = page.get_by_label("Hedge cue")  # the text has no known one
    expect(cue).to_be_focused()
    settle(page)
    assert count(home) == done + 6
    cue.fill("safe")
    confirm(page)
    assert rows(home, ADDED.format("type_id, cue", 1)) == [("word", "safe")]


def leave_drafts(page: Page, home: Path) -> None:
    """Every field of an editor survives closing and reloading until it is discarded or saved."""
    fields = {
        page.get_by_label("New wording"): "The bridge number 0 is perhaps safe, some say.",
        page.get_by_label("Hedge cue"): "some say",
        page.get_by_label("Note", exact=True): "My note",
    }
    box, cue, note = fields

    def write_and_leave(leave: Callable[[], object]) -> None:
        editor(page, "e", "New wording")
        page.get_by_label("Type", exact=True).last.click()
        page.get_by_role("option", name="Hedge: single word").click()
        for field, text in fields.items():
            field.fill(text)
        settle(page)
        leave()
        for field, text in fields.items():
            expect(field).to_have_value(text)
        settle(page)

    write_and_leave(lambda: (close(page, box), editor(page, "e", "New wording")))
    discard(page, box)
    editor(page, "e", "New wording")
    page.wait_for_timeout(1000)  # no old value reappears later
    expect(box).to_have_value("The bridge is not safe.")
    expect(note).to_have_value("")
    gone(cue)
    close(page, box)
    write_and_leave(page.reload)  # it is open again
    box.focus()
    confirm(page)  # siblings have this text
    assert rows(home, ADDED.format("text, cue", 1)) == [tuple(fields.values())[:2]]
    kept = f"SELECT d.note {MINE} AND verdict = 'edit' ORDER BY d.id DESC LIMIT 1"
    assert rows(home, kept) == [("My note",)]
    assert page.evaluate("Object.keys(sessionStorage).filter(k => k.startsWith('hedge'))") == []


def change_the_queue(page: Page, home: Path) -> None:
    """With the mouse, with keys and by a link."""
    done, kind = count(home), page.locator(".hg-type").first
    for label in ("Absolute negator", "Affixal negation", "Verbal negation", "Hedge: phrase"):
        choose(page, "Type", label)
        expect(kind).to_have_text(label)
        settle(page)
    page.reload()
    expect(kind).to_have_text("Hedge: phrase")
    settle(page)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.keyboard.press("p")
    link = page.url.split("?")[0] + f"?variant={shown(page)}"
    eventually(page, lambda: page.evaluate("navigator.clipboard.readText()") == link)
    key(page, "Shift+Q")
    expect(kind).to_have_text("Hedge: single word")
    go(page, link)
    assert shown(page) == link.partition("=")[2]
    press(page, "s")
    expect(page).not_to_have_url(re.compile("variant="))  # the URL follows the card
    page.keyboard.press("v")  # a family at a time
    line = page.locator("article.hg-line").nth(1)
    see(line)
    page.keyboard.press("ArrowDown")
    see(line.and_(page.locator(".hg-focus")))
    page.keyboard.press("a")
    expect(line).to_contain_text("accepted")
    assert count(home) == done + 1
    key(page, "v")


def decide_blind(page: Page, address: str, uid: str) -> None:
    """Nothing in the whole page tells what others said, until you have decided."""
    go(page, f"{address}/review?variant={uid}&blind=1")
    see(page.locator(".hg-guide"))
    key(page, "i", "g")
    gone(page.locator(".hg-guide"))  # it mentions rejections, too
    see(page.locator(".st-key-details"))
    assert [what for what in ("Bert", "rejected", "otherwise") if what in page.content()] == []
    press(page, "a")
    expect(said(page)).to_contain_text("Bert rejected it")
    key(page, "b")
    expect(page).not_to_have_url(re.compile("blind"))


def test_on_a_slow_connection_no_unread_card_is_decided_and_no_letter_lost(
    project: Engine, home: Path, share: Share, chromium: Chromium
) -> None:
    """The server drew a card long ago, so only the browser can know whether it can be read."""
    with chromium.page(SLOW_LINE, SLOW_CLOCK) as page:
        before = come(page, share(home))
        for act in ("a", "1", "s", "f", "click"):
            page.wait_for_timeout(2500)
            done = len(rows(home, "SELECT 1 FROM decision"))
            second, after = page.evaluate(AT_ONCE, [act, before])
            assert after < 200
            page.wait_for_timeout(1500)
            assert shown(page) == second != before
            assert len(rows(home, "SELECT 1 FROM decision")) == done + 1
            assert "Key ignored" in page.evaluate(
                "getComputedStyle(document.querySelector('.hg-message'), '::after').content"
            )
            before = second
        box = editor(page, "e", "New wording")
        box.fill("")
        words = "The bridge is in no way safe. "
        for word in words.split():  # each pause submits the text so far
            box.press_sequentially(f"{word} ", delay=30)
            page.wait_for_timeout(400 if len(word) < 4 else 800)
        see(page.locator(".hg-checks"))
        page.wait_for_timeout(1500)  # until all answers are there
        expect(box).to_have_value(words)
        expect(box).to_be_focused()
