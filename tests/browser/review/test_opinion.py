"""The second opinion in Chromium: a key requests it, and its suggestion becomes the user's edit."""

from pathlib import Path

from playwright.sync_api import Page, expect
from sqlalchemy import Engine, select
from sqlmodel import col

from db.engine import writing
from db.models import Variant, Verdict
from tests.browser.conftest import Share
from tests.browser.support.reviewing import card, eventually, rows, settle, visit
from tests.support.factories import add_opinion, judge

HOSTILE = "It isn't <img src=x onerror='document.body.innerHTML=1'> **safe**."


def test_j_shows_it_unless_blind_and_ctrl_enter_applies_its_suggestion(
    project: Engine, home: Path, share: Share, page: Page
) -> None:
    with writing(project) as session:
        query = select(Variant).where(col(Variant.type_id) == "lexical").order_by(col(Variant.id))
        variant = session.execute(query.offset(5).limit(1)).scalar_one()
        who = judge(session, "<b>judge</b>")
        add_opinion(session, variant, Verdict.EDIT, reviewer_id=who, suggestion=HOSTILE)
        uid = variant.uid
    visit(page, share(home), "/review?type=Lexical+negation&order=Doubtful")
    expect(card(page)).to_have_attribute("data-variant", uid)
    settle(page)
    opinion = page.get_by_text("would edit it")
    page.keyboard.press("b")
    expect(page.get_by_role("button", name="Not blind")).to_be_visible()
    page.goto(page.url.split("?")[0] + f"?variant={uid}")
    expect(card(page)).to_have_attribute("data-variant", uid)
    settle(page)
    page.keyboard.press("j")
    expect(page.get_by_text("after you have decided")).to_be_visible()
    expect(opinion).to_have_count(0)
    page.keyboard.press("b")
    expect(page.get_by_role("button", name="Not blind")).to_have_count(0)
    settle(page)
    page.keyboard.press("j")
    expect(opinion).to_be_in_viewport()
    assert rows(home, "SELECT count(*) FROM opinion_look") == [(1,)]
    page.get_by_role("button", name="Edit from this suggestion").click()
    box = page.get_by_label("New wording, from the second opinion")
    expect(box).to_be_focused()
    expect(box).to_have_value(HOSTILE)
    settle(page)
    page.keyboard.press("Control+Enter")
    expect(page.locator(".hg-checks.hg-asked")).to_be_visible()
    settle(page)
    page.keyboard.press("Control+Enter")
    kept = "SELECT status FROM variant WHERE text LIKE '%onerror%' OR uid = '" + uid + "'"
    eventually(page, lambda: sorted(rows(home, kept)) == [("accepted",), ("superseded",)])
    expect(page.locator("img[src=x]")).to_have_count(0)
