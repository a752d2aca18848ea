"""The Team page's sections for gold items, people and practice, and gold items in Review."""

from pathlib import Path

import pytest
from sqlalchemy import Engine, func, select
from sqlmodel import col
from streamlit.testing.v1 import AppTest

from curation.project.opening import GOLD_RATE, PRACTISE_FIRST, get_setting, put_setting
from curation.review import actions
from curation.review.actions import shown
from curation.review.browser_window import key_actions
from curation.review.gold.items import gold_items, mark
from curation.review.gold.practice import current_round
from curation.review.notes import add_note
from db.engine import reading, writing
from db.models import Decision, GoldUse, Reviewer, Status, TeamRole, Variant, Verdict
from tests.curation.support.deciding import accept
from tests.pages.conftest import OpenPage, unsafe_texts
from tests.support.factories import add_family, person

HOSTILE = "**bold** <img src=x onerror=alert(1)>"
SECRET = "Lena knows why."


@pytest.fixture
def signed_in(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ada is signed in by the settings. A key counts immediately."""
    monkeypatch.setattr(key_actions, "MIN_SHOWN_SECONDS", 0.0)
    monkeypatch.setenv("HEDGEROW_REVIEWER", "Ada")


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


def section(open_page: OpenPage, name: str) -> AppTest:
    app = open_page("team")
    app.session_state["show"] = name
    return app.run()


def texts(app: AppTest) -> str:
    return "\n".join(
        str(one.value) for kind in ("text", "markdown", "html") for one in app.get(kind)
    )


def captions(app: AppTest) -> str:
    return "\n".join(one.value for one in app.caption)


def links(app: AppTest) -> list[str]:
    return [one.label for one in app.get("page_link")]


def make_reviewer(engine: Engine, name: str = "Ada") -> None:
    with writing(engine) as session:
        session.get_one(Reviewer, person(session, name)).role = TeamRole.REVIEWER


# -- gold items ------------------------------------------------------------------------


def test_a_lead_makes_a_gold_item_by_its_uid(project: Engine, open_page: OpenPage) -> None:
    with reading(project) as session:
        uid = session.get_one(Variant, 2).uid
    app = section(open_page, "Gold items")
    assert "1 item for the review queue, 2 for practice rounds." in texts(app)
    assert "set a frequency" in texts(app) and not app.exception
    app.text_input(key="gold-uid").set_value(uid).run()
    assert app.button(key="make-gold").disabled, "no verdict is preselected"
    app.segmented_control(key="gold-verdict").set_value(Verdict.REJECT).run()
    app.button(key="make-gold").click().run()
    assert "Expected a reason for 'reject'" in texts(app)
    app.segmented_control(key="gold-verdict").set_value(Verdict.ACCEPT).run()
    app.text_area(key="gold-explanation").set_value("No part is.").run()
    app.button(key="make-gold").click().run()
    assert f"{uid} is now a gold item, settled as accepted." in texts(app)
    with reading(project) as session:
        (made,) = gold_items(session, of=[2])
        assert (made.maker, made.explanation, made.use) == ("Ada", "No part is.", GoldUse.MIXED)
    app.text_input(key="gold-uid").set_value(uid).run()
    app.segmented_control(key="gold-verdict").set_value(Verdict.ACCEPT).run()
    app.button(key="make-gold").click().run()
    assert "is already a gold item" in texts(app)
    app.text_input(key="gold-uid").set_value("nonsense").run()
    assert "There is no variant" in texts(app)


def test_the_form_takes_over_a_settlement_but_not_for_the_next_variant(
    project: Engine, open_page: OpenPage
) -> None:
    with writing(project) as session:
        settled, other = (session.get_one(Variant, number) for number in (2, 5))
        uids = settled.uid, other.uid
        card = shown(settled, settles=True)
        lena = person(session, "Lena")
        actions.reject(session, card, reviewer_id=lena, reason="wrong_scope", note=HOSTILE)
    app = open_page("team")
    app.session_state["show"] = "Gold items"
    app.query_params["gold"] = uids[0]
    app.run()
    assert app.segmented_control(key="gold-verdict").value is Verdict.REJECT
    assert app.selectbox(key="gold-reason").value == "wrong_scope"
    assert app.text_area(key="gold-explanation").value == HOSTILE
    app.segmented_control(key="gold-verdict").set_value(Verdict.ACCEPT).run()
    assert app.segmented_control(key="gold-verdict").value is Verdict.ACCEPT  # the lead's choice
    app.text_input(key="gold-uid").set_value(uids[1]).run()
    assert app.segmented_control(key="gold-verdict").value is None
    app.text_input(key="gold-uid").set_value(uids[0]).run()
    app.button(key="make-gold").click().run()
    with reading(project) as session:
        (made,) = gold_items(session, of=[2])
    assert (made.verdict, made.reason, made.explanation) == (
        Verdict.REJECT,
        "wrong_scope",
        HOSTILE,
    )


def test_the_gold_rate_and_required_practice_can_be_set(
    project: Engine, open_page: OpenPage
) -> None:
    app = section(open_page, "Gold items")
    app.selectbox(key="gold-rate-0").set_value(20).run()
    app.checkbox(key="gold-first-False").check().run()
    with reading(project) as session:
        assert (get_setting(session, GOLD_RATE), get_setting(session, PRACTISE_FIRST)) == (20, True)
    assert app.selectbox(key="gold-rate-20").value == 20
    assert "set a frequency" not in texts(app)


@pytest.mark.parametrize(
    ("name", "what"),
    [("Gold items", "choose gold items"), ("People", "see each person's figures")],
)
def test_only_leads_see_them(project: Engine, open_page: OpenPage, name: str, what: str) -> None:
    make_reviewer(project)
    app = section(open_page, name)
    assert f"Only leads can {what}." in captions(app)
    assert not app.get("arrow_data_frame") and not app.get("text_input")


def test_a_new_visitor_is_asked_for_a_name(with_source: Engine, open_page: OpenPage) -> None:
    for name in ("Gold items", "People", "Practice"):
        assert section(open_page, name).get("text_input"), name


# -- people ----------------------------------------------------------------------------


def test_people_have_their_own_numbers(project: Engine, open_page: OpenPage) -> None:
    with writing(project) as session:
        ben = person(session, HOSTILE)
        accept(session, session.get_one(Variant, 2), ben)
        accept(session, session.get_one(Variant, 5), ben)
    app = section(open_page, "People")
    assert not app.exception
    (row,) = app.dataframe[0].value.to_dict("records")
    assert (row["Name"], row["Verdicts"], row["Gold"]) == (HOSTILE, 2, "–")
    assert row["Accepted"] == "100.0%", "an interval of two verdicts says nothing"
    assert list(app.dataframe[1].value.columns) == [HOSTILE]
    assert HOSTILE not in unsafe_texts(app)


def test_without_decisions_it_says_so(
    signed_in: None, with_source: Engine, open_page: OpenPage
) -> None:
    with writing(with_source) as session:
        add_family(session)
    assert "Nobody has decided on a variant yet." in texts(section(open_page, "People"))


# -- practice --------------------------------------------------------------------------


def press(app: AppTest, name: str) -> AppTest:
    """Click the button with this key."""
    (button,) = [one for one in app.button if (one.key or "").startswith(f"{name}-")]
    return button.click().run()


def test_a_practice_round_gives_feedback_after_each_card_and_a_score(
    project: Engine, open_page: OpenPage
) -> None:
    app = section(open_page, "Practice")
    assert "Card 1 of 2." in captions(app)
    assert "status:" not in texts(app) and "settled" not in texts(app).lower()
    with reading(project) as session:
        ada = person_id(session)
        first, second = current_round(session, ada).items
        before = session.execute(select(func.count()).select_from(Decision)).scalar()
    press(app, "a")
    shown = texts(app)
    assert ("Right" if first.verdict is Verdict.ACCEPT else "Not quite") in shown
    assert "&lt;img src=x" in shown and "<img" not in unsafe_texts(app)
    assert "From the guideline: affixal" in shown and shown.count('aria-label="Guideline"') == 1
    press(app, "n")
    assert "Right" not in texts(app).split("<article")[0]
    press(app, "4")
    press(app, "n")
    right = (first.verdict is Verdict.ACCEPT) + (second.verdict is Verdict.REJECT)
    assert f"You got {right} of 2 right" in "".join(one.value for one in app.header)
    with reading(project) as session:
        assert current_round(session, ada).is_finished
        assert session.execute(select(func.count()).select_from(Decision)).scalar() == before
    press(app, "n")  # again
    assert "Round 2, card 1 of 2." in captions(app)


def person_id(session: object) -> int:
    return person(session, "Ada")  # type: ignore[arg-type]  # she is there


def test_a_skipped_card_comes_back_at_the_end(project: Engine, open_page: OpenPage) -> None:
    make_reviewer(project)  # without asking a lead
    app = section(open_page, "Practice")
    with reading(project) as session:
        first, second = current_round(session, person_id(session)).items
    assert {"Other", "Anchor unsuitable"} <= {one.label for one in app.button}
    press(app, "s")
    assert second.uid in texts(app) and first.uid not in texts(app)
    press(app, "f")
    assert "You rejected it (anchor unsuitable)." in texts(app)
    press(app, "n")
    assert first.uid in texts(app)
    press(app, "0")
    assert "You rejected it." in texts(app)


def test_practice_is_offered_on_review_and_may_be_required(
    project: Engine, open_page: OpenPage
) -> None:
    app = open_page("review")
    assert "New here? Practise on 2 cards with feedback" in links(app)
    assert "<article" in texts(app)
    with writing(project) as session:
        put_setting(session, PRACTISE_FIRST, True)
    app = open_page("review")
    assert "Before you review, practise on 2 cards." in texts(app)
    assert "<article" not in texts(app)


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
    shown = texts(app)
    assert f'data-variant="{uid}"' in shown
    for word in ("rejected", "settle", "Lena", SECRET, "wrong scope", "gold", "status:", "blind"):
        assert word not in shown.replace("Wrong scope", "").split("hg-guide")[0], word
    assert "No decisions yet." in shown and "No notes yet." in shown
    assert "Make it a gold item" in links(app)  # as on any card, for a lead
    press(app, "a")
    assert "Accepted: “" in texts(app)
    with reading(project) as session:
        assert session.get_one(Variant, 1).status is Status.REJECTED
        query = select(col(Decision.verdict)).where(col(Decision.variant_id) == 1)
        assert (
            session.execute(query.order_by(col(Decision.id).desc())).scalars().first() == "accept"
        )


def test_a_search_shows_it_as_pending_and_finds_no_note_on_it(project: Engine) -> None:
    def script() -> None:
        from curation.review.browser_window.key_actions import ReviewState
        from curation.review.people.reviewers import ensure_reviewer
        from curation.taxonomy.project_types import list_types
        from db.engine import writing
        from pages.components.review import search_box
        from pages.components.shared.shell import open_project

        with writing(open_project.engine()) as session:
            ada = ensure_reviewer(session, "Ada").id
            types = list_types(session)
        search_box.contents(ReviewState(open_project.engine(), ada, types))

    app = AppTest.from_function(script).run(timeout=60)
    app.text_input[0].set_value("bridge is not safe").run()
    hits = "".join(str(one.value) for one in app.get("html"))
    assert "pending" in hits and "rejected" not in hits
    app.session_state["search-in"] = "notes"
    app.text_input[0].set_value("Lena knows").run()
    assert SECRET not in "".join(str(one.value) for one in app.get("html"))
