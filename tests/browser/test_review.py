"""The review page in Chromium: keys, panels, permalinks, hostile texts."""

import re
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect
from sqlalchemy import Engine, select
from sqlalchemy.engine import URL
from sqlmodel import col

from curation import review
from curation.anchors import retire_anchor
from curation.diagnostics import measure_variants
from curation.notes import add_note
from db.engine import create_engine, writing
from db.migrate import upgrade
from db.models import Variant
from tests.factories import add_anchor, add_family, add_variant, person

HOSTILE = [
    '<img src=x onerror="window.hacked=1">',
    "<script>window.hacked=1</script>",
    "</span></article><style>.hg-card{display:none}</style>",
    "**bold** $x^2$ [a](javascript:window.hacked=1) `code`",
    "\u202egnirts desrever \u2066isolated",
    "=HYPERLINK(1) [31mred",
    "W" * 3000,
]


@pytest.fixture
def project(home: Path) -> Engine:
    """Forty families, one of them hostile, and a person called Ada."""
    engine = create_engine(URL.create("sqlite", database=str(home / "hedgerow.db")))
    upgrade(engine)
    with writing(engine) as session:
        for number in range(40):
            add_family(session, f"The bridge number {number} is safe.")
        person(session)
    return engine


@pytest.fixture
def desk(project: Engine, home: Path, serve: Callable[[Path], str], page: Page) -> Page:
    """The review page with its first card."""
    visit(page, serve(home), "/review")
    expect(card(page)).to_be_visible()
    settle(page)
    return page


def visit(page: Page, address: str, path: str) -> None:
    """Open a page in a browser in which Ada has signed in before."""
    page.context.add_cookies([{"name": "hedgerow_reviewer", "value": "Ada", "url": address}])
    page.goto(address + path)


def card(page: Page) -> Locator:
    return page.locator("article.hg-card").first


def shown(page: Page) -> str:
    return card(page).get_attribute("data-variant") or ""


def settle(page: Page) -> None:
    """Wait until the page is drawn, and then as long as a card takes no key."""
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")
    page.wait_for_timeout(400)


def press(page: Page, key: str) -> None:
    """Press a key and wait for another card."""
    before = shown(page)
    page.keyboard.press(key)
    expect(card(page)).not_to_have_attribute("data-variant", before)
    settle(page)


def rows(home: Path, query: str) -> list[tuple[object, ...]]:
    with sqlite3.connect(home / "hedgerow.db") as connection:
        return connection.execute(query).fetchall()


def editor(page: Page, key: str, label: str) -> Locator:
    """Open an editor and wait, as a person does, until one can write in it."""
    page.keyboard.press(key)
    box = page.get_by_label(label)
    expect(box).to_be_focused()
    settle(page)
    return box


def eventually(page: Page, condition: Callable[[], bool]) -> None:
    """Wait for what a key press shall have stored."""
    for _ in range(100):
        if condition():
            return
        page.wait_for_timeout(100)
    pytest.fail("it was not stored within ten seconds")


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


def test_a_permalink_shows_its_variant_on_a_fresh_server(
    project: Engine, home: Path, serve: Callable[[Path], str], page: Page
) -> None:
    """The first visitor comes by a deep link: Streamlit must not run the page without app.py."""
    uid = str(
        rows(home, "SELECT uid FROM variant WHERE type_id = 'lexical' LIMIT 1 OFFSET 7")[0][0]
    )
    visit(page, serve(home), f"/review?variant={uid}")
    expect(card(page)).to_have_attribute("data-variant", uid)
    expect(page.get_by_test_id("stSidebarNavLink").first).to_be_visible()


def test_an_address_goes_with_the_card_it_names(desk: Page, home: Path) -> None:
    uid = str(rows(home, "SELECT uid FROM variant WHERE type_id = 'lexical' LIMIT 1")[0][0])
    desk.goto(desk.url.split("?")[0] + f"?variant={uid}")
    expect(card(desk)).to_have_attribute("data-variant", uid)
    settle(desk)
    press(desk, "a")
    expect(desk).not_to_have_url(re.compile("variant="))


