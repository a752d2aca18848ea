"""The review page in Chromium: permalinks, blind mode, families, and queues with the mouse."""

import re
from pathlib import Path

from playwright.sync_api import Page, expect
from sqlalchemy import Engine, select
from sqlmodel import col

from curation.anchors.changes import retire_anchor
from curation.diagnostics.measuring import measure_variants
from curation.review import actions
from curation.review.notes import add_note
from db.engine import writing
from db.models import Variant
from tests.browser.conftest import Share
from tests.browser.support.chromium import Chromium
from tests.browser.support.reviewing import (
    card,
    choose,
    editor,
    eventually,
    press,
    rows,
    settle,
    shown,
    visit,
)
from tests.support.factories import person

NAME = "<img src=x onerror=alert(1)>'; x"


def test_each_click_on_the_queue_counts_and_a_reload_comes_back_to_it(desk: Page) -> None:
    kind = desk.locator(".hg-type").first
    for label in ("Absolute negator", "Affixal negation", "Verbal negation", "Hedge: phrase"):
        choose(desk, "Type", label)
        expect(kind).to_have_text(label)
        settle(desk)
    desk.reload()
    expect(kind).to_have_text("Hedge: phrase")
    expect(desk.get_by_text("Reviewing as Ada")).to_be_visible()


def test_a_new_browser_asks_for_a_name_and_a_permalink_shows_the_current_status(
    project: Engine, home: Path, share: Share, page: Page
) -> None:
    """Decided, replaced, retired and unknown variants. Names in the project do not sign this
    browser in."""
    with writing(project) as session:
        rejected, replaced, retired, *_ = session.execute(
            select(Variant).where(col(Variant.type_id) == "lexical")
        ).scalars()
        bert = person(session, "Bert")
        actions.reject(session, actions.shown(rejected), reviewer_id=bert, reason="wrong_type")
        text = "The bridge is a danger."
        actions.edit(session, actions.shown(replaced), reviewer_id=bert, text=text)
        retire_anchor(session, retired.anchor_id)
        uids = [variant.uid for variant in (rejected, replaced, retired)]
    address = share(home)
    page.goto(f"{address}/review?variant={uids[0]}")
    expect(page.get_by_label("Your name")).to_be_focused()
    settle(page)
    page.keyboard.type(NAME)
    page.keyboard.press("Enter")
    expect(page.get_by_text(f"Reviewing as {NAME}")).to_be_visible()
    for _ in range(2):
        expect(card(page)).to_have_attribute("data-variant", uids[0])
        expect(card(page)).to_contain_text("status: rejected")
        page.reload()
    expect(page.get_by_text(f"Reviewing as {NAME}")).to_be_visible()
    for uid, message in ((uids[1], "An edit has replaced this wording."), (uids[2], "Out of use")):
        page.goto(f"{address}/review?variant={uid}")
        expect(card(page)).to_have_attribute("data-variant", uid)
        expect(card(page)).to_contain_text(message)
    page.goto(f"{address}/review?variant=<b>x</b>")
    expect(page.get_by_text("There is no variant with the uid '<b>x</b>'")).to_be_visible()
    expect(card(page)).to_be_visible()


def test_blind_mode_hides_other_verdicts_until_you_decide(
    project: Engine, home: Path, share: Share, page: Page
) -> None:
    with writing(project) as session:
        variant = session.execute(select(Variant).where(col(Variant.type_id) == "word")).scalar()
        assert variant is not None
        bert = person(session, "Bert")
        note = "Surely meant otherwise."
        actions.reject(
            session, actions.shown(variant), reviewer_id=bert, reason="not_a_hedge", note=note
        )
        add_note(session, variant.id, reviewer_id=bert, text="See the handbook.")
        measure_variants(session, [variant.id])
        uid = variant.uid
    visit(page, share(home), f"/review?variant={uid}&blind=1")
    expect(card(page)).to_have_attribute("data-variant", uid)
    page.reload()
    expect(card(page)).to_contain_text("blind")
    settle(page)
    page.keyboard.press("i")  # the guideline also mentions hedges and rejections
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
    expect(message).to_contain_text("Before you, Bert rejected it (not a hedge).")
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
    expect(box).not_to_be_visible()
    settle(desk)
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
    desk.goto(link)
    expect(card(desk)).to_have_attribute("data-variant", link.partition("=")[2])
    settle(desk)
    press(desk, "a")
    expect(desk).not_to_have_url(re.compile("variant="))  # the URL follows the card


def test_the_family_view_decides_each_variant(desk: Page, home: Path) -> None:
    choose(desk, "View", "Family")
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


def test_the_slash_searches_and_no_letter_typed_then_decides(desk: Page, home: Path) -> None:
    before = shown(desk)
    desk.keyboard.type("/aas1f")  # typed at once, before the box appears
    box = desk.get_by_label("Part of a sentence or a note, or a uid")
    expect(box).to_be_focused()
    settle(desk)
    desk.keyboard.press("Control+a")
    desk.keyboard.type("IS UNSAFE")
    desk.keyboard.press("Enter")
    hit = desk.locator(".hg-hit").first
    expect(hit.locator("mark")).to_have_text("is unsafe")
    hit.click()  # the cursor has left the box
    desk.keyboard.type("as1f")
    desk.get_by_role("dialog").get_by_role("button", name="Open").first.click()
    expect(desk.get_by_role("dialog")).to_have_count(0)
    expect(card(desk)).to_contain_text("The bridge is unsafe.")
    assert shown(desk) != before
    desk.keyboard.press("/")
    expect(box).to_have_value("IS UNSAFE")  # the latest query
    desk.get_by_role("button", name="Review these 40").click()
    expect(desk.get_by_text("40 of 40 left in this selection. Search: IS UNSAFE")).to_be_visible()
    assert rows(home, "SELECT count(*) FROM decision") == [(0,)]


def test_two_windows_on_one_queue_decide_no_card_twice(
    chromium: Chromium, project: Engine, home: Path, share: Share
) -> None:
    address = share(home)
    with chromium.page() as one, chromium.page() as two:
        windows = one, two
        for page in windows:
            visit(page, address, "/review")
            expect(card(page)).to_be_visible()
            settle(page)
        for _ in range(2):
            assert shown(one) != shown(two)
            for page in windows:
                press(page, "a")
        left = shown(one)
        one.reload()
        expect(card(one)).to_have_attribute("data-variant", left)
        for page in windows:
            page.get_by_role("link", name="Settings").click()
            expect(page.get_by_role("heading", name="Settings").first).to_be_visible()
        two.get_by_role("link", name="Review").click()
        expect(card(two)).to_have_attribute("data-variant", left)  # you have left it to others
    decided = rows(home, "SELECT count(*), count(DISTINCT variant_id) FROM decision")
    assert decided == [(4, 4)]


def test_no_key_decides_while_similar_variants_are_listed(desk: Page, home: Path) -> None:
    desk.keyboard.press("g")
    desk.get_by_role("button", name="Find similar variants").click()
    dialog = desk.get_by_role("dialog")
    expect(dialog).to_contain_text("have none yet")
    desk.keyboard.type("as1f")
    settle(desk)
    assert rows(home, "SELECT count(*) FROM decision") == [(0,)]
