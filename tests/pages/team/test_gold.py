"""The Team page's sections for gold items, people and practice, and gold items in Review."""

from typing import Any

import pytest
from sqlalchemy import Engine, func, select
from sqlmodel import col
from streamlit.testing.v1 import AppTest

from curation.decisions.notes import add_note
from curation.project.settings import GOLD_RATE, PRACTISE_FIRST, get_setting, put_setting
from curation.review import deciding
from curation.review.gold.items import gold_items, mark
from curation.review.gold.practice import current_round
from db.engine import reading, writing
from db.models import Decision, GoldUse, Reviewer, Status, TeamRole, Variant, Verdict
from tests.curation.support.deciding import accept
from tests.pages.conftest import OpenPage, Wording, unsafe_texts
from tests.pages.looks import drawn, html, in_dialog, links, press, put, search
from tests.support.factories import add_family, person

HOSTILE = "**bold** <img src=x onerror=alert(1)>"
SECRET = "Lena knows why."


@pytest.fixture
def project(signed_in: None, with_source: Engine) -> Engine:
    """Two families in which Lena has created two training items and a gold item."""
    with writing(with_source) as session:
        lena = person(session, "Lena")
        bridge = add_family(session)
        road = add_family(session, "The road is safe.", subject="road")
        for variant, verdict, use in (
            (bridge["verbal"], Verdict.REJECT, GoldUse.MIXED),
            (bridge["affixal"], Verdict.ACCEPT, GoldUse.TRAINING),
            (road["affixal"], Verdict.REJECT, GoldUse.TRAINING),
        ):
            mark(
                session,
                variant.uid,
                verdict,
                reviewer_id=lena,
                reason="wrong_scope" if verdict is Verdict.REJECT else "",
                explanation=HOSTILE,
                use=use,
            )
        add_note(session, bridge["verbal"].id, reviewer_id=lena, text=SECRET)
    return with_source


def said(app: AppTest) -> str:
    assert not app.exception
    return drawn(app, "text", "markdown") + html(app)


def make_reviewer(engine: Engine, name: str = "Ada") -> None:
    with writing(engine) as session:
        session.get_one(Reviewer, person(session, name)).role = TeamRole.REVIEWER


# -- gold items ------------------------------------------------------------------------


def test_a_lead_makes_a_gold_item_by_its_uid(
    project: Engine, open_page: OpenPage, wording: Wording
) -> None:
    with writing(project) as session:
        settled, other = (session.get_one(Variant, number) for number in (2, 5))
        uids = settled.uid, other.uid
        card, lena = deciding.shown(settled, settles=True), person(session, "Lena")
        deciding.reject(session, card, reviewer_id=lena, reason="wrong_scope", note=HOSTILE)
    app = open_page("team", show="Gold items", gold=uids[0])
    verdict = app.segmented_control(key="gold-verdict")
    assert verdict.value is Verdict.REJECT  # the settlement is taken over
    assert app.selectbox(key="gold-reason").value == "wrong_scope"
    assert app.text_area(key="gold-explanation").value == HOSTILE
    put(app, "button_group", "gold-verdict", Verdict.ACCEPT)
    assert app.segmented_control(key="gold-verdict").value is Verdict.ACCEPT  # the lead's choice
    put(app, "text_input", "gold-uid", uids[1])
    wording(app, "team", "gold items")
    assert app.segmented_control(key="gold-verdict").value is None  # nothing to take over
    assert app.button(key="make-gold").disabled
    put(app, "button_group", "gold-verdict", Verdict.REJECT)
    press(app, "make-gold")
    assert "'reject'" in said(app)  # it needs a reason
    put(app, "button_group", "gold-verdict", Verdict.ACCEPT)
    put(app, "text_area", "gold-explanation", "No part is.")
    press(app, "make-gold")
    with reading(project) as session:
        (made,) = gold_items(session, of=[5])
    assert (made.maker, made.explanation, made.use) == ("Ada", "No part is.", GoldUse.MIXED)
    put(app, "text_input", "gold-uid", uids[0])
    press(app, "make-gold")
    with reading(project) as session:
        (made,) = gold_items(session, of=[2])
    assert (made.verdict, made.reason) == (Verdict.REJECT, "wrong_scope")
    assert made.explanation == HOSTILE and HOSTILE not in unsafe_texts(app)
    put(app, "text_input", "gold-uid", uids[1])  # it is already a gold item
    put(app, "button_group", "gold-verdict", Verdict.ACCEPT)
    press(app, "make-gold")
    with reading(project) as session:
        assert len(gold_items(session, of=[5])) == 1
    assert "nonsense" in said(put(app, "text_input", "gold-uid", "nonsense"))


