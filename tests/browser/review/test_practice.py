"""A new reviewer practises with the keys, continues with the queue, and meets a gold item there."""

from pathlib import Path

from playwright.sync_api import Page, expect
from sqlalchemy import Engine, select
from sqlmodel import col

from curation.project.opening import GOLD_RATE, PRACTISE_FIRST, put_setting
from curation.review.gold.items import mark
from db.engine import writing
from db.models import GoldUse, Variant, Verdict
from tests.browser.conftest import Share
from tests.browser.support.reviewing import card, eventually, rows, settle, shown, visit
from tests.support.factories import person

DECISIONS = "SELECT count(*) FROM decision WHERE NOT adjudicates"


def test_keys_answer_with_feedback_and_the_queue_follows_the_round(
    project: Engine, home: Path, share: Share, page: Page
) -> None:
    with writing(project) as session:
        lena = person(session, "Lena")
        verbal = select(Variant).where(col(Variant.type_id) == "verbal").order_by(col(Variant.id))
        first, second, mixed = session.execute(verbal.limit(3)).scalars().all()
        for variant, verdict in ((first, Verdict.ACCEPT), (second, Verdict.REJECT)):
            mark(
                session,
                variant.uid,
                verdict,
                reviewer_id=lena,
                reason="wrong_scope" if verdict is Verdict.REJECT else "",
                explanation="<b>So it is.</b>",
                use=GoldUse.TRAINING,
            )
        gold = mark(session, mixed.uid, Verdict.REJECT, reviewer_id=lena, reason="wrong_scope").uid
        put_setting(session, PRACTISE_FIRST, True)
        put_setting(session, GOLD_RATE, 2)
    visit(page, share(home), "/review")
    page.get_by_role("link", name="Start practising").click()
    for number in (1, 2):
        expect(page.get_by_text(f"Card {number} of 2.")).to_be_visible()
        settle(page)
        is_good = shown(page) == first.uid
        page.keyboard.press("a")
        feedback = page.get_by_role("status", name="Feedback")
        expect(feedback).to_contain_text("Right" if is_good else "Not quite")
        expect(feedback).to_contain_text("<b>So it is.</b>")
        settle(page)
        page.keyboard.press("a")  # no longer decides anything
        page.keyboard.press("n")
    expect(page.get_by_text("You got 1 of 2 right")).to_be_visible()
    expect(page.get_by_text("It should be rejected (wrong scope).")).to_be_visible()
    assert rows(home, "SELECT count(*) FROM practice_answer") == [(2,)]
    assert rows(home, DECISIONS) == [(0,)]
    page.get_by_role("link", name="Go to the queue").click()
    seen = []
    for number in range(1, 6):
        expect(card(page)).to_be_visible()
        settle(page)
        seen.append(shown(page))
        expect(card(page)).not_to_contain_text("status:")
        page.keyboard.press("a")
        eventually(page, lambda number=number: rows(home, DECISIONS) == [(number,)])
        expect(page.locator(".hg-message").get_by_text("Accepted")).to_be_visible()
        expect(card(page)).not_to_have_attribute("data-variant", seen[-1])
    assert gold in seen
    assert rows(home, "SELECT status FROM variant WHERE uid = ?", gold) == [("rejected",)]