def test_each_click_on_the_queue_counts_and_a_reload_comes_back_to_it(desk: Page) -> None:
    kind = desk.locator(".hg-type").first
    for label in ("Absolute negator", "Affixal negation", "Verbal negation", "Hedge: phrase"):
        desk.get_by_test_id("stButtonGroup").get_by_text(label, exact=True).click()
        expect(kind).to_have_text(label)
        settle(desk)
    desk.reload()
    expect(kind).to_have_text("Hedge: phrase")
    expect(desk.get_by_text("Reviewing as Ada")).to_be_visible()


def test_what_was_being_written_survives_a_reload(desk: Page) -> None:
    box = editor(desk, "e", "New wording")
    box.press_sequentially(" Half a thought")
    desk.reload()
    expect(card(desk)).to_be_visible()
    settle(desk)
    desk.keyboard.press("e")
    expect(box).to_have_value("The bridge is not safe. Half a thought")


def test_a_new_browser_is_asked_for_a_name(
    project: Engine, home: Path, serve: Callable[[Path], str], page: Page
) -> None:
    """One person is known; that says nothing about who sits at this browser."""
    page.goto(serve(home) + "/review")
    expect(page.get_by_label("Your name")).to_be_focused()
    settle(page)
    page.keyboard.type("<img src=x onerror=alert(1)>'; x")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Reviewing as <img src=x onerror=alert(1)>'; x")).to_be_visible()
    page.reload()
    expect(page.get_by_text("Reviewing as <img src=x onerror=alert(1)>'; x")).to_be_visible()


def test_a_permalink_says_what_its_variant_is_now(
    project: Engine, home: Path, serve: Callable[[Path], str], page: Page
) -> None:
    """Decided, replaced, retired, unknown; and first of all by somebody who has not signed in."""
    with writing(project) as session:
        rejected, replaced, retired, *_ = session.execute(
            select(Variant).where(col(Variant.type_id) == "lexical")
        ).scalars()
        bert = person(session, "Bert")
        review.reject(session, review.shown(rejected), reviewer_id=bert, reason="wrong_type")
        text = "The bridge is a danger."
        review.edit(session, review.shown(replaced), reviewer_id=bert, text=text)
        retire_anchor(session, retired.anchor_id)
        uids = [variant.uid for variant in (rejected, replaced, retired)]
    address = serve(home)
    page.goto(f"{address}/review?variant={uids[0]}")
    expect(page.get_by_label("Your name")).to_be_focused()
    settle(page)
    page.keyboard.type("Cleo")
    page.keyboard.press("Enter")
    expect(card(page)).to_have_attribute("data-variant", uids[0])
    expect(card(page)).to_contain_text("status: rejected")
    for uid, said in ((uids[1], "An edit has replaced this wording."), (uids[2], "Out of use")):
        page.goto(f"{address}/review?variant={uid}")
        expect(card(page)).to_have_attribute("data-variant", uid)
        expect(card(page)).to_contain_text(said)
    page.goto(f"{address}/review?variant=<b>x</b>")
    expect(page.get_by_text("There is no variant '<b>x</b>'")).to_be_visible()
    expect(card(page)).to_be_visible()


def test_blind_hides_what_others_said_until_one_has_decided(
    project: Engine, home: Path, serve: Callable[[Path], str], page: Page
) -> None:
    with writing(project) as session:
        variant = session.execute(select(Variant).where(col(Variant.type_id) == "word")).scalar()
        assert variant is not None
        bert = person(session, "Bert")
        note = "Surely meant otherwise."
        review.reject(
            session, review.shown(variant), reviewer_id=bert, reason="not_a_hedge", note=note
        )
        add_note(session, variant.id or 0, reviewer_id=bert, text="See the handbook.")
        measure_variants(session, [variant.id or 0])
        uid = variant.uid
    visit(page, serve(home), f"/review?variant={uid}&blind=1")
    expect(card(page)).to_have_attribute("data-variant", uid)
    page.reload()
    expect(card(page)).to_contain_text("blind")
    settle(page)
    page.keyboard.press("i")  # the guideline speaks of hedges and rejections, too
    expect(page.locator(".hg-guide")).to_have_count(0)
    settle(page)
    page.keyboard.press("g")
    expect(page.locator(".st-key-details")).to_contain_text("Hidden until you have decided.")
    secrets = (
        "Bert",
        "rejected",
        note,
        "handbook",
        "Levenshtein",
        "cosine",
        "content kept",
        "1 note",
    )
    seen = page.content()
    assert [secret for secret in secrets if secret in seen] == []
    assert not page.get_by_text("Most suspicious").is_visible()
    press(page, "a")
    message = page.locator(".hg-message")
    expect(message).to_contain_text("Others before: Bert rejected it (not a hedge).")
    assert rows(home, "SELECT blind FROM decision ORDER BY id") == [(0,), (1,)]
    settle(page)
    page.keyboard.press("b")
    expect(card(page).get_by_text("blind", exact=True)).to_have_count(0)
    expect(page).not_to_have_url(re.compile("blind"))