def test_the_gold_rate_and_required_practice_can_be_set(
    project: Engine, open_page: OpenPage
) -> None:
    app = open_page("team", show="Gold items")
    put(app, "selectbox", "gold-rate-0", 20)
    put(app, "checkbox", "gold-first-False", True)
    with reading(project) as session:
        assert (get_setting(session, GOLD_RATE), get_setting(session, PRACTISE_FIRST)) == (20, True)
    assert app.selectbox(key="gold-rate-20").value == 20
    app = open_page("review")  # it asks Ada to practise first
    assert len(links(app)) == 1 and "<article" not in said(app)
    with writing(project) as session:
        put_setting(session, PRACTISE_FIRST, False)
    app = open_page("review")
    assert any("2 cards" in link for link in links(app)) and "<article" in said(app)


def test_only_leads_see_them(project: Engine, open_page: OpenPage, wording: Wording) -> None:
    make_reviewer(project)
    for name in ("Gold items", "People"):
        app = open_page("team", show=name)
        assert not app.dataframe and not app.main.text_input
        wording(app, "team", f"{name}, for a reviewer")


def test_a_new_visitor_is_asked_for_a_name(with_source: Engine, open_page: OpenPage) -> None:
    for name in ("Gold items", "People", "Practice"):
        assert open_page("team", show=name).main.text_input, name


# -- people ----------------------------------------------------------------------------


def test_people_have_their_own_numbers(
    project: Engine, open_page: OpenPage, wording: Wording
) -> None:
    app = open_page("team", show="People")
    assert not app.dataframe
    wording(app, "team", "nobody has decided")
    with writing(project) as session:
        ben = person(session, HOSTILE)
        accept(session, session.get_one(Variant, 2), ben)
        accept(session, session.get_one(Variant, 5), ben)
    app = open_page("team", show="People")
    wording(app, "team", "people")
    (row,) = app.dataframe[0].value.to_dict("records")
    assert (row["Name"], row["Verdicts"], row["Gold"]) == (HOSTILE, 2, "–")
    assert row["Accepted"] == "100.0%", "an interval of two verdicts says nothing"
    assert list(app.dataframe[1].value.columns) == [HOSTILE]
    assert HOSTILE not in unsafe_texts(app)


# -- practice --------------------------------------------------------------------------


def items(engine: Engine) -> Any:
    """The gold items of Ada's round."""
    with reading(engine) as session:
        return current_round(session, person(session)).items


def test_a_practice_round_gives_feedback_after_each_card_and_a_score(
    project: Engine, open_page: OpenPage
) -> None:
    make_reviewer(project)  # without asking a lead
    app = open_page("team", show="Practice")
    assert "1 of 2" in drawn(app, "caption")
    assert "status:" not in said(app) and "settled" not in said(app).lower()
    first, second = items(project)
    press(app, "s-")  # a skipped card comes back at the end
    assert second.uid in said(app) and first.uid not in said(app)
    press(app, "f-")
    assert "(anchor unsuitable)" in said(app)
    assert "&lt;img src=x" in said(app) and "<img" not in unsafe_texts(app)
    assert said(app).count('aria-label="Guideline"') == 1
    press(app, "n-")
    assert first.uid in said(app)
    press(app, "a-")
    assert ("Right" in said(app)) == (first.verdict is Verdict.ACCEPT)
    press(app, "n-")
    right = (first.verdict is Verdict.ACCEPT) + (second.verdict is Verdict.REJECT)
    assert f"{right} of 2" in drawn(app, "header")
    with reading(project) as session:
        assert current_round(session, person(session)).is_finished
        # Only Lena's gold items are decisions.
        assert session.execute(select(func.count()).select_from(Decision)).scalar() == 3
    press(app, "n-")  # again
    assert "Round 2, card 1 of 2." in drawn(app, "caption")
    press(press(press(app, "4-"), "n-"), "0-")
    with reading(project) as session:
        assert current_round(session, person(session)).is_finished


# -- review ----------------------------------------------------------------------------


def test_a_gold_item_looks_like_a_pending_card(project: Engine, open_page: OpenPage) -> None:
    with writing(project) as session:
        put_setting(session, GOLD_RATE, 2)
        uid = session.get_one(Variant, 1).uid
    app = open_page("review")
    state = app.session_state["review"]
    state.pin(1)
    state.details = True
    app.run()
    now = said(app)
    assert f'data-variant="{uid}"' in now
    for word in ("rejected", "settle", "Lena", SECRET, "wrong scope", "gold", "status:", "blind"):
        assert word not in now.replace("Wrong scope", "").split("hg-guide")[0], word
    assert "No decisions yet." in now and "No notes yet." in now
    assert "Make it a gold item" in links(app)  # as on any card, for a lead
    press(app, "a-")
    with reading(project) as session:
        assert session.get_one(Variant, 1).status is Status.REJECTED
        query = select(col(Decision.verdict)).where(col(Decision.variant_id) == 1)
        assert (
            session.execute(query.order_by(col(Decision.id).desc())).scalars().first() == "accept"
        )


def test_a_search_shows_it_as_pending_and_finds_no_note_on_it(project: Engine) -> None:
    app = in_dialog("search")
    hits = search(app, "bridge is not safe")
    assert "pending" in hits and "rejected" not in hits
    app.session_state["search-in"] = "notes"
    assert SECRET not in search(app, "Lena knows")