def test_notes_queues_and_links_need_no_mouse(desk: Page, home: Path) -> None:
    box = editor(desk, "n", "Note on this variant")
    box.press_sequentially("<img src=x onerror=alert(1)> half")
    desk.keyboard.press("Escape")
    expect(box).not_to_be_visible()
    settle(desk)
    box = editor(desk, "n", "Note on this variant")
    expect(box).to_have_value("<img src=x onerror=alert(1)> half")
    desk.keyboard.press("Control+Enter")
    expect(card(desk)).to_contain_text("1 note")
    assert rows(home, "SELECT text FROM note") == [("<img src=x onerror=alert(1)> half",)]
    assert rows(home, "SELECT count(*) FROM decision") == [(0,)]
    desk.context.grant_permissions(["clipboard-read", "clipboard-write"])
    desk.keyboard.press("p")
    link = desk.url.split("?")[0] + f"?variant={shown(desk)}"
    eventually(desk, lambda: desk.evaluate("navigator.clipboard.readText()") == link)
    settle(desk)
    desk.keyboard.press("q")
    expect(desk.locator(".hg-type").first).to_have_text("Absolute negator")
    settle(desk)
    desk.keyboard.press("v")
    expect(desk.locator("article.hg-line")).to_have_count(7)


def test_the_family_view_decides_each_variant(desk: Page, home: Path) -> None:
    desk.get_by_text("Family", exact=True).click()
    expect(desk.locator("article.hg-line")).to_have_count(7)
    settle(desk)
    desk.keyboard.press("ArrowDown")
    expect(desk.locator("article.hg-line").nth(1)).to_have_class("hg-card hg-line hg-focus")
    settle(desk)
    desk.keyboard.press("a")
    expect(desk.locator(".hg-message")).to_contain_text("Accepted")
    status = "SELECT type_id FROM variant WHERE status = 'accepted'"
    assert rows(home, status) == [("absolute",)]
    settle(desk)
    affixal = desk.locator("article.hg-line").nth(2)
    expect(affixal).to_contain_text("pending")
    desk.get_by_role("button", name="Accept", exact=True).nth(2).click()
    expect(affixal).to_contain_text("accepted")
    assert rows(home, status) == [("absolute",), ("affixal",)]


def test_hostile_texts_are_shown_as_text(
    home: Path, serve: Callable[[Path], str], page: Page
) -> None:
    engine = create_engine(URL.create("sqlite", database=str(home / "hedgerow.db")))
    upgrade(engine)
    with writing(engine) as session:
        for text in HOSTILE:
            anchor = add_anchor(session, f"The anchor {text}")
            add_variant(session, anchor, "word", text=f"maybe {text}").cue = text[:200]
            add_variant(session, anchor, "verbal", text=f"not {text}")
        person(session)
    visit(page, serve(home), "/review")
    expect(card(page)).to_be_visible()
    settle(page)
    page.keyboard.press("g")
    expect(page.locator(".st-key-details")).to_be_visible()
    for number, text in enumerate(HOSTILE):
        variant = card(page).locator(".hg-variant .hg-text")
        assert variant.text_content() == f"not {text}"
        assert page.evaluate("window.hacked") is None
        # Nothing reaches beyond the page: no sideways scrolling.
        width = "document.documentElement.{0}Width"
        assert page.evaluate(f"{width.format('scroll')} <= {width.format('client')}")
        expect(page.get_by_role("button", name="Accept")).to_be_visible()
        settle(page)
        if number + 1 < len(HOSTILE):
            press(page, "s")
